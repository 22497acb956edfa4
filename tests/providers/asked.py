"""A provider for tests: a real program that notes what it is asked and gives the answers that it was given."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_CODE = """\
import json, pathlib, sys
folder = pathlib.Path({folder!r})
number = len(list(folder.glob("asked-*")))
(folder / f"asked-{{number}}").write_text(sys.stdin.read())
answers = json.loads((folder / "answers").read_text())
answer = answers[min(number, len(answers) - 1)]
if answer is None:
    sys.exit("out of order")
print(answer)
"""


class Asked:
    """The program, and the prompts that it got."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "asked"
        self._folder.mkdir()
        self.program = folder / "ask"
        self.program.write_text(f"#!{sys.executable}\n{_CODE.format(folder=str(self._folder))}")
        self.program.chmod(0o755)

    def answers(self, *given: object) -> None:
        """What it will answer: texts, objects as JSON, None for a failure; the last one for ever."""
        texts = [one if one is None or isinstance(one, str) else json.dumps(one) for one in given]
        (self._folder / "answers").write_text(json.dumps(texts))

    @property
    def prompts(self) -> list[str]:
        return [file.read_text() for file in sorted(self._folder.glob("asked-*"), key=lambda f: int(f.name[6:]))]
