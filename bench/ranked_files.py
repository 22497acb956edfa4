"""Rank the files of a clone for each task that standard input has, one JSON object a line: `bench.file_ranking`.

A program of its own, so that it can be run with the package of another checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from memctl.cli import token_counter
from memctl.sources.load_plan import LoadBudget
from memctl.sources.priorities import FileRequest, priorities
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.text import timestamps

_ROOM = LoadBudget(200_000, 0, 1, 101)  # nothing is loaded, so nothing is counted


def main() -> None:
    clone = Path(sys.argv[1])
    memory_folder = clone / ".memory"
    memory_folder.mkdir(exist_ok=True)
    (memory_folder / "config.yaml").write_text("format: 1\nproject: history\n", encoding="utf-8")
    for line in sys.stdin:
        task = json.loads(line)
        subprocess.run(["git", "checkout", "-q", "-f", "--detach", task["parent"]], cwd=clone, check=True)
        memory = open_memory(clone, {**os.environ, "MEMCTL_NOW": timestamps.from_epoch(task["moment"])})
        counter = token_counter.counter(token_counter.model_of("", memory), memory)
        # An earlier checkout lists all files anyway.
        wish = FileRequest(
            task["subject"], **{name: True for name in FileRequest.__struct_fields__ if name == "lists_all"}
        )
        found = priorities(memory, load.disk(memory), wish, _ROOM, counter)
        print(json.dumps([file.path for file in found.files if file.score.score > 0][:1_000]), flush=True)


if __name__ == "__main__":
    main()
