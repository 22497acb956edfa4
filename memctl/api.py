"""The memory of a project for Python programs.

    from memctl import Memory

    memory = Memory.open()
    written = memory.decide("Queue in PostgreSQL", rationale="One service fewer to run")
    for result in memory.search("queue"):
        print(result.id, result.title)
    print(memory.pack(task="retry failed jobs", budget=4000).text)

Each method does the same as the command of its name, by the same functions: it takes the same lock, refuses the same
requests, and makes one commit for each write. Errors are raised as `MemctlError`: `message` says what is wrong, `hint`
what to do, and `exit_code` is the exit code of the command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from memctl.arguments import checked, item_pairs, set_pairs
from memctl.errors import USAGE, MemctlError

if TYPE_CHECKING:
    import git
    from typing_extensions import Unpack

    from memctl.check.findings import Finding
    from memctl.history import Entry
    from memctl.pack.budget_fill import Pack
    from memctl.pages.provenance import Explanation
    from memctl.record.change import Change
    from memctl.record.record import Record
    from memctl.record.snapshot import Snapshot
    from memctl.search.ranking import Result
    from memctl.store import memory as store
    from memctl.sync.result import SyncResult
    from memctl.team.next_work import NextWork

_PATIENCE = 5.0  # seconds to wait for the unfinished work of an agent's hook


class Written(msgspec.Struct, frozen=True):
    """The result of a write: the ids of the records, the paths of the files below the worktree's top, and the commit.

    `commit` is the commit's id, "" if nothing had to change, in a dry run, and if the commit could not be made yet. In
    the last case the files are written, and `pending` says why they are not committed. `hints` say what a record lacks,
    such as a reason.
    """

    ids: tuple[str, ...]
    paths: tuple[str, ...]
    commit: str
    pending: str
    hints: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the record that was made or changed; the first one if there are several."""
        return self.ids[0]


class Handover(msgspec.Struct, frozen=True):
    """The result of `Memory.hand_over`: what was written, such as the handoff's record, and the other agent's package.

    `package` is a text in the format that `memctl team handoff` prints.
    """

    written: Written
    package: str


class RecordFields(TypedDict, total=False):
    """Optional fields of any new record, with the names and forms that they have in front matter.

    `section` is a marker or a number ("§2.1" or "2.1"), `code_refs` are paths such as "src/pay.py" or "src/pay.py:12",
    and links such as `relates_to` are ids of records. `timestamp` and `expires_at` are ISO 8601 times, `importance` is
    1 to 10.
    """

    status: str
    importance: int
    tags: Iterable[str]
    section: str
    code_refs: Iterable[str]
    relates_to: Iterable[str]
    supersedes: Iterable[str]
    blocks: Iterable[str]
    blocked_by: Iterable[str]
    parent_memory_id: str
    timestamp: str
    expires_at: str
    agent_id: str


class DecisionFields(RecordFields, total=False):
    """Optional fields of a new decision, in addition to those of `RecordFields`.

    Texts are Markdown; a list has one text for each item, such as each alternative.
    """

    decision: str
    rationale: str
    alternatives_considered: Iterable[str]
    expected_impact: str
    validation_criteria: str
    context: str


class IssueFields(RecordFields, total=False):
    """Optional fields of a new issue, in addition to those of `RecordFields`.

    Texts are Markdown; a list has one text for each item, such as each next action.
    """

    severity: str
    assignee: str
    description: str
    reproduction_steps: str
    investigation_status: str
    attempted_fixes: Iterable[str]
    next_actions: Iterable[str]
    resolution: str


class StateFields(RecordFields, total=False):
    """Optional fields of a new state of a task, in addition to those of `RecordFields`.

    Texts are Markdown; a list has one text for each item, such as each step.
    """

    completion_percentage: int
    assignee: str
    task_description: str
    substeps_completed: Iterable[str]
    substeps_remaining: Iterable[str]
    blockers: Iterable[str]
    next_actions: Iterable[str]


class LearningFields(RecordFields, total=False):
    """Optional fields of a new learning, in addition to those of `RecordFields`.

    Texts are Markdown.
    """

    lesson: str
    context: str
    applicability: str
    evidence: str


@checked
class Memory:
    """The open memory of one project. A program may open several, and other programs may write to it meanwhile.

    Use it as a context manager, or call `close`, to end the Git processes that reading starts.
    """

    def __init__(self, memory: store.Memory | str | os.PathLike[str] | git.Repo) -> None:
        """Take a memory that `memctl.store` has opened; a folder or a repository is opened as `open` does."""
        from memctl.store.memory import Memory as Opened

        self._memory: store.Memory = memory if isinstance(memory, Opened) else Memory.open(memory)._memory

    @classmethod
    def open(cls, where: str | os.PathLike[str] | git.Repo = ".", *, agent: str = "") -> Memory:
        """Open the memory around a folder, or the memory in the worktree of a GitPython repository.

        `agent` is the name of the agent at work, for records and commits. "" stands for the environment variable
        MEMCTL_AGENT, or if that is not set, for the name in Git's settings. Raises MemctlError if there is no memory,
        or if a newer memctl wrote it.
        """
        from memctl.store import agent_env
        from memctl.store.memory import open_memory

        environ = agent_env.with_agent({**os.environ, **({"MEMCTL_AGENT": agent} if agent else {})})
        opened = open_memory(_folder(where), environ)
        opened.by_hand = True
        opened.note_caller()
        return cls(opened)

    @property
    def folder(self) -> Path:
        """The folder of the memory, `.memory/`, as an absolute path."""
        return self._memory.folder

    @property
    def is_trusted(self) -> bool:
        """Whether the user trusts this clone.

        The records in a clone that is not trusted may have been written by anybody, and are to be read with care.
        """
        return self._memory.is_trusted

    @property
    def remarks(self) -> list[str]:
        """Warnings and notes on the memory, for the user; commands print them on standard error."""
        return self._memory.remarks

    def close(self) -> None:
        """End the Git processes that were started for this memory.

        The object can still be used; a later call starts them again.
        """
        self._memory.repository.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(
        self, title: str, *, reason: str = "", dry_run: bool = False, **fields: Unpack[DecisionFields]
    ) -> Written:
        """Record a decision.

        The reasons for the decision are the field `rationale`; `reason` goes into the commit message. With `dry_run`
        nothing is written.
        """
        return self._create("decision", title, fields, reason, dry_run)

    def issue(self, title: str, *, reason: str = "", dry_run: bool = False, **fields: Unpack[IssueFields]) -> Written:
        """Record an issue: a bug, a blocker, an open question.

        `reason` goes into the commit message. With `dry_run` nothing is written.
        """
        return self._create("issue", title, fields, reason, dry_run)

    def state(
        self, title: str, *, new: bool = False, reason: str = "", dry_run: bool = False, **fields: Unpack[StateFields]
    ) -> Written:
        """Record the state of a task; it supersedes a state with the same title, section and agent unless it is `new`.

        `reason` goes into the commit message. With `dry_run` nothing is written.
        """
        return self._create("state", title, fields, reason, dry_run, is_new=new)

    def learn(
        self, title: str, *, reason: str = "", dry_run: bool = False, **fields: Unpack[LearningFields]
    ) -> Written:
        """Record something learned.

        `reason` goes into the commit message. With `dry_run` nothing is written.
        """
        return self._create("learning", title, fields, reason, dry_run)

    def edit(
        self,
        record_id: str,
        values: Mapping[str, object] = MappingProxyType({}),
        *,
        add: Mapping[str, str | Iterable[str]] = MappingProxyType({}),
        remove: Mapping[str, str | Iterable[str]] = MappingProxyType({}),
        reason: str = "",
        dry_run: bool = False,
        allow_accepted: bool = False,
    ) -> Written:
        """Set fields of a record to `values`, where "" clears a field, and add texts to list fields or remove them.

        The fields have the same names as for a new record. `add` and `remove` have one text or several for each field,
        as in `add={"tags": ["pay", "queue"]}`. The text of an accepted decision can only be changed with
        `allow_accepted`. `reason` goes into the commit message. With `dry_run` nothing is written.
        """
        from memctl.record.record import LISTS
        from memctl.write import edit

        edits = edit.Edits(set_pairs(values, LISTS), item_pairs(add), item_pairs(remove))
        now = self._memory.now
        return self._write(
            lambda snapshot: edit.edit(snapshot, record_id, edits, now, allow_accepted=allow_accepted), reason, dry_run
        )

    def resolve(self, *record_ids: str, resolution: str = "", reason: str = "", dry_run: bool = False) -> Written:
        """Resolve issues, or finish states, by their ids; at least one id is needed.

        `resolution` says how an issue was resolved. `reason` goes into the commit message. With `dry_run` nothing is
        written.
        """
        from memctl.write import edit

        if not record_ids:
            raise MemctlError("no record is named", "give the id of an issue or state", USAGE)

        return self._write(lambda snapshot: edit.close(snapshot, record_ids, resolution), reason, dry_run)

    def link(
        self,
        record_id: str,
        other_id: str,
        relation: str = "relates_to",
        *,
        remove: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Written:
        """Link two records in the files of both, or with `remove` unlink them.

        `relation` says what the first record is to the other: "relates_to", "blocks", "blocked_by", "supersedes" (which
        also sets the status of the other), or "parent" (then the other record is the parent). `reason` goes into the
        commit message. With `dry_run` nothing is written.
        """
        from memctl.record.kinds import OTHER_END
        from memctl.write import links

        _require("relation", relation, (*OTHER_END, links.PARENT))

        def change(snapshot: Snapshot) -> Change:
            if relation == "supersedes" and not remove:
                return links.supersede(snapshot, other_id, record_id)
            return links.link(snapshot, record_id, other_id, relation, remove=remove)

        return self._write(change, reason, dry_run)

    def get(self, record_id: str, *, at: str | None = None) -> Record:
        """Return a record as it is now, or as it was at the revision `at`.

        `record_id` is its id, or a beginning of the id that no other record has.
        """
        return self._whole(self._read(at).resolve(record_id))

    def text(self, record_id: str, *, at: str | None = None) -> str:
        """Return the whole Markdown file of a record as it is now, or as it was at the revision `at`.

        `record_id` is its id, or a beginning of the id that no other record has.
        """
        snapshot = self._read(at)
        return snapshot.read(snapshot.resolve(record_id).path)

    def sentence(self, record: Record) -> str:
        """Return the first sentence of a record's reason; if it gives no reason, the first sentence of its text.

        The result is "" if the record has no text.
        """
        from memctl.pages import reasons

        return reasons.reason_of_record(self._read(None), record)

    def page(self, marker: str, *, at: str | None = None) -> str:
        """Return a page, such as that of a section, as Markdown for a model.

        `marker` names the page or another place in the hierarchy, such as "§2.1". The page is as it is now, or as it
        was at the revision `at`. Of a file (§4.PATH) an agent gets what `memctl context summarize` prints, since not
        every file may enter a model's context, and in a clone that is not trusted nothing.
        """
        from memctl.pack.item_sources import places

        name = f"§{marker.strip().removeprefix('§')}"
        if self._memory.by_agent and name.startswith("§4."):
            return self._summary(self._read(at), name)
        return places(self._memory, self._read(at))(marker).text

    def _summary(self, snapshot: Snapshot, marker: str) -> str:
        """Return what an agent may see of a file that a marker names, by the checks of `memctl context summarize`."""
        from memctl.git import trust
        from memctl.pages import repository_paths
        from memctl.pages.navigate import refuse_closed_file
        from memctl.sources import summary
        from memctl.tokens import count

        if not self.is_trusted:
            hint = f"the user can trust it: `{trust.COMMAND}`"
            raise MemctlError("this clone is not trusted, so an agent gets none of its files from the memory", hint)
        names, top = snapshot.files.names() | snapshot.withheld.files.keys(), self._memory.repository.top
        path = repository_paths.file_named(names, top, top, marker)
        refuse_closed_file(snapshot, path)
        counter = count.of_memory(self._memory, self._memory.config.model)
        return summary.summary(snapshot, path, summary.BUDGET, counter, for_agent=True).text

    def records(self, *types: str, section: str = "", archived: bool = False, at: str | None = None) -> list[Record]:
        """Return the records of some types, sorted by id; without `types` those of all types.

        A type is a name such as "decision". With a `section`, such as "2.1", only those are returned that name the
        section or a page below it, or name none and refer to code that it covers. If `archived` is False, archived
        records are left out. The records are those of now, or of the revision `at`.
        """
        from memctl.record.filters import Filters
        from memctl.record.kinds import KINDS

        for name in types:
            _require("type", name, KINDS)
        snapshot, paths = self._read(at), None
        if section:
            from memctl.pages.links import known_section

            paths = snapshot.outline.records_in([known_section(snapshot, section)], snapshot.catalogue)
        records = Filters(types=types, archived=None if archived else False, paths=paths).keep(snapshot.records)
        return sorted(map(self._whole, records), key=lambda record: record.id)

    def search(self, query: str, *, types: Iterable[str] = (), limit: int = 10, at: str | None = None) -> list[Result]:
        """Return the records, pages, sessions and checkpoints that match the words of a query, best first.

        `types` limits the results to some types, such as "issue", "record" (of any type), "page", "session" or
        "checkpoint"; by default all are searched. `limit` is the largest number of results, 0 for all. If `at` is
        given, the memory is searched as it was at this revision.
        """
        from memctl.search import ranking

        kinds = tuple(kind for name in types for kind in (ranking.RECORDS if name == "record" else (name,)))
        for kind in kinds:
            _require("type", kind, ranking.ALL)
        snapshot = self._read(at)
        found = ranking.search(snapshot, query, self._memory.now, ranking.ANY, kinds or ranking.ALL, limit or None)
        return [msgspec.structs.replace(one, record=one.record and self._whole(one.record)) for one in found]

    def why(self, path: str, *, limit: int = 20, at: str | None = None) -> Explanation:
        """Return why a file, one of its lines, or a folder is as it is.

        `path` is such as "src/pay.py", "src/pay.py:120" or "src/pay/". `limit` is the largest number of commits to
        read, 0 for all. If `at` is given, the file and the memory are those of this revision.
        """
        from memctl.pages import file_query, why_answer

        snapshot = self._read(at)
        commit = self._memory.repository.resolve(at) if at is not None else ""
        request = file_query.locate(self._memory, snapshot, self._memory.repository.top, path, commit)
        return why_answer.explain(self._memory, snapshot, request, commit, limit)

    def next(self, *, limit: int = 5, at: str | None = None) -> NextWork:
        """Return the open issues and states that the agent at work can begin now, best first.

        `limit` is the largest number of them, 0 for all. If `at` is given, they are those of this revision, and who
        works on what now is left out of account.
        """
        from memctl.task import live_state
        from memctl.team import next_work

        steps = live_state.open_steps(self._memory) if at is None else ()
        return next_work.choose(self._memory, self._read(at), limit, steps, is_now=at is None)

    def sync(
        self, remote: str = "", *, push: bool = True, with_code: bool = False, dry_run: bool = False
    ) -> SyncResult:
        """Fetch and merge a remote's memory into this branch, and push, or with `dry_run` only say what would be done.

        `remote` is the remote's name, "" for that of the branch's upstream. Commits with other files than the memory's
        are pushed to a default branch only with `with_code`.
        """
        from memctl.sync import sync

        if not dry_run:
            self._memory.refuse_untrusted_agent()
        self._wait()
        return sync.sync(self._memory, remote, sync.Options(push, with_code, dry_run))

    def pack(
        self,
        *,
        task: str = "",
        section: str = "",
        budget: int | None = None,
        form: str = "markdown",
        model: str = "",
        at: str | None = None,
    ) -> Pack:
        """Return the part of the memory that a model needs to start work, within a budget of tokens.

        - `task`: what the model is to do; records about it come first.
        - `section`: a section such as "2.1", if the pack is to have only this section.
        - `budget`: the largest number of tokens, None for the memory's setting `rehydrate_budget`.
        - `form`: the format: "markdown", "xml", "yaml" or one of the other formats of `memctl rehydrate --format`;
          "auto" chooses one by the number of tokens that the pack will have.
        - `model`: the model whose tokens are counted, "" for the one in the memory's settings.
        - `at`: a revision of which to take the memory, None for now.

        Unless `at` is given, the next `memctl maintain` adds 1 to the `access_count` of each record in the pack.
        """
        from memctl.pack import budget_fill, item_sources, last_work, rehydrate
        from memctl.pages.links import known_section
        from memctl.store import retrieval_counts

        _require("form", form, (*budget_fill.FORMATS, budget_fill.AUTO))
        if budget is not None and budget < 1:
            from memctl.text.phrases import quantity

            raise MemctlError(
                f"a budget of {quantity(budget, 'token')} is too small", "give a budget of 1 token or more", USAGE
            )
        memory, snapshot = self._memory, self._read(at)
        count = self._counter(model)
        most = budget or memory.config.rehydrate_budget
        wanted = rehydrate.RehydrationRequest(task=task, section=known_section(snapshot, section), reader=memory.actor)
        sources = item_sources.sources(memory, snapshot, at)
        draft = rehydrate.draft(snapshot, memory.now, wanted, sources, count, last_work.room(most))
        pack = budget_fill.fill(draft if memory.is_trusted else draft.foreign, form, most, count)
        if snapshot.source == "disk":
            shown = (record for name in set(pack.included()) for record in snapshot.catalogue.with_id(name))
            retrieval_counts.count(memory.repository.shared, [record.memory_id for record in shown], memory.now)
        return pack

    def hand_over(
        self,
        taker: str,
        *,
        reason: str,
        sections: Iterable[str] = (),
        kind: str = "complete",
        task: str = "",
        summary: str = "",
        immediate: Iterable[str] = (),
        success_criteria: Iterable[str] = (),
        dry_run: bool = False,
    ) -> Handover:
        """Hand work over to the agent `taker`: record the handoff, and make the agent the owner of `sections`.

        Either everything succeeds, or nothing changes. Without `sections` the handoff is about the whole memory, and no
        section changes its owner.

        `kind` decides what the package for the agent contains: all of the sections ("complete"), what search
        finds for the task ("specialist"), the task and what changed ("continuation"), or only the most urgent
        ("emergency"): the task, what blocks it, issues that block something or have the severity critical or high, and
        accepted decisions of importance 7 or more.

        `immediate` are the first actions for the agent. What is left out, such as `task`, is made from the memory as in
        `memctl team handoff`. `reason` is part of the handoff and of the commit message. With `dry_run` nothing is
        written.
        """
        from memctl.pack import handoff
        from memctl.pack.handoff_request import TYPES, HandoffRequest
        from memctl.pages.links import known_section
        from memctl.record.change import WriteOptions

        _require("kind", kind, TYPES)
        snapshot = self._read(None)
        request = HandoffRequest(
            from_agent_id="",
            to_agent_id=taker,
            handoff_type=kind,  # type: ignore[arg-type]  # it is one of TYPES
            sections=tuple(known_section(snapshot, name) for name in sections),
            reason=reason,
            summary=summary,
            task=task,
            lines={"immediate": tuple(immediate), "success_criteria": tuple(success_criteria)},
        )
        options = WriteOptions(reason=reason, dry_run=dry_run, strict=False)
        offered = handoff.offer(self._memory, request, lambda: self._read(None), self._counter(""), options)
        return Handover(self._outcome(offered.done.written), offered.package.pack.text)

    def history(self, record_id: str = "", *, limit: int | None = None) -> list[Entry]:
        """Return the commits that changed a record, or if `record_id` is "" any part of the memory, newest first.

        Each entry has the commit as GitPython's object, and what memctl wrote into its message. `limit` is the largest
        number of commits, None or 0 for all. Raises MemctlError in a SHA-256 repository, whose commits GitPython can't
        read.
        """
        import git

        from memctl import history

        with git.Repo(self._memory.repository.top) as repo:
            return history.entries(repo, record_id, limit=limit or None)

    def check(self, *, at: str | None = None) -> list[Finding]:
        """Return the findings of `memctl check` for the memory on the disk, or at the revision `at`; writes nothing."""
        from memctl.check import context, run

        snapshot = self._read(at, whole=True)
        return list(run.check(context.from_memory(self._memory, snapshot, at=at)).findings)

    def _create(
        self, kind: str, title: str, fields: Mapping[str, Any], reason: str, dry_run: bool, *, is_new: bool = False
    ) -> Written:
        from memctl.record.change import WriteOptions
        from memctl.record.kinds import KINDS
        from memctl.write import create

        if not title.strip():
            raise MemctlError("the title must not be empty", "give a title", USAGE)
        own = [*(field.name for field in KINDS[kind].fields), *KINDS[kind].defaults]
        known = dict.fromkeys([*own, *RecordFields.__annotations__])
        for name in fields.keys() - known:
            from memctl.text.phrases import indefinite

            raise MemctlError(
                f"{name!r} is not a field of {indefinite(kind)}", f"the fields are {', '.join(known)}", USAGE
            )
        draft = create.Draft(kind=KINDS[kind], values={}, is_new=is_new)
        plain = {name: value if isinstance(value, str | int | None) else tuple(value) for name, value in fields.items()}
        draft.take({"title": title, **plain})
        self._wait()
        return self._outcome(
            create.add(self._memory, draft, WriteOptions(reason=reason, dry_run=dry_run, strict=False))
        )

    def _write(self, change: Callable[[Snapshot], Change], reason: str, dry_run: bool) -> Written:
        from memctl.record.change import WriteOptions
        from memctl.store import load
        from memctl.write import transaction

        self._wait()
        memory = self._memory
        options = WriteOptions(reason=reason, dry_run=dry_run, strict=False)
        return self._outcome(transaction.carry_out(memory, lambda _: change(load.disk(memory)), options))

    def _outcome(self, outcome: Any) -> Written:
        paths = tuple(self._memory.tracked(path) for path in outcome.paths)
        return Written(outcome.change.ids, paths, outcome.commit or "", outcome.pending or "", outcome.advice)

    def _whole(self, record: Record) -> Record:
        return record.of_project(self._memory.config.project)

    def _read(self, at: str | None, *, whole: bool = False) -> Snapshot:
        """Return the memory as it is now or was at a revision, without the parts that this agent may not read.

        With `whole` it also has the files that a sparse checkout leaves out of the worktree.
        """
        from memctl import agent_view
        from memctl.store import load

        self._wait()
        memory = self._memory
        snapshot = load.disk(memory, whole=whole) if at is None else load.revision(memory, at)
        return agent_view.readable(memory, snapshot, at)

    def _counter(self, model: str) -> Callable[[str], int]:
        """Return the token counter for a model; "" stands for the model in the memory's settings."""
        from memctl.tokens import count

        return count.of_memory(self._memory, model or self._memory.config.model).tokens

    def _wait(self) -> None:
        """Wait until agents' hooks have finished their work on this memory."""
        if self._memory.has_jobs:
            from memctl.store import job_queue

            job_queue.wait(self._memory.hooks, _PATIENCE)


def _require(what: str, value: str, allowed: Iterable[str]) -> None:
    """Raise MemctlError unless a value is one of the allowed ones; the message calls the value `what`."""
    if value not in allowed:
        raise MemctlError(f"{value!r} is not a valid {what}", f"the values are {', '.join(allowed)}", USAGE)


def _folder(where: str | os.PathLike[str] | git.Repo) -> Path:
    if isinstance(where, str | os.PathLike):
        return Path(where).absolute()
    if not where.working_tree_dir:
        raise MemctlError(
            f"{where.git_dir} is a bare repository: there is no memory in it", "open a clone of it", USAGE
        )
    return Path(where.working_tree_dir)
