"""The list of files after random edits: the same as one that is made from everything, in a new index."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memctl.cli import token_counter
from memctl.sources import file_list_update, file_search
from memctl.sources.load_plan import LoadBudget
from memctl.sources.priorities import FileRequest, priorities
from memctl.store import load
from memctl.store.file_list import with_index
from memctl.store.memory import open_memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.search_index import SearchIndex
from tests.conftest import git

WORDS = ["pay", "card", "cart", "order", "invoice", "retry", "parser", "token", "cache", "index", "worker", "session"]
FOLDERS = ["", "src/", "src/shop/", "lib/", "web/ui/", "tests/"]
NAMES = [*WORDS[:8], "__init__", "index", "mod"]
SUFFIXES = ["py", "ts", "go", "h", "java", "rs", "rb", "md"]
ODD = {
    ".env": "PAY=1\n",
    ".memctlignore": "lib/\n",
    "src/.memctlignore": "*.rb\n",
    ".gitignore": "*.md\n",
    "go.mod": "module example.org/code\n",
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
    "web/package.json": '{"name": "shop", "main": "index.ts"}',
    "cafe\u0301.py": "def pay_card(): ...\n",
    "src/keys.py": "CARD_KEY = '" + "AK" + "IA" + "QWERTYUIOPASDFGH'\n",
    "src/large.py": "pay " * 70_000,
    "src/logo.png": "\0pay",
}


def _text(chance: random.Random, path: str) -> str:
    word, other = chance.sample(WORDS, 2)
    lines = {
        "py": [f"from src.shop import {word}", "from . import x", f"import lib.{other}", f"def {word}_{other}(): ..."],
        "ts": [f'import {{ x }} from "./{word}"', 'import y from "."', f'import z from "@/shop/{other}"'],
        "go": [f'import "example.org/code/{chance.choice(["src", "lib", "src/shop"])}"', f"func {word}() {{}}"],
        "h": [f'#include "{word}.h"', f"int {other}(void);"],
        "java": ["import src.shop.*;", f"import src.{word};", f"class {other.title()} {{}}"],
        "rs": [f"use crate::{word};", "use super::x;", f"mod {other};"],
        "rb": [f"require 'lib/{word}'", f"def {other}\nend"],
    }.get(path.rpartition(".")[2], [])
    said = [f"# {' '.join(chance.choices(WORDS, k=6))}" for _ in range(2)]
    return "\n".join([*chance.sample(lines, min(len(lines), 2)), *said]) + "\n"


def _edit(chance: random.Random, repo: Path) -> None:
    """Change something in the worktree, in the index or in the history."""

    def some() -> str:
        out = git(repo, "ls-files", "-z", "--", ":(exclude).memory").split("\0")
        return chance.choice([path for path in out if path and (repo / path).is_file()] or ["app.py"])

    def write(path: str, text: str) -> None:
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text, encoding="utf-8")

    new = f"{chance.choice(FOLDERS)}{chance.choice(NAMES)}.{chance.choice(SUFFIXES)}"
    odd = chance.choice(list(ODD))
    action = chance.randrange(10)
    if action < 3:
        write(new, _text(chance, new))
    elif action == 3:
        write(odd, ODD[odd])
    elif action == 4:
        path = some()
        write(path, _text(chance, path))
    elif action == 5:
        (repo / some()).unlink(missing_ok=True)
    elif action == 6:
        path = f"{new.rpartition('.')[0]}2.{new.rpartition('.')[2]}"
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", "-k", some(), path], cwd=repo, check=True)
    elif action == 7:
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", " ".join(chance.sample(WORDS, 2)), "--allow-empty")
    elif action == 8:
        git(repo, "rm", "-qf", "--cached", "--ignore-unmatch", some())
    else:
        git(repo, "stash", "-q")
        git(repo, "checkout", "-qf", "--detach", chance.choice(git(repo, "rev-list", "HEAD").split()[:3]))


def _answers(repo: Path, task: str, *, lists_all: bool = False) -> dict[str, Any]:
    memory = open_memory(repo, os.environ)
    counter = token_counter.counter(token_counter.model_of("", memory), memory)
    request = FileRequest(task, shown=5, lists_all=lists_all)
    found = priorities(memory, load.disk(memory), request, LoadBudget(200_000, 0, 70_000, 40), counter)

    def listed(index: SearchIndex) -> dict[str, Any]:
        sources = file_list_update.of_worktree(memory, load.disk(memory), FilesOnDisk(memory), index)
        return {
            "contents": {path: (content.blob, content.facts) for path, content in sources.contents.items()},
            "refused": sources.refusals,
            "differing": sources.differing,
            "named": file_search.mentions(load.disk(memory), sources, task, memory.now, ()),
        }

    scored = {
        file.path: (file.score.score, file.score.recency, [why for _, why in file.score.reasons])
        for file in found.files
    }
    shown = [file.path for file in found.files[:5]]
    rest = {"scored": scored, "unsearched": found.unsearched, "active": found.active, "shown": shown}
    return {**with_index(memory, listed), **rest, "total": len(found.files) + found.unlisted}


@pytest.mark.parametrize("seed", range(4))
def test_answer_after_edits_is_the_one_computed_from_everything(
    seed: int, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T14:32:00Z")
    for _ in range(12):
        _edit(chance, repo)
    for _ in range(3):
        for _ in range(chance.randint(1, 4)):
            _edit(chance, repo)
        (repo / ".memory").mkdir(exist_ok=True)
        (repo / ".memory/config.yaml").write_text("format: 1\nproject: shop\n")
        task = f"{' '.join(chance.sample(WORDS, 3))} in src/shop"
        bounded = _answers(repo, task)
        shutil.rmtree(repo / ".git/memctl")
        with monkeypatch.context() as patch:
            patch.setattr(
                "memctl.sources.nearness._may_import", lambda files, resolver, wanted: set(files)
            )  # all imports are resolved
            every = _answers(repo, task, lists_all=True)
        same = ("contents", "refused", "differing", "named", "unsearched", "active", "total")
        assert {key: bounded[key] for key in same} == {key: every[key] for key in same}
        for path, (points, recency, reasons) in bounded["scored"].items():
            of_all = every["scored"][path]
            assert points == pytest.approx(of_all[0], abs=3), "rows of earlier versions count in the average length"
            assert (recency, reasons) == of_all[1:]
        least = min((every["scored"][path][0] for path in bounded["shown"]), default=0)
        missed = [path for path, (points, *_) in every["scored"].items() if points > least + 3]
        assert set(missed) <= set(bounded["shown"])
