"""The request for a handoff: its type, its agents, and the texts that the giver wrote (rules.md#handoffs).

A field that the giver left empty is filled from the state of the task and from the memory. If they have nothing for a
required field, the request is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from memctl.pack import phase_summary
from memctl.pack.budget_fill import CountTokens
from memctl.pack.context_summary import BUDGET, DECISIONS
from memctl.pack.phase_summary import PhaseStatus
from memctl.record.checkpoint import Checkpoint
from memctl.record.handoff import HandoffType, Parties
from memctl.record.kinds import HANDOFF
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, InvalidFields, is_meaningful, placeholder_fault
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import TaskState
from memctl.text.actions import CREATED, MODIFIED
from memctl.text.fit import cut, whole_lines
from memctl.text.markdown import one_line
from memctl.text.phrases import some

COMPLETE: Final = "complete"
SPECIALIST: Final = "specialist"
CONTINUATION: Final = "continuation"
EMERGENCY: Final = "emergency"
# The reasons why a package must contain a record or page, by rules.md#preservation or by the type of handoff.
TASK, BINDING, RECENT, ISSUE, DETAIL, CHANGED, RELEVANT, SECTION = (
    "current task", "binding decisions", "recent and proposed decisions", "severe and blocking issues",
    "critical details", "changed since the task was written down", "relevant to the task", "pages of the sections",
)  # fmt: skip
_MUST = (BINDING, RECENT, ISSUE, DETAIL)
NONE_RECORDED = "none recorded"
_MOST = 20  # lines of a field; longer lists belong in records
_NEEDED = ("reason", "summary", "immediate", "success_criteria")
_NAMED = 8  # binding decisions that are listed by id


class TypeRules(NamedTuple):
    """The rules of a type of handoff.

    - `budget`: the largest number of tokens of the package.
    - `aim`: the share of the records' and pages' tokens to leave out (0 to 1).
    - `least`: about the size in tokens below which a package leaves out no open record, even if the aim is missed. A
      specialist's, which has only what is relevant to the task, gets weaker search results until it has this size.
    - `reasons`: the reasons for which a record must be in the package, such as "binding decisions". The records of the
      task must be in it anyway.
    - `is_narrow`: whether all records that need not be in the package are left out.
    - `is_ranked`: whether the records and pages that a search for the task finds are required, too.
    - `has_checkpoint`: whether the package has the task's checkpoint. `has_prior`: whether it has earlier sessions.
    """

    budget: int
    least: int
    aim: float
    reasons: tuple[str, ...] = _MUST
    is_narrow: bool = False
    is_ranked: bool = False
    has_checkpoint: bool = True
    has_prior: bool = True


# The numbers: rules.md#handoffs.
TYPES: dict[HandoffType, TypeRules] = {
    COMPLETE: TypeRules(25_000, 15_000, 0.2),
    SPECIALIST: TypeRules(10_000, 5_000, 0.2, is_narrow=True, is_ranked=True, has_checkpoint=False),
    CONTINUATION: TypeRules(40_000, 30_000, 0.4, (*_MUST, CHANGED)),
    EMERGENCY: TypeRules(15_000, 10_000, 0.2, (BINDING, ISSUE), is_narrow=True, has_prior=False),
}


# The lists that a giver may fill. The package has them in reverse, so that it ends with the next actions.
FIELDS = tuple(field for field in HANDOFF.fields if field.option and field.is_list)
# What the lists are made from that the giver leaves out.
DEFAULTS = {
    "immediate": "next actions of your state",
    "success_criteria": "the task of your state",
    "constraints": "the binding decisions",
    "inputs": "the files of the task",
    "expected_outputs": "remaining steps of your state",
    "deliverables": "what your state says is done",
}


class HandoffRequest(Parties, frozen=True, kw_only=True):
    """A request for a handoff: its agents, type, sections and task, and the texts of the giver.

    - `form` is the format of the package, such as "markdown" or "auto" (see `budget_fill.fill`), and `budget` its
      largest number of tokens (0 for the budget of the handoff's type).
    - `lines` are the giver's lists by name, such as "immediate" (what to do first) and "constraints".
    - `changes` are pairs of a changed file's path and a text that says when and how it changed.
    - `id` is the handoff's id, and `transfers` has a line on the new owner of each section. memctl fills both when it
      offers the handoff.
    """

    form: str = "auto"
    budget: int = 0
    reason: str = ""
    summary: str = ""
    lines: Mapping[str, tuple[str, ...]] = {}
    changes: tuple[tuple[str, str], ...] = ()
    id: str = ""
    transfers: tuple[str, ...] = ()

    @property
    def rules(self) -> TypeRules:
        """The rules of the handoff's type."""
        return TYPES[self.handoff_type]

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """All texts of the giver, by field: "reason", "summary", "task", and the lists, such as "constraints"."""
        single = {"reason": self.reason, "summary": self.summary, "task": self.task}
        texts = {name: (text,) if text else () for name, text in single.items()}
        return texts | {field.name: self.lines.get(field.name, ()) for field in FIELDS}


def complete(
    request: HandoffRequest,
    state: TaskState,
    standing: PhaseStatus,
    known: Sequence[Record],
    snapshot: Snapshot,
    count: CountTokens,
) -> HandoffRequest:
    """Fill the empty fields of a request, from the task's `state` and from the records of its sections (`known`).

    `standing` sums up the memory: a decision (PROCEED, STOP or CLARIFY), its reason, and facts. The decision is put at
    the beginning of the giver's summary. Without a summary of the giver, one is made from `standing`, of at most 500
    tokens as `count` counts them.
    """

    def of_task(lines: Iterable[str]) -> list[str]:
        source = f" [{state.task_id}]" if state.task_id and not isinstance(state, Checkpoint) else ""
        return [f"{cut(line, LONGEST_LINE)}{source}" for line in map(one_line, lines) if is_meaningful(line)]

    blocking = [r for r in known if r.memory_type == "issue" and r.is_open and r.severity == "critical"]
    made = [file.path for file in state.files if file.action in (CREATED, MODIFIED)]
    read = [file.path for file in state.files if file.path not in made]
    if request.changes and not read:
        present = snapshot.files.existing(path for path, _ in request.changes)  # others were deleted or renamed
        read = [path for path, _ in request.changes if path in present]
    binding = phase_summary.binding_decisions(known)
    if request.handoff_type == SPECIALIST or not binding:  # packages of other types include the decisions themselves
        binds = [f"{one_line(record.title)} [{record.id}]" for record in binding]
    else:
        binds = [f"Binding decisions: {some([record.id for record in binding], _NAMED)}"]
    values: dict[str, Iterable[str]] = {
        "immediate": of_task(state.next_actions or state.in_progress) or phase_summary.next_actions(snapshot, blocking),
        "success_criteria": of_task(state.success_criteria or (state.goal,)),
        "constraints": [*of_task(state.constraints), *binds] or (NONE_RECORDED,),
        "inputs": [*of_task(state.inputs), *read] or (NONE_RECORDED,),
        "expected_outputs": of_task((*state.in_progress, *state.claimed, *state.planned)) or (NONE_RECORDED,),
        "deliverables": made or of_task(state.done) or (NONE_RECORDED,),
    }
    lines = {name: request.lines.get(name) or tuple(dict.fromkeys(texts))[:_MOST] for name, texts in values.items()}
    summary = request.summary
    if summary and not summary.lstrip().startswith(DECISIONS):
        summary = f"{standing.decision}: {summary}"
    elif not summary and standing.lines:
        head = f"{standing.decision}: {standing.why}\n"
        budget = BUDGET if request.handoff_type != EMERGENCY else BUDGET // 2
        facts = whole_lines((line for line in standing.lines if len(line) <= LONGEST_LINE), budget - count(head), count)
        summary = f"{head}{facts}" if facts else ""
    return msgspec.structs.replace(request, lines={**request.lines, **lines}, summary=summary)


def refuse_faults(request: HandoffRequest, whole: HandoffRequest, count: CountTokens) -> None:
    """Raise InvalidFields if required fields of a handoff are missing, or if texts of the giver are wrong.

    `request` has the giver's texts, and `whole` is the request after it was completed from the memory. In an emergency
    only the reason is required, since an agent that failed can't say more.
    """
    wrong = [
        (name, "is missing, and the memory has no record to take it from")
        for name in (_NEEDED[:1] if request.handoff_type == EMERGENCY else _NEEDED)
        if not any(map(is_meaningful, whole.texts[name])) and not request.texts[name]
    ]
    for name, texts in request.texts.items():
        wrong += [(name, message) for text in texts if (message := _problem(text, is_long=name == "summary"))]
        if len(texts) > _MOST:
            wrong.append((name, f"has {len(texts)} lines; at most {_MOST} are allowed: put the others into records"))
    if request.summary and (tokens := count(whole.summary)) > BUDGET:
        message = f"has {tokens:,} tokens; at most {BUDGET} are allowed: `memctl context summary` shortens the text"
        wrong.append(("summary", message))
    if wrong:
        hint = "correct the options for these fields, or record what is missing, such as decisions and next actions"
        raise InvalidFields("fields of the handoff are missing or wrong:", wrong, hint)


def _problem(text: str, *, is_long: bool) -> str:
    """Return what is wrong with a text of the giver, "" if nothing is; only a long text may exceed a line's length."""
    if not all(c.isprintable() or c in "\n\t" for c in text):
        return "has control characters"
    if not is_meaningful(text):
        return placeholder_fault(text)
    is_too_long = not is_long and len(text) > LONGEST_LINE
    limit = f"at most {LONGEST_LINE} are allowed: put the details into a record"
    return f"has {len(text):,} characters; {limit}" if is_too_long else ""
