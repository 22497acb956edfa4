"""The progress of a task after each window: in the next window's text, the checkpoint, the record and a handoff."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from memctl.record.task_state import CLAIMED, DONE, IN_PROGRESS, PLANNED
from memctl.store.memory import open_memory
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import ContextWindowManager
from tests.checkpoints import having
from tests.conftest import Memctl

NAMES = ("api", "auth", "billing", "profile")
FILES = [f"{name}/{part}.ts" for name in NAMES for part in ("server", "client", "types", "index")]
TASK = "Migrate the 16 files of the services from axios to fetch."
LABELS = {
    DONE: "DONE, the latest last:",
    CLAIMED: "CLAIMED, done by word alone; check before you rely on it:",
    IN_PROGRESS: "IN PROGRESS, begun and not finished:",
    PLANNED: "PLANNED, not begun:",
    "next": "NEXT:",
}
Message = dict[str, Any]


class Loop:
    """An agent's loop that migrates file after file, 20 turns a window, and the windows that it fills."""

    def __init__(self, manager: ContextWindowManager) -> None:
        self.manager = manager
        self.number = 0
        self.bootstrap = ""
        self.messages: list[Message] = [{"role": "user", "content": TASK}]

    def call(self, name: str, result: str, **given: Any) -> None:
        self.number += 1
        use = {"type": "tool_use", "id": f"t{self.number}", "name": name, "input": given}
        answer = {"type": "tool_result", "tool_use_id": f"t{self.number}", "content": result}
        self.messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
        self.messages = self.manager.on_turn_start(self.messages).messages

    def say(self, text: str) -> None:
        self.messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "Go on."}]

    def migrate(self, path: str) -> None:
        """Five turns on one file."""
        for name in ("Read", "Grep", "Read", "Edit", "Read"):
            self.call(name, "fetch(url)\n" * 5, file_path=path, pattern="axios")

    def leave(self) -> str:
        """The text with which the next window begins."""
        self.bootstrap = self.manager.on_overflow(self.messages).bootstrap
        self.messages = [{"role": "user", "content": f"{TASK}\n\n{self.bootstrap}"}]
        return self.bootstrap


def told(text: str, label: str) -> list[str]:
    """The lines under a label, without what shows that a step is done."""
    lines = text.split("\n")
    start = lines.index(label) + 1 if label in lines else len(lines)
    found = []
    for line in lines[start:]:
        if not line.startswith("- "):
            break
        found.append(re.sub(r" \((?:commit|check) .*\)$", "", line[2:]))
    return found


def listed(page: str, title: str) -> list[str]:
    """The files of a section of a page of Markdown."""
    part = page.partition(f"## {title},")[2].partition("\n## ")[0]
    return re.findall(r"^- (?:\[[ x]\] )?([a-z]+/[a-z]+\.ts)", part, re.MULTILINE)


def test_after_each_of_four_windows_all_places_say_how_far_the_task_is(repo: Path, memctl: Memctl) -> None:
    memory = open_memory(repo, os.environ)
    loop = Loop(ContextWindowManager.from_config({"max_context_tokens": 100_000}, Counter(FAMILIES["gpt"]), memory))
    record = memctl("state", "Migration of the services", "--remaining", FILES[0], "--next", FILES[0]).id

    def expect(done: list[str], claimed: list[str], doing: list[str], planned: list[str], ahead: list[str]) -> None:
        text = loop.leave()
        wanted = {DONE: done, CLAIMED: claimed, IN_PROGRESS: doing, PLANNED: planned}
        saved = memctl("checkpoint", "show", "--json").data
        page = memctl("checkpoint", "show").out
        titles = {status: f"{label[0]}{label[1:].split(',')[0].lower()}" for status, label in LABELS.items()}
        memctl("state", "--update", record, "--checkpoint", "newest")
        (state,) = memctl("show", record, "--json").data["records"]
        for status, files in wanted.items():
            shown = [file for file in files if status != PLANNED or file not in ahead]  # nothing stands twice
            assert told(text, LABELS[status]) == shown, status
            assert having(saved, status) == files
            assert listed(page, titles[status]) == files
        assert told(text, LABELS["next"]) == [file for file in ahead if file not in doing]
        assert saved["next_actions"] == ahead
        total = len(done) + len(claimed) + len(doing) + len(planned)
        assert f"PROGRESS: {len(done)} of {total} steps done" in text
        content = state["content"]
        assert content.get("substeps_completed", []) == done
        marks = [f"{file} (in progress)" for file in doing], [f"{file} (claimed)" for file in claimed]
        assert {*marks[0], *marks[1], *planned} <= set(content["substeps_remaining"])
        assert content["next_actions"] == ahead
        given = (
            "--reason",
            "Night",
            "--success",
            "All 16 use fetch",
            "--summary",
            "Half of it",
            "--immediate",
            "Go on",
        )
        handed = memctl("handoff", "--to", "codex", "--task", "Migration of the services", *given, "--dry-run").out
        for file in done:
            assert file in handed

    # By sentences alone, one after the other: nothing is done, and only the last next counts.
    for number in range(4):
        loop.migrate(FILES[number])
        loop.say(f"{FILES[number]} is migrated. Next: {FILES[number + 1]}.")
    expect([], FILES[:4], [], [], [FILES[4]])

    # By a list of tasks.
    for number in range(4, 8):
        loop.migrate(FILES[number])
    statuses = ["completed"] * 8 + ["in_progress"] + ["pending"] * 7
    todos = [{"content": file, "status": status} for file, status in zip(FILES, statuses, strict=True)]
    loop.call("TodoWrite", "ok", todos=todos)
    loop.say(f"Next: {FILES[8]}.")
    expect(FILES[:8], [], [FILES[8]], FILES[9:], [FILES[8]])

    # By commits that name the file; the list is not kept any more.
    for number in range(8, 12):
        loop.migrate(FILES[number])
        command = f'git commit -qam "refactor: use fetch in {FILES[number]}"'
        loop.call("Bash", f"[main 1a2b3c{number:x}] refactor: use fetch", command=command)
        loop.say(f"Next: {FILES[number + 1]}.")
    expect(FILES[:12], [], [], FILES[12:], [FILES[12]])

    # By a program that says it.
    for number in range(12, 15):
        loop.migrate(FILES[number])
    loop.manager.set_progress(done=FILES[12:15], current=FILES[15], planned=[])
    expect(FILES[:15], [], [FILES[15]], [], [FILES[15]])
    text = memctl("checkpoint", "resume").out
    assert told(text, LABELS[DONE]) == FILES[:15]
    assert "(commit 1a2b3c8)" in text
    assert "PROGRESS: 15 of 16 steps done" in text
