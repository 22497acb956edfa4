"""Pages keep within the tokens of their level, whatever is recorded, and say what they leave out."""

from __future__ import annotations

import re

import pytest

from memctl.record.config import Config
from memctl.record.snapshot import Snapshot
from memctl.text import markdown
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of
from tests.pages.test_levels import Texts, detail, memory, record, section
from tests.snapshots import renderer

LIMITS = {"2.1-s.md": 500, "3.1-d.md": 3_000}  # tokens; rules.md#levels-of-pages
SHORT, LONG = "## Rationale\n\nYes.\n", "## Rationale\n\n" + "A reason that goes on and on, of many words. " * 40 + "\n"
PAGES: tuple[Texts, ...] = (
    section(1, "## Overview\n\nIt takes money and sends receipts.\n\n## Next actions\n\n- Refunds\n", paths=["src/**"]),
    detail(1, "It begins.\n\n## One\n\nText of the first part.\n", code_refs=["src/a.py"]),
)


def tokens_of(snapshot: Snapshot, name: str) -> int:
    text = markdown.visible(renderer(snapshot).page(name))
    return Counter(family_of(snapshot.config.model)).tokens(text)


def shown_and_left_out(text: str, pattern: str = "DEC-2025-11-04-[0-9]{3}") -> tuple[int, int]:
    more = re.search(r"([0-9,]+) more record", text)
    return len(set(re.findall(pattern, text))), int(more[1].replace(",", "")) if more else 0


@pytest.mark.parametrize(
    ("title", "body"),
    [("Use {}", SHORT), ("Use {}", LONG), ("Größe {} für あいう " + "ü" * 60, SHORT), ("`a_b` *{}* [x] " * 4, LONG)],
    ids=["short", "long reasons", "long titles", "markup"],
)
def test_pages_of_200_decisions_keep_their_limits_and_count_the_rest(title: str, body: str) -> None:
    decisions = [record(n, body=body, title=title.replace("{}", str(n)), section="§2.1") for n in range(1, 201)]
    for model in ("claude", "gpt-5"):
        snapshot = memory(*PAGES, *decisions, config=Config(format=1, project="shop", model=model))
        for name in LIMITS:
            shown, left_out = shown_and_left_out(renderer(snapshot).page(name))
            assert shown >= 1
            assert shown + left_out == 200, (model, name)
        assert {name: tokens for name, limit in LIMITS.items() if (tokens := tokens_of(snapshot, name)) > limit} == {}


def test_left_out_records_are_counted_by_kind() -> None:
    kinds = ("decision", "issue", "state")
    records = [record(n, kind, LONG, section="§2.1") for kind in kinds for n in range(1, 31)]
    text = renderer(memory(*PAGES, *records)).page("2.1-s.md")
    shown, left_out = shown_and_left_out(text, "(?:DEC|ISS|STA)-2025-11-04-[0-9]{3}")
    assert shown + left_out == 90
    assert all(f"{prefix}-2025-11-04" in text for prefix in ("DEC", "ISS", "STA"))  # one of each before a second


def test_pages_use_most_of_their_limit() -> None:
    records = [record(n, body=SHORT, section="§2.1", title=f"Choice {n}") for n in range(1, 201)]
    snapshot = memory(*PAGES, *records)
    for name, limit in LIMITS.items():
        assert tokens_of(snapshot, name) > 0.7 * limit


def test_most_important_records_stay_on_a_trimmed_page() -> None:
    records = [record(n, body=LONG, section="§2.1", importance=1 + n % 10) for n in range(1, 41)]
    text = renderer(memory(*PAGES, *records)).page("3.1-d.md")
    kept = [int(found) % 10 for found in re.findall(r"^\[DEC-2025-11-04-([0-9]{3})\]", text, re.MULTILINE)]
    assert kept == sorted(kept, reverse=True)
    assert min(kept) == 9


def test_single_overlong_record_is_shown() -> None:
    huge = record(1, body="## Rationale\n\n" + "word " * 20_000 + "\n", section="§2.1", title="Only one")
    making = renderer(memory(*PAGES, huge))
    for name in LIMITS:
        assert "Only one" in making.page(name)
        assert "more record" not in making.page(name)


def test_texts_that_fit_are_not_shortened() -> None:
    records = [record(n, kind, SHORT, section="§2.1") for kind in ("decision", "issue", "learning") for n in (1, 2)]
    text = renderer(memory(*PAGES, *records)).page("3.1-d.md")
    assert shown_and_left_out(text, "(?:DEC|ISS|LRN)-2025-11-04-[0-9]{3}") == (6, 0)
    assert "A reason" not in text


def test_text_written_by_people_is_never_cut() -> None:
    texts = [section(1, "## Overview\n\n" + "An overview of many words. " * 200), record(1, section="§2.1")]
    text = renderer(memory(*texts)).page("2.1-s.md")
    assert text.count("An overview of many words.") == 200
    assert "DEC-2025-11-04-001" in text
