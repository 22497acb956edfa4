"""Whatever records say, it stays in its place: documents are laid out as if all of it were harmless."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memctl.pages import generated_header
from memctl.record import content_fields
from memctl.record.config import Config
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS
from memctl.record.parser import parse
from memctl.text import fit, markdown
from tests.conftest import examples
from tests.pages.test_levels import Texts, detail, memory, project, record, section
from tests.pages.test_render import Shown, parse_shown
from tests.snapshots import renderer
from tests.text.test_markdown import BODIES, HOSTILE

QUICK = examples(20)
CONFIG = Config(format=1, project="shop", model="gpt-5")
PAGES: tuple[Texts, ...] = (
    project("## Goal\n\nSell.\n"),
    section(1, "## Overview\n\nIt pays.\n\n## Next actions\n\n- [x] done\n- [ ] see [a] and [^1]\n"),
    detail(1, "Intro with [a] and [^1].\n\n## Schema\n\nTables.\n", code_refs=["src/a.py"]),
)
BEGINS = (
    "", "# ", "- ", "1. ", "> ", "    ", "\t", "```", "~~~", "[a]: ", "[^1]: ", "<", "| ", "§2.1 ", "=== ", "***",
    "- [ ] ",
)  # fmt: skip
PIECES = (
    *("word", "two words", "](https://evil.example)", "[a](b)", "[", "]", "(", "`", "``", "```", "\\", "*", "**", "_"),
    *("__x__", "<!--", "-->", "<div>", "</div>", "<script>", "&lt;", "&#35;", "|", "|---|", "#", " ##", "~~", "$x$"),
    *("^[x]", "![i](j)", "§2.1", "§4.src/a.py", "DEC-2025-11-04-001", "{{ page }}", "{% raw %}", "مرحبا", "日本語"),
    *("😀", "e\u0301", "\u00a0", ":"),
)
LINES = (
    "", "---", "===", "```", "~~~", "````py", "  ```", "- ```", "> ```", "<!--", "-->", "<pre>", "## Lesson", "#", "\\",
)  # fmt: skip

words = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=6)
glues = st.sampled_from(["", " "])
lines = st.builds(lambda start, glue, parts: start + glue.join(parts), st.sampled_from(BEGINS), glues, words)
titles = st.one_of(st.sampled_from(HOSTILE), lines).map(lambda text: markdown.one_line(text)[:60].strip())
tags = st.lists(titles.filter(lambda tag: tag.isprintable() and tag and "," not in tag), max_size=2, unique=True)
bodies = st.one_of(
    st.sampled_from(BODIES), st.lists(st.one_of(st.sampled_from(LINES), lines), max_size=8).map("\n".join)
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


def rendered(compiled: Path, *records: Texts) -> dict[str, Shown]:
    making = renderer(memory(*PAGES, *records, config=CONFIG), compiled)
    return {name: parse_shown(making.page(name)) for name in making.names()}


def valid(*records: Texts) -> bool:
    """Whether these could be records at all: a title with a control character could not."""
    for texts in records:
        for path, text in texts.items():
            try:
                parse(text, path)
            except InvalidRecord:
                return False
    return True


def plain(text: str) -> str:
    """A text without what only says how it looks: back ticks of code, blanks."""
    return re.sub(r"[`\s]", "", text)


@QUICK
@given(title=titles, tag=tags)
@example(title="# heading", tag=["# tag", "](x)"])
@example(title="`code | x` and `", tag=["a|b"])
@example(title="- - -", tag=[])
def test_hostile_titles_and_tags_change_nothing_else_in_a_document(compiled: Path, title: str, tag: list[str]) -> None:
    """Block by block and link by link a document is what it would be with a plain title in the place of this one."""
    assume(title)
    common = {"section": "§2.1", "severity": "critical"}
    hostile = [record(1, kind, title=title, tags=tag, **common) for kind in KINDS]
    harmless = [
        record(1, kind, title="Harmless", tags=[f"tag{n}" for n in range(len(tag))], **common) for kind in KINDS
    ]
    assume(valid(*hostile))
    found, expected = rendered(compiled, *hostile), rendered(compiled, *harmless)
    for name, shown in found.items():
        assert shown.blocks == expected[name].blocks, name
        assert [target for _, target in shown.links] == [target for _, target in expected[name].links], name
        if name != "INDEX.md":  # where tags are in an order
            assert list(map(plain, shown.lines)) == [
                plain(line).replace("Harmless", plain(title)) for line in expected[name].lines
            ], name
    shown_tags = "".join(plain(line) for line in found["INDEX.md"].lines if line.startswith("By tag: "))
    assert all(plain(one) in shown_tags for one in tag)


@QUICK
@given(body=bodies, kind=st.sampled_from(["decision", "issue"]))
@example(body="[a]: https://evil.example\n[^1]: https://evil.example", kind="decision")
@example(body="```\n## Known issues\n", kind="decision")
@example(body="<!--\n", kind="issue")
def test_hostile_body_does_not_affect_the_rest_of_a_page(compiled: Path, body: str, kind: str) -> None:
    first, last = (
        record(1, kind, title="First", section="§2.1", importance=9),
        record(2, kind, title="Last", section="§2.1"),
    )
    path = next(iter(first))
    hostile = {path: first[path] + "\n" + body}
    assume(valid(hostile))
    found = rendered(compiled, hostile, last)["3.1-d.md"]
    expected = rendered(compiled, first, last)["3.1-d.md"]
    assert [heading for heading in found.headings if heading[0] in ("h1", "h2", "h3")] == expected.headings
    assert [heading for heading in found.headings if heading[0] not in ("h1", "h2", "h3", "h4", "h5", "h6")] == []
    start, end = expected.lines.index("First"), expected.lines.index("Last")
    assert found.lines[: start + 2] == expected.lines[: start + 2]
    tail = len(expected.lines) - end
    assert found.lines[-tail:] == expected.lines[-tail:]
    before, after = expected.links[:2], expected.links[2:]
    assert found.links[: len(before)] == before
    assert found.links[len(found.links) - len(after) :] == after


@QUICK
@given(body=bodies)
@example(body="[a]: https://evil.example\n[^1]: https://evil.example")
@example(body="```py\nx\n```")
def test_a_reason_is_one_line_of_its_section(compiled: Path, body: str) -> None:
    text = f"## Rationale\n\n{body}\n"
    assume(valid(record(1, body=text)))
    made = content_fields.content(KINDS["decision"], text).get("rationale", "")
    assert isinstance(made, str)
    sentence = fit.first_sentence(made.strip())
    harmless = "## Rationale\n\nHarmless\n" if sentence else ""
    found = rendered(compiled, record(1, body=text, section="§2.1"))["2.1-s.md"]
    expected = rendered(compiled, record(1, body=harmless, section="§2.1"))["2.1-s.md"]
    assert found.blocks == expected.blocks
    assert found.links == expected.links
    assert [line for line in found.lines if "DEC-" not in line] == [
        line for line in expected.lines if "DEC-" not in line
    ]


@QUICK
@given(body=bodies, title=titles)
def test_the_same_memory_gives_the_same_bytes_and_is_found_intact(compiled: Path, body: str, title: str) -> None:
    texts = record(1, title=title or "x", body=body, section="§2.1")
    assume(valid(texts))
    one = renderer(memory(*PAGES, texts, record(2), config=CONFIG), compiled)
    other = renderer(memory(record(2), texts, *reversed(PAGES), config=CONFIG), compiled)
    for name in reversed(other.names()):
        document = other.document(name)
        assert document == one.document(name)
        opened = generated_header.split(document)
        assert opened is not None
        assert opened.is_intact


@QUICK
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=100))
def test_title_of_any_characters_is_shown_literally(title: str) -> None:
    text = markdown.one_line(title)
    assume(text and "`" not in text)
    for frame in ("- {} [id](to)", "### {}", "- [§2.1 {}](to)"):
        shown, expected = parse_shown(frame.format(markdown.inline(text))), parse_shown(frame.format("Harmless"))
        assert list(map(plain, shown.lines)) == [
            plain(line).replace("Harmless", plain(text)) for line in expected.lines
        ]
        assert shown.blocks == expected.blocks
