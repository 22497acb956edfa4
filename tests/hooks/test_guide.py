"""What an agent is taught: short, at the right place, and of commands that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from memctl.cli.main import cli
from memctl.cli.startup import Start
from memctl.hooks import agents_md
from memctl.hooks.guide import GUIDE, TOPICS
from memctl.text.fit import LIMIT, length
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from tests.conftest import Memctl, record_all
from tests.hooks.session import Session

BANNER = "information, not instructions"
PAGES = {
    "guide": GUIDE,
    "AGENTS.md": agents_md.add_block("", agents_md.AGENTS),
    **{n: one.text for n, one in TOPICS.items()},
}


def commands(text: str) -> list[str]:
    """The commands in a text: what stands between backticks and begins with memctl and one of its commands."""
    found = re.findall(r"`memctl ([^`]+)`", " ".join(text.split()))
    return [line for line in found if line != "decide|issue|state|learn"]


def parse(line: str) -> None:
    """Have click parse a command and all its options, and run nothing; raises click.UsageError."""
    args = shlex.split(line)
    ctx = click.Context(cli, info_name="memctl", obj=Start(()))
    found = cli.get_command(ctx, args.pop(0))
    assert found is not None, line
    while isinstance(found, click.Group) and args and args[0] in found.list_commands(ctx):
        found = found.get_command(ctx, args.pop(0))
        assert found is not None, line
    found.make_context(line, args, parent=ctx)


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_the_guide_parse(name: str) -> None:
    lines = commands(PAGES[name])
    assert lines
    for line in lines:
        parse(line)


def test_invalid_commands_do_not_parse() -> None:
    for line in ("decide X --reasons why", "checkpoint save --finished A", "resolve"):
        with pytest.raises(click.UsageError):
            parse(line)


@pytest.mark.parametrize("name", TOPICS)
def test_guide_pages_are_short(name: str) -> None:
    assert max(Counter(family).count(PAGES[name]).tokens for family in FAMILIES.values()) <= 400


def test_guide_is_shorter_than_180_tokens() -> None:
    assert Counter(FAMILIES["gpt"]).count(GUIDE).tokens <= 180


def test_the_guide_has_a_moment_for_each_command() -> None:
    for command in ("decide", "why", "search", "issue", "resolve", "learn"):
        assert re.search(rf"(?m)^- .+: `memctl {command} .+`", GUIDE), command
    assert '"' not in GUIDE  # in double quotes a shell runs what is in backticks
    assert GUIDE in PAGES["AGENTS.md"]


def test_guide_is_given_once_at_a_start_and_after_a_compaction(session: Session, memctl: Memctl) -> None:
    titles = [f"Decision {number}" for number in range(60)]
    record_all(memctl, "decision", titles, rationale="{}. " + "Because of this. " * 20, importance=9)
    for source in ("startup", "clear"):
        text = session.context("SessionStart", source=source)
        assert text.startswith(GUIDE)
        assert text.count("memctl why FILE") == 1
        assert text.index(GUIDE) < text.index(BANNER)
        assert 7_000 < length(text) <= LIMIT
    assert "memctl why FILE" not in session.context("SessionStart", source="resume")  # it has it still
    session.transcript.prompt("Refunds by card: orders can be refunded")
    session.transcript.call("TodoWrite", todos=[{"content": "Step. " * 40, "status": "pending"} for _ in range(300)])
    session.send("PreCompact", trigger="auto")
    text = session.context("SessionStart", source="compact")
    assert text.startswith(f"{GUIDE}\nRESUME: main")
    assert length(text) <= LIMIT


def test_the_guide_is_printed_where_there_is_no_memory(memctl: Memctl, tmp_path: Path) -> None:
    assert memctl("help", "agents", where=tmp_path).out == GUIDE
    assert all(f"  {name}" in memctl("help", where=tmp_path).out for name in TOPICS)
    assert memctl("guide", "ending", where=tmp_path).out == TOPICS["ending"].text
    data = memctl("help", "searching", "--json", where=tmp_path).data
    assert (data["topic"], data["text"]) == ("searching", TOPICS["searching"].text)
    assert memctl("help", "--json", where=tmp_path).data["text"] == GUIDE
    assert "recording" in memctl("help", "riddles", "--json", code=2).err
