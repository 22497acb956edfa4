"""Add facts to a session's page where its probes show that its quality is below the target.

A page loses facts when it is trimmed to its budget, or when a person shortens it. Answers to probes matter more than
the budget (rules.md#session-summary). So the line that answered a probe before the page was trimmed is added again or,
if there was none, the fact itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from memctl.record import session_page
from memctl.record.session_page import SessionPage, TrailRow
from memctl.session import grades
from memctl.session.grades import Dimension
from memctl.session.page_builder import text
from memctl.session.probes import ARTIFACT, Probe
from memctl.session.trim import FittedPage
from memctl.text.actions import MODIFIED, READ
from memctl.text.similarity import comparable

_FILLED = ("Context awareness", "Artifact trail", "Completeness", "Continuity")


def below_target(page: SessionPage, probes: Sequence[Probe]) -> list[Dimension]:
    """Return the dimensions of a session's page whose score is below the target, and would rise with more facts.

    These are four of the six dimensions (`grades.dimensions`): their scores are the share of `probes` that the page
    answers. `page` must include the files that are in a list of their own (`session_page.with_trail`).
    """
    dimensions = grades.dimensions(grades.exact_replies(probes, page), page, whole=True)
    return [dimension for dimension in dimensions if dimension.name in _FILLED and dimension.is_met is False]


def fill(fitted: FittedPage, whole: SessionPage, probes: Sequence[Probe]) -> FittedPage:
    """Return the trimmed page `fitted` with a fact added for each of the `probes` that it does not answer.

    What is added is the line of the page before it was trimmed (`whole`) that has the fact or, if there is none, the
    text of the fact. A page that meets all its targets is returned unchanged.
    """
    page = session_page.with_trail(fitted.page, fitted.trail) if fitted.trail else fitted.page
    if not below_target(page, probes):
        return fitted
    missing = [reply.probe for reply in grades.exact_replies(probes, page) if not reply.answered]
    lines = dict(fitted.page.lines)
    for probe in (probe for probe in missing if probe.kind != ARTIFACT):
        heading = grades.place_of(probe)
        lines[heading] = (*lines.get(heading, ()), _line(probe, heading, whole))
    holder = fitted.trail or fitted.page
    files = _with_rows(holder, whole, (probe for probe in missing if probe.kind == ARTIFACT))
    if fitted.trail:
        trail = msgspec.structs.replace(fitted.trail, files=files)
        return FittedPage(msgspec.structs.replace(fitted.page, lines=lines), trail)
    return FittedPage(msgspec.structs.replace(fitted.page, lines=lines, files=files))


def _line(probe: Probe, heading: str, whole: SessionPage) -> str:
    wanted = f" {comparable(probe.fact)} "
    matching = (line for line in whole.lines.get(heading, ()) if wanted in f" {comparable(line)} ")
    return next(matching, text(probe.fact, len(probe.fact)))


def _with_rows(page: SessionPage, whole: SessionPage, missing: Iterable[Probe]) -> dict[str, tuple[TrailRow, ...]]:
    words = {row.path: row.what for made in (whole, page) for rows in made.files.values() for row in rows}
    files = {heading: {row.path: row for row in rows} for heading, rows in page.files.items()}
    for probe in missing:
        action = probe.action or MODIFIED
        heading = session_page.READ if action == READ else session_page.CHANGED
        for rows in files.values():
            rows.pop(probe.fact, None)
        files.setdefault(heading, {})[probe.fact] = TrailRow(probe.fact, action, words.get(probe.fact, ""))
    return {heading: tuple(rows.values()) for heading, rows in files.items()}
