"""How near files are to active ones, by what they import."""

from __future__ import annotations

from memctl.sources.facts import Content, FileFacts
from memctl.sources.nearness import nearness


def contents(**imports: str) -> dict[str, Content]:
    return {f"{name}.py": Content(name, FileFacts(1, imports=tuple(text.split()))) for name, text in imports.items()}


def test_distances_give_points() -> None:
    found = nearness(
        contents(active="near os", near="far", far="further", further="", user="active", alone=""), {"active.py"}
    )
    assert {path: near.points for path, near in found.items()} == {
        "active.py": 20,
        "near.py": 20,
        "far.py": 10,
        "user.py": 15,
    }
    assert found["far.py"].why == ("near.py imports it, which an active file imports",)


def test_relations_add_up_to_no_more_than_the_most() -> None:
    found = nearness(contents(active="near", near="both", both="active"), {"active.py"})
    assert found["both.py"].points == 20
    assert len(found["both.py"].why) == 2


def test_files_that_import_each_other_come_to_an_end() -> None:
    found = nearness(contents(a="b a", b="a"), {"a.py"})
    assert {path: near.points for path, near in found.items()} == {"a.py": 20, "b.py": 20}


def test_without_active_files_nothing_is_near() -> None:
    assert nearness(contents(a="b", b=""), set()) == {}
