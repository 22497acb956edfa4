"""The picture in the README: what `memctl status` prints of the example, drawn from its output on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from tests.world import WORLD

PICTURE = Path(__file__).parents[1] / "docs" / "status.svg"
_COLUMNS = 84
_NOW = "2025-11-04T14:32:00Z"
_WIDTH, _HEIGHT = 8.4, 18  # of a character, in pixels
_COLOURS = {31: "#f47067", 32: "#57ab5a", 33: "#c69026", 36: "#39c5cf", 37: "#adbac7"}
_CODE = re.compile(r"\x1b\[([\d;]*)m")


def status() -> str:
    """Return what `memctl status` prints of the example on a terminal, with its colours."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**WORLD, "PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm", "COLUMNS": str(_COLUMNS)}
        env |= {"MEMCTL_NOW": _NOW, "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
        memctl = [sys.executable, "-m", "memctl"]
        subprocess.run([*memctl, "demo", "lantern"], cwd=folder, env=env, check=True, capture_output=True)
        outer, inner = pty.openpty()
        command, place = [*memctl, "--no-pager", "status"], f"{folder}/lantern"
        with subprocess.Popen(command, cwd=place, env=env, stdout=inner, stderr=inner) as process:
            os.close(inner)
            printed = b""
            try:
                while read := os.read(outer, 65_536):
                    printed += read
            except OSError:  # how a terminal ends
                pass
            assert process.wait() == 0, printed
        os.close(outer)
    return printed.decode().replace("\r\n", "\n").replace(os.path.realpath(folder), "~").replace(folder, "~")


def draw(text: str) -> str:
    """Return an SVG of lines with the colours of a terminal."""
    lines = ["$ memctl status", *text.rstrip("\n").split("\n")]
    width, height = round(_COLUMNS * _WIDTH) + 32, len(lines) * _HEIGHT + 28
    rows = [
        f'<text x="16" y="{24 + number * _HEIGHT}" xml:space="preserve">{_spans(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}">',
            "<style>text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #adbac7 }</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#22272e"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def _spans(line: str) -> str:
    """Return a line with its colours and weights as spans."""
    spans: list[str] = []
    codes: list[int] = []
    for place, part in enumerate(_CODE.split(line)):
        if place % 2:
            codes = [] if part in ("", "0") else [*codes, *map(int, part.split(";"))]
        elif part:
            colour = next((_COLOURS[code] for code in codes if code in _COLOURS), "")
            style = (f' fill="{colour}"' if colour else "") + (' font-weight="bold"' if 1 in codes else "")
            spans.append(f"<tspan{style}>{escape(part)}</tspan>" if style else escape(part))
    return "".join(spans)


def write() -> None:
    PICTURE.write_text(draw(status()))
