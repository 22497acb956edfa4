"""Markdown as people write it, into records: a filled template for `--file`, and any text for `import`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.conftest import Memctl
from tests.statements.test_reader import BUG, CHANGE, DECISION, DETAIL, LESSON, TASK, TEMPLATE, TEMPLATE_CONTENT

WANTED = {name: list(value) if isinstance(value, tuple) else value for name, value in TEMPLATE_CONTENT.items()}


def show(memctl: Memctl, identifier: str) -> dict[str, object]:
    found: dict[str, object] = memctl("show", identifier, "--json").data["records"][0]
    return found


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_filled_template_becomes_a_whole_record(memctl: Memctl, tmp_path: Path, level: int) -> None:
    file = tmp_path / "dec.md"
    file.write_text(TEMPLATE.replace("## DECISION", "#" * level + " DECISION"))
    made = memctl("decide", "--file", str(file))
    data = show(memctl, made.id)
    assert data["title"] == "Store the till's sales in SQLite"
    assert data["content"] == WANTED
    assert (data["importance"], data["tags"]) == (9, ["till", "storage", "sqlite"])
    assert (data["agent_id"], data["timestamp"]) == ("Till-Architect-3", "2025-03-02T09:30:00Z")
    assert data["project_id"] == "corner-shop"
    assert "this value of the file is not imported: the id (memctl assigns its own)" in made.err
    assert "did you mean" not in made.err
    memctl("check")


@pytest.mark.parametrize(
    ("stated", "status"),
    [
        ("## Status\n\n- **Accepted**", "accepted"),
        ("* Status: **rejected**", "rejected"),
        ("## Status\n\nOn hold", "proposed"),
        ("**Status**: on hold", "proposed"),
    ],
)
def test_status_in_bold_in_a_list_or_of_two_words_is_read(memctl: Memctl, stated: str, status: str) -> None:
    made = memctl("decide", "--file", "-", stdin=f"# One queue\n\n{stated}\n\n## Decision\n\nOne for all shops.\n")
    assert show(memctl, made.id)["status"] == status
    assert "status" not in made.err


def test_options_override_the_file(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "dec.md").write_text(TEMPLATE)
    made = memctl("decide", "Keep sales in one file", "--file", str(tmp_path / "dec.md"), "-i", "6", "--agent", "Ada")
    data = show(memctl, made.id)
    assert (data["title"], data["importance"], data["agent_id"]) == ("Keep sales in one file", 6, "Ada")
    assert data["content"] == WANTED


def test_text_that_fits_no_field_is_reported_and_kept(memctl: Memctl, tmp_path: Path) -> None:
    more = TEMPLATE.replace("### Tags", "### Rational\nIt is small.\n\n### Tags").replace("ance**: 9", "ance**: much")
    (tmp_path / "dec.md").write_text(more + "\n# Annex\n\nOf it.\n")
    made = memctl("decide", "--file", str(tmp_path / "dec.md"))
    for told in ("'Rational' (line 35; did you mean Rationale?)", "'Importance' (line 7)", "'Annex' (line 41)"):
        assert told in made.err
    text = memctl("show", made.id).out
    assert "### Rational\nIt is small." in text
    assert "Of it." in text
    assert show(memctl, made.id)["importance"] == 7
    assert show(memctl, made.id)["content"] == WANTED


def test_lines_of_another_record_type_keep_the_text_of_the_file(memctl: Memctl) -> None:
    text = (
        "# ADR: Use the depot\n\n- Issue: #12\n- Status: Proposed\n\n## Context\n\nVans are late.\n\n## Decision\n\n"
        "We load at the depot.\n\nNote: the gate closes at six\nException: market days\n"
    )
    made = memctl("decide", "--file", "-", stdin=text)
    body = memctl("show", made.id).out
    assert [word for word in text.split() if word not in ("#", "ADR:", *body.split())] == []
    assert show(memctl, made.id)["content"]["decision"].startswith("We load at the depot.")  # type: ignore[index]
    assert (
        "line 3 begins another issue, which stays in the record's text: `memctl import` adds several records"
        in made.err
    )
    assert "did you mean" not in made.err


def test_heading_of_a_known_field_gives_no_warning(memctl: Memctl) -> None:
    made = memctl("decide", "Load at the depot", "--file", "-", stdin="## Rationale\n\nVans are late.\n")
    assert show(memctl, made.id)["content"]["rationale"] == "Vans are late."  # type: ignore[index]
    assert made.err == ""


def test_a_nul_character_is_refused_as_text_that_cannot_be_recorded(memctl: Memctl) -> None:
    refused = memctl("learn", "Gates", "--lesson", "They close.", "--file", "-", stdin="a\0b", code=1)
    assert refused.err.startswith("error: Gates: the line contains a NUL character")


def test_a_text_in_the_form_of_records_stays_as_it_is(memctl: Memctl, tmp_path: Path) -> None:
    body = "Words before.\n\n## Decision\n\nUse a queue.\n\n## Rational\n\nIt is *small*.\n\n## Notes of ours\n\n- a\n"
    (tmp_path / "dec.md").write_text(f"# Use a queue.\n\n{body}")
    made = memctl("decide", "--file", str(tmp_path / "dec.md"))
    assert memctl("show", made.id).out.endswith(f"---\n\n{body}")
    assert "a decision has no field for 'Rational' (line 9; did you mean Rationale?); 'Notes of ours'" in made.err
    plain = memctl("learn", "--file", "-", stdin="# Because of it\n\nOne paragraph.\n\nAnother: with a colon.\n")
    assert memctl("show", plain.id).out.endswith("---\n\nOne paragraph.\n\nAnother: with a colon.\n")
    assert plain.err == ""


def test_each_type_takes_its_own_labels(memctl: Memctl) -> None:
    issue = show(memctl, memctl("issue", "--file", "-", stdin=BUG).id)
    assert (issue["title"], issue["severity"]) == ("BUG-31: The till hangs when the line drops", "critical")
    assert issue["importance"] == 9
    assert issue["content"] == {
        "reproduction_steps": "Pull the cable during a payment; 3 of 10 hang",
        "investigation_status": "Cause found (the lock is kept while waiting)",
        "attempted_fixes": ["A shorter wait (no effect)", "A second lock (partly)"],
        "next_actions": ["Wait without the lock"],
    }
    state = show(memctl, memctl("state", "--file", "-", stdin=TASK).id)
    assert (state["title"], state["completion_percentage"]) == ("Serve the price list over HTTP", 40)
    assert state["content"] == {
        "substeps_completed": ["GET /prices (done)", "HEAD /prices (done)"],
        "substeps_remaining": ["PUT /prices (in progress - validation is left)", "DELETE /prices (not started)"],
        "next_actions": ["Validate what PUT gets (waits for: the schema)", "Answer DELETE with 405", "Limit the rate"],
        "blockers": ["The schema has to be agreed with the shops"],
    }
    learning = show(memctl, memctl("learn", "--file", "-", stdin=LESSON).id)
    assert learning["content"] == {
        "lesson": "A retry hides an exhausted pool",
        "context": "Load test of the till with 100 clients",
        "applicability": "Anything that queues for a connection",
        "evidence": "30 % fewer errors after the pool grew",
    }
    critical = show(memctl, memctl("import", "-", "--json", stdin=DETAIL).data["ids"][0])
    assert (critical["memory_type"], critical["importance"]) == ("learning", 8)
    assert critical["content"] == {
        "lesson": "Cart.total counts cents as an integer\nStorage: BIGINT, never NUMERIC\n"
        "Lookup: WHERE total_cents = ROUND($1 * 100)",
        "context": "A float lost a cent in 1 of 400 carts",
    }


def test_a_text_of_another_type_gets_a_hint_at_its_command(memctl: Memctl) -> None:
    found = memctl("issue", "--file", "-", stdin=DECISION, code=2)
    assert "the text reads like a decision, which `memctl decide --file` records" in found.err
    assert "the record has no title" in found.err


def test_an_import_of_markdown_adds_each_statement_once(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("\n\n".join(["# Notes of March", DECISION, BUG, "Some words.", CHANGE, TASK, TEMPLATE]))
    data = memctl("import", str(file), "--json").data
    made = {show(memctl, one)["title"]: show(memctl, one) for one in data["ids"]}
    assert list(made) == [
        "Keep orders as events",
        "BUG-31: The till hangs when the line drops",
        "Serve the price list over HTTP",
        "Store the till's sales in SQLite",
    ]
    assert made["Keep orders as events"]["agent_id"] == "Billing-Planner-7"
    assert made["Store the till's sales in SQLite"]["content"] == WANTED
    again = memctl("import", str(file))
    assert "nothing to change" in again.err
    assert (
        "skipped these items, because they were imported before: "
        "DEC-2025-11-04-001, ISS-2025-11-04-001, STA-2025-11-04-001" in again.err
    )
    assert "6 lines, from line 1 on, are not imported: no label such as `DECISION:` is above" in again.err


def test_markdown_that_states_nothing_is_refused(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "plain.md").write_text("# Plain\n\nNothing is decided here.\n")
    assert "has no labelled text that could be a record" in memctl("import", str(tmp_path / "plain.md"), code=2).err
    (tmp_path / "bad.md").write_text(f"{DECISION}\n\nLesson: a\x1b[31mb\n")
    assert "line 8" in memctl("import", str(tmp_path / "bad.md"), "--strict", code=1).err
    (tmp_path / "data.jsonl").write_text("DECISION: no JSON\n")
    assert "line 1" in memctl("import", str(tmp_path / "data.jsonl"), code=1).err


def test_a_decision_without_a_field_gets_a_hint(memctl: Memctl) -> None:
    bare = memctl("decide", "Use a queue")
    assert (
        bare.err == f"hint: the decision gives no reason: `memctl edit {bare.id} --allow-accepted --rationale \u2026`\n"
    )
    assert memctl("decide", "Use a heap", "--rationale", "it is small").err == ""
    assert memctl("decide", "--file", "-", stdin="DECISION: Use a list\n").err.startswith(
        "hint: the decision gives no reason"
    )
    assert memctl("learn", "Queues are small").err == ""


def test_statements_of_a_text_that_name_each_other_by_number_are_linked(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    file = tmp_path / "notes.md"
    file.write_text(
        "## DECISION: DEC-7 Use a queue\nRationale: bursts\nSupersedes: DEC-3\nRelated: BUG-12, BUG-99\n\n"
        "## DECISION: DEC-3 Call the bank directly\nRationale: simple\n\n"
        "BUG-12 [CRITICAL]: Payments lost\nDescription: they are lost\nBlocked by: BUG-9\n\n"
        "BUG-9 [HIGH]: Pool is exhausted\nDescription: pool\n\nTASK: Move to the queue\nParent: BUG-9\n"
    )
    assert "line 4: no link to BUG-99" in memctl("import", str(file)).err
    found = {one["title"]: one for one in memctl("list", "--all", "--json").data["records"]}
    queue, bank = found["DEC-7 Use a queue"], found["DEC-3 Call the bank directly"]
    lost, pool = found["BUG-12: Payments lost"], found["BUG-9: Pool is exhausted"]
    assert (queue["supersedes"], bank["status"]) == ([bank["id"]], "superseded")
    assert (queue["relates_to"], lost["relates_to"]) == ([lost["id"]], [queue["id"]])
    assert (lost["blocked_by"], pool["blocks"]) == ([pool["id"]], [lost["id"]])
    assert found["Move to the queue"]["parent_memory_id"] == pool["memory_id"]
    assert memctl("show", "BUG-12", "--json").data["records"][0]["id"] == lost["id"]
    assert memctl("check", "--select", "MEM1").code == 0
    assert memctl("import", str(file), "--json").data["paths"] == []
    file.write_text("## DECISION: DEC-7 Another text numbers its own\nRationale: yes\nRelated: DEC-3\n")
    memctl("import", str(file))
    assert len(memctl("list", "--all", "--json").data["records"]) == 6


def test_fields_of_other_types_and_words_of_other_tools_are_named(memctl: Memctl) -> None:
    fields = {"title": "Use it", "status": "On hold", "severity": "high", "steps": ["a"], "lesson": "x", "tags": ["t"]}
    made = memctl("decide", "--file", "-", stdin=msgspec.json.encode(fields).decode())
    assert "a decision has no field 'severity' (only an issue has it): the value is left out\n" in made.err
    assert "a decision has no field 'steps': the value is kept under a key of your own\n" in made.err
    assert "a decision has no field 'lesson' (only a learning has it): the value is kept" in made.err
    assert made.err.count("note: ") == 3
    record = memctl("show", made.id, "--json").data["records"][0]
    assert (record["status"], record["importance"], record["tags"]) == ("proposed", 7, ["t"])
    front = "---\nstatus: {}\nseverity: low\n---\n\n# Use it\n\n## Rationale\n\nr\n"
    told = memctl("decide", "--file", "-", stdin=front.format("brewing"))
    assert "unknown status 'brewing'; recorded as proposed" in told.err
    assert "has no field 'severity'" in told.err
    told = memctl("decide", "--file", "-", stdin=front.format("Approved by all").replace("severity: low\n", ""))
    assert "note: " not in told.err
    assert memctl("show", told.id, "--json").data["records"][0]["status"] == "accepted"
