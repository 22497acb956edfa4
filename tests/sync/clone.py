"""One of several people at work: make changes in a clone, sync now and then, and write down what was done.

    python -m tests.sync.clone FOLDER NAME CHANGES SEED LOG

The log has a line of JSON for each change. Records are named by their memory_id, since a sync may give them other ids.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from memctl.cli.main import main

FOLDER, NAME, CHANGES, SEED, LOG = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
EVERY = 5  # changes from one sync to the next, about
CREATING = ("decide", "issue", "state", "learn")


def memctl(*args: str) -> str:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["-C", str(FOLDER), *args])
    out.flush()
    text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    if code:
        raise SystemExit(f"{NAME}: memctl {' '.join(args)}: exit {code}\n{text}\n{err.getvalue()}")
    return text


def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(memctl("list", "--all", "--limit", "0", "--json"))["data"]["records"]
    return found


def change(number: int, chance: random.Random, shared: list[str], own: list[str]) -> dict[str, Any]:
    """Make one change, and tell what it was."""
    target, label = chance.choice(shared), f"{NAME}-{number}"
    kind = chance.choices(
        ("new", "tag", "importance", "text", "link", "access", "own", "share"), (8, 4, 2, 2, 1, 2, 1, 1)
    )[0]
    if kind == "new" or (kind == "link" and not own):
        created = memctl(chance.choice(CREATING), f"Record {label}").split()[0]
        memory_id = next(record["memory_id"] for record in records() if record["id"] == created)
        own.append(memory_id)
        return {"kind": "new", "memory_id": memory_id, "title": f"Record {label}"}
    if kind == "tag":
        memctl("edit", target, "--add", f"tags={label}")
    elif kind == "importance":
        label = str(chance.randrange(1, 8))
        memctl("edit", target, "--set", f"importance={label}")
    elif kind == "text":
        memctl("edit", target, "--set", f"lesson=What {label} has learned.")
    elif kind == "link":
        label = chance.choice(own)
        memctl("link", label, target)
    elif kind == "access":
        memctl("show", target)
    elif kind == "own":
        label = f"2.{int(NAME[-2:]) + 1}"
        memctl("own", "acquire", label)
    else:
        memctl("coordination", "share", label, f"by {NAME}")
    return {"kind": kind, "memory_id": target, "value": label}


def work() -> None:
    chance = random.Random(SEED)
    os.environ["MEMCTL_AGENT"] = NAME
    shared = [record["memory_id"] for record in records()]
    own: list[str] = []
    tries: list[int] = []
    with LOG.open("w") as log:
        for number in range(CHANGES):
            log.write(json.dumps(change(number, chance, shared, own)) + "\n")
            if chance.randrange(EVERY) == 0:
                tries.append(json.loads(memctl("sync", "--json"))["data"]["tries"])
    memctl("maintain")
    tries.append(json.loads(memctl("sync", "--json"))["data"]["tries"])
    print(f"{NAME}: {len(tries)} syncs, at most {max(tries)} tries, {sum(tries)} in all")


work()
