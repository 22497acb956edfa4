"""Every way by which text gets into Git, tried with credentials of ten shapes: each is refused or redacted.

In the usual run each text is tried with one of them, another one than the text before it; in the slow tests with all.
The ways are the text options of all commands that write, as the command line itself lists them: a new command or option
is tried without anybody naming it, or fails here until somebody says how it is called.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec
import pytest

from memctl.cli.command_list import MODULES, of_kinds
from memctl.cli.main import cli
from memctl.hooks.hosts import CLAUDE_CODE, CODEX, GEMINI, Host
from memctl.record.kinds import KINDS
from tests.conftest import Memctl, Once, git, slow
from tests.hooks.session import Session

MIXED = string.ascii_letters + string.digits


def some(alphabet: str, length: int) -> str:
    """So many characters of an alphabet, in no order that the eye would see."""
    return "".join(alphabet[(place * place * 7 + place * 11 + 3) % len(alphabet)] for place in range(length))


def encoded(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


SECRETS = {
    "github": "gh" + "p_" + some(MIXED, 36),
    "gitlab": "gl" + "pat-" + some(MIXED, 20),
    "aws": "AK" + "IA" + some(string.ascii_uppercase + string.digits, 16),
    "anthropic": "sk" + "-ant-api03-" + some(MIXED, 60),
    "google": "AI" + "za" + some(MIXED, 35),
    "slack": "xo" + "xb-123456789012-" + some(string.ascii_lowercase + string.digits, 24),
    "stripe": "sk" + "_live_" + some(MIXED, 24),
    "jwt": ".".join([encoded({"alg": "HS256", "typ": "JWT"}), encoded({"sub": "123456"}), some(MIXED, 22)]),
    "sendgrid": "S" + "G." + some(MIXED, 22) + "." + some(MIXED, 43),
    "url": "postgres://shop:" + some(MIXED, 16) + "@db.example.org/shop",
}
DEC, SECOND, ISS, LRN = "DEC-2025-11-04-001", "DEC-2025-11-04-002", "ISS-2025-11-04-001", "LRN-2025-11-04-001"
OF_KIND = {"learning": LRN, "decision": "DEC-2025-11-04-003", "issue": ISS, "state": "STA-2025-11-04-001"}
RESOLVED, ARCHIVED, DELETED = "ISS-2025-11-04-002", "LRN-2025-11-04-002", "LRN-2025-11-04-003"
OFFERED, GIVEN = "HND-2025-11-04-001", "HND-2025-11-04-002"  # by bob to claude, and the other way round
CHAT = "User: Pay with {}\n\nAssistant: Decision: we use {}.\n\nUser: next step: rotate {}\n"
RECORD = "---\ntitle: Ask\n---\n\n## Lesson\n\nAsk with {}\n"
PAGE = "## Overview\n\nAsk with {}\n"


BY_HAND = "learnings/2025-11/LRN-2025-11-04-009-by-hand.md"
FILES = {
    BY_HAND: "---\nid: LRN-2025-11-04-009\nmemory_id: 019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90\n"
    "memory_type: learning\ntitle: By hand\nstatus: active\nimportance: 5\ntimestamp: 2025-11-04T14:32:00Z\n"
    "project_id: shop\nagent_id: claude\n---\n\n## Lesson\n\nAsk with {}\n",
    "sections/2.9-by-hand.md": "---\nid: §2.9\ntitle: By hand\n---\n\n## Overview\n\nAsk with {}\n",
    "project.md": "---\ntitle: shop\n---\n\n## Goal\n\nAsk with {}\n",
    "templates/decision.md": "## Decision\n\n{}\n",
    "README.md": "Ask with {}\n",
    "config.yaml": "format: 1\nproject: shop\n# {}\n",
    "sessions/hand.md": "---\nsession_id: hand\nproject_id: shop\nended: 2025-11-04T12:00:00Z\nturns: 3\n---\n\n"
    "## Session Summary — hand\n\n### Session Intent\n\nAsk with {}\n",
}


class Way(msgspec.Struct, frozen=True):
    """How a command is called so that it works (values by argument and option), and what text some of them take.

    `inputs` are the texts on standard input for those that name a file.
    """

    base: dict[str, str] = {}
    texts: dict[str, str] = {}
    inputs: dict[str, str] = {}
    stdin: str = ""


def recording(**options: str) -> Way:
    return Way({"TITLE": "Ask", **options}, inputs={"--file": RECORD})


WAYS = {
    "decide": recording(),
    "issue": recording(),
    "state": recording(),
    "learn": recording(),
    "session end": Way({"GIVEN": "monday"}, inputs={"--transcript": CHAT}),
    "session summarize": Way({"--transcript": "-", "--id": "tuesday"}, inputs={"--transcript": CHAT}, stdin=CHAT),
    "project set": Way({"--goal": "Sell"}, inputs={"--file": PAGE}),
    "section add": Way({"TITLE": "Stock"}, inputs={"--file": PAGE}),
    "section edit": Way({"MARKER": "§2.1", "--status": "Works"}, inputs={"--file": PAGE}),
    "section remove": Way({"MARKER": "§2.2"}),
    "detail add": Way({"TITLE": "Refunds", "--section": "2.1"}, inputs={"--file": PAGE}),
    "detail edit": Way({"MARKER": "§3.1", "--title": "Cards again"}, inputs={"--file": PAGE}),
    "detail remove": Way({"MARKER": "§3.1"}),
    "review": Way({"MARKERS": "§3.1"}),
    "handoff": Way(
        {
            "--to": "carol",
            "--section": "2.3",
            "--reason": "Out of room",
            "--summary": "Half done",
            "--immediate": "Write it",
            "--success": "It works",
        }
    ),
    "handoff accept": Way({"ID": OFFERED}, {"--decline": "It needs {}"}),
    "handoff decline": Way({"ID": OFFERED, "--reason": "No time"}),
    "handoff withdraw": Way({"ID": GIVEN, "--reason": "Not needed"}),
    "checkpoint save": Way({"--task": "Refunds", "--next": "Test it"}),
    "edit": Way(
        {"ID": LRN, "--set": "lesson=x"},
        {"--set": "lesson=Ask with {}", "--add": "tags={}", "--remove": "tags={}"},
        {"--file": "{record}\nAsk with {}\n"},
    ),
    "link": Way({"SOURCE": ISS, "TARGET": LRN}),
    "supersede": Way({"OLD": DEC, "NEW": SECOND}),
    "merge": Way({"KEPT": DEC, "OTHER": SECOND}),
    "resolve": Way({"IDS": ISS}),
    "reopen": Way({"IDS": RESOLVED}),
    "archive": Way({"IDS": LRN}),
    "unarchive": Way({"IDS": ARCHIVED}),
    "delete": Way({"IDS": LRN}),
    "restore": Way({"ID": DELETED}),
    "redact": Way({"--text": "-"}, {}, {"--text": "{}"}, stdin="Half done"),
    "maintain": Way(),
    "own acquire": Way({"SECTIONS": "§2.2"}),
    "own release": Way({"SECTIONS": "§2.1"}),
    "own transfer": Way({"SECTIONS": "§2.1", "--to": "bob"}),
    "renumber": Way(),
    "team assign": Way({"AGENT": "claude", "TASK": "Refunds"}),
    "team block": Way({"TEXT": "Nobody can pay"}),
    "team join": Way({"--task": "Refunds"}),
    "team leave": Way({"--reason": "It is done"}),
    "team share": Way({"NAME": "port", "VALUE": "8000"}),
    "team unblock": Way({"BLOCKER": "BLOCKER"}),
    "import": Way(
        {"FIRST": "-"},
        {},
        {"FIRST": '{"memory_type": "learning", "title": "Ask", "content": {"lesson": "with {}"}}\n'},
        stdin='{"memory_type": "learning", "title": "Ask", "content": {"lesson": "more"}}\n',
    ),
    # Which write, though they can't be tried with --dry-run.
    "session start": Way({"GIVEN": "friday"}),
    "event emit": Way({"--type": "phase_complete", "--phase": "design", "--output": "A plan"}),
}
# Commands that can be tried with --dry-run, and take no text that gets into Git.
WITHOUT_TEXT = {
    "render": "it renders what is there",
    "undo": "it takes a commit, and writes what was there before",
    "upgrade": "it rewrites what is there",
    "install": "it writes hooks and settings of this clone",
    "init": "it is run once, before there is a memory (below)",
    "commit": "it takes what is on the disk (below)",
    "sync": "it takes the name of a remote",
    "check": "with --fix it mends links",
    "export": "it writes outside of the memory",
    "tokens": "it keeps figures",
    "demo": "it makes a repository of its own, from texts that come with memctl",
}


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """All commands below one, with their names."""
    if path:
        yield " ".join(path), command
    if isinstance(command, click.Group):
        # Members of a group are tried by their names alone.
        listed = {*MODULES, *of_kinds()} if command is cli else command.commands
        for name in sorted(listed):
            found = command.get_command(click.Context(cli), name)
            assert found is not None
            yield from commands(found, (*path, name))


COMMANDS = dict(commands(cli))
WRITING = {name for name, one in COMMANDS.items() if any("--dry-run" in param.opts for param in one.params)}


def texts_of(name: str) -> list[str]:
    """The arguments and options of a command that take any text."""
    return [
        param.opts[0] if isinstance(param, click.Option) else str(param.name).upper()
        for param in COMMANDS[name].params
        if isinstance(param.type, (click.types.StringParamType, click.Path)) and not getattr(param, "is_flag", False)
    ]


def test_every_command_that_writes_is_named_here() -> None:
    assert WAYS.keys() & WITHOUT_TEXT.keys() == set()
    assert {name for name in WRITING if name not in WAYS} == set(WITHOUT_TEXT)
    assert all(name in COMMANDS for name in WAYS)
    for name, way in WAYS.items():
        assert {*way.base, *way.texts, *way.inputs} <= {*texts_of(name), "--type"}, name


@pytest.fixture
def full(repo: Path, memctl: Memctl, bob: Memctl, once: Once) -> Callable[[], Path]:
    """Makes the repository one with a memory in which each command has something to do, as often as it is called."""

    def make() -> None:
        memctl("project", "set", "--goal", "Sell", "--status", "Works", "--priority", "Cards")
        for title in ("Payment", "Mail", "Search"):
            memctl("section", "add", title, "--overview", "Has code.")
        memctl("detail", "add", "Cards", "--section", "2.1")
        memctl("decide", "Use cards", "--decision", "x", "--status", "accepted")
        memctl("decide", "Use more cards", "--decision", "x", "--status", "accepted")
        memctl("decide", "Use gift cards", "--decision", "x", "--status", "proposed")
        memctl("state", "Refunds", "--next", "x")
        for title in ("Slow", "Slower"):
            memctl("issue", title, "--severity", "high", "--description", "x")
        memctl("resolve", RESOLVED, "--resolution", "x")
        for title in ("Clocks drift", "Disks fill", "Nets fail"):
            memctl("learn", title, "--lesson", "x")
        memctl("archive", ARCHIVED)
        memctl("delete", DELETED)
        offer = ["--reason", "Out of room", "--summary", "Half", "--immediate", "Write it", "--success", "It works"]
        bob("handoff", "--to", "claude", "--task", "Mail", *offer)
        memctl("handoff", "--to", "bob", "--task", "Search", *offer)
        memctl("own", "acquire", "§2.1")
        memctl("own", "acquire", "§2.3")
        memctl("coordination", "join", "--task", "Cards")
        memctl("coordination", "block", "Nobody knows")
        memctl("session", "start", "monday")

    def filled() -> Path:
        once(make)
        return repo

    return filled


def arguments(way: Way, values: dict[str, str]) -> list[str]:
    """The words of a command line, arguments first."""
    plain = [value for name, value in values.items() if not name.startswith("-")]
    return [*(word for name, value in values.items() if name.startswith("-") for word in (name, value)), "--", *plain]


def leaks(repo: Path, *secrets: str) -> list[str]:
    """Where one of some secrets is: in the history of a ref, in what a commit says, in the memory's files."""
    log = git(repo, "log", "-p", "--all", "--format=%H %an %ae %B")
    files = [file for folder in (".memory", ".git/memctl") for file in (repo / folder).rglob("*") if file.is_file()]
    texts = {"git log -p --all": log.encode(), "the same without backslashes": log.replace("\\", "").encode()}
    texts |= {str(file.relative_to(repo)): file.read_bytes() for file in files}
    return [name for name, text in texts.items() if any(secret.encode() in text for secret in secrets)]


def call(memctl: Memctl, name: str, values: dict[str, str], stdin: str, *more: str) -> tuple[int, str]:
    result = memctl(*name.split(), *more, *arguments(WAYS[name], values), stdin=stdin, code=None)
    return result.code, result.err


def base_of(name: str, repo: Path) -> dict[str, str]:
    base = dict(WAYS[name].base)
    if "BLOCKER" in base.values():
        state = json.loads(git(repo, "show", "refs/memctl/coordination:blockers.json"))
        base["BLOCKER"] = next(iter(state))
    return base


def with_text(name: str, base: dict[str, str], text: str, value: str) -> dict[str, str]:
    """The same with a text; an option of a field is for a record that has the field."""
    kinds = [kind for kind in OF_KIND if text[2:] in {field.option for field in KINDS[kind].fields}]
    if name == "edit" and kinds and "learning" not in kinds:
        return {"ID": OF_KIND[kinds[0]], text: value}
    return {**base, text: value}


# Names of things that have to be there: they are refused for another reason. One shape is enough to see it.
NAMES = {
    "--section", "--relates-to", "--supersedes", "--blocks", "--blocked-by", "--parent", "--expires", "--timestamp",
    "--drop", "--number", "--at", "--remote", "--accept", "--workflow", "--base", "--until", "--model", "--id",
    "--set", "MARKER", "MARKERS", "ID", "IDS", "SOURCE", "TARGET", "OLD", "NEW", "SECTIONS", "BLOCKER", "GIVEN",
    "KEPT", "OTHER", "SECOND", "NAMES", "--remove", "--from", "--for", "--text", "--update", "--checkpoint",
    "handoff accept --decline", "team leave --agent", "edit --assignee",
}  # fmt: skip


TEXTS = [(name, text) for name in sorted(WAYS) for text in texts_of(name)]


def shapes_for(name: str, text: str, number: int) -> list[str]:
    """So many shapes of credentials to try in a text; one after the other, all texts together have all of them."""
    if text in NAMES or f"{name} {text}" in NAMES:
        number = 1
    first = TEXTS.index((name, text)) * number
    return [list(SECRETS)[(first + one) % len(SECRETS)] for one in range(number)]


@pytest.mark.parametrize("number", [1, *slow(len(SECRETS))])
@pytest.mark.parametrize("name", sorted(WAYS))
def test_a_command_works_and_refuses_or_redacts_a_credential_in_each_of_its_texts(
    full: Callable[[], Path], memctl: Memctl, name: str, number: int
) -> None:
    """What is refused leaves the repository as it was, so that the next text is tried in it."""
    repo, way = full(), WAYS[name]
    base, plain = base_of(name, repo), way.stdin.replace("{}", "cards")
    code, said = call(memctl, name, base, plain)
    assert code == 0 or name == "redact", said
    full()
    for text in texts_of(name):
        if text == "--out":
            continue  # a file that the user names
        is_name = text in NAMES or f"{name} {text}" in NAMES
        for shape in shapes_for(name, text, number):
            secret = SECRETS[shape]
            if text in way.inputs:
                kept = {name: value for name, value in base.items() if name != "--set"}  # which excludes a file
                values, stdin = {**kept, text: "-"}, way.inputs[text].replace("{}", secret)
                stdin = stdin.replace("{record}", memctl("show", LRN).out)
            else:
                value = way.texts.get(text, "Ask with {}").format(secret)
                values, stdin = with_text(name, base, text, value), plain
            code, said = call(memctl, name, values, stdin)
            if code and not is_name:
                assert "looks like a credential" in said, (text, shape, said)
            if not code:
                assert leaks(repo, *SECRETS.values()) == [], (text, shape)
                full()
    assert leaks(repo, *SECRETS.values()) == []


@pytest.mark.terminal  # else the name is that of an unknown program
@pytest.mark.parametrize("variable", ["MEMCTL_AGENT", "MEMCTL_SESSION", "GIT_AUTHOR_NAME"])
@pytest.mark.parametrize("name", ["learn", "handoff", "own acquire", "team join", "event emit", "checkpoint save"])
def test_a_credential_in_a_name_from_the_environment_is_refused(
    full: Callable[[], Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    repo = full()
    before = git(repo, "rev-parse", "HEAD")
    monkeypatch.setenv(variable, SECRETS["github"])
    call(memctl, name, WAYS[name].base, "")
    monkeypatch.undo()
    assert git(repo, "rev-parse", "HEAD") == before
    assert leaks(repo, SECRETS["github"]) == []


def test_a_project_with_a_credential_for_a_name_is_refused(repo: Path, memctl: Memctl) -> None:
    git(repo, "rm", "-rq", ".memory")
    git(repo, "commit", "-qm", "gone")
    for secret in SECRETS.values():
        memctl("init", "--project", secret, code=1)
        assert leaks(repo, secret) == []


@pytest.mark.parametrize("path", FILES)
def test_an_edit_by_hand_with_a_credential_is_not_committed(repo: Path, memctl: Memctl, path: str) -> None:
    file = repo / ".memory" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    before = git(repo, "rev-parse", "HEAD")
    for secret in SECRETS.values():
        file.write_text(FILES[path].replace("{}", secret))
        said = memctl("commit", code=None).err
        assert "looks like a credential" in said
        memctl("learn", "Clocks drift", "--lesson", "x", "--dry-run")
        assert git(repo, "rev-parse", "HEAD") == before


def test_a_credential_put_into_a_held_change_by_hand_is_not_committed(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Pay", "--lesson", "With a card", "--no-commit")
    file = next((repo / ".memory").rglob("LRN-2025-11-04-001*.md"))
    file.write_text(file.read_text().replace("With a card", f"With {SECRETS['github']}"))
    refused = memctl("commit", code=1)
    assert "looks like a credential" in refused.out + refused.err
    assert SECRETS["github"] not in git(repo, "log", "-p", "--all")
    file.write_text(file.read_text().replace(SECRETS["github"], "a card"))
    memctl("commit")
    assert "With a card" in git(repo, "show", f"HEAD:{file.relative_to(repo)}")


def test_an_edit_does_not_bring_in_a_credential_put_on_the_disk_by_hand(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Pay", "--lesson", "With a card")
    file = next((repo / ".memory").rglob("LRN-2025-11-04-001*.md"))
    file.write_text(file.read_text().replace("With a card", f"With {SECRETS['github']}"))
    assert "looks like a credential" in memctl("edit", "LRN-2025-11-04-001", "--set", "importance=7", code=1).err
    assert SECRETS["github"] not in git(repo, "log", "-p", "--all")


def test_adrs_with_a_credential_are_not_imported(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "adr").mkdir()
    for secret in SECRETS.values():
        text = f"# 1. Ask\n\nDate: 2025-11-04\n\n## Status\n\nAccepted\n\n## Context\n\nx\n\n## Decision\n\n{secret}\n"
        (tmp_path / "adr/0001-ask.md").write_text(text)
        memctl("import", "adr", str(tmp_path / "adr"), code=None)
        assert leaks(repo, secret) == []


def turn(session: Session, events: dict[str, str], shape: str) -> None:
    """One turn of a session with a credential in all that was said, run and written, and in a file's name."""
    secret, told = SECRETS[shape], session.transcript
    words = f"Deploy it with {secret}"
    file = session.repo / f"{shape}-{secret.replace('/', '-')}.txt"
    file.write_text("x")
    told.prompt(words)
    told.says(f"Decision: we use {secret}. Lesson: {secret} works. Next step: rotate {secret}.")
    told.call("Bash", f"fatal: {secret} is wrong", error=True, command=f"deploy --key {secret}")
    told.call("Write", "ok", details={"type": "create"}, file_path=str(file), content=secret)
    told.call("TodoWrite", todos=[{"content": f"Rotate {secret}", "status": "pending"}])
    for kind in ("prompt", "tool", "stop"):
        if kind in events:
            session.send(events[kind], prompt=words, prompt_response=words, tool_name="Bash")


@pytest.mark.parametrize("host", [CLAUDE_CODE, CODEX, GEMINI], ids=lambda host: host.name)
def test_hooks_leave_no_credential_of_a_session(repo: Path, memctl: Memctl, tmp_path: Path, host: Host) -> None:
    """Nothing of it is in Git; in the session's private state only names of files have any."""
    session = Session(repo, tmp_path / "5f6c2a10-7d1e.jsonl", host=host)
    events = {kind: event for event, kind in host.events.items()}
    session.send(events["start"], source="startup")
    for shape in SECRETS:
        turn(session, events, shape)
    if "compact" in events:
        session.send(events["compact"], trigger="auto", custom_instructions=SECRETS["slack"])
    session.transcript.compaction(f"We deployed with {SECRETS['github']}")
    turn(session, events, "github")
    for kind in ("stop", "end"):
        session.send(events[kind], reason="exit")
    memctl("status")
    assert session.faults() == []
    log = git(repo, "log", "--all", "--format=%s")
    assert "summarize" in log
    assert "compact" not in events or "checkpoint" in log
    for shape, secret in SECRETS.items():
        assert [path for path in leaks(repo, secret) if not path.endswith("/state.json")] == [], shape
