"""What a reviewer of a branch wants to know: the records that it touches, and what in it the memory speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from memctl.check import baseline, context, run
from memctl.check.findings import Finding
from memctl.check.rules import DOCUMENTS, ERROR, INFO, RULES
from memctl.check.run import Report
from memctl.git import differences, history, line_map
from memctl.git.differences import FileChange
from memctl.git.line_map import Hunk, LineMap
from memctl.pages import code_lines as code_text
from memctl.pages import freshness, outline
from memctl.pages.line_references import CurrentFile, LineReference, follow
from memctl.pages.provenance import line_count, reason_of_record
from memctl.record import ids, pages
from memctl.record.kinds import DECISION, LEARNING
from memctl.record.pages import code_lines, code_path
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search import rejected_options
from memctl.search.rejected_options import Passage
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG, FOLDER

# The kinds of items, the most urgent first, each with the rule of its findings; those of `check` have their own.
REJECTED, SHARED, CHECK, GOVERNING, RECORD, STALE = "rejected", "shared", "check", "governing", "record", "stale"
_RULES = {REJECTED: "MEM701", SHARED: "MEM702", GOVERNING: "MEM703", STALE: "MEM208"}
_OF_SECTION = 3  # records of a section that are named; more would be the whole section, whatever the branch changes
_READ = 20  # the most important records of a section, from which these are taken
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
    start = history.merge_base(memory.repository, base, head)
    before, after = load.revision(memory, start), load.revision(memory, head)
    there = before if base == start else load.revision(memory, base)
    changes = differences.changed_between(memory.repository, start, head)
    maps = line_map.compare_commits(memory.repository, start, head)
    code = {change.before or change.path: change for change in changes if FOLDER not in change.path.split("/")}
    own = sorted(change.path for change in changes if change.path.startswith(f"{after.prefix}/"))
    records = list(_changed_records(before, after, [path[len(after.prefix) + 1 :] for path in own]))
    found = _findings(memory, (before, start), (after, head))
    return [
        *_rejected(memory, there, after, (start, base, head), maps, records),
        *(_shared(memory, *names) for names in _shared_names(before, there, after)),
        *(item for item in found if item.kind == CHECK),
        *_governing(memory, before, start, code, maps),
        *(_change(memory, *change) for change in records),
        *(item for item in found if item.kind == STALE),
    ]


def as_report(items: Iterable[ReviewItem]) -> Report:
    """Return the items of a review as a report of findings, whose paths are relative to the worktree's top."""
    findings = []
    for item in items:
        if item.kind in _RULES or item.kind == CHECK:
            text = item.text if item.kind == CHECK else f"{item.name}: {item.text}"
            findings.append(Finding(_RULES.get(item.kind, item.name), item.path, item.line, text))
    return Report(tuple(findings), 0)


def _governing(
    memory: Memory, before: Snapshot, start: str, code: Mapping[str, FileChange], maps: Mapping[str, LineMap]
) -> list[ReviewItem]:
    """Return the decisions and learnings that govern the changed files, by path of these where the branch began.

    Those about changed lines come first, then those about files and folders, then those of sections.
    """
    above = {str(folder) for path in code for folder in [*PurePosixPath(path).parents][:-1]}
    ranked: dict[str, tuple[int, int, ReviewItem]] = {}

    def add(record: Record, rank: int, places: Iterable[str], path: str, line: int) -> None:
        text = f"{record.title}: {reason_of_record(before, record)}".rstrip(": ")
        item = ReviewItem(GOVERNING, record.id, text, record.id, tuple(places), code[path].path, line)
        ranked.setdefault(record.id, (rank, -record.importance, item))

    for record in before.catalogue.with_code_refs([*code, *above, *(f"{folder}/" for folder in above)]):
        if record.is_open and record.memory_type in (DECISION.name, LEARNING.name):
            places = dict(_changed_references(memory, before, start, record, code, maps))
            if places:
                rank, path, line = min(places.values())
                add(record, rank, places, path, line)
    for path, sections in freshness.sections_of_files(before, sorted(code)).items():
        for page in sections:
            for kind in (DECISION.name, LEARNING.name):
                # Where a record has code references, these say what it is about.
                records = [record for record in before.top_open(kind, page.id, _READ) if not record.code_refs]
                for record in records[:_OF_SECTION]:
                    add(record, 2, (page.id,), path, 1)
    return [item for *_, item in sorted(ranked.values(), key=lambda entry: (*entry[:2], entry[2].name))]


def _changed_references(
    memory: Memory,
    before: Snapshot,
    start: str,
    record: Record,
    code: Mapping[str, FileChange],
    maps: Mapping[str, LineMap],
) -> Iterator[tuple[str, tuple[int, str, int]]]:
    """Yield the code references of a record to what the branch changes, with a rank, the path and a changed line.

    The rank is 0 for lines, and 1 for a file or folder.
    """
    for ref in record.code_refs:
        path = ref if ref in code else code_path(ref)
        below = [other for other in code if other.startswith(ref.rstrip("/") + "/")]
        if path in code:
            hunks = maps.get(code[path].path, LineMap()).hunks
            if ref == path or not hunks:
                yield ref, (1, path, hunks[0].new_start if hunks else 1)
            elif (line := _changed_line(memory, before, start, (record, ref, path), hunks)) is not None:
                yield ref, (0, path, line)
        elif below:
            yield ref, (1, below[0], 1)


def _changed_line(
    memory: Memory, before: Snapshot, start: str, reference: tuple[Record, str, str], hunks: Sequence[Hunk]
) -> int | None:
    """Return where the branch changes lines that a record's reference means where it began; None if it does not."""
    record, ref, path = reference
    blob, text = before.files.blobs([path])[path], before.files.read([path]).get(path, b"")
    file = CurrentFile(path, frozenset(), blob, blob, line_count(text.decode(errors="replace")), start)
    meant = follow(memory, file, [(record, ref)]).get((record.path, ref), LineReference((1, 1)))
    first, last = meant.now or (code_lines(ref) or ("", (0, 0)))[1]
    for hunk in hunks:
        end = hunk.old_start + max(hunk.old_count, 1) - 1
        if hunk.old_start <= last and end >= first and (hunk.old_count or hunk.old_start > first):
            return hunk.new_start
    return None


def _changed_records(
    before: Snapshot, after: Snapshot, paths: Iterable[str]
) -> Iterator[tuple[Record | None, Record | None]]:
    """Yield the records at some paths where the branch began and at its tip, None where there is none."""
    old, new = ({record.path: record for record in snapshot.records} for snapshot in (before, after))
    yield from ((old.get(path), new.get(path)) for path in paths if path in old or path in new)


def _change(memory: Memory, was: Record | None, now: Record | None) -> ReviewItem:
    record = now or was
    assert record is not None
    status = f" ({was.status} -> {now.status})" if was and now and was.status != now.status else ""
    done = "deleted" if now is None else "added" if was is None else "superseded" if "> superseded" in status else ""
    place = memory.tracked(record.path)
    return ReviewItem(RECORD, record.id, f"{done or 'changed'}{status}: {record.title}", record.id, (place,), place)


def _rejected(
    memory: Memory,
    there: Snapshot,
    after: Snapshot,
    commits: tuple[str, str, str],
    maps: Mapping[str, LineMap],
    records: Iterable[tuple[Record | None, Record | None]],
) -> Iterator[ReviewItem]:
    """Yield the options of the base's decisions that the branch brings back; `commits` are its start, base and tip.

    Decisions that the branch itself changes, supersedes or links to are answered by it.
    """
    start, base, head = commits
    new = [now for was, now in records if now and not was]
    answered = {was.id for was, _ in records if was}.union(*((*one.supersedes, *one.relates_to) for one in new))
    decisions = [one for one in there.records if one.memory_type == DECISION.name and one.id not in answered]
    passages = list(_added_code(after, maps))
    for record in new:
        passages += rejected_options.of_record(record, after.body(record))
    for commit in history.commits(memory.repository, [], f"{start}..{head}"):
        if not commit.trailers.ops and not _NO_ADOPTION.match(commit.subject):
            passages.append(Passage(commit.subject, f"commit {commit.commit[:10]}"))
    options = rejected_options.rejected_options(there, decisions)
    is_used = rejected_options.used_in(memory.repository, base, memory.prefix)
    for back in rejected_options.brought_back(there, options, passages, is_used):
        first, option = back.passages[0], back.option
        others = dict.fromkeys(ids.id_in_path(passage.where) or passage.where for passage in back.passages)
        places = (f"{first.where}:{back.line}", *[*others][1:]) if first.is_code else (*others,)
        path = first.where if first.is_code else memory.tracked(CONFIG if "/" not in first.where else first.where)
        yield ReviewItem(REJECTED, option.name, option.describe(), option.record.id, places, path, back.line)


def _added_code(after: Snapshot, maps: Mapping[str, LineMap]) -> Iterator[Passage]:
    """Yield the code of each changed file, without comments, with only its added lines not empty."""
    paths = [path for path in maps if FOLDER not in path.split("/") and rejected_options.is_code(path)]
    for path, content in after.files.read(paths).items():
        if b"\0" not in content:
            text = code_text.without_comments(outline.suffix_of(path), content.decode(errors="replace"))
            added = {n for hunk in maps[path].hunks for n in range(hunk.new_start, hunk.new_start + hunk.new_count)}
            lines = (line if number in added else "" for number, line in enumerate(text.split("\n"), 1))
            yield Passage("\n".join(lines), path, True)


def _findings(memory: Memory, before: tuple[Snapshot, str], after: tuple[Snapshot, str]) -> list[ReviewItem]:
    """Return what `check` finds at the tip, and did not find where the branch began, without advice."""
    reports = [
        run.check(context.from_memory(memory, snapshot, at=commit), (), DOCUMENTS)
        for snapshot, commit in (before, after)
    ]
    items = []
    for finding in baseline.introduced(reports[1], after[0], reports[0], before[0]):
        kind, path = STALE if finding.code == _RULES[STALE] else CHECK, memory.tracked(finding.path)
        if finding.severity != INFO:
            name = f"§{pages.number_at(finding.path)}" if kind == STALE else finding.code
            items.append(ReviewItem(kind, name, finding.message, "", (f"{path}:{finding.line}",), path, finding.line))
    return items


def _shared_names(before: Snapshot, there: Snapshot, after: Snapshot) -> Iterator[tuple[str, str, str]]:
    """Yield the ids and numbers that the base and the branch have both given since they parted, with both files."""
    known = set(before.names(""))
    theirs = {name: path for path in there.names("") if path not in known and (name := _name(path))}
    for path in after.names(""):
        other = theirs.get(_name(path), "") if path not in known else ""
        if other and (other != path or there.try_read(other) != after.try_read(path)):
            yield _name(path), path, other


def _name(path: str) -> str:
    """Return the id of the record, or the marker of the page, at a path below `.memory/`; "" if it is neither."""
    if files.is_record_path(path):
        return ids.id_in_path(path) or ""
    return f"§{number}" if (number := pages.number_at(path)) else ""


def _shared(memory: Memory, name: str, path: str, other: str) -> ReviewItem:
    text = f"the base gave it, too: {memory.tracked(other)}; after the merge, `memctl renumber` gives one a new one"
    return ReviewItem(SHARED, name, text, "", (memory.tracked(path),), memory.tracked(path))
