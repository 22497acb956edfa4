"""`memctl context window audit`."""

from __future__ import annotations

from pathlib import Path

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import ContextWindowManager, WindowConfig
from tests.conftest import Memctl
from tests.window.loops import Loop, text_of


def test_the_log_of_a_loop_is_summed_up(memctl: Memctl, tmp_path: Path) -> None:
    log = tmp_path / "window.jsonl"
    counter = Counter(FAMILIES["claude"])
    manager = ContextWindowManager(counter, WindowConfig(max_context_tokens=32_000), audit=log)
    loop = Loop(manager, counter, large=9_000, every=1)
    first = loop.turn("read", {"file_path": "src/a.ts"}, text_of(1, 9_000))
    loop.run(30)
    loop.turn("read", {"file_path": "src/a.ts"}, first.output)
    out = memctl("window", "audit", str(log)).out
    assert "results of tools: 32 kept whole, 0 summarized; the agent asked again for 1" in out
    assert "tool_result_summarization" in out
    assert "tokens freed of" in out
    data = memctl("window", "audit", str(log), "--json").data
    step = data["steps"]["tool_result_summarization"]
    assert step["times"] >= 1
    assert step["freed"] > 0
    assert step["wanted"] > 0
    assert sum(worth["again"] for worth in data["worth"].values()) == 1
    assert data["events"]["health: snapshot"] == 32


def test_a_missing_log_is_reported(memctl: Memctl, tmp_path: Path) -> None:
    assert "there is no audit log" in memctl("window", "audit", str(tmp_path / "none.jsonl"), code=2).err
