"""A handoff as it is asked for: who gives what to whom, and what the giver says of it (rules.md#handoffs).

What the giver does not say comes from the state of the task and from the memory; what neither says is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memctl.pack import phase
from memctl.pack.context_summary import BUDGET, DECISIONS
from memctl.pack.filling import CountTokens
from memctl.pack.phase import Standing
from memctl.record.checkpoint import Checkpoint
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, is_said
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import CREATED, MODIFIED, TaskState
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.text.phrases import some

COMPLETE, SPECIALIST, CONTINUATION, EMERGENCY = "complete", "specialist", "continuation", "emergency"
_MOST = 20  # lines of a field: what is more belongs into records
_OPTIONS = {
    "success_criteria": "success", "constraints": "constraint", "inputs": "input", "expected_outputs": "expect",
    "deliverables": "output",
}  # fmt: skip
_NEEDED = ("reason", "summary", "immediate", "success_criteria")
_NAMED = 8  # binding decisions by id, where the package has their texts
NONE_RECORDED = "none recorded"


class HandoffText(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a handoff, by its names in the package."""

    reason: str = ""
    summary: str = ""
    task: str = ""
    immediate: tuple[str, ...] = ()
    short_term: tuple[str, ...] = ()
    success_criteria: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    expected_outputs: tuple[str, ...] = ()
    deliverables: tuple[str, ...] = ()
    observation: tuple[str, ...] = ()
    approach: tuple[str, ...] = ()
    pitfall: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()

    def lines(self, name: str) -> tuple[str, ...]:
        """What is said under a name, as lines."""
        value = getattr(self, name)
        return value if isinstance(value, tuple) else (value,) if value else ()


class HandoffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff to be: its type, two agents, the sections, what is said, the format and tokens of its package.

    `id` and `transfers`, the ownership of each section as it becomes, are known once the shared state is. `changes` are
    the last modifications of files: path, and when and how.
    """

    source: str
    target: str = ""
    kind: str = COMPLETE
    said: HandoffText = HandoffText()
    form: str = "auto"
    budget: int = 0
    sections: tuple[str, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()
    id: str = ""
    transfers: tuple[str, ...] = ()


class MissingField(msgspec.Struct, frozen=True):
    """A field for which a handoff is refused, why, and the option that gives it."""

    field: str
    message: str
    option: str


def complete(
    asked: HandoffRequest, state: TaskState, standing: Standing, known: Sequence[Record], snapshot: Snapshot
) -> HandoffText:
    """What was said, and where nothing was, what the state of the task and the `known` records of its sections say."""
    said = asked.said
    blocking = [r for r in known if r.memory_type == "issue" and r.is_open and r.severity == "critical"]
    made = [one.path for one in state.files if one.action in (CREATED, MODIFIED)]
    read = [one.path for one in state.files if one.path not in made] or [path for path, _ in asked.changes]
    found: dict[str, Iterable[str]] = {
        "immediate": _of(state, state.next_actions or state.in_progress)
        or list(phase.next_actions(snapshot, blocking)),
        "success_criteria": _of(state, state.success_criteria or (state.goal,)),
        "constraints": [*_of(state, state.constraints), *_binding(asked.kind, known)] or (NONE_RECORDED,),
        "inputs": [*_of(state, state.inputs), *read] or (NONE_RECORDED,),
        "expected_outputs": _of(state, (*state.in_progress, *state.claimed, *state.planned)) or (NONE_RECORDED,),
        "deliverables": made or _of(state, state.done) or (NONE_RECORDED,),
    }
    values = {name: said.lines(name) or tuple(dict.fromkeys(lines))[:_MOST] for name, lines in found.items()}
    return msgspec.structs.replace(said, **values, summary=_summary(said.summary, standing))


def _binding(kind: str, known: Sequence[Record]) -> list[str]:
    """The decisions that bind: for a specialist by title, for others by id, for whom the package has their texts."""
    found = phase.binding(known)
    if kind == SPECIALIST or not found:
        return [f"{one_line(record.title)} [{record.id}]" for record in found]
    return [f"Binding decisions: {some([record.id for record in found], _NAMED)}"]


def _summary(said: str, standing: Standing) -> str:
    """What is said, behind the decision; or the decision with what the memory says, "" if that is nothing."""
    if said:
        return said if said.lstrip().startswith(DECISIONS) else f"{standing.decision}: {said}"
    lines = [f"- {line}" for line in standing.lines if len(line) <= LONGEST_LINE]
    return "\n".join([f"{standing.decision}: {standing.why}", *lines]) if lines else ""


def _of(state: TaskState, lines: Iterable[str]) -> list[str]:
    """Lines of a task's state, each with the record that it is from if it is from no checkpoint."""
    source = f" [{state.task_id}]" if state.task_id and not isinstance(state, Checkpoint) else ""
    return [f"{cut(line, LONGEST_LINE)}{source}" for line in map(one_line, lines) if is_said(line)]


def within(text: str, budget: int, count: CountTokens) -> str:
    """As many whole lines of a text as a budget has room for."""
    lines = text.split("\n")
    while len(lines) > 1 and count("\n".join(lines)) > budget:
        lines.pop()
    return "\n".join(lines)


def findings(given: HandoffText, whole: HandoffText, kind: str, count: CountTokens) -> Iterator[MissingField]:
    """Everything for which a handoff is refused: `given` is what the giver said, `whole` that with what is known.

    In an emergency only the reason is needed: an agent that failed can't say the rest.
    """
    for name in _NEEDED[:1] if kind == EMERGENCY else _NEEDED:
        if not any(map(is_said, whole.lines(name))) and not given.lines(name):
            yield _finding(name, "is missing, and the memory does not say it")
    for name in HandoffText.__struct_fields__:
        for text in given.lines(name):
            if not all(c.isprintable() or c in "\n\t" for c in text):
                yield _finding(name, "has control characters")
            elif not is_said(text):
                yield _finding(name, f"{text!r} says nothing")
            elif name != "summary" and len(text) > LONGEST_LINE:
                long = f"has {len(text):,} characters, of {LONGEST_LINE}"
                yield _finding(name, f"{long}: put the long part into a record")
        if (number := len(given.lines(name))) > _MOST:
            yield _finding(name, f"has {number} lines, of {_MOST}: put them into records")
    if given.summary and (tokens := count(whole.summary)) > BUDGET:
        yield _finding("summary", f"has {tokens:,} tokens, of {BUDGET}: `memctl context-summary` shortens it")


def _finding(name: str, message: str) -> MissingField:
    return MissingField(name, message, "--" + _OPTIONS.get(name, name).replace("_", "-"))
