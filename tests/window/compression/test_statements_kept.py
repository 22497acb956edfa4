"""What a compaction keeps of statements in free words, and what of filler."""

from __future__ import annotations

from tests.window.compression.test_compaction import compacted, sections, work
from tests.window.talk import Talk


def test_statements_in_free_words_go_to_their_sections_without_filler() -> None:
    talk = Talk("Port the reports.")
    said = (
        "Step 0. We went with polars since it is fast. I rejected pandas because it takes a second to import. "
        "It turned out that the dates are local. The totals agree with the old report."
    )
    talk.say("Go on.", said)
    work(talk, "a", 30)
    step = compacted(talk)
    assert not step.result.refused
    found = sections(step)
    assert found["Decisions"] == [
        "We went with polars — Because: it is fast.",
        "I rejected pandas — Because: it takes a second to import.",
    ]
    assert found["Learned"] == ["It turned out that the dates are local."]
    assert "The totals agree" not in step.result.compressed_content
