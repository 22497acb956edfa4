"""Every rule sees its fault, at its line, and nothing that only looks like it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from memctl.check.rules import RULES
from tests.check import (
    AUTH,
    CLOSED,
    DECISION,
    EXECUTIVE,
    INDEX,
    ISSUE,
    LEARNING,
    OLD,
    PAYMENT,
    PROJECT,
    PROPOSED,
    REFUNDS,
    SENTENCE,
    SOURCES,
    STATE,
    TOKENS,
    Found,
    Hand,
    found,
    identifier,
    learning,
    record,
)
from tests.checkpoints import saved
from tests.conftest import NOW, Memctl

Plant = Callable[[Hand, Memctl], Any]
STALE = {"MEM308", "MEM314"}  # what edits by hand bring with them
ANY = frozenset(RULES)
# Found only in what is about to be committed, with the state that agents share, or in what waits for its commit:
# tests/team/test_guard.py and test_settling.py, and tests/write/test_acknowledged.py have them.
OF_STAGED = {"MEM513", "MEM601", "MEM602", "MEM701", "MEM702", "MEM703"}  # the last three: of a branch
# What may come with a page that can't be read. Better nothing does: NEAR has that for each of them.
CASCADE = "MEM205 MEM207 MEM303 MEM305 MEM310 MEM311"
CONFIG = "config.yaml"
ON_MAIN = "docs: default-branch\ndefault_branch: main\n"
ELSEWHERE = ("code_refs:\n  - lib/gone.py\n",) * 10
CHECKPOINT = "checkpoints/main/w1-v2-0a0a0a.json"
PAGE, LIST = "sessions/refunds.md", "sessions/files/refunds.md"
SESSION = """---
session_id: refunds
project_id: shop
ended: 2025-11-04T12:00:00Z
turns: 3
---

## Session Summary — refunds

### Session Intent

Refunds by card

### Files Modified

| File | Action | What Changed |
|------|--------|-------------|
| `src/payment/refund.py` | modified | refund() |

### Files Read (Not Modified)

- `docs/..notes/a..b.md`

### Files Outside of the Repository

| File | Action | What Changed |
|------|--------|-------------|
| `/etc/hosts` | modified |  |

### Current State

- 60 % complete
"""
LISTED = SESSION.replace("turns: 3", "turns: 3\ntrail: sessions/files/refunds.md")
DEC, ISS, STA, LRN = (identifier(path) for path in (DECISION, ISSUE, STATE, LEARNING))
LATER = "2025-11-04T14:32:01Z"  # a second after NOW
MEMORY_ID = "00000000-0000-7000-8000-00000000000"  # and a digit
FINISHED = (["project", "set", "--completion", "80"], ["section", "edit", "§2.2", "--completion", "100"])
JAPANESE = "返金は一分もかかる。列に入れて後で処理する方が、顧客にも倉庫にも良い結果をもたらす。署名の鍵は毎月替える。"
CREDENTIAL = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
CREDENTIALS_IN_WORDS = """
The password: see the vault. token: none; `API_KEY` comes from the environment; sk-learn is scikit's.
AKIA is how a key of AWS begins, ghp_ a token of GitHub's, eyJ a JWT; -----BEGIN CERTIFICATE----- is public.
https://example.org/a@b, postgres://localhost:5432/shop, ssh://git@example.org/shop.git, rotation-of-the-keys-each-month
"""
CONFLICT = "<<<<<<< ours\nOne.\n=======\nTwo.\n>>>>>>> theirs\n"


class Fault(msgspec.Struct, frozen=True):
    """A fault to plant: how, in which file it is to be found, on which line (a number, or a text that stands on it),
    and which findings may come with it."""

    plant: Plant
    path: str
    at: str | int = 1
    brings: frozenset[str] = frozenset()


class Near(msgspec.Struct, frozen=True):
    """What looks like a fault and is none, and which findings of other rules may come with it."""

    plant: Plant
    brings: frozenset[str] = frozenset()


def edit(path: str, old: str, new: str, at: str | int = "", brings: str = "") -> Fault:
    """A fault that a person makes by changing a text; it is found where the new text stands."""
    return Fault(lambda hand, _: hand.replace(path, old, new), path, at or new.strip(), frozenset(brings.split()))


def add(path: str, text: str, at: str | int = 1, brings: str = "") -> Fault:
    """A fault that a person makes by writing at the end of a file, or a new one."""
    return Fault(lambda hand, _: hand.append(path, text), path, at, frozenset(brings.split()))


def left_behind(path: str) -> Fault:
    """A temporary file that a write left two minutes ago."""

    def plant(hand: Hand, _: Memctl) -> None:
        hand.write(path, "half")
        os.utime(hand.folder / path, (time.time() - 120,) * 2)

    return Fault(plant, path)


def run(path: str, at: str | int, *commands: list[str], brings: str = "") -> Fault:
    """A fault that commands make."""
    return Fault(lambda _, memctl: [memctl(*args) for args in commands], path, at, frozenset(brings.split()))


def move(old: str, new: str) -> Plant:
    return lambda hand, _: hand.git("mv", f".memory/{old}", f".memory/{new}")


def near(path: str, old: str, new: str, brings: str = "") -> Near:
    return Near(lambda hand, _: hand.replace(path, old, new), ANY if brings == "*" else frozenset(brings.split()))


def beside(path: str, text: str) -> Near:
    return Near(lambda hand, _: hand.append(path, text))


def after(*commands: list[str]) -> Near:
    return Near(lambda _, memctl: [memctl(*args) for args in commands])


def records(*heads: str) -> Plant:
    """Writes learnings LRN-2025-10-06-001 and so on, with these lines in their front matters."""

    def plant(hand: Hand, _: Memctl) -> None:
        for number, head in enumerate(heads, 1):
            hand.write(*learning(number, head))

    return plant


def much_recorded(number: int) -> Plant:
    """Dates the project's page, and writes so many learnings that are younger."""

    def plant(hand: Hand, _: Memctl) -> None:
        hand.replace(PROJECT, "title: Shop\n", "title: Shop\ntimestamp: 2025-11-03T11:00:00Z\n")
        for one in range(number):
            path = f"learnings/2025-11/LRN-2025-11-03-{one + 1:03d}.md"
            text = record(path, one, "status: active\nimportance: 5\n")
            hand.write(path, text.replace("00000000-0000", "019a4996-a200"))  # when it was made: on that day at noon

    return plant


def links(**lists: str) -> str:
    """Lines of a front matter that link to learnings by the last digits of their ids."""
    return "".join(
        f"{key}:\n" + "".join(f"  - LRN-2025-10-06-{n}\n" for n in value.split()) for key, value in lists.items()
    )


def linked(hand: Hand, path: str, target: str) -> None:
    """Put a symbolic link in a file's place."""
    (hand.folder / path).unlink(missing_ok=True)
    (hand.folder / path).symlink_to(target)


def conflicting_merge(hand: Hand, _: Memctl) -> None:
    for branch, text in (("other", "Clocks drift by an hour."), ("main", "Clocks drift by a day.")):
        hand.git("checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        hand.replace(LEARNING, "Clocks drift by a minute.", text)
        hand.git("commit", "-qam", branch)
    merge = hand.git("merge", "other", check=False)
    assert "CONFLICT" in merge


def circle_of_superseding(hand: Hand, _: Memctl) -> None:
    hand.replace(OLD, "superseded_by:", "supersedes:\n  - DEC-2025-10-02-001\nsuperseded_by:")
    hand.replace(DECISION, "status: accepted\n", "status: superseded\n")
    hand.replace(DECISION, "supersedes:", "superseded_by:\n  - DEC-2025-10-01-001\nsupersedes:")


def without_pages(hand: Hand, memctl: Memctl) -> None:
    for path in (PROJECT, AUTH, PAYMENT, TOKENS, REFUNDS):
        (hand.folder / path).unlink()
    memctl("render")


def gone(path: str) -> Plant:
    return lambda hand, _: (hand.folder / path).unlink()


def crlf(path: str) -> Plant:
    """As an editor of another system, or `core.autocrlf`, leaves a file."""
    return lambda hand, _: hand.write(path, "\ufeff" + hand.read(path).replace("\n", "\r\n"))


def ignored(hand: Hand, *lines: str) -> None:
    """Write lines of `check_ignore` into the settings, and make a page of details too short."""
    if lines:
        hand.append(CONFIG, "check_ignore:\n" + "".join(f'  - "{line}"\n' for line in lines))
    hand.replace(TOKENS, f"of DEC-2020-01-01-001\n```\n\n{SENTENCE * 20}", "of DEC-2020-01-01-001\n```\n")


def many_issues(hand: Hand, memctl: Memctl, head: str = "section: §2.1\n") -> None:
    for number in range(60):
        path = f"issues/2025-10/ISS-2025-10-07-{number:03d}.md"
        hand.write(path, record(path, 2000 + number, f"status: open\nseverity: low\nimportance: 10\n{head}"))
    memctl("render")


TWICE = "learnings/2025-10/LRN-2025-10-05-001-once-more.md"
FIRST = learning(1)[0]
REPEATED = (["learn", "Card readers", "--lesson", "They are wiped weekly."],) * 2
PLANTED: dict[str, dict[str, Fault]] = {
    "MEM101": {
        "a wrong value": edit(ISSUE, "severity: high", "severity: dreadful"),
        "a missing field": Fault(lambda hand, _: hand.replace(LEARNING, "status: active\n", ""), LEARNING),
        "another id than the file's": edit(LEARNING, "\nid: LRN-2025-10-05-001", "\nid: LRN-2025-10-05-002"),
        "no front matter": Fault(lambda hand, _: hand.write(LEARNING, "Clocks drift.\n"), LEARNING),
        "a file that is called otherwise": Fault(
            move(LEARNING, "learnings/clocks.md"), "learnings/clocks.md", "\nid: ", frozenset({"MEM206"})
        ),
        "not UTF-8": Fault(
            lambda hand, _: (hand.folder / LEARNING).write_bytes(hand.read(LEARNING).encode() + b"\n\xff\n"),
            LEARNING,
            18,
        ),
    },
    "MEM102": {
        "in a record": edit(LEARNING, "title: Record 7", "title: Record 7\ntitle: Other", "title: Other"),
        "in a page": edit(TOKENS, "title: Tokens", "title: Tokens\ntitle: Other", "title: Other", CASCADE),
    },
    "MEM103": {
        "in a record": add(LEARNING, CONFLICT, "<<<<<<<"),
        "in a page": add(TOKENS, CONFLICT, "<<<<<<<", CASCADE),
        "by a merge": Fault(conflicting_merge, LEARNING, "<<<<<<<"),
        "in the page of a session": add(PAGE, SESSION + CONFLICT, "<<<<<<<"),
        "in a checkpoint": Fault(
            lambda hand, _: hand.write(CHECKPOINT, saved(1, 2).replace('  "saved_by": "claude",\n', CONFLICT)),
            CHECKPOINT,
            "<<<<<<<",
        ),
    },
    "MEM104": {"": add(TWICE, record(TWICE, 70, "status: active\nimportance: 5\n"), "\nid: ")},
    "MEM105": {
        "": Fault(
            lambda hand, _: hand.write(FIRST, learning(1)[1].replace("8000-000000001001", "8000-000000000007")),
            FIRST,
            "memory_id: ",
        )
    },
    "MEM106": {
        "a link to nothing": edit(
            DECISION, "  - ISS-2025-10-03-001", "  - ISS-2025-10-03-001\n  - LRN-2025-10-09-009", "LRN-2025-10-09-009"
        ),
        "a parent that is not there": edit(PROPOSED, "-000000000002", "-000000000999"),
        "the other record was deleted": Fault(gone(STATE), ISSUE, "  - STA-2025-10-04-001"),
        # LRN-…-1001 can't be read; that says nothing of LRN-…-100.
        "an id that is the beginning of another": Fault(
            lambda hand, _: (
                hand.write(*learning(1, "relates_to:\n  - LRN-2025-10-06-100\n")),
                hand.write("learnings/2025-10/LRN-2025-10-06-1001.md", "nothing\n"),
            ),
            FIRST,
            "  - LRN-2025-10-06-100",
            frozenset({"MEM101"}),
        ),
    },
    "MEM107": {
        "related": Fault(
            lambda hand, _: hand.replace(ISSUE, "relates_to:\n  - DEC-2025-10-02-001\n", ""),
            DECISION,
            "  - ISS-2025-10-03-001",
        ),
        "superseded": Fault(
            lambda hand, _: hand.replace(OLD, "superseded_by:\n  - DEC-2025-10-02-001\n", ""),
            DECISION,
            "  - DEC-2025-10-01-001",
            frozenset({"MEM403"}),
        ),
        "blocked": Fault(
            lambda hand, _: hand.replace(ISSUE, "blocks:\n  - STA-2025-10-04-001\n", ""),
            STATE,
            "  - ISS-2025-10-03-001",
        ),
    },
    "MEM108": {
        "superseding": Fault(circle_of_superseding, OLD, "superseded_by:"),
        "blocking": Fault(
            records(
                links(blocks="002", blocked_by="003"),
                links(blocks="003", blocked_by="001"),
                links(blocks="001", blocked_by="002"),
            ),
            FIRST,
            "blocked_by:",
        ),
        "containing": edit(
            DECISION,
            "supersedes:",
            "parent_memory_id: 00000000-0000-7000-8000-000000000003\nsupersedes:",
            "parent_memory_id",
        ),
        "itself": Fault(records(links(blocks="001", blocked_by="001")), FIRST, "blocked_by:"),
        "told at one end only": Fault(
            records(links(blocks="002"), links(blocks="001")),
            FIRST,
            "blocks:",
            frozenset({"MEM107"}),
        ),
        "by an earlier id": Fault(
            records(links(blocks="002", blocked_by="009"), links(blocks="001", blocked_by="001", aliases="009")),
            FIRST,
            "blocked_by:",
        ),
    },
    "MEM109": {
        "a word": edit(DECISION, "Tokens are signed with RS256.", "Tokens are signed with HS256."),
        "the title": edit(DECISION, "title: Record 2", "title: Sign everything"),
        "a line more": add(DECISION, "And long.\n", "And long."),
        "a part taken out": Fault(
            lambda hand, _: hand.replace(DECISION, "\n## Rationale\n\nSee §2.1. Keys are public.\n", ""),
            DECISION,
            "Tokens are signed",
            frozenset({"MEM114"}),
        ),
    },
    "MEM110": {
        "in the text": edit(
            LEARNING, "Clocks drift by a minute.", f"Clocks drift.\n\nAsk with {CREDENTIAL}", CREDENTIAL
        ),
        "in a tag": edit(LEARNING, "importance: 5", f"importance: 5\ntags:\n  - {CREDENTIAL}", CREDENTIAL),
        "in a key of somebody's own": edit(
            LEARNING, "importance: 5", f"importance: 5\nasked_with: {CREDENTIAL}", CREDENTIAL
        ),
        "on a page": add(TOKENS, f"\nAsk with {CREDENTIAL}\n", CREDENTIAL),
        "in the settings": add("config.yaml", f"# {CREDENTIAL}\n", CREDENTIAL),
        "in a template": Fault(
            lambda hand, _: hand.write("templates/decision.md", f"## Decision\n\n{CREDENTIAL}\n"),
            "templates/decision.md",
            CREDENTIAL,
        ),
        "in a note beside the records": Fault(
            lambda hand, _: hand.write("notes.env", f"A=1\n\n{CREDENTIAL}\n"),
            "notes.env",
            CREDENTIAL,
            frozenset({"MEM501"}),
        ),
        "in a record that can't be read": Fault(
            lambda hand, _: hand.replace(LEARNING, "importance: 5", f"importance: [5\nasked_with: {CREDENTIAL}"),
            LEARNING,
            CREDENTIAL,
            frozenset({"MEM101", "MEM206", "MEM207"}),
        ),
        "in a checkpoint": Fault(
            lambda hand, _: hand.write(CHECKPOINT, saved(1, 2, goal=f"Ask with {CREDENTIAL}")),
            CHECKPOINT,
            CREDENTIAL,
        ),
        "on a session's page": Fault(
            lambda hand, _: hand.write(PAGE, SESSION + f"\n## Intent\n\nAsk with {CREDENTIAL}\n"), PAGE, CREDENTIAL
        ),
        "in a document": Fault(
            lambda hand, _: hand.append(INDEX, f"\nAsk with {CREDENTIAL}\n"), INDEX, CREDENTIAL, frozenset({"MEM309"})
        ),
        "in a file's name": Fault(
            lambda hand, _: hand.write(f"templates/{CREDENTIAL}.md", "## Decision\n"), f"templates/{CREDENTIAL}.md", 1
        ),
        "let pass": run(
            "learnings/2025-11/LRN-2025-11-04-001-how-to-ask.md",
            CREDENTIAL,
            ["learn", "How to ask", "--lesson", f"Ask the vault with {CREDENTIAL}", "--allow-secret"],
        ),
    },
    "MEM111": {
        "English": add(LEARNING, SENTENCE * 130),
        "Japanese": add(LEARNING, JAPANESE * 70),
    },
    "MEM112": {
        "an escape in a record": add(LEARNING, "red \x1b[31m", "red \x1b[31m"),
        "a bell in a page": edit(AUTH, "see §3.1.2", "see \x07 §3.1.2"),
        "one of eight bits": add(LEARNING, "größer \x9b2J", "größer \x9b2J"),
        "words in tags": add(LEARNING, "Look \U000e0069\U000e0067 here", "Look \U000e0069\U000e0067 here"),
        "bytes in variation selectors": add(LEARNING, "x\U000e0101\U000e0122 here", "x\U000e0101\U000e0122 here"),
        "a space without width": edit(AUTH, "see §3.1.2", "see\u200b §3.1.2"),
        "a filler": add(LEARNING, "bye \u3164 now", "bye \u3164 now"),
        "what turns the order of text": add(LEARNING, "a \u202eb", "a \u202eb"),
    },
    "MEM113": {
        "a large file": add("notes.txt", "What else?\n" * 200_000, brings="MEM501"),
    },
    "MEM114": {
        "nothing but what": run(
            "decisions/2025-11/DEC-2025-11-04-001-sell-more.md", 2, ["decide", "Sell more", "--decision", "More."]
        ),
    },
    "MEM115": {
        "in its title": run(
            "decisions/2025-11/DEC-2025-11-04-001-perhaps-sell-more.md",
            2,
            ["decide", "Perhaps sell more", "--rationale", "The stock is full"],
        ),
    },
    "MEM116": {
        "a measurement": run(
            "learnings/2025-11/LRN-2025-11-04-001-tests.md", 2, ["learn", "Tests", "--lesson", "took 41.7 s"]
        ),
    },
    "MEM117": {
        "recorded for somebody": run(
            "learnings/2025-11/LRN-2025-11-04-001-keys.md",
            "agent_id",
            ["learn", "Keys", "--lesson", "Rotate them each month", "--agent", "Linus"],
        ),
        "changed later": run(
            "learnings/2025-11/LRN-2025-11-04-001-keys.md",
            "agent_id",
            ["learn", "Keys", "--lesson", "Rotate them each month"],
            ["edit", "LRN-2025-11-04-001", "--set", "agent_id=Linus"],
        ),
    },
    "MEM201": {
        "in a text": edit(TOKENS, "§4.src/payment/keys.py", "§4.src/payment/none.py"),
        "in code_refs": edit(TOKENS, "src/auth/jwt.py:4", "src/auth/none.py:4"),
        "of a longer path that is there": edit(
            REFUNDS, "  - src/payment/refund.py\n", "  - src/payment/refund.py\n  - refund.py\n", "  - refund.py"
        ),
        "of a section": edit(AUTH, "see §3.1.2", "see §3.1.2 and §4.src/auth/none.py", "none.py"),
        "the file was deleted": Fault(
            lambda hand, _: hand.git("rm", "-q", "src/payment/refund.py"),
            REFUNDS,
            "  - src/payment/refund.py\n",
            frozenset({"MEM207"}),
        ),
    },
    "MEM202": {"": edit(TOKENS, "§4.src/payment/keys.py", "§4.keys.py")},
    "MEM203": {
        "never there": edit(STATE, "  - src/payment", "  - src/paying"),
        "moved away": Fault(
            lambda hand, _: hand.git("mv", "src/payment", "src/paying"),
            STATE,
            "  - src/payment\n",
            frozenset({"MEM201", "MEM207", "MEM209"}),
        ),
    },
    "MEM204": {
        "far behind the end": edit(DECISION, "src/auth/jwt.py:5", "src/auth/jwt.py:500"),
        "the first that is not there": edit(DECISION, "src/auth/jwt.py:5", "src/auth/jwt.py:6"),
        "the end of a range": edit(DECISION, "src/auth/jwt.py:5", "src/auth/jwt.py:3-9"),
        "of a page": edit(TOKENS, "src/auth/jwt.py:4", "src/auth/jwt.py:400"),
        "the file became shorter": Fault(
            lambda hand, _: hand.write("../src/auth/jwt.py", "import keys\n"),
            DECISION,
            "  - src/auth/jwt.py:5",
            frozenset({"MEM208", "MEM204"}),
        ),
    },
    "MEM205": {
        "of a record": edit(STATE, "section: §3.2", "section: §3.7"),
        "in a page": edit(REFUNDS, "see §3.1.1", "see §3.1.9"),
        "at the end of a sentence": edit(PROJECT, "See §2.2.", "See §2.8."),
    },
    "MEM206": {
        "a slip of the pen": edit(TOKENS, "why: DEC-2025-10-02-001", "why: DEC-2025-10-02-007"),
        "the record was deleted": Fault(gone(LEARNING), REFUNDS, "LRN-2025-10-05-001"),
    },
    "MEM207": {
        "a file": edit(STATE, "see §4.src/payment/refund.py", "see §4.src/payment/refunds.py"),
        "a record": edit(ISSUE, "DEC-2025-10-02-001 did not", "DEC-2025-10-02-007 did not"),
        "a marker": edit(ISSUE, "A refund takes a minute.", "A refund takes a minute, see §2.9."),
    },
    "MEM208": {
        "changed on the disk": Fault(
            lambda hand, _: hand.write("../src/payment/refund.py", "pass\n"), REFUNDS, "  - src/payment/refund.py "
        ),
        "committed": Fault(
            lambda hand, _: (
                hand.write("../src/payment/keys.py", "pass\n"),
                hand.git("commit", "-qam", "keys"),
            ),
            TOKENS,
            "  - src/payment/keys.py ",
        ),
        # Its path is the end of that of a file which has not changed.
        "a file whose path is part of another's": Fault(
            lambda hand, memctl: (
                hand.write("../refund.py", "pass\n"),
                hand.write("../a/refund.py", "pass\n"),
                hand.replace(REFUNDS, "  - src/payment/refund.py\n", "  - a/refund.py\n  - refund.py\n"),
                memctl("review", "§3.2"),
                hand.write("../refund.py", "...\n"),
            ),
            REFUNDS,
            "  - refund.py ",
        ),
    },
    "MEM209": {
        "by hand": edit(AUTH, "  - src/auth/**", "  - src/auth/**\n  - lib/**", "  - lib/**"),
        "by a command": run(
            AUTH, "src/*.py", ["section", "edit", "§2.1", "--path", "src/auth/**", "--path", "src/*.py"]
        ),
        "a part of one that covers something": edit(
            AUTH, "  - src/auth/**", "  - src/auth/**\n  - auth/**", "  - auth/**"
        ),
    },
    "MEM210": {
        "the memory of another project": Fault(
            lambda hand, memctl: (records(*ELSEWHERE)(hand, memctl), shutil.rmtree(hand.folder.parent / "src")),
            CONFIG,
            brings=frozenset({"MEM207"}),
        ),
    },
    "MEM301": {
        "a section": edit(PAYMENT, "completion_percentage: 30", "completion_percentage: 300", brings=CASCADE),
        "the project": edit(PROJECT, "completion_percentage: 45", "completion_percentage: half", brings=CASCADE),
        "no page": add("sections/notes.md", "What else?\n"),
    },
    "MEM302": {
        "two pages": Fault(
            lambda hand, _: hand.write("sections/2.1-other.md", hand.read(AUTH)), "sections/2.1-other.md", "\nid: §2.1"
        ),
        "two headings": Fault(
            lambda hand, _: (
                hand.replace(TOKENS, "## Signing", "## 3.1.1 Signing"),
                hand.append(TOKENS, "\n## 3.1.1 More\n"),
            ),
            TOKENS,
            "## 3.1.1 More",
        ),
    },
    "MEM303": {
        "": run("sections/2.3-stock.md", 1, ["section", "add", "Stock", "--overview", SENTENCE * 9]),
    },
    "MEM304": {"": edit(REFUNDS, "section: §2.2", "section: §2.9", brings="MEM303")},
    "MEM305": {
        "above": run(PROJECT, "completion_percentage", ["project", "set", "--completion", "51"]),
        "below": edit(PROJECT, "completion_percentage: 45", "completion_percentage: 39"),
        "by weights": Fault(
            lambda hand, _: hand.replace(AUTH, "paths:", "weight: 3\npaths:"), PROJECT, "completion_percentage"
        ),
    },
    "MEM306": {
        "level 1": edit(PROJECT, "Payment is under way.", SENTENCE * 40, 1),
        "level 2": edit(AUTH, "## Next actions", f"{SENTENCE * 12}\n## Next actions", 1),
        "level 3": add(TOKENS, SENTENCE * 90),
    },
    "MEM307": {
        "level 2": edit(AUTH, SENTENCE * 9, SENTENCE, 1),
        "level 3": edit(REFUNDS, SENTENCE * 40, SENTENCE * 5, 1),
    },
    "MEM308": {
        "missing": Fault(gone(EXECUTIVE), EXECUTIVE),
        "a page was changed by hand": Fault(
            lambda hand, _: hand.replace(REFUNDS, "Whoever refunds must wait", "Whoever refunds waits"),
            "docs/3.2-refunds.md",
            "Whoever refunds",
        ),
        "a line more at the end": Fault(
            lambda hand, _: hand.replace(REFUNDS, "src/payment/refund.py\n", "src/payment/refund.py\n  - app.py\n"),
            "docs/3.2-refunds.md",
            "- [`src/payment/refund.py`]",
            frozenset(STALE),
        ),
    },
    "MEM309": {
        "a line more": add(INDEX, "See also the wiki.\n"),
        "a word": edit(EXECUTIVE, "Sell without a queue.", "Sell.", 1),
        "the sources": add(SOURCES, "And more.\n"),
        "the head taken off": Fault(lambda hand, _: hand.write(INDEX, hand.read(INDEX).partition("\n")[2]), INDEX),
    },
    "MEM310": {
        "left behind": Fault(
            lambda hand, _: hand.write("docs/2.9-gone.md", hand.read("docs/2.1-auth.md")), "docs/2.9-gone.md"
        ),
        "its page was moved": Fault(move(AUTH, "sections/2.1-login.md"), "docs/2.1-auth.md"),
    },
    "MEM311": {
        "no goal": edit(PROJECT, "## Goal", "## Aim", 1),
        "an empty goal": edit(PROJECT, "Sell without a queue.\n", "", 1),
        "no project": Fault(gone(PROJECT), PROJECT),
        "no percentage": Fault(
            lambda hand, _: [
                hand.replace(path, line, "")
                for path, line in (
                    (PROJECT, "completion_percentage: 45\n"),
                    (AUTH, "completion_percentage: 60\n"),
                    (PAYMENT, "completion_percentage: 30\n"),
                )
            ],
            PROJECT,
        ),
    },
    "MEM312": {
        "level 1": edit(PROJECT, "Sell without a queue.", "Sell.\n\n```sh\nmake shop\n```", "```sh"),
        "level 2": edit(PAYMENT, "## Overview\n", "## Overview\n\n~~~\npay\n~~~\n\n", "~~~\npay"),
    },
    "MEM313": {
        "an index of before": Fault(lambda hand, _: hand.replace(INDEX, "layout:7 ", "layout:6 "), INDEX),
    },
    "MEM314": {
        "on the default branch": Fault(
            lambda hand, _: (hand.append(CONFIG, ON_MAIN), gone(EXECUTIVE)(hand, _)), EXECUTIVE
        ),
        "orphaned there": Fault(
            lambda hand, _: (
                hand.append(CONFIG, ON_MAIN),
                hand.write("docs/2.9-gone.md", hand.read("docs/2.1-auth.md")),
            ),
            "docs/2.9-gone.md",
        ),
    },
    "MEM401": {
        "yesterday": edit(LEARNING, "expires_at: 2026-01-01T00:00:00Z", "expires_at: 2025-11-03"),
        "this second": edit(LEARNING, "expires_at: 2026-01-01T00:00:00Z", f"expires_at: {NOW}"),
    },
    "MEM402": {"": edit(OLD, "status: superseded", "status: accepted")},
    "MEM403": {
        "by hand": edit(PROPOSED, "status: proposed", "status: superseded"),
    },
    "MEM404": {
        "by hand": edit(LEARNING, "timestamp: 2025-10-05T12:00:00Z", "timestamp: 2025-11-05"),
        "by a command": run(
            "learnings/2025-11/LRN-2025-11-04-001-later.md", "\ntimestamp", ["learn", "Later", "--timestamp", LATER]
        ),
    },
    "MEM409": {"of equal titles": run("learnings/2025-11/LRN-2025-11-04-002-card-readers.md", "\ntitle", *REPEATED)},
    "MEM408": {"50 records": Fault(much_recorded(50), PROJECT, "timestamp: 2025-11-03T11:00:00Z")},
    "MEM405": {
        "by a command": run(
            PAYMENT,
            "completion_percentage: 100",
            ["project", "set", "--completion", "80"],
            ["section", "edit", "§2.2", "--completion", "100"],
        ),
        "an issue of its details": Fault(
            lambda hand, _: (
                hand.replace(ISSUE, "section: §2.2", "section: §3.2.1"),
                hand.replace(PAYMENT, "completion_percentage: 30", "completion_percentage: 100"),
            ),
            PAYMENT,
            "completion_percentage",
            frozenset({"MEM305"}),
        ),
        "behind many that are no trouble": Fault(
            lambda hand, memctl: (
                hand.replace(PAYMENT, "completion_percentage: 30", "completion_percentage: 100"),
                many_issues(hand, memctl, "section: §2.2\n"),
            ),
            PAYMENT,
            "completion_percentage",
            frozenset({"MEM305"}),
        ),
    },
    "MEM406": {
        "": run(
            STATE,
            "completion_percentage: 100",
            ["edit", identifier(STATE), "--set", "completion_percentage=100"],
        )
    },
    "MEM407": {"": run(STATE, "  - ISS-2025-10-03-001", ["resolve", identifier(ISSUE)])},
    "MEM501": {
        "some file": add("notes.txt", "What else?\n"),
        "beside the records": add("decisions/2025-10/DEC-2025-10-02-001-picture.png", "no picture\n"),
        "in a folder of the documents": add("docs/more/more.md", "More.\n"),
        "beside the checkpoints": add("checkpoints/notes.md", "More.\n"),
        "beside the sessions": add("sessions/notes.txt", "More.\n"),
        "beside the lists of files": add("sessions/more/refunds.md", SESSION),
    },
    "MEM502": {
        "a link": Fault(lambda hand, _: linked(hand, "README.md", "../app.py"), "README.md"),
        "a link to nothing": Fault(lambda hand, _: linked(hand, "README.md", "nowhere"), "README.md"),
        "a document": Fault(lambda hand, _: linked(hand, INDEX, "../../app.py"), INDEX, brings=frozenset({"MEM309"})),
        "a folder": Fault(lambda hand, _: linked(hand, "issues/2025-11", "../../src"), "issues/2025-11"),
        "a pipe": Fault(
            lambda hand, _: ((hand.folder / "README.md").unlink(), os.mkfifo(hand.folder / "README.md")), "README.md"
        ),
    },
    "MEM503": {
        "no reason": add(CONFIG, 'check_ignore:\n  - "MEM307 details/*"\n', "MEM307"),
        "no such rule": add(CONFIG, 'check_ignore:\n  - "MEM999: by mistake"\n', "MEM999"),
        "nonsense": add(CONFIG, 'check_ignore:\n  - "the index"\n', "the index"),
        "of a page that has findings": Fault(
            lambda hand, _: (
                ignored(hand),
                hand.replace(TOKENS, "section: §2.1", "check_ignore: MEM307\nsection: §2.1"),
            ),
            TOKENS,
            "check_ignore",
            frozenset({"MEM307"}),
        ),
        "of a record that has none": edit(
            LEARNING, "importance: 5", "importance: 5\ncheck_ignore: MEM401", "check_ignore"
        ),
    },
    "MEM505": {
        "no JSON": Fault(lambda hand, _: hand.write(CHECKPOINT, "{"), CHECKPOINT),
        "no checkpoint": Fault(lambda hand, _: hand.write(CHECKPOINT, "{}\n"), CHECKPOINT),
        "another name than its own": Fault(lambda hand, _: hand.write(CHECKPOINT, saved(1, 3)), CHECKPOINT),
        "a file outside": Fault(
            lambda hand, _: hand.write(CHECKPOINT, saved(1, 2, files=[{"path": "../../etc/passwd"}])),
            CHECKPOINT,
        ),
    },
    "MEM507": {
        "no front matter": add(PAGE, "Refunds by card\n"),
        "of nobody": add(PAGE, SESSION.replace("session_id: refunds\n", "")),
        "a figure that is none": add(PAGE, SESSION.replace("turns: 3", "turns: -3"), "turns: -3"),
        "a time that is none": add(PAGE, SESSION.replace("2025-11-04T12:00:00Z", "noon"), "ended: noon"),
        "another name than its own": add(PAGE, SESSION.replace("session_id: refunds", "session_id: other"), 2),
        "a list of files": Fault(
            lambda hand, _: (hand.write(PAGE, LISTED), hand.write(LIST, "| `src/a.py` | modified | |\n")), LIST
        ),
    },
    "MEM508": {
        "a copy": Fault(
            lambda hand, _: (hand.write(PAGE, SESSION), hand.write("sessions/refunds-2.md", SESSION)),
            "sessions/refunds-2.md",
            "session_id: refunds",
        ),
    },
    "MEM509": {
        "above": add(PAGE, SESSION.replace("`src/payment/", "`../payment/"), "| `../payment/refund.py`"),
        "from the root": add(PAGE, SESSION.replace("`docs/", "`/home/ada/docs/"), "- `/home/ada/docs/"),
        "in between": add(PAGE, SESSION.replace("`src/payment/", "`src/../../payment/"), "| `src/../../payment/"),
    },
    "MEM510": {
        "no list": add(PAGE, LISTED, "trail: sessions/files/refunds.md"),
        "no page": add(LIST, SESSION),
        "a page that does not name it": Fault(
            lambda hand, _: (hand.write(PAGE, SESSION), hand.write(LIST, SESSION)), LIST
        ),
    },
    "MEM511": {
        "of a record": left_behind("decisions/2025-10/.memctl-DEC-2025-10-09-001-half.md"),
        "of a document": left_behind("docs/.memctl-INDEX.md"),
    },
    "MEM506": {
        "in two clones": Fault(
            lambda hand, _: (
                hand.write("checkpoints/main/w1-v1-000000.json", saved(1, 1, "000000")),
                hand.write(CHECKPOINT, saved(1, 2)),
                hand.write("checkpoints/main/w1-v2-0b0b0b.json", saved(1, 2, "0b0b0b")),
            ),
            CHECKPOINT,
        ),
    },
    "MEM504": {
        "in the settings": add(CONFIG, 'check_ignore:\n  - "MEM307 details/*: short on purpose"\n', "MEM307"),
        "two that begin alike": add(
            CONFIG,
            "check_ignore:\n  - 'MEM110 decisions/2025-09/*: samples'\n  - 'MEM110 decisions/2025-10/*: samples'\n",
            "MEM110 decisions/2025-10",
            "MEM504",
        ),
        "in a record": edit(
            LEARNING, "importance: 5", "importance: 5\ncheck_ignore: 'MEM401: it will'", "check_ignore"
        ),
    },
}


NEAR: dict[str, dict[str, Near]] = {
    "MEM101": {
        "keys of somebody's own, and a comment": near(
            LEARNING, "importance: 5", "# why\nimportance: 5  # half\nmood: 'good'"
        ),
        "line ends of another system": Near(crlf(LEARNING)),
        "a line of dashes": beside(LEARNING, "\n---\n\nstatus: dreadful\n"),
    },
    "MEM102": {
        "in a comment, inside a key and in the text": near(
            LEARNING, "importance: 5", "# title: Other\nimportance: 5\nnote: {title: x, status: y}"
        ),
        "in the body": beside(LEARNING, "\ntitle: Other\ntitle: Another\n"),
    },
    "MEM103": {
        "underlined headings": beside(LEARNING, "\nOther\n=======\n"),
        "one marker alone": beside(LEARNING, "\n<<<<<<< is what Git writes\n"),
        "indented": beside(LEARNING, "\n" + CONFLICT.replace("\n", "\n    ").rstrip(" ")),
        "in another order": beside(LEARNING, "\n>>>>>>> theirs\n=======\n<<<<<<< ours\n"),
    },
    "MEM104": {"an earlier id": Near(records("aliases:\n  - LRN-2025-10-05-001\n"))},
    "MEM105": {"a parent of two": Near(records(*[f"parent_memory_id: {MEMORY_ID}7\n"] * 2))},
    "MEM106": {
        "an earlier id": Near(records(links(relates_to="002", aliases="009"), links(relates_to="009"))),
        "a record that can't be read": near(ISSUE, "severity: high", "severity: dreadful", "MEM101"),
        "a parent that can't be read": near(DECISION, "importance: 8", "importance: high", "MEM101"),
    },
    "MEM107": {
        "an earlier id": Near(records(links(relates_to="002", aliases="009"), links(relates_to="009"))),
        "a record that can't be read": near(ISSUE, "severity: high", "severity: dreadful", "MEM101"),
        "by commands": after(
            ["link", LRN, ISS], ["link", LRN, STA, "--as", "blocks"], ["link", LRN, DEC, "--as", "parent"]
        ),
    },
    "MEM108": {
        "a diamond": Near(
            records(
                links(blocks="002 003"),
                links(blocks="004", blocked_by="001"),
                links(blocks="004", blocked_by="001"),
                links(blocked_by="002 003"),
            )
        ),
        "relations, which have no direction": Near(
            records(links(relates_to="002 003"), links(relates_to="001 003"), links(relates_to="001 002"))
        ),
        "superseded twice": Near(
            records(
                links(supersedes="002 003"),
                links(supersedes="003", superseded_by="001"),
                links(superseded_by="001 002"),
            ),
            frozenset({"MEM402"}),
        ),
    },
    "MEM109": {
        "a decision that is only proposed": near(PROPOSED, "Keys change every month.", "Keys change every week."),
        "what is no text": after(["edit", DEC, "--set", "importance=9", "--add", "tags=auth"]),
        "tags, by hand": near(DECISION, "importance: 8", "importance: 9\ntags:\n  - auth"),
        "line ends": Near(crlf(DECISION)),
        "breaks of lines": near(DECISION, "Tokens are signed with RS256.", "Tokens are\nsigned\nwith RS256."),
        "a new decision": after(["decide", "Sell more", "--decision", "More.", "--rationale", "Room."]),
        "a slip that was mended": after(["edit", DEC, "--set", "decision=Signed with RS512.", "--allow-accepted"]),
        "accepted only now": near(PROPOSED, "status: proposed", "status: accepted"),
    },
    "MEM110": {
        "what people write of credentials": beside(LEARNING, CREDENTIALS_IN_WORDS),
        "a line of dashes with an odd end": beside(LEARNING, f"\n{'-' * 60}=\n"),
        "numbered files": beside(LEARNING, "\ndocs/part01/chapter12.md:120 and v1.2.3-rc.4+build.5678\n"),
        "digests and ids": beside(LEARNING, f"\n{'da39a3ee5e6b4b0d' * 4} is the digest of {MEMORY_ID}7\n"),
    },
    "MEM113": {"a file of nearly all that is read": beside("templates/decision.md", "What else?\n" * 100_000)},
    "MEM111": {"somewhat long": beside(LEARNING, SENTENCE * 100)},
    "MEM112": {
        "tabs": beside(LEARNING, "\n\ta\tb\n"),
        "Persian, Hindi, Khmer and Hebrew": beside(
            LEARNING, "\n\u06cc\u200c\u062e \u0915\u094d\u200d\u0937 \u1793\u200b\u178f \u05dd\u200f!\n"
        ),
        "emoji": beside(LEARNING, "\n👩\u200d💻 ⚠\ufe0f 1\ufe0f\u20e3 ✔\ufe0e co\u00adoperate\n"),
    },
    "MEM114": {
        "the circumstances say why": after(["decide", "Sell", "--context", "The stock is full."]),
        "a sentence says why": after(["decide", "Sell more, because the stock is full"]),
        "it was rejected": after(["decide", "Sell less", "--status", "rejected"]),
    },
    "MEM115": {
        "it is only proposed": after(["decide", "Perhaps sell", "--status", "proposed", "--rationale", "Room."]),
        "a doubt in its reasons": after(
            ["decide", "Sell", "--rationale", "The stock is full. It will probably grow, and perhaps fast."]
        ),
    },
    "MEM116": {
        "a number in a sentence": after(["learn", "Retries", "--lesson", "A retry after 30 s hides a full pool"]),
        "a warning": after(["learn", "Keys", "--lesson", "WARNING: never rotate keys"]),
    },
    "MEM117": {
        "recorded under the own name": after(["learn", "Keys", "--lesson", "Rotate them each month"]),
        "imported": Near(
            lambda _, memctl: memctl(
                "import",
                "-",
                stdin='{"memory_type": "learning", "title": "Keys", "agent_id": "Linus", "lesson": "Rotate them"}',
            )
        ),
        "committed without memctl": Near(lambda hand, _: hand.git("commit", "-qam", "by hand", "--allow-empty")),
    },
    "MEM201": {
        "in code": beside(TOKENS, "\n`§4.none.py`\n\n```\nsee §4.none.py\n```\n"),
        "a glob": beside(TOKENS, "\nAll of §4.src/none/** and §4.none.* is new.\n"),
        "folders": near(TOKENS, "  - src/auth/jwt.py:4", "  - src/auth/jwt.py:4\n  - src/auth/\n  - src"),
        "ways to write a path": beside(TOKENS, "\n§4.src/auth, §4.auth/jwt.py, §4.payment.refund. §4.refund.\n"),
        "a file that Git does not have yet": Near(
            lambda hand, _: (hand.write("../new.py", ""), hand.append(TOKENS, "\nSee §4.new.py.\n"))
        ),
        "a file with a colon in its name": Near(
            lambda hand, _: (
                hand.write("../src/odd: name.py", ""),
                hand.replace(REFUNDS, "refund.py\n", "refund.py\n  - 'src/odd: name.py'\n"),
            )
        ),
    },
    "MEM202": {
        "the whole path": Near(
            lambda hand, _: (hand.write("../keys.py", ""), hand.append(TOKENS, "\nSee §4.keys.py.\n"))
        ),
        "enough of the path": beside(TOKENS, "\nSee §4.auth.keys and §4.payment/keys.py.\n"),
    },
    "MEM203": {
        "a closed record": near(CLOSED, "importance: 4", "importance: 4\ncode_refs:\n  - src/mail.py"),
        "an archived record": near(
            LEARNING, "importance: 5", "importance: 5\ncode_refs:\n  - mail.py\nis_archived: true"
        ),
        "a folder with a slash": near(STATE, "  - src/payment", "  - src/payment/"),
        "a name that looks like a line": Near(
            lambda hand, _: (
                hand.write("../src/odd:12", ""),
                hand.replace(STATE, "  - src/payment", "  - src/payment\n  - src/odd:12"),
            )
        ),
    },
    "MEM204": {
        "the last line": near(DECISION, "src/auth/jwt.py:5", "src/auth/jwt.py:1-5"),
        "the last line without an end": Near(
            lambda hand, memctl: (hand.write("../src/auth/jwt.py", "1\n2\n3\n4\n5"), memctl("review", "§3.1"))
        ),
        "a closed record": near(CLOSED, "importance: 4", "importance: 4\ncode_refs:\n  - app.py:99"),
    },
    "MEM205": {
        "paragraphs of a law": beside(TOKENS, "\n§ 12 BGB, §12 BGB and § 2.9 say so.\n"),
        "in code": beside(TOKENS, "\n`§2.9`\n\n~~~\n§3.9.9\n~~~\n"),
        "at the end of a sentence": beside(TOKENS, "\nSee §2.1. And §3.1.2, (§3.2.1) or §2.2/§3.1 - or §1.0.\n"),
        "a file": near(STATE, "section: §3.2", "section: §4.src/payment/refund.py"),
        "no pages at all": Near(without_pages),
        "of a section that can't be read": near(AUTH, "completion_percentage: 60", "completion_percentage: 600", "*"),
        "of details that can't be read": near(TOKENS, "title: Tokens", "title: ''", "*"),
    },
    "MEM206": {
        "in code": beside(TOKENS, "\n`DEC-2025-10-02-009`\n\n```\nDEC-2025-10-02-009\n```\n"),
        "in code that is indented": beside(TOKENS, "\nSo:\n\n    DEC-2025-10-02-009, §2.9, §4.none.py\n"),
        "a record that can't be read": near(LEARNING, "importance: 5", "importance: high", "MEM101"),
        "an earlier id": Near(
            lambda hand, _: (
                hand.write(*learning(1, links(aliases="009"))),
                hand.append(TOKENS, "\nLRN-2025-10-06-009\n"),
            )
        ),
        "a path, a longer word, no date": beside(
            TOKENS,
            "\n[Signing](../decisions/2025-10/DEC-2025-10-02-001-sign-tokens.md), X-DEC-2025-10-02-009,"
            " DEC-2025-13-02-009, DEC-2025-10-02-01\n",
        ),
        "at the end of a sentence": beside(
            TOKENS, "\nSee DEC-2025-10-02-001. (ISS-2025-10-03-001), **STA-2025-10-04-001**\n"
        ),
    },
    "MEM207": {
        "a closed record": beside(CLOSED, "\nSee §2.9, §4.none.py and DEC-2025-10-02-009.\n"),
        "an archived record": near(ISSUE, "blocks:", "is_archived: true\nblocks:", "MEM407"),
        "in code": beside(ISSUE, "\n`§2.9`, `§4.none.py`\n\n```\nDEC-2025-10-02-009\n```\n"),
        "a glob": beside(ISSUE, "\nSee §4.none/**.\n"),
        "no pages at all": Near(without_pages),
        "of a section that can't be read": Near(
            lambda hand, _: (
                hand.append(ISSUE, "\nSee §2.1.\n"),
                hand.replace(AUTH, "completion_percentage: 60", "completion_percentage: 600"),
            ),
            ANY,
        ),
    },
    "MEM208": {
        "only touched": Near(lambda hand, _: os.utime(hand.repo / "src/payment/refund.py")),
        "changed back": Near(
            lambda hand, _: (
                hand.replace("../src/payment/refund.py", "return", "yield"),
                hand.replace("../src/payment/refund.py", "yield", "return"),
            )
        ),
        "read again": Near(
            lambda hand, memctl: (hand.write("../src/payment/refund.py", "pass\n"), memctl("review", "§3.2"))
        ),
        "a file that it does not refer to": Near(lambda hand, _: hand.write("../src/auth/keys.py", "pass\n")),
    },
    "MEM209": {
        "what is left out": near(AUTH, "  - src/auth/**", '  - src/auth/**\n  - "!lib/**"'),
        "a folder, a suffix": near(AUTH, "  - src/auth/**", '  - src/auth\n  - "*.py"\n  - src/auth/jwt.py'),
        "a file that Git does not have yet": Near(
            lambda hand, _: (hand.write("../lib/new.py", ""), hand.replace(AUTH, "src/auth/**", "lib/**"))
        ),
    },
    "MEM210": {
        "a file of it is still there": Near(records(*ELSEWHERE), frozenset({"MEM203"})),
        "too few references to tell": Near(
            lambda hand, _: shutil.rmtree(hand.folder.parent / "src"),
            frozenset({"MEM201", "MEM203", "MEM207", "MEM209"}),
        ),
    },
    "MEM301": {
        "keys of somebody's own": near(AUTH, "title: Auth", "# first\ntitle: 'Auth'\nowner: ada\nweight: 1.0"),
        "line ends of another system": Near(crlf(AUTH)),
    },
    "MEM302": {
        "the number of a heading of another page": beside(REFUNDS, "\n## 3.1.1 As there\n\n## 3.1 In all\n"),
        "in code, and a smaller heading": beside(TOKENS, "\n```\n## 3.1.1 Not here\n```\n\n### 3.1.1 Below\n"),
        "a number that is written down further on": near(TOKENS, "## Signing", "## Before\n\n## 3.1.1 Signing"),
        "its own number written down": near(TOKENS, "## Keys", "## 3.1.2 Keys"),
        "a longer number": Near(
            lambda hand, _: hand.write("sections/2.10-late.md", hand.read(AUTH).replace("§2.1\n", "§2.10\n")),
            frozenset({"MEM303"}),
        ),
    },
    "MEM303": {
        "two pages of details": Near(
            lambda hand, _: hand.write("details/3.3-more.md", hand.read(REFUNDS).replace("§3.2\n", "§3.3\n"))
        ),
        "details that can't be read": near(REFUNDS, "title: Refunds", "title: ''", "*"),
    },
    "MEM304": {
        "a section that can't be read": near(PAYMENT, "completion_percentage: 30", "completion_percentage: 300", "*"),
    },
    "MEM305": {
        "five points above": after(["project", "set", "--completion", "50"]),
        "five points below": near(PROJECT, "completion_percentage: 45", "completion_percentage: 40"),
        # 0.2 * 15 / 0.3 comes to 9.999999999999998 if it is done with floats.
        "five points that don't come out even": Near(
            lambda hand, _: (
                hand.replace(AUTH, "completion_percentage: 60\n", "completion_percentage: 0\nweight: 0.1\n"),
                hand.replace(PAYMENT, "completion_percentage: 30\n", "completion_percentage: 15\nweight: 0.2\n"),
                hand.replace(PROJECT, "completion_percentage: 45\n", "completion_percentage: 15\n"),
            )
        ),
        "nothing declared above": near(PROJECT, "completion_percentage: 45\n", ""),
        "nothing declared below": Near(
            lambda hand, _: (
                hand.replace(AUTH, "completion_percentage: 60\n", ""),
                hand.replace(PAYMENT, "completion_percentage: 30\n", ""),
            )
        ),
        "a section that can't be read": near(AUTH, "completion_percentage: 60", "completion_percentage: 600", "*"),
    },
    "MEM306": {
        "almost as long": near(PROJECT, "Payment is under way.", SENTENCE * 25),
        "targets of links": near(AUTH, "see §3.1.2", f"see [it](https://example.org/{'a-long-way-' * 300}).", ""),
        "many records": Near(many_issues),
    },
    "MEM307": {"level 1 may be short": near(PROJECT, "Payment is under way. See §2.2.\n", "")},
    "MEM308": {
        "only touched": Near(lambda hand, _: [os.utime(file) for file in hand.folder.rglob("*") if file.is_file()]),
        "line ends of another system": Near(crlf("docs/3.2-refunds.md")),
        "code that changed": Near(lambda hand, _: hand.append("../src/auth/keys.py", "# more\n")),
        "documents that Git is not to have": Near(
            lambda hand, memctl: (
                hand.append(CONFIG, "docs: false\n"),
                memctl("render"),
                shutil.rmtree(hand.folder / "docs"),
            )
        ),
        "what a command wrote": after(["learn", "More"], ["section", "edit", "§2.1", "--title", "Doors"]),
        "a closed record without a section": beside(CLOSED, "\nMore.\n"),
    },
    "MEM309": {
        "line ends of another system": Near(crlf(INDEX)),
        "stale": near(PROJECT, "Sell without a queue.", "Sell."),
        "a document of somebody's own": beside("docs/own.md", "# By hand\n"),
    },
    "MEM310": {
        "a document of somebody's own": beside("docs/own.md", "# By hand\n"),
        "a page that can't be read": near(AUTH, "completion_percentage: 60", "completion_percentage: 600", "*"),
    },
    "MEM311": {
        "a percentage that the sections make": near(PROJECT, "completion_percentage: 45\n", ""),
        "no pages at all": Near(without_pages),
        "a project that can't be read": near(PROJECT, "title: Shop", "title: ''", "*"),
    },
    "MEM312": {
        "code in a line": near(PROJECT, "Sell without a queue.", "Sell with ``` make `` shop` and ``make``."),
        "on level 3": beside(REFUNDS, "\n```sh\nmake shop\n```\n"),
    },
    "MEM313": {
        "an index of before that was edited": Near(
            lambda hand, _: (hand.replace(INDEX, "layout:7 ", "layout:6 "), hand.append(INDEX, "See also the wiki.\n")),
            frozenset({"MEM309"}),
        )
    },
    "MEM314": {
        "on another branch": Near(
            lambda hand, _: (
                hand.append(CONFIG, ON_MAIN),
                hand.git("switch", "-q", "-c", "topic"),
                gone(EXECUTIVE)(hand, _),
            )
        ),
    },
    "MEM401": {
        "in a second": near(LEARNING, "expires_at: 2026-01-01T00:00:00Z", f"expires_at: {LATER}"),
        "in another zone": near(LEARNING, "2026-01-01T00:00:00Z", "2025-11-04T14:00:00-01:00"),
        "a closed record": near(CLOSED, "importance: 4", "importance: 4\nexpires_at: 2025-10-20"),
        "an archived record": Near(
            lambda hand, memctl: (hand.replace(LEARNING, "2026-01-01", "2025-11-01"), memctl("archive", LRN))
        ),
    },
    "MEM402": {
        "a type that has no such status": Near(
            lambda hand, _: (
                hand.replace(CLOSED, "importance: 4", f"importance: 4\nsuperseded_by:\n  - {ISS}"),
                hand.replace(ISSUE, "blocks:", f"supersedes:\n  - {identifier(CLOSED)}\nblocks:"),
            )
        ),
        "by a command": after(["learn", "Anew", "--supersedes", LRN]),
    },
    "MEM403": {"by a command": after(["learn", "Anew", "--supersedes", LRN])},
    "MEM404": {
        "now": near(LEARNING, "timestamp: 2025-10-05T12:00:00Z", f"timestamp: {NOW}"),
        "in another zone": near(LEARNING, "2025-10-05T12:00:00Z", "2025-11-04T15:30:00+01:00"),
    },
    "MEM409": {
        "linked": after(*REPEATED, ["link", "LRN-2025-11-04-001", "LRN-2025-11-04-002"]),
        "merged": after(*REPEATED, ["merge", "LRN-2025-11-04-001", "LRN-2025-11-04-002"]),
    },
    "MEM408": {
        "49 records": Near(much_recorded(49)),
        "read again": Near(lambda hand, memctl: (much_recorded(50)(hand, memctl), memctl("review", "1.0"))),
    },
    "MEM405": {
        "99 %": near(PAYMENT, "completion_percentage: 30", "completion_percentage: 99", "MEM305"),
        "a section without issues": near(AUTH, "completion_percentage: 60", "completion_percentage: 100", "MEM305"),
        "an issue that is resolved": after(["resolve", ISS], ["resolve", STA], *FINISHED),
        "an issue that is not severe": after(["edit", ISS, "--set", "severity=medium"], *FINISHED),
    },
    "MEM406": {
        "99 %": near(STATE, "completion_percentage: 65", "completion_percentage: 99"),
        "done": after(["resolve", STA]),
    },
    "MEM407": {
        "closed itself": after(["resolve", ISS, STA]),
        "a record that can't be read": near(ISSUE, "severity: high", "severity: dreadful", "MEM101"),
    },
    "MEM501": {
        "what belongs here": Near(
            lambda hand, _: [
                hand.write(path, "")
                for path in (
                    "templates/decision.md",
                    "checkpoints/a/b.md",
                    ".gitignore",
                    "docs/.gitignore",
                    "docs/own.md",
                    ".memctl-notes.md",
                    "decisions/.memctl-x.md",
                )
            ]
        ),
    },
    "MEM511": {"of a write under way": Near(lambda hand, _: hand.write("docs/.memctl-INDEX.md", "half"))},
    "MEM502": {
        "a file that can be run": Near(lambda hand, _: (hand.folder / "README.md").chmod(0o755)),
        "two names for one file": Near(lambda hand, _: os.link(hand.folder / "README.md", hand.repo / "README.md")),
    },
    "MEM503": {"a reason": Near(lambda hand, _: ignored(hand, "MEM307 details/3.1*: short on purpose"))},
    "MEM505": {
        "a checkpoint": Near(lambda hand, _: hand.write(CHECKPOINT, saved(1, 2))),
        "names with dots": Near(
            lambda hand, _: hand.write(
                CHECKPOINT,
                saved(1, 2, files=[{"path": path} for path in ("...", "a..b/..c", "~$a", "C/:/d")]),
            )
        ),
    },
    "MEM507": {
        "a page": beside(PAGE, SESSION),
        "keys and sections of somebody's own": beside(
            PAGE, SESSION.replace("turns: 3", "turns: 3\nmood: good") + "\n### Thoughts\n\nNone.\n"
        ),
        "line ends of another system": beside(PAGE, SESSION.replace("\n", "\r\n")),
    },
    "MEM508": {
        "another session": Near(
            lambda hand, _: (
                hand.write(PAGE, SESSION),
                hand.write("sessions/refunds-2.md", SESSION.replace("session_id: refunds", "session_id: refunds-2")),
            )
        )
    },
    "MEM509": {
        "told as outside": beside(PAGE, SESSION),
    },
    "MEM510": {"both": Near(lambda hand, _: (hand.write(PAGE, LISTED), hand.write(LIST, SESSION)))},
    "MEM506": {
        "one went on": Near(
            lambda hand, _: [
                hand.write(f"checkpoints/main/w{window}-v{version}-{mark}.json", saved(window, version, mark))
                for window, version, mark in ((1, 2, "0a0a0a"), (1, 2, "0b0b0b"), (2, 3, "0c0c0c"))
            ]
        ),
        "another workflow": Near(
            lambda hand, _: [
                hand.write(f"checkpoints/{name}/w1-v2-0a0a0a.json", saved(1, 2, "0a0a0a", name))
                for name in ("main", "other")
            ]
        ),
    },
    "MEM504": {
        "used": Near(lambda hand, _: ignored(hand, "MEM307 details/3.1*: short on purpose")),
        "used in the file itself": Near(
            lambda hand, _: (
                ignored(hand),
                hand.replace(TOKENS, "section: §2.1", "section: §2.1\ncheck_ignore: 'MEM307: short on purpose'"),
            )
        ),
    },
}


def cases(table: dict[str, dict[str, Any]]) -> Iterator[Any]:
    """Yield the cases of each code; the first and every third after it are usual, the others slow."""
    for code, variants in table.items():
        for number, (name, case) in enumerate(variants.items()):
            marks = [pytest.mark.slow] if number % 3 else []
            yield pytest.param(code, case, id=f"{code}-{name.replace(' ', '-')}" if name else code, marks=marks)


def test_every_rule_has_a_violation_and_a_near_miss() -> None:
    assert set(PLANTED) == set(NEAR) == set(RULES) - OF_STAGED
    assert all(PLANTED.values())
    assert all(NEAR.values())


@pytest.mark.parametrize(("code", "fault"), list(cases(PLANTED)))
def test_violation_is_found_at_its_line(hand: Hand, memctl: Memctl, code: str, fault: Fault) -> None:
    fault.plant(hand, memctl)
    line = fault.at if isinstance(fault.at, int) else hand.line(fault.path, fault.at)
    findings = found(memctl)
    assert Found(code, fault.path, line) in findings
    others = [one for one in findings if one != Found(code, fault.path, line)]
    assert {one.code for one in others} <= {*fault.brings, *(STALE - {code})}


@pytest.mark.parametrize(("code", "near"), list(cases(NEAR)))
def test_near_miss_is_not_a_finding(hand: Hand, memctl: Memctl, code: str, near: Near) -> None:
    near.plant(hand, memctl)
    codes = {one.code for one in found(memctl)}
    assert code not in codes
    assert codes <= {*near.brings, *STALE}
