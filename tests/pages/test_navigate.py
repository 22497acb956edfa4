"""Going to a marker: what it leads to, and what is said of one that does not exist."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.pages import generated_header, navigate
from memctl.pages.navigate import Place
from memctl.record.snapshot import Snapshot
from tests.pages.test_levels import detail, memory, project, record, section
from tests.snapshots import renderer

CONTENTS = {
    "app.py": b"print()\n",
    "src/auth/jwt.py": b"import jwt\n",
    "src/auth/keys.py": "größe = 1\n".encode(),
    "src/latin.py": b"gr\xf6\xdfe\n",
    "src/db.py": b"x\n",
    "lib/db.py": b"y\n",
    "logo.png": b"\x89PNG\0\0",
    "empty.txt": b"",
}
SNAPSHOT = memory(
    project("## Goal\n\nSell.\n"),
    section(1, "## Overview\n\nSee §3.1.\n", paths=["src/**"]),
    section(2),
    detail(
        1,
        "Intro.\n\n## Schema\n\nTables of §2.1.\n\n### Deep\n\nx\n\n## 3.1.4 Uses `a(b)` §\n\nend\n",
        code_refs=["app.py"],
    ),
    detail(2, section="§2.9"),
    record(1, section="§2.1"),
    contents=CONTENTS,
)


def go(marker: str, snapshot: Snapshot = SNAPSHOT) -> Place:
    return navigate.find(snapshot, lambda: renderer(snapshot), marker)


def refusal(marker: str) -> MemctlError:
    with pytest.raises(MemctlError) as caught:
        go(marker)
    return caught.value


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("§2.1", True), ("2.1", True), (" §3.1.2 ", True), ("§4.src/a b.py", True), ("§", False), ("2", False),
        ("DEC-2025-11-04-001", False), ("019a4f3e", False), ("5.1", False), ("4.auth.jwt", False), ("2025", False),
    ],
)  # fmt: skip
def test_markers_are_distinguished_from_ids(text: str, is_one: bool) -> None:
    assert navigate.is_marker(text) is is_one


@pytest.mark.parametrize(
    ("marker", "level", "title", "path", "parent", "children"),
    [
        ("§1.0", 1, "Shop", ".memory/project.md", None, ("§2.1", "§2.2")),
        ("2.1", 2, "Section 1", ".memory/sections/2.1-s.md", "§1.0", ("§3.1",)),
        ("§3.1", 3, "Details 1", ".memory/details/3.1-d.md", "§2.1", ("§3.1.1", "§3.1.4", "§4.app.py")),
        ("§3.2", 3, "Details 2", ".memory/details/3.2-d.md", "§2.9", ()),
        ("3.1.1", 3, "Schema", ".memory/details/3.1-d.md", "§3.1", ()),
        ("§4.auth.jwt", 4, "jwt.py", "src/auth/jwt.py", "§2.1", ()),
        ("§4.app.py", 4, "app.py", "app.py", None, ()),
        ("§4.src/auth", 4, "src/auth/", "src/auth/", "§2.1", ("§4.src/auth/jwt.py", "§4.src/auth/keys.py")),
        ("§4.src.auth.*", 4, "src/auth/", "src/auth/", "§2.1", ("§4.src/auth/jwt.py", "§4.src/auth/keys.py")),
        ("§4.src/**/k*", 4, "src/**/k*", "src/**/k*", "§2.1", ("§4.src/auth/keys.py",)),
        ("§4.src/*.py", 4, "src/*.py", "src/*.py", "§2.1", ("§4.src/db.py", "§4.src/latin.py")),
    ],
)
def test_place_has_its_parent_and_children(
    marker: str, level: int, title: str, path: str, parent: str | None, children: tuple[str, ...]
) -> None:
    place = go(marker)
    assert (place.level, place.title, place.path, place.parent, place.children) == (
        level,
        title,
        path,
        parent,
        children,
    )


@pytest.mark.parametrize(
    "marker", [*SNAPSHOT.outline.markers(), *(f"§4.{path}" for path in CONTENTS if path != "logo.png")]
)
def test_every_marker_has_a_place_whose_children_name_it_as_parent(marker: str) -> None:
    place = go(marker)
    assert place.marker == marker
    for child in place.children:
        if not child.startswith("§4."):
            assert go(child).parent == marker


def test_shown_text_has_no_link_targets_or_neighbouring_parts() -> None:
    assert go("§1.0").text.startswith("# 1.0 Executive summary of Shop\n\n**Goal**: Sell.\n")
    assert "See [§3.1].\n" in go("§2.1").text
    assert go("§3.1.1").text == "## 3.1.1 Schema\n\nTables of [§2.1].\n\n### Deep\n\nx\n"
    assert go("§3.1.4").text == "## 3.1.4 Uses `a(b)` §\n\nend\n"
    assert "Decision number 1" in go("§3.1").text
    assert go("§4.src/auth/keys.py").text == "größe = 1\n"
    assert go("§4.empty.txt").text == ""
    assert go("§4.src/latin.py").text == "gr\ufffd\ufffde\n"
    assert go("§4.src/auth").text == "src/auth/jwt.py\nsrc/auth/keys.py\n"


def test_memory_without_a_project_page_still_has_level_1() -> None:
    place = go("§1.0", memory(section(1)))
    assert (place.title, place.path, place.children) == ("shop", ".memory/docs/1.0-executive-summary.md", ("§2.1",))


@pytest.mark.parametrize(
    ("marker", "message", "hint"),
    [
        ("§2.3", "there is no page or heading §2.3", "did you mean §2."),
        ("3.1.2", "there is no page or heading §3.1.2", "§3.1.1"),
        ("§9.9", "there is no page or heading §9.9", "memctl page index"),
        ("§4.jwtt", "no file of the repository matches §4.jwtt", "did you mean §4.src/auth/jwt.py?"),
        ("§4.src/auth/key.py", "no file of the repository matches", "did you mean §4.src/auth/keys.py?"),
        ("§4.nothing/like/it", "no file of the repository matches", "lists a folder"),
        ("§4.logo.png", "logo.png is not text", ""),
        ("§4.", "no file of the repository matches", ""),
    ],
)
def test_missing_marker_is_refused_with_similar_ones(marker: str, message: str, hint: str) -> None:
    error = refusal(marker)
    assert message in error.message
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("marker", "path"),
    [
        ("1.0", "project.md"), ("§2.4", "sections/2.4-s.md"), ("§3.4", "details/3.4-d.md"),
        ("3.4.1", "details/3.4-d.md"),
    ],
)  # fmt: skip
def test_an_unreadable_page_is_not_called_missing(marker: str, path: str) -> None:
    broken = memory(section(1), {"project.md": "", "sections/2.4-s.md": "x", "details/3.4-d.md": "x"})
    with pytest.raises(MemctlError) as caught:
        go(marker, broken)
    number = "§" + marker.removeprefix("§")
    assert caught.value.message.startswith(f"the page {number} can't be read: .memory/{path}:1: ")
    assert go("2.1", broken).marker == "§2.1"


def test_number_of_two_pages_is_refused() -> None:
    doubled = memory(section(1), {"sections/2.1-b.md": "---\nid: §2.1\ntitle: B\n---\n"})
    with pytest.raises(MemctlError) as caught:
        go("2.1", doubled)
    assert (
        caught.value.message
        == "§2.1 is ambiguous: .memory/sections/2.1-b.md and .memory/sections/2.1-s.md have the same number"
    )


def test_level_4_lists_the_files_that_sections_cover() -> None:
    place = go("§4")
    assert (place.level, place.path) == (4, ".memory/docs/4-sources.md")
    assert place.text == "src/auth/jwt.py\nsrc/auth/keys.py\nsrc/db.py\nsrc/latin.py\n"
    assert place.children == tuple(f"§4.{path}" for path in place.text.split())
    rendered = memory({"docs/4-sources.md": generated_header.seal("# 4\n\n- [`a.py`](../../a.py)\n")})
    assert go("§4", rendered).text == "# 4\n\n- [`a.py`]\n"


def test_an_ambiguous_reference_lists_its_candidates() -> None:
    error = refusal("§4.db")
    assert error.message == "§4.db matches several files:\n  §4.lib/db.py\n  §4.src/db.py"
    assert error.hint == "give more of the path"
    many = memory(contents={f"d{n}/db.py": b"" for n in range(30)})
    with pytest.raises(MemctlError) as caught:
        go("§4.db", many)
    assert caught.value.message.endswith("  and 18 more")
    assert caught.value.message.count("§4.d") == 13
