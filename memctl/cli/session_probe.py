"""The command `memctl session probe`: test whether a summary still has the facts of its session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memctl.cli import memory_access, output, transcript_input
from memctl.cli.command import command
from memctl.cli.command import reading as reading_options
from memctl.errors import OK, REFUSED, MemctlError
from memctl.session import active, collect
from memctl.session import pages as session_pages
from memctl.store.memory import Memory
from memctl.text.phrases import quantity

if TYPE_CHECKING:
    from memctl.record.session_page import SessionPage
    from memctl.record.snapshot import Snapshot
    from memctl.session.grades import AnsweredShare, Dimension, ProbeFacts, Reply
    from memctl.session.probes import Probe
    from memctl.transcript.events import Session

_HEALTHY, _POOR = 0.85, 0.75  # of the fidelity of a compression; rules.md#window-health


@command(
    "probe",
    ("memctl session probe", "Test the summary of the latest session against the facts stored with it."),
    (
        "memctl session probe 5f6c -t session.jsonl --min 0.9",
        "Test a summary against its transcript; exit with 1 if it answers less than 90 %.",
    ),
)
@click.argument("given", metavar="[NAME]", required=False, default="")
@transcript_input.transcripts
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0, 1),
    default=None,
    help="Exit with 1 if the summary answers less than this share of the probes.",
)
@transcript_input.no_llm
@reading_options
def probe_command(
    ctx: click.Context,
    /,
    given: str,
    sources: tuple[str, ...],
    least: float | None,
    no_llm: bool,
    as_json: bool,
    at: str | None,
) -> None:
    """Ask the summary of a session for facts of the session, and list those that the summary has lost.

    The probes are of four kinds: recall (the goal, errors, issues), artifact (every file), continuation (next steps,
    progress) and decision (what, and why). They are made from the transcript and Git, never from the summary. Without a
    transcript they come from what was stored when the session was summed up, or from Git alone. A fact counts as
    answered if the summary contains it. If you have set up a language model, it answers and judges all probes but those
    for files.

    Exit code 1: the summary misses the target of a dimension.
    """
    from memctl.session import grades, probes
    from memctl.transcript.events import join_sessions

    memory = memory_access.memory(ctx)
    parts = transcript_input.read_parts(sources) if sources else []
    session = join_sessions(parts) if parts else None
    page, text = _page(memory, memory_access.snapshot(memory, at), given, session, sources)
    from_transcript: list[Probe] = []
    for part in parts:
        summary = collect.gather(memory, part, page.id, active.find(memory, page.id))
        from_transcript = probes.merge_probes(from_transcript, grades.of_transcript(memory, summary, part))
    facts = grades.facts(memory, page, from_transcript, session.ended if session else "")
    made = grades.replies(facts, page)
    if not no_llm:
        made, last = transcript_input.judge_replies(memory, made, session, text)
    else:
        last = None
    measured = grades.dimensions(made, page, whole=facts.is_whole)
    measured = [*measured[:-1], last or measured[-1]]
    shares = grades.shares(made)
    if as_json:
        data = {"page": page, "facts": facts, "shares": shares, "dimensions": measured, "probes": made}
        output.answer("probes", data)
    else:
        _print(page, facts, made, shares, measured)
    share = shares[-1].value or 0.0
    below = [dimension for dimension in measured if dimension.is_met is False]
    for dimension in below:
        output.note(
            f"the summary scores {dimension.score} of 5 in {dimension.name}, below the target of {dimension.target}"
        )
    is_missed = least is not None and share < least
    if is_missed:
        output.note(f"the summary answers {share:.1%} of the probes, less than {least:.1%}")
    if below:
        output.note("hint: `memctl session summarize --transcript FILE` adds what is missing to the session's page")
    ctx.exit(REFUSED if is_missed or below else OK)


def _page(
    memory: Memory, snapshot: Snapshot, given: str, session: Session | None, sources: tuple[str, ...]
) -> tuple[SessionPage, str]:
    own = transcript_input.own_name(session, sources[0]) if session is not None else ""
    path, text = session_pages.find(snapshot, given or _name(memory, snapshot, own, has_transcript=bool(sources)))
    page, faults = session_pages.read(snapshot, path, text)
    if page is None or faults:
        raise MemctlError(f"{memory.prefix}/{faults[0]}", "correct this file, then run `memctl session probe` again")
    return page, text


def _name(memory: Memory, snapshot: Snapshot, own: str, *, has_transcript: bool) -> str:
    """Return the name of the session to test if the options have none; raises MemctlError if there is no session.

    It is the transcript's session (`own`) or that in MEMCTL_SESSION if it has a page; without a transcript, the latest.
    """
    own = active.name_like(own) if own else ""
    pages, _ = session_pages.pages(snapshot)
    known = {page.id for page in pages}
    named = next((name for name in (own, memory.session) if name in known), "")
    if not named and has_transcript:
        raise MemctlError(
            "the session of this transcript has no summary",
            "give the NAME of the session to test; `memctl session list` lists all",
        )
    if not named and not pages:
        raise MemctlError(
            "no session has been summarized yet", "`memctl session summarize --transcript FILE` summarizes one"
        )
    return named or pages[0].id


def _print(
    page: SessionPage,
    facts: ProbeFacts,
    made: Sequence[Reply],
    shares: Sequence[AnsweredShare],
    measured: Sequence[Dimension],
) -> None:
    by = Counter(reply.by for reply in made)
    judge = next((name for name in by if name != "exact"), "")
    judged = (
        f"{quantity(by[judge], 'answer')} judged by {judge}, {by['exact']:,} by whether the summary has the facts"
        if judge
        else "answers judged by whether the summary has the exact facts"
    )
    output.text(f"session {page.id}: {quantity(len(made), 'probe')}, made from {facts.source}")
    output.text(judged)
    output.text()
    rows = [(share.kind, f"{share.answered:,} of {share.asked:,}", _percent(share.value)) for share in shares]
    output.columns([("probe", "answered", "share"), *rows])
    value = shares[-1].value or 0.0
    if value < _HEALTHY:
        poor = f"; with less than {_POOR:.0%}, a summary has lost too much" if value < _POOR else ""
        output.text(f"a healthy summary answers at least {_HEALTHY:.0%}{poor}")
    output.text()
    table = [
        (
            "-" if dimension.score is None else f"{dimension.score:.1f}",
            dimension.name,
            f"{dimension.target:.1f}",
            dimension.how,
        )
        for dimension in measured
    ]
    output.columns([("of 5", "dimension", "target", "measured as"), *table])
    missing = [reply.probe for reply in made if not reply.answered]
    if missing:
        output.text("\nProbes that the summary does not answer")
        output.columns(
            [
                (f"  {probe.kind}", probe.question, f"{probe.fact} ({probe.action})" if probe.action else probe.fact)
                for probe in missing
            ]
        )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"
