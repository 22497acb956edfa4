"""A healthy memory for the tests of `check`, written as a person would write it, and the hand that spoils it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.conftest import Memctl, Result, git
from tests.world import WORLD

PROJECT = "project.md"
AUTH, PAYMENT = "sections/2.1-auth.md", "sections/2.2-payment.md"
TOKENS, REFUNDS = "details/3.1-tokens.md", "details/3.2-refunds.md"
OLD = "decisions/2025-10/DEC-2025-10-01-001-keep-sessions.md"
DECISION = "decisions/2025-10/DEC-2025-10-02-001-sign-tokens.md"
PROPOSED = "decisions/2025-10/DEC-2025-10-02-002-rotate-keys.md"
ISSUE = "issues/2025-10/ISS-2025-10-03-001-slow-refunds.md"
CLOSED = "issues/2025-10/ISS-2025-10-03-002-lost-mail.md"
STATE = "states/2025-10/STA-2025-10-04-001-refund-queue.md"
LEARNING = "learnings/2025-10/LRN-2025-10-05-001-clocks-drift.md"
BEFORE = "2025-11-02T09:00:00Z"  # when the memory was made
INDEX, EXECUTIVE, SOURCES = "docs/INDEX.md", "docs/1.0-executive-summary.md", "docs/4-sources.md"

SENTENCE = "A token lives for fifteen minutes and is signed with a key that changes every month.\n"
_CODE = {
    "app.py": "print('shop')\n",
    "src/auth/jwt.py": "import keys\n\n\ndef sign(user):\n    return keys.current()\n",
    "src/auth/keys.py": "def current():\n    return 'key'\n",
    "src/payment/keys.py": "LIVE = 'vault'\n",
    "src/payment/refund.py": "def refund(order):\n    return order\n",
}
_PAGES = {
    PROJECT: """---
title: Shop
completion_percentage: 45
---

## Goal

Sell without a queue.

## Status

Payment is under way. See §2.2.

## Priorities

- The review of payment
- Orders
""",
    AUTH: f"""---
id: §2.1
title: Auth
completion_percentage: 60
paths:
  - src/auth/**
---

## Overview

{SENTENCE * 9}
## Next actions

- Rotate the keys, see §3.1.2
""",
    PAYMENT: f"""---
id: §2.2
title: Payment
completion_percentage: 30
paths:
  - src/payment/**
  - "!src/payment/keys.py"
---

## Overview

{SENTENCE * 9}""",
    TOKENS: f"""---
id: §3.1
title: Tokens
section: §2.1
code_refs:
  - src/auth/jwt.py:4
---

How tokens are made, and why: DEC-2025-10-02-001.

## Signing

See [the signer](§4.auth.jwt) and §4.src/payment/keys.py.

{SENTENCE * 20}
## Keys

```python
keys.current()  # of DEC-2020-01-01-001
```

{SENTENCE * 20}""",
    REFUNDS: f"""---
id: §3.2
title: Refunds
section: §2.2
code_refs:
  - src/payment/refund.py
---

Whoever refunds must wait, see §3.1.1, LRN-2025-10-05-001 and `§3.9`.

## Queue

{SENTENCE * 40}""",
}
_BODIES = {
    OLD: "## Decision\n\nSessions stay in memory.\n\n## Context\n\nThey are few.\n",
    DECISION: "## Decision\n\nTokens are signed with RS256.\n\n## Rationale\n\nSee §2.1. Keys are public.\n",
    PROPOSED: "## Decision\n\nKeys change every month.\n\n## Context\n\nThey leak.\n",
    ISSUE: "## Description\n\nA refund takes a minute. DEC-2025-10-02-001 did not help.\n",
    CLOSED: "## Description\n\nMail was lost.\n\n## Resolution\n\nA queue.\n",
    STATE: "## Task\n\nPut refunds into a queue, see §4.src/payment/refund.py.\n",
    LEARNING: "## Lesson\n\nClocks drift by a minute.\n",
}
_HEADS = {
    OLD: "status: superseded\nimportance: 5\nsuperseded_by:\n  - DEC-2025-10-02-001\n",
    DECISION: "status: accepted\nimportance: 8\nsection: §2.1\nsupersedes:\n  - DEC-2025-10-01-001\n"
    "relates_to:\n  - ISS-2025-10-03-001\ncode_refs:\n  - src/auth/jwt.py:5\n",
    PROPOSED: "status: proposed\nimportance: 5\nsection: §3.1.2\n"
    "parent_memory_id: 00000000-0000-7000-8000-000000000002\n",
    ISSUE: "status: open\nseverity: high\nimportance: 8\nsection: §2.2\nrelates_to:\n  - DEC-2025-10-02-001\n"
    "blocks:\n  - STA-2025-10-04-001\n",
    CLOSED: "status: resolved\nseverity: low\nimportance: 4\n",
    STATE: "status: active\ncompletion_percentage: 65\nimportance: 5\nsection: §3.2\n"
    "blocked_by:\n  - ISS-2025-10-03-001\ncode_refs:\n  - src/payment\n",
    LEARNING: "status: active\nimportance: 5\nexpires_at: 2026-01-01T00:00:00Z\n",
}
_TYPES = {"DEC": "decision", "ISS": "issue", "STA": "state", "LRN": "learning"}
RECORDS = tuple(_HEADS)
_ENOUGH = range(901, 904)  # of a memory with ten records the lengths of details are looked at


def identifier(path: str) -> str:
    """The id in the name of a record's file."""
    return path.rpartition("/")[2][:18]


def record(path: str, number: int, head: str, body: str = "## Lesson\n\nA text.\n") -> str:
    """The file of a record: `number` makes its memory_id, `head` is the rest of its front matter."""
    name = identifier(path)
    return (
        f"---\nid: {name}\nmemory_id: 00000000-0000-7000-8000-{number:012d}\nmemory_type: {_TYPES[name[:3]]}\n"
        f"title: Record {number}\ntimestamp: {name[4:14]}T12:00:00Z\nproject_id: shop\nagent_id: ada\n"
        f"{head}---\n\n{body}"
    )


def learning(number: int, head: str = "", body: str = "## Lesson\n\nA text.\n") -> tuple[str, str]:
    """The path and text of one more record, which breaks no rule if `head` and `body` do not."""
    path = f"learnings/2025-10/LRN-2025-10-06-{number:03d}.md"
    return path, record(path, 1000 + number, f"status: active\nimportance: 5\n{head}", body)


def texts() -> dict[str, str]:
    """The files of the healthy memory, as written by hand."""
    made = {path: record(path, n, _HEADS[path], _BODIES[path]) for n, path in enumerate(RECORDS, 1)}
    return {**_PAGES, **made, **dict(learning(number) for number in _ENOUGH)}


def build(built: Path, folder: Path) -> Path:
    """A repository with code and a healthy memory, all of it committed and reviewed."""
    shutil.copytree(built, folder, symlinks=True)
    env = {
        "HOME": str(folder.parent),
        "PATH": os.environ["PATH"],
        **WORLD,
        "MEMCTL_NOW": BEFORE,
        "MEMCTL_AGENT": "ada",
    }
    hand = Hand(folder)
    for path, text in {**{f"../{path}": text for path, text in _CODE.items()}, **texts()}.items():
        hand.write(path, text)
    memctl = [sys.executable, "-m", "memctl"]
    for command in (
        ["git", "add", "app.py", "src"],
        ["git", "commit", "-qm", "code"],
        [*memctl, "commit"],
        [*memctl, "review", "§3.1", "§3.2"],
        ["git", "repack", "-adq"],
    ):
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    return folder


class Hand:
    """A person who edits the files of a memory; paths are those below `.memory/`."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self.folder = repo / ".memory"

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8", newline="")

    def replace(self, path: str, old: str, new: str) -> None:
        """Change a text that stands in a file once."""
        text = self.read(path)
        assert text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times"
        self.write(path, text.replace(old, new))

    def append(self, path: str, text: str) -> None:
        """Write at the end of a file, which may be new."""
        self.write(path, (self.read(path) if (self.folder / path).exists() else "") + text)

    def line(self, path: str, text: str) -> int:
        """The number of the line on which the one occurrence of a text begins, line ends before it not counted."""
        whole = "\n" + self.read(path)
        assert whole.count(text) == 1, f"{path} has {text!r} {whole.count(text)} times"
        return whole.count("\n", 0, whole.index(text) + len(text) - len(text.lstrip("\n")))

    def git(self, *args: str, check: bool = True) -> str:
        return git(self.repo, *args, check=check)


class Found(msgspec.Struct, frozen=True):
    """A finding as `check --json` tells of it, with the path below `.memory/`."""

    code: str
    path: str
    line: int


def found(memctl: Memctl, *options: str, code: int | None = None) -> list[Found]:
    """What `check` finds."""
    return findings(memctl("check", "--json", *options, code=code))


def findings(result: Result) -> list[Found]:
    rows = result.data["findings"]
    assert all(row["path"].startswith(".memory/") for row in rows)
    return [Found(row["code"], row["path"].removeprefix(".memory/"), row["line"]) for row in rows]
