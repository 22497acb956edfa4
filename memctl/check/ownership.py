"""Rules about sections that agents own (MEM6xx): staged files of other owners, handoffs that contradict ownership."""

from __future__ import annotations

from collections.abc import Iterator

from memctl.check.findings import CheckContext, Finding, StagedWork
from memctl.pages.repository_paths import matching
from memctl.record import handoff
from memctl.store.file_sections import sections
from memctl.team import handoffs as team_handoffs
from memctl.team.state import Ownership
from memctl.text.phrases import some

_LISTED = 3  # files to name in a finding


def owned_sections(subject: CheckContext) -> Iterator[Finding]:
    """Report each staged file in a section that another agent owns."""
    staged = subject.staged
    if staged is not None and staged.state.restricts(staged.agent, subject.now):
        yield from _memory(subject, staged)
        yield from _code(subject, staged)


def answered_handoffs(subject: CheckContext) -> Iterator[Finding]:
    """Report each handoff whose status does not agree with who owns its sections now.

    For example, an accepted handoff gives its sections to the taker. A handoff is not reported if a later handoff
    explains the difference.
    """
    state = subject.coordination
    if state is None or not team_handoffs.has_handoffs(state):
        return
    for contradiction in team_handoffs.contradictions(handoff.read_all(subject.snapshot)[0], state, subject.now):
        path = contradiction.handoff.record.path
        hint = (
            "`memctl team handoff recover` sets the owner that the handoff names; with `--remote NAME` also at a remote"
        )
        yield subject.at_key("MEM602", path, "status", contradiction.problem, hint)


def _memory(subject: CheckContext, staged: StagedWork) -> Iterator[Finding]:
    outline, prefix = subject.snapshot.outline, f"{subject.snapshot.prefix}/"
    for path in (path.removeprefix(prefix) for path in staged.paths if path.startswith(prefix)):
        texts = (subject.earlier(path), subject.text(path))
        for markers in (markers for text in texts if text is not None for markers in sections(path, text, outline)):
            if held := staged.state.forbidding(markers, staged.agent, subject.now):
                yield _finding(held, path, 1, "")
                break


def _code(subject: CheckContext, staged: StagedWork) -> Iterator[Finding]:
    """Yield findings for staged code that a section's globs match; each is in the file of the section's page.

    Code that several sections cover may be changed by each of their owners, or two of them could lock each other out.
    """
    code = [path for path in staged.paths if not path.startswith(f"{subject.snapshot.prefix}/")]
    owned = [(page, staged.state.live(page.id, subject.now)) for page in subject.snapshot.outline.sections]
    own = [glob for page, held in owned if held and held.owner_agent_id == staged.agent for glob in page.paths]
    code = sorted(set(code).difference(matching(code, own)))
    for page, held in owned:
        if held is None or held.lets_write(staged.agent):
            continue
        if covered := matching(code, page.paths):
            line = subject.line_of(page.path, "paths")
            yield _finding(held, page.path, line, f"{some(covered, _LISTED)}: ")


def _finding(held: Ownership, path: str, line: int, names: str) -> Finding:
    hint = f"ask {held.owner_agent_id} to release the section, or take it over: "
    hint += f"`memctl team own acquire {held.section_id} --force --reason WHY`"
    return Finding("MEM601", path, line, f"{names}{held.description}", hint)
