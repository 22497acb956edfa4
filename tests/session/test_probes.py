"""Probes come from the transcript and Git, and what a summary holds answers them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memctl.git.differences import ADDED, CHANGED, DELETED, RENAMED, FileChange
from memctl.record import session_page
from memctl.session import grades, page_builder, probes, trail
from memctl.session.probes import ARTIFACT, DECISION, FILES, GOAL, NEXT, RECALL, Probe
from memctl.session.summary import SessionSummary, summarize
from memctl.session.trail import Places
from memctl.transcript import reader
from tests.transcript.claude import Transcript

HOME = "/home/ada/shop"
SAID = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=60)
NAMES = st.lists(st.text(min_size=1, max_size=12).filter(lambda name: "/" not in name), min_size=1, max_size=3)


def summed_up(made: Transcript) -> tuple[list[Probe], SessionSummary]:
    session = reader.read(made.text.encode(errors="replace"))
    places = Places(Path(HOME), session.cwd)
    summary = summarize(session, trail.of_session(session, places, (), ()), "s", "ada")
    return probes.from_session(summary, session, places), summary


def unanswered(found: list[Probe], summary: SessionSummary) -> list[Probe]:
    """The probes that the summary's page does not answer once it was written and read."""
    text = session_page.render(page_builder.compose(summary, "shop", "2025-11-04T14:32:00Z"))
    page = session_page.parse(text, "sessions/s.md")
    return [reply.probe for reply in grades.exact_replies(found, page) if not reply.answered]


@settings(deadline=None)
@given(st.lists(SAID, max_size=3), st.lists(SAID, max_size=3), st.lists(NAMES, max_size=3), st.lists(SAID, max_size=2))
@example(["a_b *c* <d> [e](f) | `g`", "&amp; `unclosed", "1. x", "#", "\\"], ["— …"], [["a|b\\", "c`d"]], ["x: y"])
@example(["0_", "a\\_b", "`a\\_b` _c_", "\\` `x\\_y`"], ["_"], [["_"]], ["0_", "a\\_"])
@example(["none", "n/a", "—"], ["none"], [], [])
@example(["Use it because it is there, Because: so"], ["(done)"], [[" a "], ["..", "x"], ["\x1b[31m"]], ["`", "| |"])
def test_a_summary_without_a_limit_answers_every_probe(
    decisions: list[str], tasks: list[str], paths: list[list[str]], errors: list[str]
) -> None:
    made = Transcript(HOME)
    made.prompt("Build it.")
    for text in decisions:
        made.says(f"DECISION: {text}")
    made.call("TodoWrite", todos=[{"content": text, "status": "pending"} for text in tasks])
    for number, parts in enumerate(paths):
        made.call(("Write", "Edit", "Read")[number % 3], file_path=f"{HOME}/{'/'.join(parts)}", content="")
    for number, text in enumerate(errors):
        made.call("Bash", command=f"step{number} run", result=text, error=True)
    found, summary = summed_up(made)
    assert unanswered(found, summary) == []


def test_probes_ask_for_paths_of_tool_calls_missing_from_the_trail() -> None:
    made = Transcript(HOME)
    made.prompt("Build it.")
    made.call("Write", file_path=f"{HOME}/src/a.py", content="")
    made.call("Edit", file_path=f"{HOME}/src/b.py", result="<tool_use_error>no such string", error=True)
    made.call("Write", file_path="/etc/hosts", content="")
    session = reader.read(made.text.encode())
    places = Places(Path(HOME), session.cwd)
    summary = summarize(session, trail.Trail(()), "s", "ada")
    found = [one for one in probes.from_session(summary, session, places) if one.kind == ARTIFACT]
    assert found == [Probe(ARTIFACT, FILES, "src/a.py"), Probe(ARTIFACT, FILES, "/etc/hosts")]
    assert unanswered(found, summary) == found


def test_probes_ask_for_labelled_decisions_missing_from_the_summary() -> None:
    made = Transcript(HOME)
    made.says("**DECISION:** Use Redis because it is fast\n\n```\nDECISION: none\n```\n\nI say DECISION: not here")
    session = reader.read(made.text.encode())
    nothing = SessionSummary("s", "ada", "text", "", trail.Trail(()))
    found = probes.from_session(nothing, session, Places(Path(HOME), HOME))
    assert [one.fact for one in found if one.kind == DECISION] == ["Use Redis because it is fast"]


def test_a_statement_without_a_label_is_not_a_fact() -> None:
    made = Transcript(HOME)
    made.prompt("Hello.")
    made.says("We decided to use Redis. It turned out that the pool is small.")
    found, _ = summed_up(made)
    assert [(one.kind, one.question) for one in found] == [(RECALL, GOAL)]


def test_later_part_merges_files_and_replaces_next_steps() -> None:
    def file(path: str, action: str) -> Probe:
        return Probe(ARTIFACT, FILES, path, action)

    goal, step = Probe(RECALL, GOAL, "Build it."), Probe("continuation", NEXT, "Test it")
    old = [goal, step, file("a", "created"), file("b", "read"), file("c", "deleted"), file("d", "")]
    new = [Probe(RECALL, GOAL, "Go on."), Probe("continuation", NEXT, "Ship it"), file("a", "modified")]
    new += [file("b", "deleted"), file("c", "created"), file("d", "modified"), file("e", "read")]
    merged = probes.merge_probes(old, new)
    assert [one.fact for one in merged if one.kind != ARTIFACT] == ["Build it.", "Ship it"]
    actions = {one.fact: one.action for one in merged if one.kind == ARTIFACT}
    assert actions == {"a": "created", "b": "deleted", "c": "modified", "d": "modified", "e": "read"}
    assert set(probes.merge_probes(merged, new)) == set(merged)
    assert [one.fact for one in probes.merge_probes(old, []) if one.kind == "continuation"] == ["Test it"]


def test_git_gives_a_probe_for_either_name_of_a_moved_file() -> None:
    changes = [
        FileChange("a", ADDED),
        FileChange("b", CHANGED),
        FileChange("c", DELETED),
        FileChange("e", RENAMED, "d"),
    ]
    assert {one.fact: one.action for one in probes.from_git(changes)} == {
        "a": "created",
        "b": "modified",
        "c": "deleted",
        "d": "deleted",
        "e": "created",
    }
