"""Two clones that both summed up one session: one page with what either has, whichever side merges."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.record import session_page as page
from memctl.record.session_page import SessionPage, TrailRow
from memctl.session import merge
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of
from memctl.write.merge import MergeResult
from tests.conftest import Memctl, examples, git

COUNTER = Counter(family_of("claude"))
START = "2025-11-04T09:00:00Z"


def text(ended: int = 10, more: str = "", turns: int = 3, **lines: Any) -> str:
    files = {
        page.CHANGED: tuple(TrailRow(path, "modified") for path in lines.pop("changed", ())),
        page.READ: tuple(TrailRow(path, "read") for path in lines.pop("read", ())),
    }
    values = {"session_id": "abc", "started": START, "ended": f"2025-11-04T{ended}:00:00Z", "turns": turns}
    names = {"decisions": page.DECISIONS, "state": page.STATE, "next": page.NEXT, "errors": page.ERRORS}
    said = {names[name]: tuple(items) for name, items in lines.items()}
    return page.render(SessionPage(values, files, {page.INTENT: ("Mend it.",), **said}, more))


def merged(base: str, ours: str, theirs: str) -> MergeResult:
    """The merge of two versions, which must be the same in the other direction."""
    found, back = merge.merge_versions(base, ours, theirs, COUNTER), merge.merge_versions(base, theirs, ours, COUNTER)
    assert (found.text, found.conflicts, found.lost) == (back.text, back.conflicts, back.lost)
    return found


def test_merged_summaries_have_one_line_for_a_statement_with_different_marks() -> None:
    earlier, later = "Cache prices (by the user) (as said)", "Cache prices (agreed by the user) (as said)"
    made = merged(text(decisions=[earlier]), text(11, decisions=[earlier]), text(12, decisions=[later]))
    assert len(page.parse(made.text, "").lines[page.DECISIONS]) == 1


def test_merged_summaries_unite_their_lists_and_take_the_later_state() -> None:
    base = text(decisions=["Use SQL"], state=["Begun"], next=["Go on"])
    ours = text(11, decisions=["Use SQL", "Use WAL"], state=["Half"], next=["Rest"], changed=["a.py"], turns=5)
    theirs = text(12, decisions=["Use SQL", "No ORM"], state=["Done"], next=["Ship"], read=["a.py", "b.py"], turns=9)
    found = merged(base, ours, theirs)
    made = page.parse(found.text, "")
    assert made.lines[page.DECISIONS] == ("Use SQL", "Use WAL", "No ORM")
    assert (made.lines[page.STATE], made.lines[page.NEXT]) == (("Done",), ("Ship",))
    assert [row.path for row in made.files[page.CHANGED]] == ["a.py"]
    assert [row.path for row in made.files[page.READ]] == ["b.py"]
    assert (made.values["turns"], made.values["ended"]) == (9, "2025-11-04T12:00:00Z")
    assert {(one.key, one.lost, one.kept) for one in found.lost} == {
        (page.STATE, "Half", "Done"),
        (page.NEXT, "Rest", "Ship"),
    }
    assert len(found.notes) == 2


def test_a_state_that_only_went_on_on_one_side_loses_nothing() -> None:
    base, later = text(state=["Begun"]), text(12, state=["Done"])
    assert merged(base, text(decisions=["Use SQL"], state=["Begun"]), later).lost == ()


def test_text_by_hand_is_merged_by_lines_and_marked_where_both_changed_it() -> None:
    base, ours = text(more="## Mine\n\na\n\nb\n\nc\n"), text(more="## Mine\n\nA\n\nb\n\nc\n")
    found = merged(base, ours, text(11, more="## Mine\n\na\n\nb\n\nC\n"))
    assert found.text.endswith("\n## Mine\n\nA\n\nb\n\nC\n")
    other = text(more="## Mine\n\nx\n\nb\n\nc\n")
    marked = merge.merge_versions(base, ours, other, COUNTER)
    assert marked.conflicts == ("text under headings that memctl does not write",)
    assert "<<<<<<< ours\nA\n=======\nx\n>>>>>>> theirs\n" in marked.text
    decided = merge.merge_versions(base, ours, other, COUNTER, prefer="theirs")
    assert decided.text.endswith("\n## Mine\n\nx\n\nb\n\nc\n")
    assert decided.lost[0].lost == "## Mine\n\nA\n\nb\n\nc\n"


@pytest.mark.parametrize("broken", ["no front matter\n", "---\nsession_id: other\n---\n\nx\n"])
def test_pages_of_two_sessions_are_merged_as_lines(broken: str) -> None:
    assert merge.merge_versions("", text(), broken, COUNTER).conflicts == ("the text",)
    found = merge.merge_versions("", text(), broken, COUNTER, prefer="theirs")
    assert (found.text, found.lost[0].lost) == (broken, text())


def test_merged_file_lists_are_joined_and_named_on_the_page() -> None:
    lists = [
        page.render_trail(
            SessionPage({"session_id": "abc"}, {page.CHANGED: tuple(TrailRow(p, "modified") for p in paths)})
        )
        for paths in (["a.py", "b.py"], ["b.py", "c.py"])
    ]
    found = page.parse(merged("", *lists).text, "")
    assert [row.path for row in found.files[page.CHANGED]] == ["a.py", "b.py", "c.py"]
    assert found.values["files_accessed"] == 3
    values = {"session_id": "abc", "started": START, "ended": START, "files_accessed": 400, page.TRAIL: "files/abc.md"}
    sides = [page.render(SessionPage({**values, "turns": turns})) for turns in (3, 4)]
    made = page.parse(merged("", *sides).text, "")
    assert made.trail == "sessions/files/abc.md"
    assert made.values["files_accessed"] == 400


LINES = st.lists(st.sampled_from(("one", "two", "three `x`", "four (implied)")), max_size=3, unique=True)
PAGES = st.builds(
    text,
    st.integers(10, 13),
    st.sampled_from(("", "## Mine\n\na\n", "### Other\n\n- b\n")),
    st.integers(1, 9),
    decisions=LINES,
    state=LINES,
    next=LINES,
    errors=LINES,
    changed=st.lists(st.sampled_from(("a.py", "b c.py", "d`e.py")), unique=True),
)


@examples(60)
@given(PAGES, PAGES, PAGES)
def test_merge_loses_no_decision_file_or_error_of_either_side(base: str, ours: str, theirs: str) -> None:
    assert merge.merge_versions(base, ours, base, COUNTER).text == ours
    assert merge.merge_versions(base, base, ours, COUNTER).text == ours
    found = merge.merge_versions(base, ours, theirs, COUNTER, prefer="theirs")
    made, *sides = (page.parse(version, "") for version in (found.text, ours, theirs))
    if theirs == base or ours in (theirs, base):
        return
    for side in sides:
        for heading in (page.DECISIONS, page.ERRORS):
            assert set(side.lines.get(heading, ())) <= set(made.lines.get(heading, ()))
        paths = {row.path for rows in made.files.values() for row in rows}
        assert {row.path for rows in side.files.values() for row in rows} <= paths
    told = {one.key for one in found.lost}
    for heading in (page.STATE, page.NEXT):
        before = page.parse(base, "").lines.get(heading, ())
        for side in sides:
            said = side.lines.get(heading, ())
            assert said in (before, made.lines.get(heading, ())) or heading in told


def test_git_merges_pages_and_checkpoints_of_two_clones(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    """Of two checkpoints saved at the same time both stay, and whoever goes on says from which."""
    program = f"'{sys.executable}' -m memctl merge-file session %O %A %B %P"
    git(repo, "config", "merge.memctl-session.driver", program)
    path, other = ".memory/sessions/abc.md", tmp_path / "other"
    shutil.copytree(repo, other, symlinks=True)
    for clone, ended, decision in ((repo, 11, "Use WAL"), (other, 12, "No ORM")):
        (clone / path).parent.mkdir()
        (clone / path).write_text(text(ended, decisions=[decision]))
        git(clone, "add", "-A")
        git(clone, "commit", "-qm", "session")
        memctl("checkpoint", "save", "--task", "Mend it", "--workflow", "mend", "--doing", decision, where=clone)
    git(repo, "fetch", "-q", str(other), "HEAD")
    git(repo, "merge", "-q", "--no-edit", "FETCH_HEAD")
    assert page.parse((repo / path).read_text(), "").lines[page.DECISIONS] == ("Use WAL", "No ORM")
    saved = sorted(file.stem for file in (repo / ".memory/checkpoints/mend").glob("*.json"))
    assert len(saved) == 2
    assert (
        "at the same time, and neither checkpoint is newer"
        in memctl("checkpoint", "resume", "--workflow", "mend", code=1).err
    )
    refused = memctl("checkpoint", "save", "--workflow", "mend", "--doing", "Both", code=1)
    assert (
        f"two checkpoints were saved at the same time, and neither is newer: mend-{saved[0]} and mend-{saved[1]}"
        in refused.err
    )
    memctl("checkpoint", "save", "--workflow", "mend", "--base", f"mend-{saved[0]}", "--doing", "Both")
    assert "version 2" in memctl("checkpoint", "resume", "--workflow", "mend", code=None).out


def test_an_older_memory_gets_the_new_lines_and_keeps_the_users(repo: Path, memctl: Memctl) -> None:
    file = repo / ".memory/.gitattributes"
    new = file.read_text()
    old = "".join(line + "\n" for line in new.splitlines() if not line.startswith(("sessions/", "checkpoints/")))
    for before, after in (
        (old + "*.png binary\n", old + "*.png binary\nsessions/** merge=memctl-session\ncheckpoints/** -merge\n"),
        (old + "sessions/** -merge\n", old + "sessions/** -merge\ncheckpoints/** -merge\n"),
        ("*.md text\n", "*.md text\n"),
    ):
        file.write_text(before)
        git(repo, "commit", "-qam", "attributes")
        memctl("render")
        assert file.read_text() == after
        assert git(repo, "status", "--porcelain") == ""
    file.write_text(old)
    memctl("render", code=None)
    assert file.read_text() == old  # somebody is at it


def test_short_prompts_of_all_parts_are_kept_in_the_users_words() -> None:
    first = SessionPage({"session_id": "abc"}, {}, {page.INTENT: ("Mend it.",), page.SAID: ("not the `seq` column",)})
    later = SessionPage({"session_id": "abc"}, {}, {page.INTENT: ("now the mails",), page.SAID: ("once a day",)})
    made = merge.merge(first, later)
    assert made.lines[page.INTENT] == ("Mend it.",)
    assert made.lines[page.SAID] == ("not the `seq` column", "now the mails", "once a day")
    assert merge.merge(made, later).lines == made.lines
