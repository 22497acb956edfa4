"""Where work stands: what a new session is told of the sessions before it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.pack import work_text
from memctl.pack.items import Worktree
from memctl.pack.work_text import Work
from memctl.record import session_page
from memctl.record.session_page import (
    CHANGED,
    COMMANDS,
    COMMITS,
    DECISIONS,
    ERRORS,
    INTENT,
    NEXT,
    READ,
    SAID,
    STATE,
    SessionPage,
    TrailRow,
)
from memctl.task import live_state
from tests.generated import NOW, memory

LAST = SessionPage(
    {"session_id": "s9", "agent_id": "codex", "ended": "2025-11-04T12:32:00Z", "branch": "main"},
    {
        CHANGED: (TrailRow("a.py", "modified"), TrailRow("old.py", "deleted"), TrailRow("b.py", "created")),
        READ: (TrailRow("docs/c.md", "read"), TrailRow("node_modules/x/d.js", "read")),
    },
    {
        INTENT: ("Fix the rounding of cents()",),
        SAID: ("Now a discount", "Where do discounts live?"),
        STATE: ("50 % complete", "[x] Rounding (done)", "[ ] VAT (planned)", "Last said: Both work. Shall I commit?"),
        COMMITS: ("`1111111` Round", "`2222222` Round", "`3333333` Discount"),
        NEXT: ("VAT", "Shall I commit?"),
        ERRORS: (
            "open: `make lint`: E501",
            "resolved: `make test`: 1 failed — the same step succeeded later",
            "other form: `rtk make` fails: unknown command — `make` works (2 times)",
        ),
        DECISIONS: ("Keep cents as integers (as said)", "Never use floats (by the user)", "Can we? (by the user)"),
        COMMANDS: ("`make test`", "`pytest -x`"),
    },
)
BEFORE = SessionPage(
    {"session_id": "s8", "ended": "2025-11-03T12:32:00Z", "branch": "side"},
    {CHANGED: (TrailRow("a.py", "modified"), TrailRow("z.py", "modified"))},
    {INTENT: ("Set up",), STATE: ("Last said: It runs.",), COMMANDS: ("`make test`",)},
)


def text(*pages: SessionPage, limit: int = 5_000, **worktree: Any) -> str:
    work = Work(pages, live_state.of_page(pages[0]), Worktree("main", **worktree))
    return work_text.write(memory().snapshot, work, NOW, limit, len)


def test_the_text_has_what_is_needed_next_in_its_order() -> None:
    assert text(LAST, BEFORE, uncommitted=("a.py",)).splitlines()[1:] == [
        "- Asked: Fix the rounding of cents()",
        "- Then asked, the latest last: “Now a discount”; “Where do discounts live?”",
        "- Done: Rounding",
        "- Committed: `2222222` Round; `3333333` Discount",
        "- Not committed now: `a.py`",
        "- The last answer: “Both work. Shall I commit?”",
        "- Left open: VAT",
        "- Open errors: `make lint`: E501",
        "- Said, not recorded, not confirmed: Never use floats (by the user); Keep cents as integers (as said)",
        "- Files that the last sessions changed, the latest first: `b.py`, `a.py`, `z.py`",
        "- Files that they read: `docs/c.md`",
        "- Commands that work here: `make test`, `pytest -x`",
        "- `rtk make` fails: unknown command — `make` works (2 times)",
        "- Sessions before it:",
        "  - 2025-11-03: Set up → It runs.",
    ]


def test_the_first_sentence_says_whose_work_it_is_and_that_the_prompt_counts() -> None:
    assert text(LAST).splitlines()[0] == (
        "Another session worked here (2 hours ago, codex), and may have finished. Your task is what the user asks now;"
        " this is for the case that it goes on:"
    )
    assert text(BEFORE).startswith("Another session worked here (1 day ago, on the branch side), ")


@pytest.mark.parametrize(
    ("uncommitted", "line"),
    [(None, ""), ((), "Nothing is uncommitted now"), (("a", "b"), "Not committed now: `a`, `b`")],
)
def test_what_is_uncommitted_is_told_if_git_was_asked(uncommitted: tuple[str, ...] | None, line: str) -> None:
    lines = [one for one in text(LAST, uncommitted=uncommitted).splitlines() if "committed now" in one]
    assert lines == ([f"- {line}"] if line else [])


@pytest.mark.parametrize("limit", [40, 250, 600, 1_000, 2_000, 5_000])
def test_the_text_is_within_its_limit_and_files_have_most_of_it(limit: int) -> None:
    rows = tuple(TrailRow(f"src/module_{number:03}.py", "modified") for number in range(300))
    page = msgspec.structs.replace(LAST, files={CHANGED: rows})
    made = text(page, BEFORE, limit=limit)
    assert len(made) <= limit
    if limit >= 1_000:
        assert made.count("src/module_") * 20 >= limit * 0.15
        assert "`src/module_299.py`" in made
        assert "`make test`" in made


def test_commands_are_those_of_the_last_session_or_of_two_and_a_folder_is_named_once() -> None:
    def session(*lines: str) -> SessionPage:
        return SessionPage({"session_id": lines[0]}, {}, {COMMANDS: lines})

    pages = (
        session("`make`", "`cd web && npm test`"),
        session("`cd web && npm run lint`", "`make once`"),
        session("`cd web && npm run lint`"),
    )
    assert "- Commands that work here: in `web`: `npm run lint`, `npm test`; `make`" in text(*pages).splitlines()


def test_files_that_are_not_in_the_worktree_are_left_out(tmp_path: Any) -> None:
    (tmp_path / "a.py").touch()
    made = text(LAST, top=str(tmp_path))
    assert "latest first: `a.py`\n" in made
    assert "c.md" not in made


def test_pages_of_older_versions_are_read() -> None:
    page = session_page.parse(
        "---\nsession_id: s1\n---\n\n## Session Summary — s1\n\n### Session Intent\n\nRefunds\n\n### Files Modified\n\n"
        "| File | Action | What Changed |\n|------|--------|-------------|\n| `card.py` | created |  |\n",
        "sessions/s1.md",
    )
    made = text(page)
    assert "- Asked: Refunds\n" in made
    assert "`card.py`" in made


def test_a_list_without_room_for_all_has_its_first_parts() -> None:
    decisions = tuple(
        f"Part {number} stays in a service of its own, because its load is another" for number in range(9)
    )
    page = msgspec.structs.replace(LAST, lines={**LAST.lines, DECISIONS: decisions})
    (whole,) = [line for line in text(page).splitlines() if line.startswith("- Said, not recorded")]
    (short,) = [line for line in text(page, limit=1_800).splitlines() if line.startswith("- Said, not recorded")]
    assert whole.startswith(short)
    assert short.startswith("- Said, not recorded, not confirmed: Part 8 stays in a service")
    assert whole.count("; ") == 5
    assert short.count("; ") < 5
