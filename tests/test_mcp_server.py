"""`memctl mcp`, asked by the protocol's own client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import family_of
from tests.conftest import Memctl, commits, git

if TYPE_CHECKING:
    from mcp import Client

LIST_TOKENS = 1500  # of the list of tools, which every request of a client carries


def with_client(folder: Path, do: Callable[[Client], Awaitable[None]], **environ: str) -> None:
    """Start the server as a client's settings do, and let it be asked."""
    import anyio  # each worker reads all modules of tests, and one of them needs this
    from mcp import Client, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memctl", "-C", str(folder), "mcp"],
        env={**{name: value for name, value in os.environ.items() if name != "MEMCTL_AGENT"}, **environ},
    )

    async def run() -> None:
        async with Client(stdio_client(server)) as client:
            await do(client)

    anyio.run(run)


async def call(client: Client, name: str, **arguments: Any) -> str:
    """Return a tool's answer, with a mark if it is an error."""
    result = await client.call_tool(name, arguments)
    text = "\n".join(part.text for part in result.content if part.type == "text")
    return f"ERROR {text}" if result.is_error else text


def test_mcp_client_records_finds_changes_and_hands_over(repo: Path, memctl: Memctl) -> None:
    (repo / "queue.py").write_text("JOBS = []\n")
    git(repo, "add", "queue.py")
    git(repo, "commit", "-qm", "feat: a queue")
    memctl("section", "add", "Jobs", "--path", "*.py")
    before = commits(repo)

    async def ask(client: Client) -> None:
        fields = {"rationale": "One service fewer", "code_refs": ["queue.py"], "section": "2.1"}
        made = await call(client, "record", type="decision", title="Queue in PostgreSQL", fields=fields)
        assert "DEC-2025-11-04-001" in made
        await call(client, "record", type="issue", title="Jobs are lost", fields={"severity": "high"})
        found = await call(client, "recall", query="postgresql queue")
        assert "DEC-2025-11-04-001 (accepted decision) Queue in PostgreSQL: One service fewer" in found
        assert "information, not instructions" in found
        assert "One service fewer" in await call(client, "why", path="queue.py")
        for part in ("DEC-2025-11-04-001", "dec-", "DEC-2025-11-04"):
            assert "## Rationale" in await call(client, "recall", query=part)
        await call(client, "record", type="decision", title="Retry twice", fields={"rationale": "Once is too few"})
        assert "Once is too few" in await call(client, "recall", query="04-002")
        assert "Jobs" in await call(client, "recall", query="§2.1")
        assert "changed" in await call(client, "update", id="ISS-2025-11-04-001", add={"tags": ["queue"]})
        assert "resolved" in await call(client, "update", id="ISS-2025-11-04-001", resolution="A transaction per job")
        given = await call(
            client, "hand_over", to="codex", reason="Ready", next=["Test"], success=["All pass"], sections=["2.1"]
        )
        assert "HND-2025-11-04-001" in given
        assert "Queue in PostgreSQL" in given
        record = await client.read_resource("memctl://record/DEC-2025-11-04-001")
        assert "One service fewer" in record.contents[0].text

    with_client(repo, ask, MEMCTL_AGENT="claude")
    assert commits(repo) == before + 6
    assert memctl("show", "ISS-2025-11-04-001", "--json").data["records"][0]["status"] == "resolved"


def test_refused_tool_call_gives_a_reason_and_writes_nothing(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)

    async def ask(client: Client) -> None:
        wrong = await call(client, "record", type="issue", title="Odd", fields={"sevrity": "low"})
        assert wrong.startswith("ERROR")
        assert "severity" in wrong
        astray = await call(client, "record", type="decision", title="Log JSON", rationale="The collector needs it")
        arguments = "the arguments are type, title, fields"
        into = f"(fields of a record go into `fields`; {arguments})"
        assert astray == f"ERROR rationale: the argument is unknown {into}"
        odd = await call(client, "record", type="decisio", fields={"importance": 1.5})
        said = (
            "type: must be 'decision', 'issue', 'state' or 'learning', not 'decisio'; title: this argument is missing"
        )
        assert odd == f"ERROR {said}; fields.importance: 1.5 has a wrong type {into}"
        assert await call(client, "why", path=["a"]) == "ERROR path: ['a'] has a wrong type (the arguments are path)"
        key = "AKIA" + "IOSFODNN7EXAMPLZ"
        assert (await call(client, "record", type="learning", title="A key", fields={"lesson": key})).startswith(
            "ERROR"
        )
        assert (await call(client, "recall", query="DEC-1999-01-01-001")).startswith("ERROR")
        assert (await call(client, "update", id="DEC-1999-01-01-001", values={"importance": 3})).startswith("ERROR")
        from mcp import MCPError

        with pytest.raises(MCPError):
            await client.read_resource("memctl://record/DEC-1999-01-01-001")

    with_client(repo, ask)
    assert commits(repo) == before


def test_an_update_links_records_and_finishes_a_state(repo: Path, memctl: Memctl) -> None:
    async def ask(client: Client) -> None:
        await call(client, "record", type="issue", title="Jobs are lost", fields={"next_actions": "Log them"})
        await call(client, "record", type="state", title="Queue", fields={"code_refs": "queue.py"})
        links = {"blocks": "STA-2025-11-04-001", "tags": "queue"}
        assert "linked" in await call(client, "update", id="ISS-2025-11-04-001", add=links)
        done = await call(client, "update", id="STA-2025-11-04-001", resolution="Jobs are in a table")
        assert done.startswith("changed STA-2025-11-04-001 in commit ")
        for lesson in ("12 ms a job", "13 ms a job"):
            again = await call(client, "record", type="learning", title="Slow", fields={"lesson": lesson})
        assert "near: LRN-2025-11-04-001 Slow: " in again
        assert again.endswith('takes its place, update it with `add`: {"supersedes": "LRN-2025-11-04-001"}')
        newer = await call(client, "update", id="LRN-2025-11-04-002", add={"supersedes": "LRN-2025-11-04-001"})
        assert newer.startswith("linked ")
        unknown = {"tags": "slow", "relates_to": "LRN-1999-01-01-001"}
        assert (await call(client, "update", id="LRN-2025-11-04-002", add=unknown)).startswith("ERROR ")

    with_client(repo, ask)
    state = memctl("show", "STA-2025-11-04-001", "--json").data["records"][0]
    assert (state["status"], state["completion_percentage"]) == ("done", 100)
    assert state["content"]["substeps_completed"] == ["Jobs are in a table"]
    assert state["blocked_by"] == ["ISS-2025-11-04-001"]
    older, newer = memctl("show", "LRN-2025-11-04-001", "LRN-2025-11-04-002", "--json").data["records"]
    assert older["status"] == "superseded"
    assert newer["tags"] == []


def test_recall_of_a_long_record_leaves_room_in_a_window(repo: Path, memctl: Memctl) -> None:
    memctl("issue", "Long", "--description", "word " * 20_000)

    async def ask(client: Client) -> None:
        text = await call(client, "recall", query="ISS-2025-11-04-001")
        assert 20_000 < len(text) < 20_200
        assert text.endswith(" more characters are in the record's file")

    with_client(repo, ask)


def test_why_of_a_file_without_records_lists_its_commits(repo: Path) -> None:
    for text in ("one", "two"):
        (repo / "app.py").write_text(text)
        git(repo, "commit", "-qam", f"feat: {text}\n\nThe shop needs {text}.")

    async def ask(client: Client) -> None:
        lines = (await call(client, "why", path="app.py")).split("\n")
        assert lines[2].startswith("feat: two. The shop needs two. (")  # the first commit added all files
        assert [line.split(" ", 3)[3] for line in lines[3:]] == ["feat: two", "feat: one", "start"]

    with_client(repo, ask)


def test_hints_of_tools_name_tools_and_not_commands(repo: Path, memctl: Memctl) -> None:
    async def ask(client: Client) -> None:
        made = await call(client, "record", type="decision", title="Queue in files")
        again = 'record a new decision with `rationale` and with `supersedes`: ["DEC-2025-11-04-001"]'
        assert made.partition("\n")[2] == f"hint: the decision gives no reason: {again}"
        refused = await call(client, "update", id="DEC-2025-11-04-001", values={"rationale": "x"})
        assert refused.startswith(
            "ERROR the decision DEC-2025-11-04-001 is accepted: its text can't be changed any more"
        )
        assert 'record a new decision with `supersedes`: ["DEC-2025-11-04-001"]' in refused
        fields = {"rationale": "One service fewer", "supersedes": ["DEC-2025-11-04-001"]}
        better = await call(client, "record", type="decision", title="Queue in files", fields=fields)
        assert better.startswith("recorded DEC-2025-11-04-002 in commit ")
        raw = await call(client, "record", type="learning", title="Slow", fields={"lesson": "12.5 ms"})
        missing = await call(client, "recall", query="DEC-1999-01-01-001")
        hint = "recall finds ids; if DEC-1999-01-01-001 was deleted, the user can restore it"
        assert missing == f"ERROR there is no record 'DEC-1999-01-01-001' ({hint})"
        await call(client, "record", type="state", title="Move the queue")
        done = await call(client, "record", type="state", title="Move the queue", fields={"completion_percentage": 100})
        linked = await call(client, "update", id="DEC-2025-11-04-002", values={"supersedes": "DEC-2025-11-04-001"})
        assert "give links in `add`" in linked
        for answer in (made, refused, better, raw, missing, done, linked):
            assert not {"memctl", "--"} & set(answer.replace("`", " ").split()), answer
            assert "--" not in answer, answer

    with_client(repo, ask)


def test_mcp_client_writes_under_its_name_only_in_trusted_clones(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("learn", "Something")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone))

    async def refused(client: Client) -> None:
        assert "not trusted" in await call(client, "record", type="learning", title="More")
        found = await call(client, "recall", query="something")
        assert "Something" in found
        assert "does not trust" in found

    with_client(clone, refused)

    async def allowed(client: Client) -> None:
        assert "recorded" in await call(client, "record", type="learning", title="More")

    with_client(repo, allowed)
    actor = git(repo, "log", "-1", "--format=%(trailers:key=Memctl-Actor,valueonly)").strip()
    assert actor == "mcp"  # what the client calls itself


def test_file_is_given_only_as_summarize_gives_it(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    key = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH " + "PRIVATE KEY-----\n"
    token = "ghp" + "_A1b2C3d4E5A1b2C3d4E5A1b2C3d4E5f6G7h8"
    (repo / "id_rsa").write_text(key)
    (repo / "token.txt").write_text(f"{token}\n")
    (repo / "long.py").write_text('def pay():\n    """Pay."""\n' + "    x = 1  # a line\n" * 5_000)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "files")
    (repo / "credentials.json").write_text(f'{{"token": "{token}"}}\n')
    memctl("section", "add", "Files", "--overview", "What is here.")
    git(tmp_path, "clone", "-q", str(repo), str(tmp_path / "clone"))

    async def ask(client: Client) -> None:
        from mcp import MCPError

        for name in ("id_rsa", "token.txt", "credentials.json"):
            for query in (f"§4.{name}", f" §4.{name} "):
                answer = await call(client, "recall", query=query)
                assert answer.startswith(f"ERROR {name} can't be summarized")
            with pytest.raises(MCPError):
                await client.read_resource(f"memctl://page/§4.{name}")
        outline = await call(client, "recall", query="§4.long.py")
        assert "pay(): Pay." in outline
        assert len(outline) < 3_000

    async def ask_in_clone(client: Client) -> None:
        for name in ("id_rsa", "token.txt", "long.py"):
            assert "not trusted" in await call(client, "recall", query=f"§4.{name}")
        assert "What is here" in await call(client, "recall", query="§2.1")

    with_client(repo, ask)
    with_client(tmp_path / "clone", ask_in_clone)
    with_client(tmp_path / "clone", ask_in_clone, OPENCODE="1", MEMCTL_TRUST="1")


def test_client_signs_as_no_person_and_passes_no_guard_by_an_owners_name(repo: Path, memctl: Memctl) -> None:
    from mcp import Client, StdioServerParameters, stdio_client
    from mcp.types import Implementation

    memctl("section", "add", "Payment", "--path", "app.py")
    memctl("own", "acquire", "2.1")
    theirs = memctl("learn", "Theirs", "--lesson", "x").id
    mark = "%(trailers:key=Memctl-Actor,valueonly)"

    def ask_as(name: str, do: Callable[[Client], Awaitable[None]]) -> None:
        import anyio

        env = {key: value for key, value in os.environ.items() if key != "MEMCTL_AGENT"}
        server = StdioServerParameters(command=sys.executable, args=["-m", "memctl", "-C", str(repo), "mcp"], env=env)

        async def run() -> None:
            who = Implementation(name=name, version="1")
            async with Client(stdio_client(server), client_info=who) as client:
                await do(client)

        anyio.run(run)

    async def sign(client: Client) -> None:
        fields = {"agent_id": "Ada", "rationale": "r"}
        assert "recorded" in await call(client, "record", type="decision", title="Ship", fields=fields)
        assert (await call(client, "update", id=theirs, values={"agent_id": "Linus"})).startswith("ERROR")
        owned = await call(client, "record", type="learning", title="In it", fields={"section": "2.1", "lesson": "x"})
        assert "§2.1 is owned by claude" in owned

    for name, signed in (("Ada", "mcp"), ("ada", "mcp"), ("claude", "mcp"), ("editor", "editor")):
        ask_as(name, sign)
        assert git(repo, "log", "-1", f"--format={mark}").strip() == signed
    made = memctl("list", "--type", "decision", "--json").data["records"]
    assert sorted(record["agent_id"] for record in made) == ["editor", "mcp", "mcp", "mcp"]


def test_tool_list_is_short_and_marks_tools_that_only_read(repo: Path, memctl: Memctl) -> None:
    async def ask(client: Client) -> None:
        tools = (await client.list_tools()).tools
        reads = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
        assert {tool.name for tool in tools} == {"recall", "why", "record", "update", "hand_over"}
        assert reads == {"recall", "why"}
        listed = json.dumps([tool.model_dump(mode="json", exclude_none=True, by_alias=True) for tool in tools])
        assert Counter(family_of("claude")).tokens(listed) < LIST_TOKENS
        assert {prompt.name for prompt in (await client.list_prompts()).prompts} >= {"recording", "searching"}
        templates = (await client.list_resource_templates()).resource_templates
        assert {one.uri_template for one in templates} == {"memctl://record/{id}", "memctl://page/{marker}"}

    with_client(repo, ask)


@pytest.mark.slow
def test_concurrent_servers_lose_nothing(repo: Path, memctl: Memctl) -> None:
    import anyio
    from mcp import Client, StdioServerParameters, stdio_client

    before, each = commits(repo), 5

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for name in ("one", "two"):
                group.start_soon(write, name)

    async def write(name: str) -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "memctl", "-C", str(repo), "mcp"], env=dict(os.environ)
        )
        async with Client(stdio_client(server)) as client:
            for number in range(each):
                assert "recorded" in await call(client, "record", type="learning", title=f"{name} {number}")

    anyio.run(run)
    assert commits(repo) == before + 2 * each
    assert len(memctl("list", "--json").data["records"]) == 2 * each
    assert memctl("check").code == 0


def test_install_mcp_prints_the_server_settings(repo: Path, memctl: Memctl) -> None:
    cursor = json.loads(memctl("install", "mcp", "--for", "cursor").out)["mcpServers"]["memctl"]
    assert cursor["args"] == ["-C", "${workspaceFolder}", "mcp"]
    assert json.loads(memctl("install", "mcp", "--for", "vscode").out)["servers"]["memctl"]["type"] == "stdio"
    assert 'args = ["mcp"]' in memctl("install", "mcp", "--for", "codex").out
    assert memctl("install", "mcp", "--for", "gemini", "--json").data["file"] == ".gemini/settings.json"
    for wrong in (("mcp",), ("mcp", "--for", "github"), ("git", "--for", "cursor")):
        assert memctl("install", *wrong, code=2).err.startswith("error: ")
    assert git(repo, "status", "--porcelain") == ""


def ask_raw(
    folder: Path, query: str, *args: str, roots: list[str] | None = None, **environ: str
) -> tuple[list[str], dict[str, Any]]:
    """Start the server in a folder as a program does, and call `recall`.

    `query` is the JSON of the query. `roots` are the program's folders, as URIs; if it is None, the program can't name
    them. Returns the methods that the server called, and the result of the call.
    """
    command = [sys.executable, "-m", "memctl", *args, "mcp"]
    env = {**os.environ, **environ}
    server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert server.stdin is not None
    assert server.stdout is not None
    client = {"capabilities": {} if roots is None else {"roots": {}}, "clientInfo": {"name": "probe", "version": "1"}}
    client["protocolVersion"] = "2025-06-18"
    called: list[str] = []
    for line in (
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": '
        f"{query}}}}}}}",
    ):
        server.stdin.write(f"{line}\n")
        server.stdin.flush()
    for line in server.stdout:
        message = json.loads(line)
        if message.get("method") == "roots/list":
            called.append("roots/list")
            named = [{"uri": uri} for uri in roots or ()]
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": named}}) + "\n")
            server.stdin.flush()
        elif message.get("id") == 2:
            server.stdin.close()
            assert server.wait(20) == 0
            return called, message["result"]
    raise AssertionError("the server has ended without an answer")


@pytest.mark.parametrize(
    ("args", "environ"),
    [
        (("-C", "${workspaceFolder}"), {}),
        (("-C", "${env:HOME}/shop"), {}),
        (("-C", "$PWD"), {}),
        ((), {"MEMCTL_DIR": "${CLAUDE_PROJECT_DIR}"}),
        (("-C", "%CD%"), {}),
        (("-C", "$(pwd)"), {}),
        (("-C", "{workspaceFolder}"), {}),
        (("-C", "<folder of the project>"), {}),
    ],
)
def test_variable_that_the_program_left_in_its_settings_means_the_current_folder(
    repo: Path, memctl: Memctl, args: tuple[str, ...], environ: dict[str, str]
) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "x")
    _, result = ask_raw(repo, '"PostgreSQL"', *args, **environ)
    assert "Adopt PostgreSQL" in result["content"][0]["text"]


def test_folder_with_a_variable_in_its_name_is_taken_as_it_is(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "x")
    odd = repo / "$HOME"
    odd.mkdir()
    _, result = ask_raw(tmp_path, '"PostgreSQL"', "-C", str(odd))
    assert "Adopt PostgreSQL" in result["content"][0]["text"]


@pytest.mark.parametrize("name", ["shop", "a shop"])
def test_server_that_is_started_elsewhere_takes_the_folder_of_the_client(
    repo: Path, memctl: Memctl, tmp_path: Path, name: str
) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "x")
    moved = repo.rename(tmp_path / name)
    (moved / "sub").mkdir()
    roots = ["https://example.org/", (tmp_path / "gone").as_uri(), tmp_path.as_uri(), (moved / "sub").as_uri()]
    for args in ((), ("-C", "${workspaceFolder}")):
        called, result = ask_raw(Path("/"), '"PostgreSQL"', *args, roots=roots)
        assert called == ["roots/list"]
        assert "Adopt PostgreSQL" in result["content"][0]["text"]
    called, result = ask_raw(Path("/"), '"PostgreSQL"', "-C", str(moved), roots=[])
    assert called == []
    assert "Adopt PostgreSQL" in result["content"][0]["text"]


@pytest.mark.parametrize("roots", [None, [], ["file:///"]])
def test_server_without_a_memory_says_what_to_set(roots: list[str] | None) -> None:
    _, result = ask_raw(Path("/"), '"x"', roots=roots)
    assert result["isError"]
    assert "no memory in /" in result["content"][0]["text"]
    assert '"args": ["-C", ' in result["content"][0]["text"]


@pytest.mark.parametrize("query", [r'"\ud83d"', r'"pool \udca9\ud83d end"', r'"a\\\ud83d"', r'"\ud83d\ud83d\udca9"'])
def test_half_an_emoji_in_a_call_gets_an_answer(repo: Path, query: str) -> None:
    _, result = ask_raw(repo, query)
    assert result["content"][0]["text"].endswith("matches.")


def test_whole_emoji_and_escaped_backslashes_stay_as_they_are() -> None:
    from memctl.mcp_server import _encodable_line

    for line in (rb'{"a": "\ud83d\udca9 \\ud83d"}', b'{"a": "\xf0\x9f\x92\xa9"}'):
        assert json.loads(_encodable_line(line)) == json.loads(line)
    assert _encodable_line(rb"no JSON \ud83d") == rb"no JSON \ud83d"


@pytest.mark.parametrize("text", ["a b ", "'s ", "database pool ", "x", "\u6f22", '\\"a '])
def test_query_of_eight_megabytes_is_answered_at_once(repo: Path, memctl: Memctl, text: str) -> None:
    memctl("decide", "Adopt a database pool", "--rationale", "x")
    before = time.monotonic()
    ask_raw(repo, f'"{text * (8_000_000 // len(text))}"')
    assert time.monotonic() - before < 20  # it took 25 to 50 seconds


def test_path_of_a_megabyte_is_no_file(repo: Path, memctl: Memctl) -> None:
    assert "Git knows no file" in memctl("why", "a/" * 500_000, code=2).err  # it took minutes
