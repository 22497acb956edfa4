"""Pages of levels 1 to 3: what is read, what is refused and where, and the numbers of their headings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.record import frontmatter, pages
from memctl.record.errors import InvalidRecord
from tests.conftest import examples

SECTION: dict[str, Any] = {"id": "§2.1", "title": "Payment"}
DETAIL: dict[str, Any] = {"id": "§3.1", "title": "Tokens", "section": "§2.1"}
PLACES = {"project": "project.md", "section": "sections/2.1-payment.md", "detail": "details/3.1-tokens.md"}


def text_of(values: dict[str, Any], body: str = "") -> str:
    return frontmatter.compose(values, body)


def faults_of(kind: str, values: dict[str, Any]) -> list[tuple[int, str, str]]:
    with pytest.raises(InvalidRecord) as caught:
        pages.parse(text_of(values), PLACES[kind])
    return [(fault.line, fault.field, fault.message) for fault in caught.value.faults]


def details(body: str, number: int = 1) -> pages.Page:
    return pages.parse(text_of({**DETAIL, "id": f"§3.{number}"}, body), f"details/3.{number}-tokens.md")


def numbered(body: str) -> list[tuple[str, str]]:
    return [(part.id, part.title) for part in pages.numbered_headings(details(body))]


def test_every_field_of_a_page_is_read() -> None:
    values = {
        **DETAIL,
        "completion_percentage": 0,
        "weight": 2.5,
        "paths": ["src/**", "!src/gen/**"],
        "code_refs": ["src/a b.py"],
        "reviewed": ["src/a b.py 1f0c9a2b7d3e"],
        "timestamp": "2025-11-04 14:32:00+01:00",
        "agent_id": "claude",
        "somebody_elses": "kept in the file",
    }
    page = pages.parse(text_of(values, "Text.\n"), PLACES["detail"])
    assert (page.id, page.title, page.section, page.completion_percentage, page.weight) == (
        "§3.1", "Tokens", "§2.1", 0, 2.5,
    )  # fmt: skip
    assert (page.paths, page.code_refs) == (values["paths"], values["code_refs"])
    assert page.stamps == {"src/a b.py": "1f0c9a2b7d3e"}
    assert (page.timestamp, page.agent_id) == ("2025-11-04T13:32:00Z", "claude")
    assert (page.path, page.body, page.kind, page.number) == (PLACES["detail"], "Text.\n", pages.DETAIL, "3.1")


def test_project_page_needs_no_id_and_pages_have_defaults() -> None:
    page = pages.parse(text_of({"title": "Shop"}), "project.md")
    assert (page.id, page.kind, page.weight, page.paths, page.stamps) == ("§1.0", pages.PROJECT, 1, [], {})
    assert pages.parse("\ufeff---\r\ntitle: Shop\r\n---\r\nText\r\n", "project.md").body == "Text\n"


@pytest.mark.parametrize(
    ("kind", "change", "line", "field", "said"),
    [
        ("section", {"title": None}, 1, "title", "is missing"),
        ("section", {"id": None}, 1, "id", "is missing"),
        ("section", {"title": "x" * 101}, 3, "title", "1 to 100 characters"),
        ("section", {"title": "  "}, 3, "title", "one line of text"),
        ("section", {"title": "two\nlines"}, 3, "title", "one line of text"),
        ("section", {"agent_id": "a\x1b[2Jb"}, 4, "agent_id", "one line of text"),
        ("section", {"title": "turned \u202e round"}, 3, "title", "one line of text"),
        ("section", {"id": "2.1"}, 2, "id", "a marker such as §2.1"),
        ("section", {"id": "§2.01"}, 2, "id", "a marker such as §2.1"),
        ("section", {"id": "§3.1"}, 2, "id", "a marker such as §2.1"),
        ("section", {"id": "§2.1.1"}, 2, "id", "a marker such as §2.1"),
        ("section", {"id": "§2.11"}, 2, "id", "but it is 2.1-payment.md"),
        ("section", {"completion_percentage": 101}, 4, "completion_percentage", "0 to 100"),
        ("section", {"completion_percentage": "half"}, 4, "completion_percentage", "0 to 100"),
        ("section", {"weight": 0}, 4, "weight", "above 0"),
        ("section", {"paths": "src"}, 4, "paths", "a list of globs"),
        ("section", {"paths": ["../other/**"]}, 4, "paths", "inside the repository"),
        ("section", {"paths": ["/etc/**"]}, 4, "paths", "inside the repository"),
        ("section", {"timestamp": "yesterday"}, 4, "timestamp", "'yesterday' is not"),
        ("detail", {"section": None}, 1, "section", "is missing"),
        ("detail", {"section": "§3.1"}, 4, "section", "a marker such as §2.1"),
        ("detail", {"code_refs": ["~/secret"]}, 5, "code_refs", "inside the repository"),
        ("detail", {"code_refs": [".git/config"]}, 5, "code_refs", "inside the repository"),
        ("detail", {"reviewed": ["src/a.py"]}, 5, "reviewed", "as `memctl page review` writes it"),
        ("detail", {"reviewed": ["../a.py 1f0c9a2b7d3e"]}, 5, "reviewed", "as `memctl page review` writes it"),
        ("project", {"id": "§1.1"}, 2, "id", "is not §1.0"),
    ],
)
def test_invalid_page_field_is_reported_with_its_line(
    kind: str, change: dict[str, Any], line: int, field: str, said: str
) -> None:
    values = {**(DETAIL if kind == "detail" else SECTION), **change}
    found = faults_of(kind, values)
    assert [(f[0], f[1]) for f in found] == [(line, field)]
    assert said in found[0][2]


def test_all_faults_of_a_page_are_reported_at_once() -> None:
    found = faults_of("section", {**SECTION, "paths": ["../a"], "timestamp": "x", "reviewed": ["b"]})
    assert [field for _, field, _ in found] == ["paths", "reviewed", "timestamp"]


@pytest.mark.parametrize(
    "title", ["No\u00a0break", "a\u200db", "\N{WOMAN}\u200d\N{PERSONAL COMPUTER}", "عربى", "x" * 100]
)
def test_a_title_is_one_line_in_any_script(title: str) -> None:
    assert pages.parse(text_of({**SECTION, "title": title}), PLACES["section"]).title == title


def test_a_nul_is_a_fault_at_its_line() -> None:
    with pytest.raises(InvalidRecord) as caught:
        pages.parse(text_of(SECTION, "One.\n\0\n"), PLACES["section"])
    (fault,) = caught.value.faults
    assert (fault.line, fault.message) == (
        7,
        "the line contains a NUL character, so Git treats the file as binary: remove the character",
    )


@pytest.mark.parametrize("text", ["", "no front matter", "---\ntitle: x\n", "---\ntitle: a\ntitle: b\n---\n"])
def test_invalid_page_raises_invalid_record(text: str) -> None:
    with pytest.raises(InvalidRecord):
        pages.parse(text, "project.md")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("project.md", "project"), ("sections/2.1-a.md", "section"), ("details/x.md", "detail"),
        ("sections/deep/2.1.md", ""), ("sections/.hidden.md", ""), ("sections/2.1.txt", ""), ("sections", ""),
        ("decisions/2025-11/DEC-2025-11-04-001.md", ""), ("Project.md", ""), ("docs/2.1-a.md", ""),
    ],
)  # fmt: skip
def test_page_kind_follows_from_the_folder(path: str, kind: str) -> None:
    found = pages.kind_at(path)
    assert (found.name if found else "") == kind


def test_outline_is_sorted_by_number_and_skips_broken_pages() -> None:
    texts = [(f"sections/2.{n}-s.md", text_of({"id": f"§2.{n}", "title": f"S{n}"})) for n in (10, 9, 1)] + [
        ("details/3.2-d.md", text_of({"id": "§3.2", "title": "D2", "section": "§2.9"}, "## One\n## Two\n")),
        ("details/3.1-d.md", text_of({"id": "§3.1", "title": "D1", "section": "§2.9"})),
        ("sections/2.4-broken.md", "---\nid: §2.4\n---\n"),
        ("project.md", text_of({"title": "Shop"})),
    ]
    found = pages.outline(texts)
    assert [page.id for page in found.pages] == ["§1.0", "§2.1", "§2.9", "§2.10", "§3.1", "§3.2"]
    assert [page.id for page in found.details_of("§2.9")] == ["§3.1", "§3.2"]
    assert [fault.path for fault in found.faults] == ["sections/2.4-broken.md"]
    assert found.markers() == ("§1.0", "§2.1", "§2.9", "§2.10", "§3.1", "§3.2", "§3.2.1", "§3.2.2")
    assert found.find("§2.10") is not None
    assert found.find("§2.4") is None


@pytest.mark.parametrize(
    ("globs", "path", "is_covered"),
    [
        (["lib/**"], "lib/", True), (["lib/"], "lib", True), (["lib/*"], "lib/", True), (["**/lib/**"], "a/lib/", True),
        (["lib/*.py"], "lib/", True), (["lib/[a-m]?.c"], "lib", True), (["lib/*.py"], "lib/a.py", True),
        (["lib/*.py"], "lib/tls/", False), (["lib/tls/**"], "lib/", False), (["lib/a.py"], "lib/", False),
        (["*.py"], "lib/", False), (["/*.py"], "lib/", False), (["lib/*.py"], "lib/a.c", False),
        (["lib/*.py", "!lib/**"], "lib/", False), (["lib/**", "!lib/*.md"], "lib/", True),
        (["lib/**/*.py"], "lib/", True), (["lib/**/*.py"], "lib/a.md", False), (["lib/**/*.py"], "lib/b/a.py", True),
        (["lib/*/*.py"], "lib/a.md", False), (["**/*.py"], "README.md", False), (["**/*.py"], "lib/", False),
    ],
)  # fmt: skip
def test_folder_is_covered_by_a_glob_for_the_files_in_it(globs: list[str], path: str, is_covered: bool) -> None:
    outline = pages.outline([("sections/2.1-s.md", text_of({"id": "§2.1", "title": "S", "paths": globs}))])
    assert outline.covering(path) == ({"§2.1"} if is_covered else set())


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("project.md", "1.0"), ("sections/2.1-a.md", "2.1"), ("sections/2.10.md", "2.10"), ("details/3.2_x.md", "3.2"),
        ("sections/2.01-a.md", ""), ("sections/2.0-a.md", ""), ("sections/a.md", ""), ("sections/2.1-a.txt", ""),
        ("sections/deep/2.1-a.md", ""), ("docs/2.1-a.md", ""),
    ],
)  # fmt: skip
def test_page_number_is_read_from_the_file_name(path: str, number: str) -> None:
    assert pages.number_at(path) == number


def test_fault_of_a_heading_marker_is_that_of_its_page() -> None:
    found = pages.outline([("sections/2.4-broken.md", ""), ("details/3.1-broken.md", ""), ("project.md", "")])
    for marker, path in (
        ("§2.4", "sections/2.4-broken.md"), ("§3.1", "details/3.1-broken.md"), ("§3.1.7", "details/3.1-broken.md"),
        ("§1.0", "project.md"),
    ):  # fmt: skip
        fault = found.fault_of(marker)
        assert fault is not None
        assert fault.path == path
    for marker in ("§2.5", "§3.10", "§2", "§4.src/a.py", "§"):
        assert found.fault_of(marker) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Intro\n\n## One\n\n## Two\n", [("§3.1.1", "One"), ("§3.1.2", "Two")]),
        ("## 3.1.5 Five\n## Next\n## 3.1.2 Two\n## Last\n",
         [("§3.1.5", "Five"), ("§3.1.6", "Next"), ("§3.1.2", "Two"), ("§3.1.7", "Last")]),
        ("## §3.1.4: Four\n## 3.1.9. Nine\n", [("§3.1.4", "Four"), ("§3.1.9", "Nine")]),
        # These are no numbers of this page, so they are part of the title.
        ("## 3.2.1 Other\n## 2025 in short\n## 3.1 Itself\n",
         [("§3.1.1", "3.2.1 Other"), ("§3.1.2", "2025 in short"), ("§3.1.3", "3.1 Itself")]),
        ("## One\n```\n## Not\n```\n## Two\n### Deeper\n", [("§3.1.1", "One"), ("§3.1.2", "Two")]),
        ("", []),
    ],
)  # fmt: skip
def test_numbered_headings_keep_their_numbers_and_others_get_the_next(
    body: str, expected: list[tuple[str, str]]
) -> None:
    assert numbered(body) == expected


def test_written_number_is_not_used_for_an_earlier_heading() -> None:
    found = [marker for marker, _ in numbered("## New, put first\n## 3.1.1 Old\n## 3.1.2 Older\n")]
    assert found[1:] == ["§3.1.1", "§3.1.2"]
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    ("heading", "title"),
    [("Written in C#", "Written in C#"), ("F# and C#", "F# and C#"), ("Issue #", "Issue"), ("Closed ###", "Closed")],
)
def test_heading_keeps_number_signs_of_its_text(heading: str, title: str) -> None:
    """Only a run of them that follows a blank and ends the line closes a heading (CommonMark 0.31, 4.2)."""
    assert numbered(f"## 3.1.1 {heading}\n") == [("§3.1.1", title)]


@examples(60)
@given(st.lists(st.sampled_from(["", "text", "## A", "## 3.1.4 B", "```", "# C", "   ", "## C#"]), max_size=10))
def test_headed_part_has_its_headings_line_and_the_text_below(lines: list[str]) -> None:
    page = details("\n".join(lines))
    written = page.body.split("\n")
    for part in pages.numbered_headings(page):
        assert written[part.line - 1].startswith("## ")
        assert "\n".join(written[part.line :]).startswith(part.text.rstrip("\n"))
