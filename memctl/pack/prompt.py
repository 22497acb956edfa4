"""Build prompts from the memory: a system prompt, and a user's message with relevant context (rules.md#prompts)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from memctl.pack import items, last_work, rehydrate
from memctl.pack.budget_fill import CountTokens
from memctl.pack.draft import NOTICED, Item, PackDraft, PackNote, PackPart
from memctl.pack.items import Origins, Sources
from memctl.pack.rehydrate import current_records
from memctl.record import content_fields
from memctl.record.filters import ORDERS, severity_rank
from memctl.record.kinds import STATE
from memctl.record.pages import PROJECT_ID, Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.ranking import Result
from memctl.search.readiness import is_work
from memctl.text import headings
from memctl.text.fit import whole_lines
from memctl.text.markdown import one_line

# Tokens of a system prompt and of its parts; rules.md#prompts. The role has no limit, since it must not be cut.
SYSTEM_BUDGET = 8_000
EXECUTIVE, FOCUS, KNOWLEDGE, CRITERIA, RESOURCES = 1_000, 2_000, 3_000, 1_000, 500
_PRIOR = 900  # tokens for the last session
_WEIGHTY = 8  # importance from which a decision is critical knowledge
# Tokens of a user's message, and the least score of an excerpt in it; rules.md#prompts.
USER_BUDGET = 50_000
THRESHOLD = 0.3
_LONGEST = 4_000  # first characters of a message, which are used as the query
_HOW = (
    "To load more, answer with `load §3.1.2`, `load §4.path` or `load ID`, one or a few at a time. To drop what is no "
    "longer needed, write `PRUNE: §3.1.2 - reason`. For a file of more than 10,000 tokens, ask for `summarize PATH` "
    "first."
)


class PromptRequest(msgspec.Struct, frozen=True):
    """A request for a system prompt: the agent's name, role and task ("" for none), and the criteria for success."""

    agent: str = ""
    role: str = ""
    task: str = ""
    criteria: tuple[str, ...] = ()


def system(snapshot: Snapshot, now: str, request: PromptRequest, count: CountTokens, sources: Sources) -> PackDraft:
    """Return the draft of a system prompt for an agent.

    It has the role, the project, the current focus, critical knowledge, the last session, the criteria for success, and
    how to load more. `now` is the current time, such as "2025-11-04T14:32:00Z". `count` counts the tokens of a text,
    and `sources` gets further facts about records and pages.
    """
    current = current_records(snapshot, now)
    matching = items.search(snapshot, request.task, now)
    close = [result for result in matching if result.match >= items.CLOSE * matching[0].match]
    sections = items.sections(snapshot, close) if request.task else list(snapshot.outline.sections)
    in_focus = _in_focus(current, close, sources, request.task)
    critical = [record for record in _critical(current, matching) if record not in in_focus]
    origins = sources.origins([*in_focus, *critical])
    focus, known = (
        tuple(items.of_record(snapshot, record, origins) for record in records) for records in (in_focus, critical)
    )
    pages = [items.of_page(page, sources.page(page)) for page in sections]
    parts: tuple[PackPart, ...] = (
        PackPart("project_context", "Project context", _executive(snapshot, now, count, sources), EXECUTIVE + 100),
        PackPart("current_focus", "Current focus", (*focus, *pages), FOCUS),
        PackPart("critical_knowledge", "Critical knowledge", known, KNOWLEDGE),
    )
    if prior := last_work.prior_work(snapshot, now, _PRIOR, count, matching):
        parts += (msgspec.structs.replace(last_work.PRIOR, items=tuple(prior)),)
    packed = {item.key for part in parts for item in part.items}
    paths = {result.path for result in matching if result.match >= items.POSSIBLE * matching[0].match}
    of_task = [record for record in critical if not request.task or record.path in paths]
    files = sources.files(request.task) if request.task else ()
    return PackDraft(
        project=snapshot.config.project,
        parts=parts,
        title="System prompt",
        root="system_prompt",
        opening=tuple(_opening(snapshot, request)),
        closing=tuple(_closing(snapshot, request, [*in_focus, *of_task], sections, files, count)),
        others=tuple(items.omit(r) for r in current if r.importance >= _WEIGHTY and r.path not in packed),
        made=now,
    )


def user(snapshot: Snapshot, now: str, query: str, threshold: float, sources: Sources) -> PackDraft:
    """Return the draft of a user's message: the unchanged query, then excerpts of the memory that are relevant to it.

    The excerpts are the search results for the query with a score of at least `threshold` (0 to 1). Records with a
    lower score are only named by title. `now` is the current time, such as "2025-11-04T14:32:00Z". `sources` gets the
    records' last commits.
    """
    results = items.search(snapshot, query[:_LONGEST], now)
    matching = [result for result in results if result.record is None or result.record.may_answer(now)]
    ranked = [result for result in matching if result.score >= threshold]
    origins = sources.origins([result.record for result in ranked if result.record is not None])
    scored = tuple(_with_score(snapshot, result, origins) for result in ranked)
    low = [result.record for result in matching if result.record is not None and result.score < threshold]
    return PackDraft(
        project=snapshot.config.project,
        parts=(PackPart("excerpts", "Relevant context", scored),),
        title="Context from the memory of {project}",
        root="relevant_context",
        prefix=query.strip("\n"),
        opening=(NOTICED,),
        others=tuple(items.omit(record) for record in low),
        made=now,
    )


def _with_score(snapshot: Snapshot, result: Result, origins: Origins) -> Item:
    """Return a search result as an item whose first fact is its score ("relevance")."""
    record = result.record
    item = items.of_record(snapshot, record, origins) if record else items.of_result(snapshot, result)
    return msgspec.structs.replace(item, facts=(("relevance", f"{result.score:.2f}"), *item.facts))


def _opening(snapshot: Snapshot, request: PromptRequest) -> Iterator[PackNote]:
    yield PackNote("role", "", _role(snapshot, request), essential=True)
    yield NOTICED
    if request.task:
        yield PackNote("task", "Task", one_line(request.task), essential=True)


def _role(snapshot: Snapshot, request: PromptRequest) -> str:
    """Return the agent's role: from the request, from config.yaml, or a sentence with its name and the project."""
    if request.role:
        return request.role.strip("\n")
    profile = snapshot.config.agents.get(request.agent)
    if profile is not None and profile.role:
        return profile.role.strip("\n")
    name = f"You are {request.agent}, an agent" if request.agent else "You are an agent"
    return f"{name} working on the project {one_line(snapshot.config.project)}."


def _executive(snapshot: Snapshot, now: str, count: CountTokens, sources: Sources) -> tuple[Item, ...]:
    """Return level 1 as an item, or a short description of the project if level 1 is larger than its limit."""
    text = sources.executive()
    if count(text) > EXECUTIVE:
        records = rehydrate.count_by_type(current_records(snapshot, now))
        text = "\n".join([*rehydrate.project(snapshot), f"Records: {records}"])
    body = headings.take_title(text)[1].strip("\n")
    return (Item("page", PROJECT_ID, snapshot.config.project, body, (), PROJECT_ID),)


def _critical(current: Sequence[Record], matching: Sequence[Result]) -> list[Record]:
    """Return decisions of importance 8 or more and critical or high issues; those that match the task come first."""
    scores = {result.path: result.score for result in matching}
    decisions = [r for r in current if r.memory_type == "decision" and r.importance >= _WEIGHTY]
    issues = [r for r in current if r.memory_type == "issue" and severity_rank(r) <= 1]
    by_weight = sorted([*decisions, *issues], key=ORDERS["importance"][0], reverse=True)
    return sorted(by_weight, key=lambda record: -scores.get(record.path, 0.0))


def _in_focus(current: Sequence[Record], close: Sequence[Result], sources: Sources, task: str) -> list[Record]:
    """Return the open state or issue that a prompt is about, at most one.

    With a task it is the best of those that match it closely; without one it is the state that was worked on last.
    """
    if task:
        by_path = {record.path: record for record in current if is_work(record)}
        return [by_path[result.path] for result in close if result.path in by_path][:1]
    states = [record for record in current if record.memory_type == STATE.name]
    return last_work.by_last_work(states, sources.worked(states))[:1]


def _closing(
    snapshot: Snapshot,
    request: PromptRequest,
    records: Sequence[Record],
    sections: Sequence[Page],
    files: Sequence[str],
    count: CountTokens,
) -> Iterator[PackNote]:
    """Yield the closing notes of a system prompt: the criteria for success, and what can be loaded.

    That are the files of the task, pages of details, and without a task the sections, which else are in the prompt.
    """
    criteria = [*request.criteria, *(line for record in records for line in _criteria(snapshot, record))]
    if text := whole_lines(criteria, CRITERIA, count):
        yield PackNote("success_criteria", "Success criteria", text)
    chosen = {page.id for page in sections}
    details = sorted(snapshot.outline.details, key=lambda page: page.section not in chosen)
    others = [page for page in snapshot.outline.sections if page.id not in chosen or not request.task]
    resources = [f"§4.{path}" for path in files]
    resources += [f"{page.id} {one_line(page.title)}" for page in (*details, *others)]
    text = whole_lines(resources, RESOURCES - count(_HOW), count)
    yield PackNote("available_resources", "Available resources", f"{_HOW}\n\n{text}" if text else _HOW)


def _criteria(snapshot: Snapshot, record: Record) -> Iterator[str]:
    """Yield a record's criteria for success, each with its id: what is left to do, or validation criteria."""
    content = content_fields.content(record.kind, snapshot.body(record))
    if is_work(record):
        for step in content.get("substeps_remaining") or content.get("next_actions") or ():
            yield f"{one_line(step)} [{record.id}]"
    elif isinstance(text := content.get("validation_criteria"), str) and text.strip():
        yield f"{one_line(text)} [{record.id}]"
