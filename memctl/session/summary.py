"""Summarize a session as data: intent, files, decisions, state, errors, figures (rules.md#session-summary)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memctl.record.task_state import DONE, Step, TaskState
from memctl.session import commands, extraction, failures, progress, working_forms
from memctl.session.extraction import Extract
from memctl.session.failures import Failure
from memctl.session.trail import Trail
from memctl.session.working_forms import WorkingForm
from memctl.statements import completion, labels, plans, titles
from memctl.text import timestamps
from memctl.text.actions import CREATED, DELETED, MODIFIED
from memctl.text.characters import redacted_line
from memctl.text.fit import cut_at_word
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.transcript.events import ANSWER, CALL, COMPACTION, PROMPT, Event, Session, Usage

_INTENT = 800  # characters of the prompt that says what a session is for
_FIRST = 4  # prompts, of which one may say it
PROMPT_LENGTH = 300  # characters of a prompt that the page quotes
_OPENING, LAST_WORD = 150, 600  # characters of the beginning of the agent's last message, and of both its ends
_BARE_COMMAND = lazy_regex(r"/[\w:.-]+\s*")
_MARKS = lazy_regex(r"(?m)\*\*|^ *(?:#+|>|[-*_]{3,}$)")  # of Markdown, which mean nothing on one line


class SessionMetrics(msgspec.Struct, frozen=True):
    """Figures of a session.

    - `turns` counts the user's prompts, and `answers` the requests to the model.
    - `tokens` are the tokens that the model reported, summed over the requests.
    - `duration_minutes` is the time between the first and the last line of the transcript that have a time.
    - `files` counts the files that the session touched, and `broken_lines` the lines of the transcript that could not
      be read.
    """

    turns: int = 0
    answers: int = 0
    tool_calls: int = 0
    sub_agents: int = 0
    compactions: int = 0
    tokens: Usage = Usage()
    duration_minutes: int = 0
    files: int = 0
    broken_lines: int = 0


class Prose(msgspec.Struct, frozen=True):
    """What a language model wrote about a session: its intent, the state of the work, and the reasons for decisions.

    `reasons` maps the text of a decision to its reason; `by` is the name of the model.
    """

    intent: str = ""
    state: str = ""
    reasons: dict[str, str] = {}
    by: str = ""


class SessionSummary(msgspec.Struct, frozen=True):
    """The summary of a session.

    - `id` is the session's name, `agent` the actor, and `form` the transcript's format.
    - `trail` has the files that the session touched.
    - `started` and `ended` are times such as "2025-11-04T14:32:00Z", "" if unknown.
    - `root` is the folder that paths are relative to, "" for this worktree.
    - `found` are the extracted statements, but those that say that the scope of the work changed are in `scope`.
    - `failures` are the commands and other tool calls that failed, and `succeeded` those whose last run succeeded.
    - `tasks` is the agent's task list, and `ahead` are the next actions that a message states and no later turn did.
    - `records` are the ids of the records that the session created or changed, and `titles` their titles by id.
    - `forms` are commands that were called wrongly and worked in another form.
    - `commits` are the ids and subjects of the session's commits, the earliest first: as Git has them, or if it has
      none, as the transcript's commands printed them.
    - `last_word` is the agent's last message, shortened in its middle, since it ends with what is left or asked.
    - `said` are the prompts without the one that is the intent, each of at most 300 characters.
    - `commands` are the checks that worked (`session.commands`).
    """

    id: str
    agent: str
    form: str
    intent: str
    trail: Trail
    started: str = ""
    ended: str = ""
    model: str = ""
    branch: str = ""
    root: str = ""
    scope: tuple[str, ...] = ()
    found: tuple[Extract, ...] = ()
    failures: tuple[Failure, ...] = ()
    succeeded: frozenset[str] = frozenset()
    tasks: tuple[Step, ...] = ()
    ahead: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    titles: dict[str, str] = {}
    commits: tuple[tuple[str, str], ...] = ()
    forms: tuple[WorkingForm, ...] = ()
    last_word: str = ""
    said: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    metrics: SessionMetrics = SessionMetrics()
    prose: Prose = Prose()

    def having(self, *kinds: str) -> list[Extract]:
        """Return the extracted statements with certain labels; `kinds` are constants of `statements.labels`."""
        return [extract for extract in self.found if extract.label in kinds]

    @property
    def is_empty(self) -> bool:
        """Whether it is the summary of a plain text in which no prompt, call, file, statement or error was found."""
        parts = self.trail.entries, self.scope, self.found, self.failures, self.tasks, self.records
        return self.form == "text" and not (self.metrics.turns or self.metrics.tool_calls or any(parts))

    @property
    def errors(self) -> list[Failure]:
        """The failures that are resolved or still open.

        A failure is resolved if the same step succeeded later. Only that of a check, such as a test, can be open, and
        only as long as later runs report it. Other failures, such as that of a mistyped command, are left out.
        """
        return [failure for failure in self.failures if failure.is_open or failure.resolved]

    @property
    def next_steps(self) -> list[str]:
        """The next steps: the unfinished tasks, and the stated next actions that are left."""
        open_tasks = [task.text for task in self.tasks if task.status != DONE]
        return list(dict.fromkeys([*open_tasks, *self.ahead]))

    @property
    def completion(self) -> int | None:
        """The percentage of the session's work that is done; None if unknown.

        It is the percentage that a message stated last. If none was stated, or if 100 % was stated although a next step
        is left, it is the share of the agent's tasks that are done.
        """
        counted = TaskState(steps=self.tasks, next_actions=tuple(self.next_steps)).completion
        percents = [completion.of_statement(extract.text) for extract in self.having(labels.STATE)]
        stated = next((percent for percent in reversed(percents) if percent is not None), None)
        return counted if stated is None or (stated == 100 and self.next_steps) else stated


def summarize(session: Session, trail: Trail, identifier: str, agent: str, root: str = "") -> SessionSummary:
    """Return the summary of a session, made from its events and from `trail`, the files that it touched.

    `identifier` is the session's name, and `agent` the name of the actor. `root` is the folder that paths are relative
    to, "" for this worktree.
    """
    extracts = extraction.of_events(session.events, is_later_part=session.is_later_part)
    prompts = [event for event in session.events if event.kind == PROMPT and not event.agent]
    answers = [event for event in session.events if event.kind == ANSWER and not event.agent]
    aims = _aims(prompts)
    return SessionSummary(
        id=identifier,
        agent=agent,
        form=session.form,
        intent=cut_at_word("; ".join(_intent(event.text) for event in aims), _INTENT),
        trail=trail,
        started=session.started,
        ended=session.ended,
        model=session.model,
        branch=session.branch,
        root=root,
        scope=tuple(extract.text for extract in extracts if extract.label == labels.SCOPE),
        found=tuple(extract for extract in extracts if extract.label != labels.SCOPE),
        failures=tuple(failures.of_events(session.events)),
        succeeded=failures.succeeded(session.events),
        forms=tuple(working_forms.of_events(session.events)),
        tasks=tuple(progress.tasks_of(session.events)),
        ahead=progress.next_actions(session.events, extracts),
        last_word=_both_ends(redacted_line(_MARKS.sub("", answers[-1].text))) if answers else "",
        said=tuple(cut_at_word(one_line(event.text), PROMPT_LENGTH) for event in prompts if event not in aims),
        commits=tuple(commands.commits(session.events)),
        metrics=_metrics(session, prompts, trail),
    )


def _aims(prompts: Sequence[Event]) -> list[Event]:
    """Return the prompts that say what a session is for: the first that names a task, or else the first of all.

    It is one of the user's first prompts. If these begin with a command, such as `/review`, the command is returned as
    well, because it stands for a task.
    """
    own = [event for event in prompts if not _BARE_COMMAND.fullmatch(event.text)][:_FIRST]
    commands = [event for event in prompts[:1] if event not in own]
    return [*commands, *([event for event in own if not titles.is_chat(event.text)] or own)[:1]]


def _both_ends(text: str) -> str:
    """Return a text shortened in its middle: an answer's last sentences say what is left, or ask the user."""
    if len(text) <= LAST_WORD:
        return text
    end = text[-(LAST_WORD - _OPENING) :].partition(" ")[2]
    return f"{cut_at_word(text, _OPENING)} {end}"


def _intent(prompt: str) -> str:
    """Return a prompt on one line; of one that gives a plan, the plan's title and reason."""
    plan = plans.read(prompt)
    return one_line(". ".join(filter(None, (plan.title, plan.reason))) if plan else prompt)


def _metrics(session: Session, prompts: Sequence[Event], trail: Trail) -> SessionMetrics:
    minutes = 0.0
    if session.started and session.ended:
        minutes = timestamps.days_between(session.started, session.ended) * 24 * 60
    return SessionMetrics(
        turns=len(prompts),
        answers=session.answers,
        tool_calls=session.count(CALL),
        sub_agents=len({event.agent for event in session.events if event.agent}),
        compactions=session.count(COMPACTION),
        tokens=session.usage,
        duration_minutes=round(minutes),
        files=len(trail.entries),
        broken_lines=session.broken,
    )


def latest_changes(summary: SessionSummary, limit: int = 5) -> list[str]:
    """Return the paths of the `limit` files that a session changed last, the latest at the end."""
    return [entry.path for entry in summary.trail.having(CREATED, MODIFIED, DELETED)][-limit:]
