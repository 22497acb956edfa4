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
from memctl.write.merge import Merged
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


def merged(base: str, ours: str, theirs: str) -> Merged:
    """The merge of two versions, which must be the same in the other direction."""
    found, back = merge.merge_versions(base, ours, theirs, COUNTER), merge.merge_versions(base, theirs, ours, COUNTER)
    assert (found.text, found.conflicts, found.lost) == (back.text, back.conflicts, back.lost)
    return found


def test_what_either_summary_has_is_there_and_the_later_says_where_it_stands() -> None:
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
    assert marked.conflicts == ("text under other headings",)
    assert "    assert "saved at the same time" in memctl("checkpoint", "resume", "--workflow", "mend", code=1).err
    refused = memctl("checkpoint", "save", "--workflow", "mend", "--doing", "Both", code=1)
    assert f"mend-{saved[0]} and mend-{saved[1]} were saved at the same time" in refused.err
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
