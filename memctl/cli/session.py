"""`session`: what sessions of work came to, from their transcripts and from Git."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import material, opening, output, report, session_probe, session_text
from memctl.cli.command import command, json_option
from memctl.cli.command import reading as reading_options
from memctl.cli.groups import Group
from memctl.cli.write_options import said, write_options, writing
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.record.change import Change
from memctl.session import active, collect, proposals
from memctl.session import pages as session_pages
from memctl.session.active import Running
from memctl.session.summary import SessionSummary
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.transcript.events import GIT, Session
from memctl.write import transaction


@click.group("session", cls=Group)
def session_command() -> None:
    """Sum up sessions of work: decisions, files, errors, and where they stopped."""


def name_of(memory: Memory, given: str, session: Session, source: str) -> tuple[str, Running | None]:
    """The name of a session to be summed up, and what was noted when it began, if it is under way.

    As given; else MEMCTL_SESSION's, if that was started; else the transcript's own, or its file's.
    """
    named = given or memory.session
    known = active.find(memory, named) if named else None
    if given or known:
        return active.name(named), known
    return active.name_like(material.own_name(session, source) or memory.session), None


_accepting = click.option(
    "--accept",
    is_flag=False,
    flag_value="all",
    default="",
    metavar="[N,…]",
    help="Make the proposed records too: these by their numbers in --review, or all.",
)
_NOTHING = Session(GIT, ())


@command(
    "summarize",
    ("memctl session summarize --transcript session.jsonl", "Write .memory/sessions/ID.md, or merge into it."),
    ("memctl session summarize -t main.jsonl -t agent-1.jsonl --review", "Show which records are proposed."),
    ("memctl session summarize -t chat.txt --id design --accept 1,3", "Make the records 1 and 3, in one commit."),
    group=session_command,
)
@material.transcripts
@click.option("--id", "given", default="", metavar="NAME", help="The session's name. [default: the transcript's own]")
@click.option("--review", is_flag=True, help="Show the records that are proposed, and write nothing.")
@_accepting
@material.no_llm
@writing
@click.pass_context
def summarize_command(
    ctx: click.Context, /, sources: tuple[str, ...], given: str, review: bool, accept: str, no_llm: bool, **flags: Any
) -> None:
    """Write down what a session came to: its intent, files, decisions, state, errors.

    A later summary of the same session is merged into the page: the intent stays, files are merged by path, decisions
    are appended, the state is replaced. Transcripts are those of Claude Code, Codex and Gemini CLI, messages as JSON,
    or text.

    If you have set up a language model (`git config --global memctl.llm.provider`, with memctl.llm.command or
    memctl.llm.model), it is sent what was said, without credentials, and adds prose: what for, where it stands, why.
    With --dry-run it is not asked.
    """
    if not sources:
        raise MemctlError("a transcript is missing", "`memctl session summarize --transcript FILE`", USAGE)
    memory = opening.memory(ctx)
    session = material.read(sources)
    identifier, known = name_of(memory, given, session, sources[0])
    summary = collect.gather(memory, session, identifier, known)
    if review:
        proposed = proposals.propose(summary, opening.snapshot(memory, None).records)
        session_text.review(proposed, as_json=flags["as_json"])
    else:
        _write(memory, summary, session, accept, flags, no_llm=no_llm)


def _write(
    memory: Memory,
    summary: SessionSummary,
    session: Session,
    accept: str,
    flags: dict[str, Any],
    *,
    no_llm: bool,
    ends: Running | None = None,
) -> None:
    """Write a summary down, with the proposed records that are accepted, keep probes of the session, and report it.

    With that a session may end. A dry run sends nothing to a language model.
    """
    summary = material.with_prose(memory, summary, session, no_llm=no_llm or flags["dry_run"])
    proposed = proposals.propose(summary, opening.snapshot(memory, None).records)
    accepted = session_text.chosen(proposed, accept)

    def plan(sequence: Sequence) -> Change:
        made = session_pages.plan(memory, sequence, summary, accepted)
        if ends and not flags["dry_run"]:
            session_pages.mark_ending(memory, ends)  # what is refused has not begun
        return made

    terms = write_options(flags)
    result = transaction.carry_out(memory, plan, msgspec.structs.replace(terms, redact=not terms.allow_secret))
    if ends and not flags["dry_run"]:
        active.forget(memory, ends.id)
    if not flags["dry_run"]:
        from memctl.session import grades, probes

        probes.keep_probes(memory, summary.id, grades.of_transcript(memory, summary, session))
    left = sum(not one.record for one in proposed) - len(accepted)
    session_text.summarized(memory, result, summary, left, flags)


@command(
    "list",
    ("memctl session list", "All sessions that were summed up, the latest first."),
    ("memctl session list --json", "For a program."),
    group=session_command,
)
@reading_options
@click.pass_context
def list_command(ctx: click.Context, /, as_json: bool, at: str | None) -> None:
    """List the sessions that were summed up, the latest first."""
    memory = opening.memory(ctx)
    pages, faults = session_pages.pages(opening.snapshot(memory, at))
    session_text.listed(memory, pages, faults, as_json=as_json)
    ctx.exit(REFUSED if faults else OK)


@command(
    "show",
    ("memctl session show 5f6c", "The page of a session, by what its name begins with."),
    ("memctl session show 5f6c --at HEAD~3", "As it was."),
    group=session_command,
)
@click.argument("given", metavar="NAME")
@reading_options
@click.pass_context
def show_command(ctx: click.Context, /, given: str, as_json: bool, at: str | None) -> None:
    """Show what a session came to."""
    memory = opening.memory(ctx)
    snapshot = opening.snapshot(memory, at)
    path, text = session_pages.find(snapshot, given)
    found, faults = session_pages.read(snapshot, path, text)
    session_text.shown(memory, path, text, found, faults, as_json=as_json)
    ctx.exit(REFUSED if faults else OK)


@command(
    "start",
    ('memctl session start refunds --intent "Refunds by card"', "From here on, files are those of this session."),
    ("MEMCTL_SESSION=refunds memctl session start", "Named by the environment."),
    group=session_command,
)
@click.argument("given", metavar="[NAME]", required=False, default="")
@click.option("--intent", default="", metavar="TEXT", callback=said, help="What the session is to accomplish.")
@json_option
@click.pass_context
def start_command(ctx: click.Context, /, given: str, intent: str, as_json: bool) -> None:
    """Note that a session begins: who, when, and where Git stands.

    It is kept in the Git directory until `session end`, which sums up what Git saw meanwhile.
    """
    memory = opening.memory(ctx)
    begun = active.start(memory, _named(memory, given), intent)
    if as_json:
        output.json("session", msgspec.to_builtins(begun))
    else:
        output.text(f"{begun.id} began {begun.started} at {begun.commit[:10] or 'no commit'}")
        if memory.session != begun.id:
            output.note(f"hint: `export MEMCTL_SESSION={begun.id}` names it in every commit of memctl")


@command(
    "status",
    ("memctl session status", "The sessions that are under way in this worktree."),
    group=session_command,
)
@json_option
@click.pass_context
def status_command(ctx: click.Context, /, as_json: bool) -> None:
    """Say which sessions are under way, and what Git saw of them."""
    memory = opening.memory(ctx)
    summaries = [collect.gather(memory, _NOTHING, one.id, one) for one in active.all_running(memory)]
    session_text.under_way(memory, summaries, as_json=as_json)


@command(
    "end",
    ("memctl session end refunds", "Sum up what Git saw of it, in one commit."),
    ("memctl session end --transcript session.jsonl --accept", "With its transcript, and the records it proposes."),
    group=session_command,
)
@click.argument("given", metavar="[NAME]", required=False, default="")
@material.transcripts
@_accepting
@material.no_llm
@writing
@click.pass_context
def end_command(
    ctx: click.Context, /, given: str, sources: tuple[str, ...], accept: str, no_llm: bool, **flags: Any
) -> None:
    """Sum up a session that was started, and forget that it is under way.

    Without a name it is that of MEMCTL_SESSION, or the only one that is under way.
    """
    memory = opening.memory(ctx)
    known = _to_end(memory, given)
    name = known.id
    if not flags["dry_run"] and (done := session_pages.recover(memory, known)):
        active.forget(memory, name)
        where = f", in {done.commit[:10]}" if done.commit else ""
        lines = [f"{name} was summed up when its end was interrupted{where}"]
        report.outcome(memory, done, as_json=flags["as_json"], dry_run=False, lines=lines)
        return
    session = material.read(sources) if sources else _NOTHING
    summary = collect.gather(memory, session, name, known)
    _write(memory, summary, session, accept, flags, no_llm=no_llm, ends=known)


session_command.add_command(session_probe.probe_command)


def _to_end(memory: Memory, given: str) -> Running:
    """The session that is to end; raises MemctlError if it is not under way, or if it can't be told which."""
    under_way = active.all_running(memory)
    if not given and not memory.session and len(under_way) == 1:
        return under_way[0]
    if not given and not memory.session and under_way:
        names = ", ".join(one.id for one in under_way)
        raise MemctlError("which session?", f"under way are {names}: give a name, or set MEMCTL_SESSION", USAGE)
    name = _named(memory, given)
    known = active.find(memory, name)
    if known is None:
        raise MemctlError(f"no session {name!r} is under way here", "`memctl session status` lists those that are")
    return known


def _named(memory: Memory, given: str) -> str:
    if not given and not memory.session:
        raise MemctlError("which session?", "give a name, or set MEMCTL_SESSION", USAGE)
    return active.name(given or memory.session)
