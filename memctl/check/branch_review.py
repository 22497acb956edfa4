"""What a reviewer of a branch wants to know: the records that it touches, and what in it the memory speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import PurePosixPath

import msgspec

from memctl.check import baseline, context, run
from memctl.check.findings import Finding
from memctl.check.rules import DOCUMENTS, ERROR, INFO, RULES
from memctl.git import differences, history, line_map
from memctl.pages import code_lines as code_text
from memctl.pages import freshness, outline
from memctl.pages.line_references import CurrentFile, LineReference, follow
from memctl.pages.provenance import line_count
from memctl.pages.reasons import reason_of_record
from memctl.record import ids, pages
from memctl.record.kinds import DECISION, LEARNING
from memctl.record.record import Record
from memctl.search import rejected_options
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG, FOLDER

# The kinds of items, the most urgent first, each with the rule of its findings; those of `check` have their own.
REJECTED, SHARED, CHECK, GOVERNING, RECORD, STALE = "rejected", "shared", "check", "governing", "record", "stale"
_RULES = {REJECTED: "MEM701", SHARED: "MEM702", GOVERNING: "MEM703", STALE: "MEM208"}
_OF_SECTION = 3  # records of a section that are named; more would be the whole section, whatever the branch changes
_READ = 20  # the most important records of a section, from which these are taken
_GOVERNING = (DECISION.name, LEARNING.name)
_NO_ADOPTION = re.compile(r"(?:chore|docs|style|tests?)\b")  # types of commits that take nothing up


class ReviewItem(msgspec.Struct, frozen=True):
    """One thing that a reviewer wants to know of a branch.

    - `kind`: "rejected" (an option that a decision rejected comes back), "shared" (the base gave this id or number,
      too), "check" (a new finding), "governing" (a record in force governs code that the branch changes), "record" (the
      branch adds, changes, supersedes or deletes it), "stale" (a page that no longer agrees with the code) or "overlap"
      (of two open branches, see `branch_overlap`).
    - `name`: what it is about: an option, an id, a marker or the code of a rule. `text`: what is said of that.
    - `record`: the id of the record that says so, "" for none.
    - `places`: where, for people; `path` and `line`: the first place, relative to the worktree's top.
    """

    kind: str
    name: str
    text: str
    record: str
    places: tuple[str, ...]
    path: str
    line: int = 1

    @property
    def is_error(self) -> bool:
        """Whether it is an error of `check`, or a name that the base gave, too."""
        return self.kind == SHARED or (self.kind == CHECK and RULES[self.name].severity == ERROR)


def review(memory: Memory, base: str, head: str) -> list[ReviewItem]:
    """Return what a reviewer wants to know of the commits of `head` that `base` does not have; both are commit ids.

    Raises MemctlError if the two have no common commit here, or if one of them has no memory.
    """
    branch = _Branch(memory, base, head)
    found = list(branch.findings())
    return [
        *branch.rejected(),
        *branch.shared(),
        *(item for item in found if item.kind == CHECK),
        *branch.governing(),
        *branch.records(),
        *(item for item in found if item.kind == STALE),
    ]


def as_report(items: Iterable[ReviewItem]) -> run.Report:
    """Return the items of a review as a report of findings, whose paths are relative to the worktree's top."""
    findings = []
    for item in items:
        if item.kind in _RULES or item.kind == CHECK:
            text = item.text if item.kind == CHECK else f"{item.name}: {item.text}"
            findings.append(Finding(_RULES.get(item.kind, item.name), item.path, item.line, text))
    return run.Report(tuple(findings), 0)


class _Branch:
    """A branch: its memory where it began, at its tip and at the tip of its base, and what it changes.

    `code` are the changed files by their paths where the branch began, `maps` the maps of their lines by their present
    paths, and `changed` the records before and after, None where there is none.
    """

    def __init__(self, memory: Memory, base: str, head: str) -> None:
        self.memory, self.base, self.head = memory, base, head
        self.start = history.merge_base(memory.repository, base, head)
        self.before, self.after = load.revision(memory, self.start), load.revision(memory, head)
        self.there = self.before if base == self.start else load.revision(memory, base)
        changes = differences.changed_between(memory.repository, self.start, head)
        self.code = {one.before or one.path: one.path for one in changes if FOLDER not in one.path.split("/")}
        self.maps = line_map.compare_commits(memory.repository, self.start, head)
        old, new = ({memory.tracked(one.path): one for one in at.records} for at in (self.before, self.after))
        paths = sorted(one.path for one in changes)
        self.changed = [(old.get(path), new.get(path)) for path in paths if path in old or path in new]

    def rejected(self) -> Iterator[ReviewItem]:
        """Decisions that the branch itself changes, supersedes or links to are answered by it."""
        new = [now for was, now in self.changed if now and not was]
        answered = {was.id for was, _ in self.changed if was}
        answered.update(name for one in new for name in (*one.supersedes, *one.relates_to))
        decisions = (one for one in self.there.records if one.memory_type == DECISION.name and one.id not in answered)
        passages = list(self._added_code())
        for record in new:
            passages += rejected_options.of_record(record, self.after.body(record))
        for commit in history.commits(self.memory.repository, [], f"{self.start}..{self.head}"):
            if not commit.trailers.ops and not _NO_ADOPTION.match(commit.subject):
                passages.append(rejected_options.Passage(commit.subject, f"commit {commit.commit[:10]}"))
        options = rejected_options.rejected_options(self.there, decisions)
        is_used = rejected_options.used_in(self.memory.repository, self.base, self.memory.prefix)
        for back in rejected_options.brought_back(self.there, options, passages, is_used):
            first, option = back.passages[0], back.option
            places = [ids.id_in_path(passage.where) or passage.where for passage in back.passages]
            path = first.where if first.is_code else self.memory.tracked(CONFIG if " " in first.where else first.where)
            places[0] += f":{back.line}" if first.is_code else ""
            unique = tuple(dict.fromkeys(places))
            yield ReviewItem(REJECTED, option.name, option.describe(), option.record.id, unique, path, back.line)

    def _added_code(self) -> Iterator[rejected_options.Passage]:
        paths = [path for path in self.maps if path in self.code.values() and rejected_options.is_code(path)]
        for path, content in self.after.files.read(paths).items():
            if b"\0" not in content:
                text = code_text.without_comments(outline.suffix_of(path), content.decode(errors="replace"))
                hunks = self.maps[path].hunks
                added = {n for hunk in hunks for n in range(hunk.new_start, hunk.new_start + hunk.new_count)}
                lines = (line if number in added else "" for number, line in enumerate(text.split("\n"), 1))
                yield rejected_options.Passage("\n".join(lines), path, True)

    def shared(self) -> Iterator[ReviewItem]:
        known = set(self.before.names(""))
        theirs = {name: path for path in self.there.names("") if path not in known and (name := _name(path))}
        for path in self.after.names(""):
            other = theirs.get(_name(path), "") if path not in known else ""
            if other and (other != path or self.there.try_read(other) != self.after.try_read(path)):
                file = self.memory.tracked(path)
                text = f"the base gave it, too: {self.memory.tracked(other)}; after the merge, `memctl renumber` gives "
                yield ReviewItem(SHARED, _name(path), f"{text}one of them a new one", "", (file,), file)

    def findings(self) -> Iterator[ReviewItem]:
        found, earlier = (
            run.check(context.from_memory(self.memory, snapshot, at=commit), (), DOCUMENTS)
            for snapshot, commit in ((self.after, self.head), (self.before, self.start))
        )
        for finding in baseline.introduced(found, self.after, earlier, self.before):
            kind, path = STALE if finding.code == _RULES[STALE] else CHECK, self.memory.tracked(finding.path)
            if finding.severity != INFO:
                name = f"§{pages.number_at(finding.path)}" if kind == STALE else finding.code
                yield ReviewItem(kind, name, finding.message, "", (f"{path}:{finding.line}",), path, finding.line)

    def governing(self) -> list[ReviewItem]:
        above = {str(folder) for path in self.code for folder in [*PurePosixPath(path).parents][:-1]}
        refs = [*self.code, *above, *(f"{folder}/" for folder in above)]
        ranked: dict[str, tuple[int, int, ReviewItem]] = {}

        def add(record: Record, rank: int, places: Iterable[str], path: str, line: int) -> None:
            text = f"{record.title}: {reason_of_record(self.before, record)}".rstrip(": ")
            item = ReviewItem(GOVERNING, record.id, text, record.id, tuple(places), self.code[path], line)
            ranked.setdefault(record.id, (rank, -record.importance, item))

        for record in self.before.catalogue.with_code_refs(refs):
            places = {ref: place for ref in record.code_refs if (place := self._changed_place(record, ref))}
            if places and record.is_open and record.memory_type in _GOVERNING:
                add(record, min(places.values())[0], places, *min(places.values())[1:])
        for path, sections in freshness.sections_of_files(self.before, sorted(self.code)).items():
            for page, kind in product(sections, _GOVERNING):
                # Where a record has code references, these say what it is about.
                records = [one for one in self.before.top_open(kind, page.id, _READ) if not one.code_refs]
                for record in records[:_OF_SECTION]:
                    add(record, 2, (page.id,), path, 1)
        return [item for *_, item in sorted(ranked.values(), key=lambda entry: (*entry[:2], entry[2].name))]

    def _changed_place(self, record: Record, ref: str) -> tuple[int, str, int] | None:
        """Return what the branch changes of a code reference: rank, path and changed line; None if nothing.

        The rank is 0 for lines, and 1 for a file or folder. A record means the lines where the branch began.
        """
        path = ref if ref in self.code else pages.code_path(ref)
        below = [other for other in self.code if other.startswith(ref.rstrip("/") + "/")]
        if path not in self.code:
            return (1, below[0], 1) if below else None
        hunks = self.maps.get(self.code[path], line_map.LineMap()).hunks
        if ref == path or not hunks:
            return 1, path, hunks[0].new_start if hunks else 1
        blob, text = self.before.files.blobs([path])[path], self.before.files.read([path]).get(path, b"")
        file = CurrentFile(path, frozenset(), blob, blob, line_count(text.decode(errors="replace")), self.start)
        meant = follow(self.memory, file, [(record, ref)]).get((record.path, ref), LineReference((1, 1)))
        first, last = meant.now or (pages.code_lines(ref) or ("", (0, 0)))[1]
        for hunk in hunks:
            end = hunk.old_start + max(hunk.old_count, 1) - 1
            if hunk.old_start <= last and end >= first and (hunk.old_count or hunk.old_start > first):
                return 0, path, hunk.new_start
        return None

    def records(self) -> Iterator[ReviewItem]:
        for was, now in self.changed:
            record = now or was
            assert record is not None
            status = f" ({was.status} -> {now.status})" if was and now and was.status != now.status else ""
            done = "superseded" if "> superseded" in status else "changed" if now and was else "added"
            text = f"{done if now else 'deleted'}{status}: {record.title}"
            path = self.memory.tracked(record.path)
            yield ReviewItem(RECORD, record.id, text, record.id, (path,), path)


def _name(path: str) -> str:
    if files.is_record_path(path):
        return ids.id_in_path(path) or ""
    return f"§{number}" if (number := pages.number_at(path)) else ""
