"""`from memctl import Memory`: what programs call does what the commands do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import git as gitpython
import pytest

from memctl import MemctlError, Memory, api
from memctl.record.kinds import DECISION, ISSUE, LEARNING, STATE, Kind
from tests.conftest import Memctl, commits, git
from tests.serving import serving

FIELDS = [
    (DECISION, api.DecisionFields),
    (ISSUE, api.IssueFields),
    (STATE, api.StateFields),
    (LEARNING, api.LearningFields),
]


@pytest.mark.parametrize(("kind", "fields"), FIELDS, ids=lambda one: getattr(one, "name", ""))
def test_api_fields_of_a_record_are_those_of_its_type(kind: Kind, fields: type) -> None:
    own = set(get_type_hints(fields)) - set(get_type_hints(api.RecordFields))
    assert own == {field.name for field in kind.fields} | set(kind.defaults)


def test_memory_is_written_and_read_by_a_program(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)
    with Memory.open(repo) as memory:
        old = memory.decide("Adopt PostgreSQL", rationale="Orders need transactions", tags=["db", "orders"])
        new = memory.decide(
            "Queue in PostgreSQL",
            alternatives_considered=["Redis: one more service", "files"],
            code_refs=["queue.py"],
            relates_to=[old.id],
            importance=9,
            reason="asked for",
        )
        issue = memory.issue("Jobs are lost", severity="high", attempted_fixes=("retry",))
        state = memory.state("Move the queue", completion_percentage=40, substeps_completed=["schema"])
        learnt = memory.learn("Pool size beats retries", lesson="Retries hide an exhausted pool")
        assert commits(repo) == before + 5
        assert new.commit == git(repo, "rev-parse", "HEAD~3").strip()
        assert new.paths[0].endswith(".md")

        record = memory.get(new.id)
        assert (record.title, record.importance, record.relates_to) == ("Queue in PostgreSQL", 9, [old.id])
        assert "- Redis: one more service\n- files\n" in memory.text(new.id)
        assert [one.id for one in memory.records("issue", "learning")] == [issue.id, learnt.id]

        memory.edit(
            state.id,
            {"completion_percentage": 80, "substeps_remaining": ["drain", "switch\nover"], "tags": ["x", "y"]},
            add={"substeps_completed": ["copy", "verify"]},
            remove={"substeps_completed": "schema"},
        )
        assert memory.get(state.id).completion_percentage == 80
        assert memory.get(state.id).tags == ["x", "y"]
        assert "- copy\n- verify\n" in memory.text(state.id)
        memory.resolve(issue.id, resolution="A transaction per job")
        assert memory.get(issue.id).status == "resolved"
        assert memory.get(issue.id, at="HEAD~1").status == "open"
        assert [finding.code for finding in memory.check()] == ["MEM203"]  # queue.py is not there


def test_recorded_decision_is_found_packed_and_explained(repo: Path, memctl: Memctl) -> None:
    (repo / "queue.py").write_text("JOBS = []\n")
    git(repo, "add", "queue.py")
    git(repo, "commit", "-qm", "feat: a queue")
    memory = Memory.open(gitpython.Repo(repo))
    made = memory.decide("Queue in PostgreSQL", rationale="One service fewer to run", code_refs=["queue.py"])
    memory.learn("Tests run in shared memory")

    assert [one.id for one in memory.search("service queue", types=["record"])] == [made.id]
    because = memory.why("queue.py:1")
    assert [one.id for one in because.records] == [made.id]
    assert because.answer
    pack = memory.pack(task="the queue", budget=2000)
    assert "One service fewer to run" in pack.text
    assert pack.tokens <= 2000
    assert [entry.operations for entry in memory.history(made.id)] == [("decide",)]
    assert memory.history(limit=1)[0].commit.hexsha == git(repo, "rev-parse", "HEAD").strip()


def test_invalid_calls_raise_with_a_hint_and_write_nothing(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memory = Memory.open(repo)
    before = commits(repo)
    for wrong in (
        lambda: memory.decide("", rationale="none"),
        lambda: memory.decide("No such section", section="9.9"),
        lambda: memory.issue("A key", description="AKIA" + "IOSFODNN7EXAMPLZ"),
        lambda: memory.get("DEC-1999-01-01-001"),
        lambda: memory.search("x", types=["decisoin"]),
        lambda: memory.pack(section="9.9"),
        lambda: memory.pack(form="html"),
        lambda: memory.pack(budget=0),
        lambda: memory.records("decisoin"),
        lambda: memory.hand_over("codex", reason="x", kind="whole"),
        lambda: Memory.open(tmp_path),
    ):
        with pytest.raises(MemctlError) as caught:
            wrong()
        assert caught.value.message
    assert commits(repo) == before
    made = memory.decide("Only tried", dry_run=True)
    assert (made.commit, commits(repo)) == ("", before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory.issue(5), "title must be a text, not 5"),
        (lambda memory: memory.get(5), "record_id must be a text, not 5"),
        (lambda memory: memory.get("DEC-1", at=1), "at must be a text or None, not 1"),
        (lambda memory: memory.pack(budget="x"), "budget must be a whole number of 0 or more or None, not 'x'"),
        (lambda memory: memory.pack(budget=True), "budget must be a whole number of 0 or more or None, not True"),
        (lambda memory: memory.decide("T", rationale=5), "rationale must be a text, not 5"),
        (lambda memory: memory.decide("T", tags=["a", 1]), "tags must be a list of texts, not ['a', 1]"),
        (lambda memory: memory.decide("T", importance="9"),
         "importance must be a whole number from 1 to 10, not '9'"),
        (lambda memory: memory.decide("T", importance=11), "importance must be a whole number from 1 to 10, not 11"),
        (lambda memory: memory.state("T", completion_percentage=101),
         "completion_percentage must be a whole number from 0 to 100, not 101"),
        (lambda memory: memory.decide(""), "the title must not be empty"),
        (lambda memory: memory.decide("a\ud800"), "title must not contain a lone surrogate: 'a\\ud800'"),
        (lambda memory: memory.decide("T", tags=["a\ud800"]), "tags must not contain a lone surrogate: 'a\\ud800'"),
        (lambda memory: memory.edit("DEC-1", {"title": "a\ud800"}),
         "values must not contain a lone surrogate: 'a\\ud800'"),
        (lambda memory: memory.decide("T", sevrity="x"), "'sevrity' is not a field of a decision"),
        (lambda memory: memory.pack(budget=0), "a budget of 0 tokens is too small"),
        (lambda memory: memory.pack(form="html"), "'html' is not a valid form"),
        (lambda memory: memory.search("x", types=["decisoin"]), "'decisoin' is not a valid type"),
        (lambda memory: memory.resolve(), "no record is named"),
        (lambda memory: memory.resolve(None), "record_ids must be a text, not None"),
        (lambda memory: memory.records(5), "types must be a text, not 5"),
        (lambda memory: memory.search("x", types="issue"), "types must be a list of texts, not 'issue'"),
        (lambda memory: memory.edit("DEC-1", ["a"]), "values must be a mapping of fields to values, not ['a']"),
        (lambda memory: memory.sentence("DEC-1"), "record must be a Record, not 'DEC-1'"),
        (lambda memory: memory.hand_over("b", reason="r", sections="2.1"),
         "sections must be a list of texts, not '2.1'"),
        (lambda memory: memory.edit("DEC-1", {"tags": b"ab"}),
         "tags must be a text, a number or a list of texts, not b'ab'"),
        (lambda memory: memory.edit("DEC-1", add=["a"]), "add must be a mapping of fields to values, not ['a']"),
        (lambda memory: memory.edit("DEC-1", add={"tags": 5}),
         "tags must be a text, a number or a list of texts, not 5"),
        (lambda memory: memory.search("x", limit=-1), "limit must be a whole number of 0 or more, not -1"),
        (lambda memory: memory.get("DEC-1", at="a\0b"), "at must not contain a NUL character: 'a\\x00b'"),
        (lambda memory: memory.open(5), "where must be a text or a path or a Repo, not 5"),
    ],
)  # fmt: skip
def test_wrong_argument_is_named_with_what_is_right_and_ends_as_wrong_usage(
    repo: Path, call: Callable[[Memory], object], message: str
) -> None:
    with Memory.open(repo) as memory, pytest.raises(MemctlError) as raised:
        call(memory)
    assert (raised.value.message, raised.value.exit_code) == (message, 2)


def test_writes_return_what_a_record_lacks(repo: Path) -> None:
    with Memory.open(repo) as memory:
        made = memory.decide("Queue in files")
        assert [hint.partition(":")[0] for hint in made.hints] == ["the decision gives no reason"]
        assert memory.decide("Log JSON", rationale="The collector needs it").hints == ()


def test_optional_argument_may_be_none_or_a_generator(repo: Path) -> None:
    with Memory.open(repo) as memory:
        written = memory.decide("Use it", rationale="r", section=None, tags=(one for one in ("a", "b")))  # type: ignore[typeddict-item]
        assert memory.get(written.id).tags == ["a", "b"]


def test_agent_of_an_opened_memory_is_in_the_record_and_the_commit(repo: Path, memctl: Memctl) -> None:
    memory = Memory.open(repo, agent="importer")
    made = memory.learn("Named")
    assert memory.get(made.id).agent_id == "importer"
    assert memory.history(made.id)[0].actor == "importer"


def test_importing_memctl_does_not_load_the_interface() -> None:
    shown = "import sys, memctl; print([n for n in sys.modules if n.startswith('memctl.')]); memctl.Memory; "
    shown += "print(sorted(n for n in sys.modules if n.startswith('memctl.')))"
    process = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert process.stdout.split("\n")[:2] == ["[]", "['memctl.api', 'memctl.arguments', 'memctl.errors']"]


EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def example(repo: Path, name: str, *args: str) -> str:
    process = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *args], cwd=repo, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_examples_of_the_documentation_run(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    assert "in commit" in example(repo, "record_and_search", "Backups take an hour", "The disk is slow")
    assert example(repo, "record_and_search", "Backups take an hour", "again").startswith("known already: LRN-")

    table = tmp_path / "issues.csv"
    table.write_text("title,severity,description\nCheckout times out,high,Under load\nNo dark mode,,\n")
    assert len(example(repo, "import_csv", str(table)).splitlines()) == 2
    assert example(repo, "import_csv", str(table)) == ""

    made = memctl("decide", "Queue in PostgreSQL", "--rationale", "One service fewer to run")
    assert made.id in example(repo, "who_decides")

    for name in ("record_and_search", "import_csv", "ask_a_model"):
        alone = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], cwd=repo, capture_output=True, text=True)
        assert (alone.returncode, f"`python {name}.py " in alone.stderr) == (1, True)

    with serving((200, b'{"choices": [{"message": {"content": "Because."}}]}', {})) as server:
        assert example(repo, "ask_a_model", server.address, "any", "why a queue in PostgreSQL?") == "Because.\n"
        path, _, body = server.asked[0]
    assert path == "/v1/chat/completions"
    assert "One service fewer to run" in body["messages"][0]["content"]


def test_links_are_set_and_removed_in_both_records(repo: Path) -> None:
    with Memory.open(repo, agent="ada") as memory:
        first, second = memory.issue("Jobs are lost").id, memory.issue("The queue blocks").id
        memory.link(first, second, "blocked_by", reason="found by Bob")
        assert (memory.get(first).blocked_by, memory.get(second).blocks) == ([second], [first])
        memory.link(second, first, "blocks", remove=True)
        assert memory.get(first).blocked_by == []
        old, new = memory.learn("Slow", lesson="12 ms").id, memory.learn("Slow now", lesson="3 ms").id
        memory.link(new, old, "supersedes")
        assert memory.get(old).status == "superseded"
        with pytest.raises(MemctlError, match="'cites' is not a valid relation"):
            memory.link(first, second, "cites")


def test_records_of_a_section_include_those_about_its_code(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Jobs", "--path", "*.py")
    with Memory.open(repo, agent="ada") as memory:
        placed, about = memory.issue("Placed", section="2.1").id, memory.issue("About", code_refs=["app.py"]).id
        memory.issue("Elsewhere")
        assert [record.id for record in memory.records(section="2.1")] == [placed, about]
        with pytest.raises(MemctlError, match=r"no section §2\.9"):
            memory.records(section="2.9")


def test_a_program_that_never_closes_the_memory_ends_quietly(repo: Path) -> None:
    program = f"from memctl import Memory\nm = Memory.open({str(repo)!r})\nm.check(at='HEAD')\n"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
