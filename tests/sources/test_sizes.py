"""Tokens of files: counted once, estimated otherwise."""

from __future__ import annotations

import math
from pathlib import Path

from memctl.sources import facts
from memctl.sources.sizes import PER_BYTE, TokenSizes
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.source_facts import Content
from memctl.tokens.count import Calibration, Counter
from memctl.tokens.families import FAMILIES, KINDS, family_of


def test_token_count_names_its_source(repo: Path) -> None:
    memory = open_memory(repo, {})
    files, cache = FilesOnDisk(memory), load.open_cache(memory)
    files.tree()
    content = Content("1" * 40, facts.of_content("app.py", (repo / "app.py").read_bytes()))
    counter = Counter(family_of("gpt"))
    sizes = TokenSizes(counter, files, cache)
    about = sizes.look_up(content)
    assert (about.source, about.error) == ("size x 0.231", 0.3)
    counted = sizes.count("app.py", content)
    assert counted == counter.count((repo / "app.py").read_text(), "python")
    sizes.keep()
    (repo / "app.py").unlink()
    again = TokenSizes(counter, files, cache)
    assert again.look_up(content) == again.count("app.py", content) == counted, "it is not read again"
    other = TokenSizes(Counter(family_of("claude")), files, cache)
    assert other.count("app.py", content).source.startswith("size x"), "another family, and the file is gone"


def test_new_calibration_invalidates_earlier_token_counts(repo: Path) -> None:
    memory = open_memory(repo, {})
    files, cache = FilesOnDisk(memory), load.open_cache(memory)
    files.tree()
    content = Content("1" * 40, facts.of_content("app.py", (repo / "app.py").read_bytes()))
    before = TokenSizes(Counter(family_of("gpt")), files, cache)
    first = before.count("app.py", content)
    before.keep()
    learnt = Calibration(model="gpt-5", ratio=3.0, observations=9, error=0.03, before=0.5, after=0.02)
    counter = Counter(family_of("gpt"), calibration=learnt)
    after = TokenSizes(counter, files, cache)
    assert after.look_up(content).tokens == math.ceil(content.facts.size * PER_BYTE["python"] * 3)
    assert after.count("app.py", content) == counter.count((repo / "app.py").read_text(), "python") != first


def test_every_kind_of_text_has_tokens_per_byte() -> None:
    assert set(PER_BYTE) == set(KINDS) == set(FAMILIES["claude"].factors)
