"""Commands that change records: what they allow, both ends of links, and what they leave alone."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from memctl.cli.create import command
from memctl.cli.edit import edit_command
from memctl.record.kinds import KINDS, Kind
from tests.conftest import Memctl, changed_in, commits, git


def record(memctl: Memctl, identifier: str) -> dict[str, object]:
    found: dict[str, object] = memctl("show", identifier, "--json").data["records"][0]
    return found


def test_links_have_two_ends_and_one_commit(repo: Path, memctl: Memctl) -> None:
    issue, state = memctl("issue", "Broken").id, memctl("state", "Waiting").id
    before = commits(repo)
    memctl("link", issue, state, "--as", "blocks")
    assert commits(repo) == before + 1
    assert len(changed_in(repo)) == 2
    assert record(memctl, issue)["blocks"] == [state]
    assert record(memctl, state)["blocked_by"] == [issue]
    assert "nothing to change" in memctl("link", issue, state, "--as", "blocks").err
    assert "circle" in memctl("link", state, issue, "--as", "blocks", code=1).err
    memctl("link", issue, state, "--as", "blocks", "--remove")
    assert record(memctl, state)["blocked_by"] == []
    memctl("link", issue, state, "--as", "parent")
    assert record(memctl, issue)["parent_memory_id"] == record(memctl, state)["memory_id"]
    assert "itself" in memctl("link", issue, issue, code=1).err


def test_record_whose_links_close_a_circle_is_refused_at_creation(repo: Path, memctl: Memctl) -> None:
    first = memctl("issue", "First").id
    second = memctl("issue", "Second", "--blocked-by", first).id
    third = memctl("issue", "Third", "--blocked-by", second).id
    before = commits(repo)
    for blocks, blocked_by in ((first, first), (first, second), (first, third)):
        made = memctl("issue", "Closes it", "--blocks", blocks, "--blocked-by", blocked_by, code=1)
        assert f"blocks {blocks}, blocked by {blocked_by}" in made.err
    draft = json.dumps({"title": "From JSON", "blocks": [first], "blocked_by": [third]})
    assert "circle" in memctl("issue", "--file", "-", stdin=draft, code=1).err
    assert (commits(repo), git(repo, "status", "--porcelain")) == (before, "")
    memctl("issue", "In line", "--blocks", third, "--blocked-by", second)
    assert "MEM108" not in memctl("check", code=None).out


def test_no_record_becomes_superseded_without_a_successor(repo: Path, memctl: Memctl) -> None:
    lesson, new = memctl("learn", "Old lesson").id, memctl("learn", "New lesson").id
    text = memctl("show", lesson).out.replace("status: active", "status: superseded")
    before = commits(repo)
    for args, given in (("--set status=superseded", ""), ("--status superseded", ""), ("--file -", text)):
        refused = memctl("edit", lesson, *args.split(), stdin=given, code=1).err
        assert f"{lesson} has no successor" in refused
        assert f"memctl supersede {lesson} NEW" in refused
    assert commits(repo) == before
    memctl("supersede", lesson, new)
    memctl("edit", lesson, "--set", "status=superseded", "--set", "importance=3")


def test_a_new_record_can_supersede_and_link_in_its_own_commit(repo: Path, memctl: Memctl) -> None:
    old, other = memctl("decide", "Old").id, memctl("issue", "Cause").id
    before = commits(repo)
    new = memctl("decide", "New", "--supersedes", old, "--relates-to", other).id
    assert commits(repo) == before + 1
    assert record(memctl, old)["superseded_by"] == [new]
    assert record(memctl, old)["status"] == "superseded"
    assert record(memctl, other)["relates_to"] == [new]
    assert "can't become superseded" not in memctl("decide", "Newer", "--supersedes", new).err


@pytest.mark.parametrize(
    ("kind", "start", "steps", "wrong"),
    [
        ("decide", "proposed", ["accepted", "deprecated", "accepted"], "proposed"),
        ("issue", "open", ["in-progress", "resolved", "open", "wontfix"], "in-progress"),
        ("state", "active", ["done", "active"], "paused"),
        ("learn", "active", ["retracted", "active"], "resolved"),
    ],
)
def test_statuses_follow_their_order(memctl: Memctl, kind: str, start: str, steps: list[str], wrong: str) -> None:
    made = memctl(kind, "Moves", "--status", start)
    for status in steps:
        memctl("edit", made.id, "--set", f"status={status}")
    failed = memctl("edit", made.id, "--set", f"status={wrong}", code=1)
    assert "status" in failed.err or "can't become" in failed.err
    assert record(memctl, made.id)["status"] == steps[-1]


def test_text_of_an_accepted_decision_changes_only_with_the_option(memctl: Memctl) -> None:
    made = memctl("decide", "Settled", "--rationale", "good").id
    for change in ("title=Other", "rationale=bad"):
        assert "--allow-accepted" in memctl("edit", made, "--set", change, code=1).err
    memctl("edit", made, "--add", "tags=x", "--set", "importance=9")
    memctl("edit", made, "--set", "rationale=better", "--allow-accepted")
    proposed = memctl("decide", "Open", "--status", "proposed").id
    memctl("edit", proposed, "--set", "rationale=still moving")


@pytest.mark.parametrize("door", ["set", "file"])
def test_accepting_a_proposal_ends_its_term(repo: Path, memctl: Memctl, door: str) -> None:
    made = memctl("decide", "Use Redis", "--rationale", "Fast", "--status", "proposed", "--expires", "7d").id
    memctl("edit", made, "--set", "importance=6")
    assert record(memctl, made)["expires_at"]
    if door == "set":
        memctl("edit", made, "--set", "status=accepted")
    else:
        text = next((repo / ".memory" / "decisions").rglob("*.md")).read_text()
        memctl("edit", made, "--file", "-", stdin=text.replace("status: proposed", "status: accepted"))
    assert (record(memctl, made)["status"], record(memctl, made)["expires_at"]) == ("accepted", None)


def test_accepting_a_proposal_with_a_new_term_keeps_that_term(memctl: Memctl) -> None:
    made = memctl("decide", "Use Redis", "--rationale", "Fast", "--status", "proposed", "--expires", "7d").id
    memctl("edit", made, "--set", "status=accepted", "--set", "expires_at=2030-01-01")
    assert str(record(memctl, made)["expires_at"]).startswith("2030-01-0")


def test_edit_sets_adds_and_removes(memctl: Memctl) -> None:
    made = memctl("state", "Task", "--done", "a", "--remaining", "b", "--tag", "x").id
    sets = ("completion_percentage=50", "title=New  title", "section=3.1", "task=What it is", "expires_at=2d")
    options = [part for value in sets for part in ("--set", value)]
    lists = ("--add", "done=b", "--remove", "remaining=b", "--add", "tags=y", "--remove", "tags=x")
    memctl("edit", made, *options, *lists)
    found = record(memctl, made)
    assert (found["completion_percentage"], found["title"], found["tags"]) == (50, "New title", ["y"])
    assert (found["section"], found["expires_at"]) == ("§3.1", "2025-11-06T14:32:00Z")
    assert found["content"] == {"task_description": "What it is", "substeps_completed": ["a", "b"]}
    memctl("edit", made, "--set", "section=", "--set", "expires_at=")
    assert record(memctl, made)["section"] is None


def test_value_that_can_not_be_removed_is_reported_with_those_before_the_edit(memctl: Memctl) -> None:
    made = memctl("state", "Task", "--done", "a", "--tag", "x").id
    for field, known in (("tags", "x"), ("done", "a")):
        add = ("--add", f"{field}=y", "--add", f"{field}={known}")  # the list has the second one already
        refused = memctl("edit", made, "--remove", f"{field}=z", *add, code=1).err
        assert refused == f"error: 'z' is not in the list\nhint: the list has: {known}\n"


@pytest.mark.parametrize(
    "field", ["id", "memory_id", "memory_type", "is_archived", "supersedes", "access_count", "nonsense"]
)
def test_some_fields_are_not_for_editing(memctl: Memctl, field: str) -> None:
    made = memctl("learn", "Fixed").id
    assert memctl("edit", made, "--set", f"{field}=x", code=2).err.startswith("error: ")


def test_an_edit_from_a_file_can_not_change_the_identity_of_a_record(memctl: Memctl) -> None:
    made = memctl("learn", "Whole", "--lesson", "old").id
    text = memctl("show", made).out
    memctl("edit", made, "--file", "-", stdin=text.replace("old", "new"))
    assert record(memctl, made)["content"] == {"lesson": "new"}
    other = text.replace(made, made[:-1] + "9", 1)
    assert "error" in memctl("edit", made, "--file", "-", stdin=other, code=1).err
    assert (
        ":6: importance"
        in memctl("edit", made, "--file", "-", stdin=text.replace("timestamp", "importance: 50\ntimestamp"), code=1).err
    )


def test_a_hand_written_file_keeps_everything_but_what_is_edited(repo: Path, memctl: Memctl) -> None:
    made = memctl("issue", "By hand", "--severity", "low")
    file = repo / made.out.split()[1]
    text = file.read_text().replace(
        "severity: low", "# how bad\nseverity:   'low'   # really\nreviewers: {ada: [1, 2]}"
    )
    file.write_text(text + "\n## My own\n\n   text   \n\n\n")
    before = file.read_text()
    memctl("edit", made.id, "--set", "status=in-progress")
    assert file.read_text() == before.replace("status: open", "status: in-progress")


def test_delete_is_refused_for_links_and_restore_undoes_it(repo: Path, memctl: Memctl) -> None:
    one, two = memctl("issue", "One").id, memctl("issue", "Two").id
    memctl("link", one, two)
    assert two in memctl("delete", one, code=1).err
    memctl("delete", one, "--unlink")
    assert len(changed_in(repo)) == 2
    assert record(memctl, two)["relates_to"] == []
    memctl("delete", two)
    assert memctl("list", "--json").data["total"] == 0
    memctl("restore", one)
    assert record(memctl, one)["title"] == "One"
    assert [c["ops"] for c in memctl("log", one, "--json").data["commits"]] == [
        ["restore"],
        ["delete"],
        ["link"],
        ["issue"],
    ]
    assert memctl("issue", "Three").id.endswith("-003")


def test_restore_brings_an_earlier_version_back(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "First", "--lesson", "one").id
    memctl("edit", made, "--set", "lesson=two")
    assert "--at" in memctl("restore", made, code=1).err
    memctl("restore", made, "--at", "HEAD~1")
    assert record(memctl, made)["content"] == {"lesson": "one"}
    assert record(memctl, made)["id"] == made
    assert "no revision" in memctl("restore", made, "--at", "nowhere", code=1).err


def test_several_records_are_archived_and_unarchived_at_once(repo: Path, memctl: Memctl) -> None:
    made = [memctl("learn", f"Number {n}").id for n in range(3)]
    before = commits(repo)
    memctl("archive", *made, "--reason", "over")
    assert commits(repo) == before + 1
    assert memctl("list", "--json").data["total"] == 0
    assert record(memctl, made[0])["archived_at"] == "2025-11-04T14:32:00Z"
    memctl("unarchive", made[0])
    assert record(memctl, made[0])["archived_at"] is None
    assert "twice" in memctl("archive", made[0], made[0], code=1).err


def test_every_commit_has_actor_and_reason(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_SESSION", "s-42")
    made = memctl("decide", "Traced", "--reason", "Asked\nby Ada").id
    commit = memctl("log", made, "--json").data["commits"][0]
    assert (commit["actor"], commit["session"], commit["reason"]) == ("claude", "s-42", "Asked by Ada")
    assert git(repo, "log", "-1", "--format=%(trailers:key=Memctl-Id,valueonly)").strip() == made


def test_writes_report_as_json(memctl: Memctl) -> None:
    data = memctl("decide", "Machine", "--json").data
    assert data["ids"] == ["DEC-2025-11-04-001"]
    assert data["paths"] == [".memory/decisions/2025-11/DEC-2025-11-04-001-machine.md"]
    assert len(data["commit"]) == 40
    assert memctl("archive", "DEC", "--json", "--no-commit").data["pending"] == "--no-commit was given"
    assert "writes" in memctl("learn", "Dry", "--json", "--dry-run").data


def test_init_names_the_project_and_explains_itself(memctl: Memctl, tmp_path: Path) -> None:
    folder = tmp_path / "a new place"
    folder.mkdir()
    memctl("init", "--git", where=folder)
    assert "project: a new place" in (folder / ".memory" / "config.yaml").read_text()
    assert "# Memory of a new place" in (folder / ".memory" / "README.md").read_text()
    assert "already" in memctl("init", where=folder, code=1).err


def test_titles_in_any_script_make_good_paths(memctl: Memctl) -> None:
    assert memctl("decide", "Größe für Ñandú").out.split()[1].endswith("DEC-2025-11-04-001-groe-fur-nandu.md")
    assert memctl("decide", "データベース 🎉").out.split()[1].endswith("/DEC-2025-11-04-002.md")
    assert memctl("decide", "../../etc/passwd").out.split()[1].endswith("DEC-2025-11-04-003-etc-passwd.md")
    assert len(Path(memctl("decide", "x" * 100).out.split()[1]).name) < 80


def test_templates_of_the_project_order_the_sections(repo: Path, memctl: Memctl) -> None:
    folder = repo / ".memory" / "templates"
    folder.mkdir()
    (folder / "decision.md").write_text("## Context\n\n## Rationale\n\n## Decision\n")
    made = memctl("decide", "Ordered", "--decision", "d", "--rationale", "r", "--context", "c").id
    body = str(record(memctl, made)["body"])
    assert body.index("## Context") < body.index("## Rationale") < body.index("## Decision")


def test_edit_has_the_options_of_the_creating_commands(memctl: Memctl) -> None:
    words = ["--completion", "40", "--done", "GET", "--next", "Tests", "--status", "active", "--tag", "api", "-i", "6"]
    made = memctl("state", "Profile API", *words).id
    more = ["--completion", "80", "--done", "DELETE", "--next", "Docs", "--status", "done", "--tag", "b,c", "-i", "7"]
    memctl("edit", made, *more, "--set", "task_description=All of it", "--remove", "tags=api")
    record = memctl("show", made, "--json").data["records"][0]
    assert (record["completion_percentage"], record["status"], record["importance"]) == (80, "done", 7)
    assert record["tags"] == ["b", "c"]
    assert record["content"] == {
        "task_description": "All of it",
        "substeps_completed": ["GET", "DELETE"],
        "next_actions": ["Tests", "Docs"],
    }
    memctl("edit", made, "--task", "")
    assert "task_description" not in memctl("show", made, "--json").data["records"][0]["content"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.help], ids=lambda kind: kind.name)
def test_edit_has_an_option_for_every_field_of_a_type(kind: Kind) -> None:
    makes = {one.opts[0] for one in command(kind).params if isinstance(one, click.Option)}
    elsewhere = {
        "--relates-to",
        "--supersedes",
        "--blocks",
        "--blocked-by",
        "--parent",
        "--edit",
        *("--update", "--checkpoint", "--task-id", "--new"),  # of states: what they do is no field
    }
    assert makes - elsewhere <= {one.opts[0] for one in edit_command.params}


def test_an_option_of_another_type_is_refused(memctl: Memctl) -> None:
    made = memctl("learn", "Pool", "--lesson", "Retries hide an exhausted pool").id
    refused = memctl("edit", made, "--completion", "5", code=2).err
    assert "a learning has no option --completion" in refused
    assert "--lesson" in refused
    assert "did you mean lesson?" in memctl("edit", made, "--set", "leson=x", code=2).err


def test_changed_severity_moves_the_default_importance(memctl: Memctl) -> None:
    def importance(identifier: str) -> int:
        return int(memctl("show", identifier, "--json").data["records"][0]["importance"])

    made = memctl("issue", "Slow").id
    memctl("edit", made, "--severity", "critical")
    assert importance(made) == 9
    memctl("edit", made, "--set", "severity=low", "--importance", "7")
    assert importance(made) == 7
    memctl("edit", made, "--severity", "high")
    assert importance(made) == 7
    chosen = memctl("issue", "Slower", "--importance", "3").id
    memctl("edit", chosen, "--severity", "critical")
    assert importance(chosen) == 3


def test_resolution_of_an_issue_is_not_overwritten(memctl: Memctl) -> None:
    made = memctl("issue", "Checkout times out").id
    memctl("resolve", made, "--resolution", "A queue")
    assert "with the resolution: A queue" in memctl("resolve", made, "--resolution", "A larger pool", code=1).err
    memctl("edit", made, "--resolution", "A larger pool")
    assert memctl("show", made, "--json").data["records"][0]["content"]["resolution"] == "A larger pool"


def test_resolution_of_a_state_is_refused_as_it_has_no_field_for_it(memctl: Memctl) -> None:
    made = memctl("state", "Refunds", "--next", "POST").id
    assert "has no resolution" in memctl("resolve", made, "--resolution", "Shipped", code=2).err
    assert memctl("show", made, "--json").data["records"][0]["status"] == "active"
    memctl("resolve", made)


def test_whole_id_of_a_deleted_record_means_no_other_one(repo: Path, memctl: Memctl) -> None:
    names = [f"DEC-2025-11-04-k7fq-{number}" for number in range(1, 12)]
    lines = (json.dumps({"memory_type": "decision", "title": f"Choice {name}", "id": name}) for name in names)
    memctl("import", "-", stdin="\n".join(lines))
    memctl("delete", names[0])
    before = commits(repo)
    for args in (
        ("delete", names[0]),
        ("edit", names[0], "-i", "3"),
        ("supersede", names[0], names[8]),
        ("show", names[0]),
    ):
        assert f"there is no record '{names[0]}'" in memctl(*args, code=1).err
    assert commits(repo) == before
    assert memctl("show", "k7fq-11").out.startswith("---")


def test_step_that_is_done_remains_no_more(repo: Path, memctl: Memctl) -> None:
    made = memctl("state", "Profile API", "--done", "GET", "--remaining", "PATCH", "--remaining", "DELETE").id
    memctl("edit", made, "--done", "patch.")
    content = record(memctl, made)["content"]
    assert isinstance(content, dict)
    assert (content["substeps_completed"], content["substeps_remaining"]) == (["GET", "patch."], ["DELETE"])


def test_undo_leaves_a_record_superseded_by_another_one(repo: Path, memctl: Memctl) -> None:
    old = memctl("decide", "Alpha queue").id
    memctl("decide", "Beta bus", "--supersedes", old)
    beta = git(repo, "rev-parse", "HEAD").strip()
    gamma = memctl("decide", "Gamma stream", "--supersedes", old).id
    memctl("undo", beta)
    assert (record(memctl, old)["status"], record(memctl, old)["superseded_by"]) == ("superseded", [gamma])
    memctl("check", "--all")


def test_record_that_supersedes_another_stands_in_its_place(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("section", "add", "Search")
    old = memctl("decide", "Old", "--section", "2.1", "--code", "pay.py").id
    new = memctl("decide", "New", "--supersedes", old).id
    assert (record(memctl, new)["section"], record(memctl, new)["code_refs"]) == ("§2.1", ["pay.py"])
    other = memctl("decide", "Other", "--supersedes", new, "--section", "2.2", "--code", "web.py").id
    assert (record(memctl, other)["section"], record(memctl, other)["code_refs"]) == ("§2.2", ["web.py"])
