"""Documents as a Markdown parser reads them, and the templates they are made with."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import msgspec
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memctl.pages import generated_header
from memctl.pages import render as pages_render
from memctl.pages.render import touched
from memctl.pages.template_values import BrokenTemplate
from memctl.store.files import templates
from tests.pages.test_levels import Texts, detail, memory, project, record, section
from tests.snapshots import renderer

PARSER = MarkdownIt("commonmark").enable("table")
PAGES = (project("## Goal\n\nSell.\n"), section(1), section(2), detail(1), detail(2, section="§2.2"))


class Shown(msgspec.Struct):
    """A document as its reader sees it: headings of the page itself (none in quotes or lists), lines and links."""

    headings: list[tuple[str, str]]
    lines: list[str]
    links: list[tuple[str, str]]
    blocks: list[str]


def parse_shown(text: str) -> Shown:
    tokens = PARSER.parse(text)
    headings = [
        (token.tag, text_of(tokens[n + 1]))
        for n, token in enumerate(tokens)
        if token.type == "heading_open" and not token.level
    ]
    inline = [token for token in tokens if token.type == "inline"]
    links = [link for token in inline for link in links_of(token)]
    return Shown(headings, [text_of(token) for token in inline], links, [t.type for t in tokens if t.type != "inline"])


def text_of(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def links_of(inline: Token) -> list[tuple[str, str]]:
    """Label and target of each link of a line."""
    found: list[tuple[str, str]] = []
    for child in inline.children or []:
        if child.type == "link_open":
            found.append(("", str(child.attrs["href"])))
        elif found and child.type in ("text", "code_inline"):
            found[-1] = (found[-1][0] or child.content, found[-1][1])
    return found


def render(*texts: Texts, compiled: Path | None = None) -> dict[str, str]:
    making = renderer(memory(*texts), compiled)
    return {name: making.page(name) for name in making.names()}


def template(name: str, text: str) -> Texts:
    return {f"templates/{name}.j2": text}


def test_the_documents_of_a_memory_have_the_parts_of_their_levels() -> None:
    found = render(
        project("## Goal\n\nSell.\n\n## Status\n\nWell.\n\n## Priorities\n\n- PCI\n", completion_percentage=45),
        section(
            1,
            "## Overview\n\nIt pays.\n\n## Status\n\nHalf.\n\n## Next actions\n\n- Refunds\n",
            completion_percentage=5,
        ),
        detail(1, "Intro.\n\n## Schema\n\nTables.\n", code_refs=["src/a.py"]),
        record(1, importance=8, section="§2.1", tags=["db"], body="## Rationale\n\nBecause.\n"),
        record(2, "issue", section="§2.1", severity="critical"),
        record(3, "state", section="§2.1", completion_percentage=60),
        record(4, "learning", section="§3.1", body="## Lesson\n\nNever again.\n"),
    )
    assert parse_shown(found["1.0-executive-summary.md"]).lines == [
        "1.0 Executive summary of Shop", "Goal: Sell.", "Status: 45 % complete - Well.", "Priorities:", "PCI",
        "Blockers:", "Issue number 2 ISS-2025-11-04-002", "Key decisions:",
        "Decision number 1 DEC-2025-11-04-001, §2.1", "Sections:", "§2.1 Section 1: 5 %, 1 open issue",
        "Last updated: 2025-11-04T14:32:00Z | Agent: claude",
    ]  # fmt: skip
    assert parse_shown(found["2.1-s.md"]).headings == [
        ("h1", "2.1 Section 1"), ("h2", "Key decisions"), ("h2", "Status"), ("h2", "Open issues"),
        ("h2", "Next actions"), ("h2", "More"),
    ]  # fmt: skip
    assert "5 % complete. Half." in parse_shown(found["2.1-s.md"]).lines
    assert "State number 3 (60 %) STA-2025-11-04-003" in parse_shown(found["2.1-s.md"]).lines
    assert parse_shown(found["3.1-d.md"]).headings == [
        ("h1", "3.1 Details 1"), ("h2", "3.1.1 Schema"), ("h2", "Decisions"), ("h3", "Decision number 1"),
        ("h4", "Rationale"), ("h2", "Known issues"), ("h3", "Issue number 2"), ("h2", "Learned"), ("h2", "References"),
    ]  # fmt: skip
    assert parse_shown(found["INDEX.md"]).headings == [
        ("h1", "Navigation index of Shop"), ("h2", "Executive summary"), ("h2", "Section summaries"),
        ("h2", "Detailed documentation"), ("h2", "Source files"), ("h2", "Shortcuts"),
    ]  # fmt: skip
    assert ("§3.1.1 Schema", "3.1-d.md#311-schema") in parse_shown(found["INDEX.md"]).links
    assert all("\n\n\n" not in text for text in found.values()), "empty lines stand alone"


def test_documents_of_an_empty_memory_name_the_next_commands() -> None:
    found = render()
    assert set(found) == {"INDEX.md", "1.0-executive-summary.md"}
    assert "`memctl section add` adds one" in found["INDEX.md"]
    assert "Blockers: none" in parse_shown(found["1.0-executive-summary.md"]).lines


def test_document_is_the_rendered_page_below_a_header() -> None:
    making = renderer(memory(*PAGES))
    for name in making.names():
        opened = generated_header.split(making.document(name))
        layout = generated_header.LAYOUTS.get(name, generated_header.OF_PAGES)
        assert opened == generated_header.Document(making.page(name), "", True, layout)


@pytest.mark.parametrize(
    ("name", "text", "document", "expected"),
    [
        (
            "section.md",
            "{{ page.number }}|{{ page.title }}|{{ page.decisions|length }}\n",
            "2.1-s.md",
            "2.1|Section 1|1\n",
        ),
        ("detail.md", "{{ page.section.id }}\n", "3.2-d.md", "§2.2\n"),
        ("INDEX.md", "{% for s in page.sections %}{{ s.entry.id }}\n{% endfor %}", "INDEX.md", "§2.1\n§2.2\n"),
        ("1.0-executive-summary.md", "{{ page.goal }}\n", "1.0-executive-summary.md", "Sell.\n"),
    ],
)
def test_project_template_replaces_the_built_in_one(name: str, text: str, document: str, expected: str) -> None:
    texts = (*PAGES, record(1, section="§2.1"))
    found = render(*texts, template(name, text))
    assert found[document] == expected
    others = {other for other, page in render(*texts).items() if page != found[other]}
    assert others == {name for name in found if name[:2] == document[:2]}


def test_template_can_extend_another() -> None:
    texts = (template("section.md", '{% include "base.md.j2" %}!\n'), template("base.md", "of {{ page.number }}"))
    assert render(section(1), *texts)["2.1-s.md"] == "of 2.1!\n"


def test_damaged_compiled_templates_are_compiled_again(tmp_path: Path) -> None:
    kept = tmp_path / "compiled"
    expected = renderer(memory(*PAGES), kept).page("INDEX.md")
    for file in kept.iterdir():
        file.write_bytes(b"damaged")
    assert renderer(memory(*PAGES), kept).page("INDEX.md") == expected
    for file in kept.iterdir():
        file.write_bytes(file.read_bytes()[:40])
    assert renderer(memory(*PAGES), kept).page("INDEX.md") == expected
    for file in kept.iterdir():
        *whole, last = file.read_bytes()
        file.write_bytes(bytes([*whole, last ^ 1]))
    assert renderer(memory(*PAGES), kept).page("INDEX.md") == expected
    assert renderer(memory(*PAGES, template("INDEX.md", "mine\n")), kept).page("INDEX.md") == "mine\n"
    assert renderer(memory(*PAGES), kept).page("INDEX.md") == expected


def test_compiled_templates_give_what_jinja_gives(tmp_path: Path) -> None:
    texts = (
        project("## Goal\n\nSell.\n\n## Status\n\nWell.\n\n## Priorities\n\n- PCI\n- VAT\n", completion_percentage=45),
        section(
            1, "## Overview\n\nIt pays.\n\n## Next actions\n\n- Refunds\n", completion_percentage=5, paths=["src/**"]
        ),
        section(2),
        *(detail(number, "Intro.\n\n## Schema\n\nTables.\n", code_refs=["src/a.py"]) for number in (1, 2)),
        *(record(n, section="§2.1", tags=["db", "api"], importance=8) for n in range(1, 40)),
        *(record(n, kind, section="§3.1") for n, kind in enumerate(("decision", "issue", "state", "learning"), 50)),
        record(60),
    )
    names = ("INDEX.md", "1.0-executive-summary.md", "section.md", "detail.md")
    copies = [template(name, (templates() / f"{name}.j2").read_text("utf-8")) for name in names]
    first = render(section(1), detail(1, "Intro.\n"), compiled=tmp_path)  # compiles and stores all
    assert {file.name for file in tmp_path.iterdir() if file.suffix == ".code"} == {f"{name}.j2.code" for name in names}
    assert first == render(section(1), detail(1, "Intro.\n"))
    for given in (texts, texts[1:], ()):
        assert render(*given, compiled=tmp_path) == render(*given, *copies)


def test_code_of_a_template_that_fails_or_differs_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = render(*PAGES)
    for runtime in ({}, {**pages_render._RUNTIME, "str": lambda value: "?"}):
        monkeypatch.setattr(pages_render, "_RUNTIME", runtime)  # as if another Jinja made code that needs other names
        assert render(*PAGES, compiled=tmp_path) == expected
        assert not list(tmp_path.glob("*.code"))
    monkeypatch.undo()
    assert render(*PAGES, compiled=tmp_path) == expected
    assert list(tmp_path.glob("*.code"))
    monkeypatch.setattr(pages_render, "_RUNTIME", {})
    assert render(*PAGES, compiled=tmp_path) == expected


def test_document_that_is_too_large_is_refused() -> None:
    large = project("## Goal\n\n" + "word " * 420_000)
    with pytest.raises(BrokenTemplate, match="prints more than"):
        render(large)


def test_pages_are_rendered_without_a_writable_template_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert renderer(memory(*PAGES), tmp_path / "file" / "compiled").page("INDEX.md") == renderer(memory(*PAGES)).page(
        "INDEX.md"
    )
    gone = tmp_path / "gone"
    made = renderer(memory(*PAGES), gone)
    made.page("INDEX.md")
    rmtree(gone)
    assert made.page("2.1-s.md")


@pytest.mark.parametrize(
    ("places", "documents"),
    [
        ([], []),
        ([""], []),
        (["§2.1"], ["2.1-s.md", "3.1-d.md"]),
        (["§3.2"], ["2.2-s.md", "3.2-d.md"]),
        (["§2.1", "§3.2"], ["2.1-s.md", "2.2-s.md", "3.1-d.md", "3.2-d.md"]),
        (["§2.9", "§3.9"], []),
    ],
)
def test_a_record_touches_the_pages_that_show_it(places: list[str], documents: list[str]) -> None:
    snapshot = memory(*PAGES)
    assert touched(snapshot, places) == ("INDEX.md", "1.0-executive-summary.md", *documents)
