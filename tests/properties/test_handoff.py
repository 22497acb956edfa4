"""Properties of handoff packages: never a token too many, nothing that must stay missing, whatever the memory says."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.pack import handoff_scope
from memctl.pack.handoff import Package
from memctl.pack.handoff_request import TYPES, HandoffRequest
from tests.conftest import examples
from tests.generated import COUNTERS, LINES, NOW, Memory, families, memories, memory
from tests.pack import handoffs

QUICK = examples(30)
forms = st.sampled_from(("markdown", "xml", "yaml", "tokens", "event", "auto"))
kinds = st.sampled_from(sorted(TYPES))
wide = memory(({"title": "\N{GRINNING FACE}" * 100, "importance": 1}, ""))  # its line takes the room of what is said
lines = st.lists(st.sampled_from([line for line in LINES if len(line) < 500]), max_size=4).map(tuple)


def made(memory: Memory, kind: str, form: str, family: str, budget: int, said: tuple[str, ...]) -> Package | None:
    """The package of a memory, None if it is refused."""
    lines = {"immediate": ("Write src/cascade.py",), "observation": said}
    changes = (("src/app.py", "feat: x"),)
    asked = HandoffRequest(
        from_agent_id="claude",
        to_agent_id="bob",
        handoff_type=kind,
        form=form,
        budget=budget,
        reason="The schema is done",
        lines=lines,
        changes=changes,
    )
    try:
        return handoffs.given(memory.snapshot, asked, family)
    except MemctlError as error:
        if any(words in error.message for words in ("must stay", "takes", "too small")):
            return None
        raise


@QUICK
@example(wide, "emergency", "markdown", "claude", 0.02, ())
@given(memories, kinds, forms, families, st.sampled_from((1.0, 1.0, 0.3, 0.1, 0.02)), lines)
def test_a_package_never_exceeds_the_upper_bound_of_its_type(
    memory: Memory, kind: str, form: str, family: str, share: float, said: tuple[str, ...]
) -> None:
    budget = int(TYPES[kind].budget * share)
    package = made(memory, kind, form, family, budget, said)
    if package is not None:
        assert COUNTERS[family].tokens(package.pack.text) == package.pack.tokens <= budget


@QUICK
@given(memories, kinds, forms, families)
def test_weighty_decisions_and_severe_issues_are_in_every_package(
    memory: Memory, kind: str, form: str, family: str
) -> None:
    package = made(memory, kind, form, family, TYPES[kind].budget, ())
    if package is None:
        return
    for record in handoff_scope.records_of(memory.snapshot, NOW, ()):
        is_weighty = record.memory_type == "decision" and record.importance >= 7 and record.status == "accepted"
        is_severe = record.memory_type == "issue" and record.severity in ("critical", "high")
        if record.is_open and (is_weighty or is_severe):
            assert record.id in package.pack.text


@QUICK
@given(memories, kinds, families)
def test_compaction_never_grows_a_context_and_says_what_it_reached(memory: Memory, kind: str, family: str) -> None:
    package = made(memory, kind, "markdown", family, TYPES[kind].budget, ())
    if package is not None:
        report = package.report
        assert report.after <= report.before
        assert not report.is_chosen
        assert report.aim == (0.4 if kind == "continuation" else 0.2)
        assert abs(report.reduction - (1 - report.after / report.before if report.before else 0)) < 0.001
