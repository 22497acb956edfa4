"""A handoff as it is asked for: who gives what to whom, and what the giver says of it (rules.md#handoffs).

What the giver does not say comes from the state of the task and from the memory; what neither says is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from memctl.pack import phase
from memctl.pack.budget_fill import CountTokens
from memctl.pack.context_summary import BUDGET, DECISIONS
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
NONE_RECORDED = "none recorded"
_MOST = 20  # lines of a field: what is more belongs into records
_NEEDED = ("reason", "summary", "immediate", "success_criteria")
_NAMED = 8  # binding decisions by id, where the package has their texts


class HandoffField(NamedTuple):
    """A list that the giver may say: its name, its option and the help of that, its title and its element in the
    package, and its field in the record. The last two are "" if they have the name of the list."""

    name: str
    option: str
    help: str
    title: str
    element: str = ""
    record: str = ""


# In the order of their options; the package has them in the reverse order, since what comes next is its end.
FIELDS = (
    HandoffField("immediate", "immediate", "What to do first. [default: next actions of your state]", "Next actions",
                 "next"),
    HandoffField("short_term", "short-term", "What to reach next.", "Short term"),
    HandoffField("success_criteria", "success", "How to tell that it is done. [default: the task of your state]",
                 "Success criteria"),
    HandoffField("expected_outputs", "expect", "What it is to bring. [default: remaining steps of your state]",
                 "Expected outputs"),
    HandoffField("resource", "resource", "Where to look.", "Useful resources", "useful_resources", "useful_resources"),
    HandoffField("pitfall", "pitfall", "What to beware of.", "Known pitfalls", "known_pitfalls", "known_pitfalls"),
    HandoffField("approach", "approach", "How you would go about it.", "Suggested approach", "suggested_approach",
                 "suggested_approach"),
    HandoffField("observation", "observation", "Something you noticed.", "Observations", "from_agent_observations",
                 "observations"),
    HandoffField("deliverables", "output", "What came out so far. [default: what your state says is done]",
                 "Delivered so far"),
    HandoffField("inputs", "input", "What the other agent is given. [default: the files of the task]", "Inputs"),
    HandoffField("constraints", "constraint", "What binds. [default: the binding decisions]", "Constraints"),
)  # fmt: skip


class HandoffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff to be: its type, two agents, the sections, what is said, the format and tokens of its package.

    `lines` are what the giver says, by the names of FIELDS. `id` and `transfers`, the ownership of each section as it
    becomes, are known once the shared state is. `changes` are the last modifications of files: path, and when and how.
    """

    source: str
    target: str = ""
    kind: str = COMPLETE
    form: str = "auto"
    budget: int = 0
    sections: tuple[str, ...] = ()
    reason: str = ""
    summary: str = ""
    task: str = ""
    lines: Mapping[str, tuple[str, ...]] = {}
    changes: tuple[tuple[str, str], ...] = ()
    id: str = ""
    transfers: tuple[str, ...] = ()

    def texts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield all that the giver says, by names."""
        for name, text in (("reason", self.reason), ("summary", self.summary), ("task", self.task)):
            yield name, (text,) if text else ()
        yield from ((field.name, self.lines.get(field.name, ())) for field in FIELDS)


class MissingField(msgspec.Struct, frozen=True):
    """A field for which a handoff is refused, why, and the option that gives it."""

    field: str
    message: str
    option: str


def complete(
    asked: HandoffRequest, state: TaskState, standing: Standing, known: Sequence[Record], snapshot: Snapshot
) -> HandoffRequest:
    """Return the handoff completed: what the giver does not say, the state of the task and the `known` records say.

    The summary begins with the decision of `standing`.
    """
    blocking = [r for r in known if r.memory_type == "issue" and r.is_open and r.severity == "critical"]
    made = [one.path for one in state.files if one.action in (CREATED, MODIFIED)]
    read = [one.path for one in state.files if one.path not in made] or [path for path, _ in asked.changes]
    found: dict[str, Iterable[str]] = {
        "immediate": _of(state, state.next_actions or state.in_progress) or phase.next_actions(snapshot, blocking),
        "success_criteria": _of(state, state.success_criteria or (state.goal,)),
        "constraints": [*_of(state, state.constraints), *_binding(asked.kind, known)] or (NONE_RECORDED,),
        "inputs": [*_of(state, state.inputs), *read] or (NONE_RECORDED,),
        "expected_outputs": _of(state, (*state.in_progress, *state.claimed, *state.planned)) or (NONE_RECORDED,),
        "deliverables": made or _of(state, state.done) or (NONE_RECORDED,),
    }
    lines = {name: asked.lines.get(name) or tuple(dict.fromkeys(texts))[:_MOST] for name, texts in found.items()}
    summary = asked.summary
    if summary and not summary.lstrip().startswith(DECISIONS):
        summary = f"{standing.decision}: {summary}"
    elif not summary and (facts := [f"- {line}" for line in standing.lines if len(line) <= LONGEST_LINE]):
        summary = "\n".join([f"{standing.decision}: {standing.why}", *facts])
    return msgspec.structs.replace(asked, lines={**asked.lines, **lines}, summary=summary)


def _binding(kind: str, known: Sequence[Record]) -> list[str]:
    """Return the decisions that bind: for a specialist by title, for others by id, for whom the package has their
    texts."""
    found = phase.binding(known)
    if kind == SPECIALIST or not found:
        return [f"{one_line(record.title)} [{record.id}]" for record in found]
    return [f"Binding decisions: {some([record.id for record in found], _NAMED)}"]


def _of(state: TaskState, lines: Iterable[str]) -> list[str]:
    """Return lines of a task's state, each with the record that it is from if it is from no checkpoint."""
    source = f" [{state.task_id}]" if state.task_id and not isinstance(state, Checkpoint) else ""
    return [f"{cut(line, LONGEST_LINE)}{source}" for line in map(one_line, lines) if is_said(line)]


def within(text: str, budget: int, count: CountTokens) -> str:
    """As many whole lines of a text as a budget has room for."""
    lines = text.split("\n")
    while len(lines) > 1 and count("\n".join(lines)) > budget:
        lines.pop()
    return "\n".join(lines)


def findings(given: HandoffRequest, whole: HandoffRequest, count: CountTokens) -> Iterator[MissingField]:
    """Return everything for which a handoff is refused: `given` is what the giver said, `whole` that with what is
    known.

    In an emergency only the reason is needed: an agent that failed can't say the rest.
    """
    options = {field.name: field.option for field in FIELDS}
    said, known = dict(given.texts()), dict(whole.texts())
    wrong = [
        (name, "is missing, and the memory does not say it")
        for name in (_NEEDED[:1] if given.kind == EMERGENCY else _NEEDED)
        if not any(map(is_said, known[name])) and not said[name]
    ]
    for name, texts in said.items():
        wrong += [(name, message) for text in texts if (message := _problem(text, is_long=name == "summary"))]
        if len(texts) > _MOST:
            wrong.append((name, f"has {len(texts)} lines, of {_MOST}: put them into records"))
    if given.summary and (tokens := count(whole.summary)) > BUDGET:
        wrong.append(("summary", f"has {tokens:,} tokens, of {BUDGET}: `memctl context-summary` shortens it"))
    return (MissingField(name, message, f"--{options.get(name, name)}") for name, message in wrong)


def _problem(text: str, *, is_long: bool) -> str:
    """Return what is wrong with a text of the giver's, "" if nothing is."""
    if not all(c.isprintable() or c in "\n\t" for c in text):
        return "has control characters"
    if not is_said(text):
        return f"{text!r} is only a placeholder"
    is_too_long = not is_long and len(text) > LONGEST_LINE
    return f"has {len(text):,} characters, of {LONGEST_LINE}: put the long part into a record" if is_too_long else ""
