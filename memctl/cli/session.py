"""The commands `memctl session …`: summarize sessions of work from their transcripts and from Git."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output, session_probe, text_input, transcript_input, write_command
from memctl.cli.command import Group, command, flag_option, json_option, text_option
from memctl.cli.command import reading as reading_options
from memctl.cli.write_command import real_text, write_options, writing
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.record import ids, session_page
from memctl.record.change import Change
from memctl.record.parser import parse
from memctl.session import active, collect, phases, proposals
from memctl.session import pages as session_pages
from memctl.session.summary import SessionSummary
from memctl.session.trim import MOST_TOKENS
from memctl.statements import labels
from memctl.store import sequence
from memctl.store.memory import Memory
from memctl.text import markdown
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ
from memctl.text.fit import cut
from memctl.text.phrases import quantity
from memctl.transcript.events import GIT, Session
from memctl.write import documents, transaction
from memctl.write.commit import Outcome


@click.group("session", cls=Group)
def session_command() -> None:
    """Summarize sessions of work: decisions, files, errors, state."""


def name_of(memory: Memory, given: str, session: Session, source: str) -> tuple[str, active.Running | None]:
    """Return the name of the session to summarize, and if memctl knows it as running, what was stored at its start.

    The second value is None for any other session. The name is `given`, the name in the command's options. If that is
    "", it is the name in MEMCTL_SESSION, provided that this session is running. Otherwise it is made from the id in the
    transcript `session`, or else from the name of the transcript's file `source`.
    """
    named = given or memory.session
    known = active.find(memory, named) if named else None
    if given or known:
        return active.name(named), known
    return active.name_like(transcript_input.own_name(session, source) or memory.session), None


_accept_option = click.option(
    "--accept",
    is_flag=False,
    flag_value="all",
    default="",
    metavar="[N,…]",
    help="Create proposed records too: by their numbers in --review, `sure` for the certain ones, or all.",
)
_NOTHING = Session(GIT, ())
_WHERE = (
    "transcripts are in ~/.claude/projects (Claude Code), ~/.codex/sessions (Codex) and ~/.gemini/tmp (Gemini CLI), and"
    " `-` reads standard input"
)


@command(
    "summarize",
    (
        "memctl session summarize --transcript session.jsonl",
        "Write the page of a session; if the session has a page already, merge the summary into it.",
    ),
    (
        "memctl session summarize -t main.jsonl -t agent-1.jsonl --review",
        "Show which records memctl proposes for what was said in the session.",
    ),
    (
        "memctl session summarize -t chat.txt --id design --accept 1,3",
        "Create the proposed records 1 and 3, in one commit.",
    ),
    group=session_command,
)
@transcript_input.transcripts
@text_option(
    "--id", "given", metavar="NAME", help="The name of the session. [default: the name that the transcript gives]"
)
@flag_option("--review", help="Show the records that memctl proposes, and write nothing.")
@_accept_option
@transcript_input.no_llm
@writing
def summarize_command(
    ctx: click.Context, /, sources: tuple[str, ...], given: str, review: bool, accept: str, no_llm: bool, **flags: Any
) -> None:
    """Summarize a session on a page: its intent, files, decisions, state, errors.

    A later summary of the same session is merged into the page: the intent stays, files are merged by path, decisions
    are appended, the state is replaced. Transcripts are those of Claude Code, Codex and Gemini CLI, messages as JSON,
    or text.

    If you have set up a language model (`git config --global memctl.llm.provider`, with memctl.llm.command or
    memctl.llm.model), the model gets the conversation without credentials, and adds prose: purpose, state, reasons.
    With --dry-run the model gets nothing.
    """
    if not sources:
        raise MemctlError(
            "the option --transcript FILE is missing", f"`memctl session summarize --transcript FILE`; {_WHERE}", USAGE
        )
    memory = memory_access.memory(ctx)
    session = transcript_input.read(sources)
    identifier, known = name_of(memory, given, session, sources[0])
    summary = collect.gather(memory, session, identifier, known)
    if summary.is_empty:
        names = " and ".join(map(text_input.name_of, sources))
        hint = "give a transcript of an agent's program, messages as JSON, or text with `User:` before each prompt"
        raise MemctlError(f"memctl can read nothing of a session in {names}", hint)
    if review:
        proposed = proposals.propose(summary, memory_access.snapshot(memory, None))
        _print_proposals(proposed, as_json=flags["as_json"])
    else:
        ctx.exit(_write(memory, summary, session, accept, flags, no_llm=no_llm))


def _write(
    memory: Memory,
    summary: SessionSummary,
    session: Session,
    accept: str,
    flags: dict[str, Any],
    *,
    no_llm: bool,
    ends: active.Running | None = None,
) -> int:
    """A dry run sends nothing to a language model; returns REFUSED if the completed page is below a target, else OK."""
    from memctl.session import grades, missing_facts, probes

    summary = transcript_input.with_prose(memory, summary, session, no_llm=no_llm or flags["dry_run"])
    proposed = proposals.propose(summary, memory_access.snapshot(memory, None))
    accepted = _select_proposals(proposed, accept)
    from_transcript = grades.of_transcript(memory, summary, session)
    _, known = session_pages.existing_page(memory, summary.id)
    all_probes = grades.facts(memory, known, from_transcript, summary.ended).probes if known else from_transcript

    def plan(counter: sequence.Sequence) -> Change:
        made = session_pages.plan(memory, counter, summary, accepted, all_probes)
        if ends and not flags["dry_run"]:
            session_pages.mark_ending(memory, ends)  # not before, since a refused summary does not end the session
        return made

    terms = write_options(flags)
    result = transaction.carry_out(memory, plan, msgspec.structs.replace(terms, redact=not terms.allow_secret))
    if ends and not flags["dry_run"]:
        active.forget(memory, ends.id)
    left = sum(not proposal.record for proposal in proposed) - len(accepted)
    _report(memory, result, summary, left, flags)
    if flags["dry_run"]:
        return OK
    probes.keep_probes(memory, summary.id, from_transcript)
    _, page = session_pages.existing_page(memory, summary.id)
    below = missing_facts.below_target(page, all_probes) if page else []
    for dimension in below:
        output.note(
            f"the summary scores {dimension.score} of 5 in {dimension.name}, below the target of {dimension.target}:"
            f" {dimension.how}"
        )
    return REFUSED if below else OK


@command(
    "list",
    ("memctl session list", "List all summarized sessions, latest first."),
    ("memctl session list --json", "List all summarized sessions as JSON."),
    group=session_command,
)
@reading_options
def list_command(ctx: click.Context, /, as_json: bool, at: str | None) -> None:
    """List summarized sessions, latest first."""
    memory = memory_access.memory(ctx)
    pages, faults = session_pages.pages(memory_access.snapshot(memory, at))
    if as_json:
        data = [{**page.values, "path": memory.tracked(session_page.path_of(page.id))} for page in pages]
        output.json_list("sessions", data, faults, memory)
    else:
        output.columns([_line(page) for page in pages], ({"fg": "yellow"}, {}, {}, {}))
        if not pages:
            output.note("no session has been summarized yet")
    output.faults(memory, faults)
    ctx.exit(REFUSED if faults else OK)


@command(
    "show",
    ("memctl session show 5f6c", "Print the page of a session, by the beginning of its name."),
    ("memctl session show 5f6c --at HEAD~3", "Print the page of a session as it was three commits ago."),
    group=session_command,
)
@click.argument("given", metavar="NAME")
@reading_options
def show_command(ctx: click.Context, /, given: str, as_json: bool, at: str | None) -> None:
    """Show the page of a session."""
    memory = memory_access.memory(ctx)
    snapshot = memory_access.snapshot(memory, at)
    path, text = session_pages.find(snapshot, given)
    page, faults = session_pages.read(snapshot, path, text)
    if not as_json:
        output.text(text, newline=False)
    elif page is None:  # the page can't be read
        raise MemctlError(
            f"{memory.prefix}/{faults[0]}", "`memctl session show` without --json prints the page as it is"
        )
    else:
        output.json("session", {**msgspec.to_builtins(page), "path": memory.tracked(path)}, faults, memory)
    output.faults(memory, faults)
    ctx.exit(REFUSED if faults else OK)


@command(
    "start",
    (
        'memctl session start refunds --intent "Refunds by card"',
        "Start a session; files that change from now on belong to it.",
    ),
    ("MEMCTL_SESSION=refunds memctl session start", "Start the session that MEMCTL_SESSION names."),
    group=session_command,
)
@click.argument("given", metavar="[NAME]", required=False, default="")
@text_option("--intent", callback=real_text, help="What the session is for, in a few words.")
@json_option
def start_command(ctx: click.Context, /, given: str, intent: str, as_json: bool) -> None:
    """Record the start of a session: who, when, and Git's state.

    The start is kept in the Git directory until `memctl session end`, which summarizes what has changed in Git since.
    """
    memory = memory_access.memory(ctx)
    begun = active.start(memory, _session_name(memory, given), intent)
    if as_json:
        output.json("session", msgspec.to_builtins(begun))
    else:
        output.text(f"session {begun.id} began {begun.started} at {begun.commit[:10] or 'no commit'}")
        if memory.session != begun.id:
            output.note(f"hint: `export MEMCTL_SESSION={begun.id}` lets every commit of memctl name this session")


@command("status", ("memctl session status", "List the sessions under way in this worktree."), group=session_command)
@json_option
def status_command(ctx: click.Context, /, as_json: bool) -> None:
    """List the sessions under way, and what has changed in Git since each began.

    A session is under way if `memctl session start` started it, or if its agent has memctl's hooks.
    """
    memory = memory_access.memory(ctx)
    from memctl.hooks import session_state

    running = {session.id: session for session in (*active.all_running(memory), *session_state.all_running(memory))}
    summaries = [collect.gather(memory, _NOTHING, session.id, session) for session in running.values()]
    _under_way(summaries, as_json=as_json)


@command(
    "end",
    ("memctl session end refunds", "End a session: summarize what has changed in Git since its start."),
    (
        "memctl session end --transcript session.jsonl --accept",
        "End the only session under way; also use its transcript, and create the proposed records.",
    ),
    group=session_command,
)
@click.argument("given", metavar="[NAME]", required=False, default="")
@transcript_input.transcripts
@_accept_option
@transcript_input.no_llm
@writing
def end_command(
    ctx: click.Context, /, given: str, sources: tuple[str, ...], accept: str, no_llm: bool, **flags: Any
) -> None:
    """Summarize a session that was started, and end it.

    Without a NAME, the session is the one that MEMCTL_SESSION names, or the only one under way.
    """
    memory = memory_access.memory(ctx)
    known = _to_end(memory, given)
    name = known.id
    if not flags["dry_run"] and (done := session_pages.recover(memory, known)):
        active.forget(memory, name)
        where = f", in {done.commit[:10]}" if done.commit else ""
        lines = [f"ended the session {name}; an earlier, interrupted end had already written its summary{where}"]
        write_command.outcome(memory, done, flags, lines)
        return
    session = transcript_input.read(sources) if sources else _NOTHING
    summary = collect.gather(memory, session, name, known)
    ctx.exit(_write(memory, summary, session, accept, flags, no_llm=no_llm, ends=known))


@command(
    "phase",
    (
        "memctl session phase research -t session.jsonl",
        "Print the problem, findings, files and constraints that a phase of research has found.",
    ),
    (
        "memctl session phase planning -t session.jsonl --json",
        "Print the signatures, types, contracts and data models of a phase of planning, as JSON.",
    ),
    group=session_command,
)
@click.argument("phase", type=click.Choice(phases.PHASES))
@transcript_input.transcripts
@json_option
def phase_command(ctx: click.Context, /, phase: str, sources: tuple[str, ...], **flags: Any) -> None:
    """Print the results of a phase of work in the form that the next phase needs.

    Research: problem statement, key findings, relevant files and constraints, in at most 1,000 words. Planning:
    function signatures, type definitions, API contracts and data models, in at most 2,000 words. All of
    this is taken from the transcript; nothing is written.
    """
    if not sources:
        hint = f"`memctl session phase {phase} --transcript FILE`; {_WHERE}"
        raise MemctlError("the option --transcript FILE is missing", hint, USAGE)
    memory = memory_access.memory(ctx)
    session = transcript_input.read(sources)
    summary = collect.gather(
        memory, session, active.name_like(transcript_input.own_name(session, sources[0])) or "session"
    )
    sections = phases.form(phase, summary, session)
    if flags["as_json"]:
        output.json(
            "phase", {"phase": phase, "sections": msgspec.to_builtins(sections), "turns": summary.metrics.turns}
        )
        return
    output.text(phases.render(phase, sections), newline=False)


session_command.add_command(session_probe.probe_command)


def _to_end(memory: Memory, given: str) -> active.Running:
    """Raises MemctlError if the session is not under way, or if several are and none is named."""
    under_way = active.all_running(memory)
    if not given and not memory.session and len(under_way) == 1:
        return under_way[0]
    if not given and not memory.session and under_way:
        names = ", ".join(session.id for session in under_way)
        raise MemctlError(
            f"several sessions are under way: {names}",
            "name one of them: `memctl session end NAME`, or set MEMCTL_SESSION",
            USAGE,
        )
    name = _session_name(memory, given)
    known = active.find(memory, name)
    if known is None:
        raise MemctlError(
            f"the session {name!r} is not under way in this worktree",
            "`memctl session status` lists the sessions under way",
        )
    return known


def _session_name(memory: Memory, given: str) -> str:
    if not given and not memory.session:
        raise MemctlError("the name of the session is missing", "give the name, or set MEMCTL_SESSION", USAGE)
    return active.name(given or memory.session)


_SHOWN = 60  # characters of an intent in a list
_LATEST = 5  # files to name of a session under way


def _print_proposals(proposed: Sequence[proposals.Proposal], *, as_json: bool) -> None:
    if as_json:
        data = [{"number": n, **msgspec.structs.asdict(proposal)} for n, proposal in enumerate(proposed, start=1)]
        output.json_list("proposals", data)
        return
    for number, proposal in enumerate(proposed, start=1):
        if not proposal.is_sure and (number == 1 or proposed[number - 2].is_sure):
            output.text("perhaps:")
        how = "" if proposal.explicit or not proposal.is_sure else "  (said without a label such as Decision:)"
        how = f"  (already recorded: {proposal.record})" if proposal.record else how
        output.text(f"{number:>3}  {proposal.kind:<8}  {proposal.title}{how}")
        if proposal.record:
            continue
        for name, value in proposal.content.items():
            text = value if isinstance(value, str) else "; ".join(value)
            if " ".join(text.split()) != proposal.title and name != "context":
                output.text(f"       {name}: {' '.join(text.split())}")
    if all(proposal.record for proposal in proposed):
        output.note("no records are proposed" + ("; all proposals are recorded already" if proposed else ""))


def _select_proposals(proposed: Sequence[proposals.Proposal], accept: str) -> list[proposals.Proposal]:
    """A note names proposals that exist as records already; raises MemctlError for a number without a proposal."""
    if accept in ("all", "sure"):
        return [proposal for proposal in proposed if not proposal.record and (proposal.is_sure or accept == "all")]
    numbers = [word.strip() for word in accept.split(",") if word.strip()]
    for number in numbers:
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= len(proposed):
            hint = (
                f"the proposals have the numbers 1 to {len(proposed)}"
                if proposed
                else "no records are proposed; leave --accept out"
            )
            raise MemctlError(f"--accept: there is no proposal {number!r}", hint, USAGE)
    named = {int(number): proposed[int(number) - 1] for number in numbers}
    for place, proposal in named.items():
        if proposal.record:
            output.note(f"proposal {place} is already recorded: {proposal.record} ({proposal.title})")
    return [proposal for proposal in named.values() if not proposal.record]


def _report(memory: Memory, result: Outcome, summary: SessionSummary, left: int, flags: dict[str, Any]) -> None:
    if flags["as_json"]:
        data = write_command.change_data(memory, result, flags["dry_run"])
        output.json("session", {**data, "summary": _summary_data(summary)})
        return
    created = [write for write in result.change.writes if ids.id_in_path(write.path) in result.change.ids]
    lines = [f"{summary.id} {memory.tracked(session_page.path_of(summary.id))}"]
    for write in created:
        made = parse(write.text, write.path)[0]
        lines.append(f"{made.id} {memory.tracked(write.path)}  {made.title}")
    write_command.outcome(memory, result, flags, lines)
    output.note(_figures(summary))
    if (tokens := documents.counter(memory).tokens(result.change.writes[0].text)) > MOST_TOKENS:
        output.note(
            f"warning: the page has {tokens:,} tokens, more than {MOST_TOKENS:,}, because decisions are never left out"
        )
    if left:
        output.note(f"proposed: {quantity(left, 'more record')}; --review lists the records, --accept creates them")


def _figures(summary: SessionSummary) -> str:
    changed = summary.trail.having(CREATED, MODIFIED, DELETED)
    open_errors = [error for error in summary.errors if error.is_open]
    figures = summary.metrics
    outside = summary.trail.having(CREATED, MODIFIED, DELETED, READ, inside=False)
    words = [
        f"files changed: {len(changed):,}",
        f"files read: {len(summary.trail.having(READ)):,}",
        f"worked in {summary.root}" if summary.root else f"files outside of the repository: {len(outside):,}",
        f"decisions: {len(summary.having(labels.DECISION)):,}",
        f"errors: {len(summary.errors):,} ({len(open_errors):,} open)",
    ]
    broken = f"; lines of the transcript that can't be read: {figures.broken_lines:,}" if figures.broken_lines else ""
    return ", ".join(words) + broken


def _line(made: session_page.SessionPage) -> tuple[str, ...]:
    listed, decided = len(made.files.get(session_page.CHANGED, ())), len(made.lines.get(session_page.DECISIONS, ()))
    changed = int(made.values.get("files_modified") or listed) if made.trail else listed
    counts = f"{quantity(changed, 'file')}, {quantity(decided, 'decision')}"
    intent = markdown.without_escapes((made.lines.get(session_page.INTENT) or ("",))[0])
    return (made.id, session_pages.ended(made)[0], counts, cut(intent, _SHOWN))


def _under_way(summaries: Sequence[SessionSummary], *, as_json: bool) -> None:
    if as_json:
        output.json_list("sessions-under-way", map(_summary_data, summaries), name="sessions")
        return
    for summary in summaries:
        changed = summary.trail.having(CREATED, MODIFIED, DELETED)
        line = f"{summary.id}  {summary.agent}, since {summary.started}, minutes: {summary.metrics.duration_minutes:,}"
        output.text(f"{line}, files changed: {len(changed):,}{f': {summary.intent}' if summary.intent else ''}")
        for entry in changed[-_LATEST:]:
            output.text(f"  {entry.action:<8}  {output.name(entry.path)}")
    if not summaries:
        output.note("no session is under way in this worktree")


def _summary_data(summary: SessionSummary) -> dict[str, Any]:
    data = msgspec.to_builtins(summary)
    del data["succeeded"], data["ahead"]
    data["next_steps"], data["completion"] = summary.next_steps, summary.completion
    return _redacted(data)  # type: ignore[no-any-return]


def _redacted(value: Any) -> Any:
    from memctl.text.credentials import redact

    if isinstance(value, str):
        return redact(value)
    if isinstance(value, (list, tuple)):
        return [_redacted(item) for item in value]
    if isinstance(value, dict):
        return {key: _redacted(item) for key, item in value.items()}
    return value
