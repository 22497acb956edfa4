"""Repositories that somebody made to hang or exhaust whoever clones them; small, and made here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.conftest import git

RECORD, LATE_RECORD = "LRN-2025-11-02-001", "DEC-2025-11-02-001"
SIZE = 300_000  # bytes of a text, for which quadratic work takes minutes; a record may have 2 MB
LARGE = 1_900_000
PAGE = "---\nid: §2.1\ntitle: Payment\npaths:\n{paths}---\n\n{body}\n"
DETAIL = "---\nid: §3.1\ntitle: Cards\nsection: §2.1\n---\n\n{body}\n"
_LEARNING = """---
id: LRN-2025-11-02-001
memory_id: 019a4286-0d00-7000-8000-000000000001
memory_type: learning
title: Pager
status: active
importance: 9
section: §2.1
timestamp: 2025-11-02T09:00:00Z
project_id: shop
agent_id: claude
code_refs:
  - app.py
is_archived: false
access_count: 0
---

## Lesson

{body}
"""
_SESSION = """---
session_id: hostile
agent_id: claude
started: 2025-11-02T09:00:00Z
ended: 2025-11-02T10:00:00Z
turns: 1
---

## Intent

{body}
"""


def write(repo: Path, path: str, text: str) -> None:
    (repo / path).parent.mkdir(parents=True, exist_ok=True)
    (repo / path).write_text(text)


def fill(repo: Path, body: str, paths: str = "  - app.py\n") -> None:
    """Put one text wherever a repository can bring one: a record, pages, a session's page, source files."""
    write(repo, f".memory/learnings/2025-11/{RECORD}-pager.md", _LEARNING.format(body=body))
    write(repo, ".memory/sections/2.1-payment.md", PAGE.format(paths=paths, body=body))
    write(repo, ".memory/details/3.1-cards.md", DETAIL.format(body=body))
    write(repo, ".memory/sessions/hostile.md", _SESSION.format(body=body))
    for name in ("app.py", "app.js", "app.go", "notes.md", "data.yaml", "data.toml", "server.log"):
        write(repo, name, body)


def globs(repo: Path, body: str = "Short.") -> None:
    hard = "*a" * 25 + "b"
    fill(repo, body, "".join(f"  - '{glob}'\n" for glob in (hard, f"**/{hard}/**/{hard}", f"!{hard}")))
    write(repo, "a" * 200, "1\n")
    write(repo, "/".join(["a" * 100] * 20) + "/a", "1\n")
    write(repo, ".memctlignore", f"{hard}\n**/{hard}\n")
    stamped = DETAIL.replace("section: §2.1\n", "section: §2.1\nreviewed:\n  - '" + " a" * 30_000 + "'\n")
    write(repo, ".memory/details/3.2-stamped.md", stamped.replace("§3.1", "§3.2").format(body="Short."))
    with (repo / ".memory/config.yaml").open("a") as config:
        config.write(f"check_ignore:\n  - 'MEM2 {hard}: no'\n  - 'MEM2{' ' * 20_000}:'\n")


def worst(repo: Path, size: int = SIZE) -> None:
    """The globs, and in each text what took longest of all that was tried: many lines, long ones, beginnings."""
    globs(repo, "\n".join(part * (size // len(_WORST) // len(part.encode())) for part in _WORST))


def text(unit: str, size: int = SIZE) -> Callable[[Path], None]:
    """A repository whose texts repeat something."""
    return lambda repo: fill(repo, (unit * (size // len(unit.encode()) + 1))[: size // len(unit.encode()) * len(unit)])


def large(repo: Path, size: int = LARGE) -> None:
    """Records nearly as large as they may be, which repeat words that are searched for."""
    for number, unit in enumerate(("password ", "The password is a secret.\n"), 1):
        made = _LEARNING.format(body=unit * (size // len(unit)))
        made = made.replace("-001", f"-{number:03}").replace("0000001", f"000000{number}")
        write(repo, f".memory/learnings/2025-11/LRN-2025-11-02-{number:03}-pager.md", made)


def nested(repo: Path) -> None:
    third = SIZE // 3
    quotations = "".join(">" * min(line, 400) + " a\n" for line in range(third // 200))
    fill(repo, f"{'[' * third}{']' * third}\n{quotations}")


def headed(repo: Path) -> None:
    """As many headings as a text has room for."""
    fill(repo, "".join(f"## a{number:06}\n\nb\n" for number in range(LARGE // 16)))


def many_pages(repo: Path) -> None:
    fill(repo, "Short.")
    for number in range(2, 1_501):
        section = PAGE.replace("§2.1", f"§2.{number}").format(paths=f"  - src/f{number}.py\n", body="Short.")
        write(repo, f".memory/sections/2.{number}-s.md", section)
        detail = DETAIL.replace("§3.1", f"§3.{number}").replace("§2.1", f"§2.{number}").format(body="Short.")
        write(repo, f".memory/details/3.{number}-d.md", detail)


def references(repo: Path) -> None:
    """Many files, and a page and a record that refer to as many that are not there."""
    fill(repo, "Short.")
    for number in range(2_000):
        write(repo, f"src/part{number % 40}/f{number}.py", "")
    body = "".join(f"DEC-2024-{1 + n % 12:02}-01-{n:03} §4.src/a{n}.py §4.src.b{n}\n" for n in range(10_000))
    write(repo, f".memory/learnings/2025-11/{RECORD}-pager.md", _LEARNING.format(body=body))
    globs = "".join(f"  - a{n}*\n" for n in range(4_000))
    write(repo, ".memory/sections/2.1-payment.md", PAGE.format(paths=globs, body=body))
    gone = "".join(f"  - src/gone{n}.py\n" for n in range(2_000))
    detail = DETAIL.replace("section: §2.1\n", f"section: §2.1\ncode_refs:\n{gone}")
    write(repo, ".memory/details/3.1-cards.md", detail.format(body="Short."))


def templates(repo: Path) -> None:
    fill(repo, "Short.")
    loops = "{% set x = 'a' * 100000 %}{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}"
    write(repo, ".memory/templates/INDEX.md.j2", "{% for i in range(99999) %}" + "a" * 1000 + "{% endfor %}\n")
    write(repo, ".memory/templates/section.md.j2", loops)
    write(repo, ".memory/templates/detail.md.j2", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}\n")
    write(repo, ".memory/templates/1.0-executive-summary.md.j2", "{{ ''.__class__.__mro__ }}\n")


def model(repo: Path) -> None:
    """The files of a model for search, which native code would read, and a link to all there is."""
    fill(repo, "Short.")
    write(repo, "model/tokenizer.json", json.dumps({"model": "a" * 1000}))
    write(repo, "model/model.safetensors", "no model")
    with (repo / ".memory/config.yaml").open("a") as config:
        config.write("semantic_model: /\n")


def links(repo: Path) -> None:
    fill(repo, "Short.")
    (repo / ".memory/learnings/2025-11/LRN-2025-11-02-002-zero.md").symlink_to("/dev/zero")
    (repo / ".memory/templates").mkdir(exist_ok=True)
    (repo / ".memory/templates/section.md.j2").symlink_to("/dev/zero")
    (repo / ".memory/sessions/loop.md").symlink_to("loop.md")
    (repo / ".memory/issues").mkdir(exist_ok=True)
    (repo / ".memory/issues/2025-11").symlink_to(".")
    (repo / "zero.py").symlink_to("/dev/zero")
    (repo / "up").symlink_to("..")


def locks(repo: Path) -> None:
    """What a Git that was killed leaves; a clone can't bring it, a machine that went down can."""
    fill(repo, "Short.")
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock"):
        (repo / ".git" / name).touch()


def fifo(repo: Path) -> None:
    fill(repo, "Short.")
    for path in (".memory/learnings/2025-11/LRN-2025-11-02-003-pipe.md", ".memory/sessions/pipe.md", "pipe.py"):
        os.mkfifo(repo / path)


def together(repo: Path) -> None:
    """All the texts that are repeated, each in a record and a source file of its own."""
    fill(repo, "Short.")
    for number, unit in enumerate(UNITS, 10):
        body = unit * (SIZE // 12 // len(unit.encode()))
        made = _LEARNING.format(body=body).replace("-001", f"-{number:03}").replace("0000001", f"00000{number}")
        write(repo, f".memory/learnings/2025-11/LRN-2025-11-02-{number:03}-pager.md", made)
        write(repo, f"src/{number}.py", body)


UNITS = (
    "[", "(", "`", "*", "**a ", "_", "<", "<!--", "#", "### a\n", "- ", "|", "| a ", "://", "§3.", "DEC-2026-",
    "DEC-2026-11-22-001 ", " ", "\t", "\n", "\r", "a", "a b. ", "![", "[a](", "&#", "a@b.", "../", "\\", "1.",
    "TODO ", "because ", "記", "use x instead of ", "def f(", "\u2028", "###\n", "a.", "eyJ", "#\n", "- a\n", "a: b\n",
    "<a/>", "PROCEED ", "§3.1.1 ", "§4.src/app.py ", "- DEC-2026-11-22-001\n",
)  # fmt: skip
_WORST = (
    "#\n",
    "a.",
    "eyJ",
    "</system" + "_a" * 5_000 + "!",
    "# a" + " " * 5_000 + "b\n",
    "<<<<<<< \n\n",
    "error ",
    '"\\',
    "§3.1.1 ",
    "§4.src/app.py ",
    "- DEC-2026-11-22-001\n",
)


def odd_lines(repo: Path) -> None:
    """Long runs of blanks and of empty lines, where patterns would look for the end of something."""
    blanks = " " * (SIZE // 5)
    lines = (f"x{blanks}x", f"<a {blanks}x", "```\n" + "\n" * (SIZE // 5) + "x\n```", f"## a{blanks}x", f"# a{blanks}x")
    fill(repo, "\n".join(lines))


def odd_files(repo: Path) -> None:
    for make in (model, links, locks, fifo):
        make(repo)


REPEATED = {repr(unit): text(unit) for unit in UNITS}
ALL: dict[str, Callable[[Path], None]] = {
    "worst": worst,
    "templates": templates,
    "odd files": odd_files,
    "odd lines": odd_lines,
    "nested": nested,
    "references": references,
    "many texts": together,
    "headings": headed,
    "many pages": many_pages,
    **REPEATED,
}


def commit(repo: Path) -> None:
    """Commit all, past locks that are part of what is tried."""
    held = list((repo / ".git").rglob("*.lock"))
    for path in held:
        path.unlink()
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "hostile")
    for path in held:
        path.touch()
