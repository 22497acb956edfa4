"""Hints for the writer of a record or page: what `memctl check` would find in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from memctl.pages import hints
from memctl.record import mentions, pages
from memctl.record.change import Change, Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import STATE
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.text import characters, similarity
from memctl.text.phrases import quantity
from memctl.text.words import STOP_WORDS

_EARLIEST = "1970-01-01T00:00:00Z"  # what comes before is hardly meant: Git can't date it
_DECISIONS = 20  # a word that more decisions have among their alternatives tells none of them
_STEM = 5  # letters of a word that are looked for there: "events" and "event" are one word
_UNINDEXED = 200  # files that are added to the search index on the way, in 60 ms
_MOST_IMPORTED = 300  # open records of an import that are compared with the others, in 3 s at most
_MOST = 5  # the most records of a change for which hints are made; for more there is `memctl check`


def hints_for(
    memory: Memory, change: Change, *, with_advice: bool = True, keeps_pairs: bool = False
) -> tuple[str, ...]:
    """Return a line for each record or page of a change that has a fault which its text before the change did not have.

    With `with_advice` each line says what to do, too. Only the first 5 files of a change are looked at. With
    `keeps_pairs` pairs of near records are stored for `memctl check`.
    """
    lines = (_of_write(memory, write, with_advice, keeps_pairs) for write in change.writes[:_MOST])
    return tuple(filter(None, lines))


def _of_write(memory: Memory, write: Write, with_advice: bool, keeps_pairs: bool) -> str:
    """Return the line of hints for one file, "" if nothing is wrong that was not wrong before."""
    if files.is_record_path(write.path):
        look = _of_record
    elif pages.kind_at(write.path) is not None:
        look = _of_page
    else:
        return ""
    before = {what for what, _ in look(memory, write.old, write.path)} if write.old else ()
    hints = [(what, advice) for what, advice in look(memory, write.text, write.path) if what not in before]
    if look is _of_record and not write.old:
        hints += _near_record(memory, write, keeps_pairs)
    return "; ".join(f"{what}: {advice}" if advice and with_advice else what for what, advice in hints)


def _of_page(memory: Memory, text: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the files and globs in the front matter of a page that lead nowhere."""
    for page in pages.outline([(path, text)]).pages:
        yield from missing_paths(memory, page.code_refs)
        yield from missing_globs(memory, page.paths)


def _of_record(memory: Memory, text: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a record's text, and what to do about each."""
    try:
        record, body = parse(text, path)
    except InvalidRecord:
        return
    if not _EARLIEST <= record.timestamp <= memory.now:
        when = "before 1970" if record.timestamp < _EARLIEST else "in the future"
        fault = f"the timestamp of {record.id}, {record.timestamp}, is {when}"
        yield fault, f"`memctl edit {record.id} --timestamp TIME`"
    if not record.is_open:
        return
    if record.expires_at and record.expires_at <= memory.now:
        fault = f"{record.id} expired at {record.expires_at}, so packs leave it out"
        yield fault, f"`memctl edit {record.id} --expires TIME`"
    if (tokens := _tokens(memory, text)) > hints.MAX_TOKENS:
        limit = f"{record.id} has {tokens:,} tokens; the limit is {hints.MAX_TOKENS:,}"
        yield limit, "move the long part to a file or a page of details, and link to it"
    is_fixed = record.kind.reason and record.status != "proposed"
    edit = f"`memctl edit {record.id}{' --allow-accepted' if is_fixed else ''}"
    advice = {
        hints.NO_REASON: f"{edit} --rationale …`",
        hints.DOUBT: "record a decision that is still open with `--status proposed`",
        hints.RAW_OUTPUT: f"{edit} --lesson …` says in words what to do next time",
    }
    yield from ((what, advice[name]) for name, what in hints.of_record(record, body))
    yield from missing_paths(memory, record.code_refs)
    yield from _dangling(memory, record, body)
    yield from _rejected_option(memory, record, body)
    if record.memory_type == STATE.name and record.completion_percentage == 100:
        yield f"{record.id} is 100 % done and still active", f"`memctl resolve {record.id}` closes it"


def _near_record(memory: Memory, write: Write, keeps: bool) -> Iterator[tuple[str, str]]:
    """Yield the open record that says nearly the same as a new one, or the opposite; with `keeps` store the pair.

    A memory of which the search index lacks much is not searched: to index 10,000 records takes seconds.
    """
    from memctl.search import near
    from memctl.store import near_pairs, search_views

    try:
        record, body = parse(write.text, write.path)
    except InvalidRecord:
        return
    remarks = len(memory.remarks)
    is_indexed = search_views.count_missing(memory, load.open_cache(memory)) <= _UNINDEXED
    found = near.nearest(load.disk(memory), record, body, by_text=is_indexed)
    del memory.remarks[remarks:]  # an index in use by another process is no concern of whoever writes
    if found is not None:
        if keeps:
            near_pairs.keep(memory, [near_pairs.NearPair(record, found.record, found.may_contradict)])
        yield found.describe(), near_advice(found.record, record, found.may_contradict)


def near_imported(memory: Memory, identifiers: Iterable[str]) -> list[str]:
    """Return a line for each open record of some imported ones that is near another open record; store the pairs.

    The result is empty for more than 300 open records, since each takes as long as a search.
    """
    from memctl.search import near
    from memctl.store import near_pairs

    snapshot = load.disk(memory)
    found_records = (snapshot.find(identifier) for identifier in identifiers)
    records = [record for record in found_records if record is not None and record.is_open]
    lines: dict[frozenset[str], str] = {}
    pairs = []
    for record in records if len(records) <= _MOST_IMPORTED else ():
        found = near.nearest(snapshot, record, snapshot.body(record))
        if found is not None and (both := frozenset((record.id, found.record.id))) not in lines:
            lines[both] = f"{record.id} {record.title}: {found.describe()}"
            pairs.append(near_pairs.NearPair(record, found.record, found.may_contradict))
    near_pairs.keep(memory, pairs)
    return list(lines.values())


def near_advice(old: Record, new: Record, may_contradict: bool) -> str:
    """Return the commands with which two near records become one, or stand beside each other."""
    both_hold = f"`memctl link {new.id} {old.id}` if both hold"
    if old.memory_type != new.memory_type:
        return both_hold
    second = both_hold if may_contradict else f"`memctl merge {old.id} {new.id}` if both say the same"
    if "superseded" not in new.kind.statuses:
        return second
    return f"`memctl supersede {old.id} {new.id}` if the new one takes its place, {second}"


def _rejected_option(memory: Memory, record: Record, body: str) -> Iterator[tuple[str, str]]:
    """Yield the decision that has rejected what a new record takes up, if the record has no link to it."""
    from memctl.search import rejected_options

    snapshot = load.disk(memory)
    passages = rejected_options.of_record(record, body)
    if not passages or snapshot.catalogue.with_id(record.id):
        return
    words = {word for passage in passages for word in similarity.plain_words(passage.text)} - STOP_WORDS
    similar = snapshot.catalogue.rejecting((word[:_STEM] for word in sorted(words) if len(word) > 2), _DECISIONS)
    linked = (record.id, *record.supersedes, *record.relates_to)
    if not (decisions := [other for other in similar if other.id not in linked]):
        return
    options = rejected_options.rejected_options(snapshot, decisions)
    default = memory.default_branch and memory.repository.tip(f"refs/remotes/origin/{memory.default_branch}")
    commit = default or memory.repository.branch()[1]  # a branch may have the code before the decision
    is_used = rejected_options.used_in(memory.repository, commit, memory.prefix)
    for found in rejected_options.brought_back(snapshot, options, passages, is_used)[:1]:
        other = found.option.record
        if other.is_open:
            reason = f": {found.option.reason}" if found.option.reason else ""
            what = f'{other.id} {other.title}, alternative "{found.option.name}{reason}"'
        else:
            what = f"{found.option.name!r}, {found.option.describe()}"
        yield f"rejected before: {what}", f"`memctl supersede {other.id} {record.id}` if {record.id} takes its place"


def _tokens(memory: Memory, text: str) -> int:
    """Return the number of tokens of a record that may be too long; 0 for others, which are not counted."""
    if characters.weight(text) < hints.MIN_WEIGHT:
        return 0
    from memctl.tokens import count

    return count.of_memory(memory, memory.config.model).tokens(text)


def _dangling(memory: Memory, record: Record, body: str) -> Iterator[tuple[str, str]]:
    """Yield the § markers and ids in the text of a record that lead nowhere."""
    names = list(dict.fromkeys(mention.text for mention in mentions.in_text(body) if mention.text != record.id))
    if not names:
        return
    from memctl.pages import repository_paths

    snapshot = load.disk(memory)
    outline = snapshot.outline
    for name in names:
        if name.startswith("§4."):
            is_there = "*" in name or bool(repository_paths.resolve(snapshot.files.names(), name[3:]))
        elif name.startswith("§"):
            is_there = not outline.pages or name in outline.markers() or outline.fault_of(name) is not None
        else:
            is_there = snapshot.find(name) is not None
        if not is_there:
            yield f"{name} does not exist", ""


def missing_globs(memory: Memory, globs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a pair for each glob that matches no file: a message, and "", since there is no hint."""
    from memctl.pages import repository_paths

    names = load.disk(memory).files.names() if globs else frozenset()
    for glob in globs:
        if not glob.startswith("!") and not repository_paths.matching(names, [glob]):
            yield f"{glob} matches no file", ""


def missing_paths(memory: Memory, references: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield a pair for each reference to a missing file, folder or line: a message, and a hint.

    The hint names the nearest path, or is "". References are paths, such as "src/card.py", or paths with line numbers.
    They are looked up on the disk, which is far faster than asking Git.
    """
    top = memory.repository.top
    for reference in references:
        path = reference if (top / reference).exists() else pages.code_path(reference)
        if not (top / path).exists():
            yield f"{path} is not a file of the repository", _near(memory, path)
        elif path != reference and (last := pages.last_line(reference)) > (lines := _line_count(top / path, last)):
            yield f"{path} has {quantity(lines, 'line')}, so line {last:,} does not exist", ""


def _line_count(path: Path, most: int) -> int:
    """Return the number of lines of a file, at most `most`; `most` also for anything but a regular file."""
    if not path.is_file() or path.stat().st_size > files.MAX_BYTES:
        return most
    with path.open("rb") as stream:
        return sum(1 for _ in islice(stream, most))


def _near(memory: Memory, path: str) -> str:
    """Return a hint at the file's new name, or at the one in its folder whose name is spelled most like it, or ""."""
    from memctl.pages import renamed_files, repository_paths
    from memctl.text.words import nearest

    if hint := repository_paths.glob_hint(path, (snapshot := load.disk(memory)).files):
        return hint
    if present := renamed_files.present_paths(memory, snapshot, [path]).get(path):
        return f"it was renamed to {present}"
    folder, _, name = path.rpartition("/")
    try:
        names = sorted(entry.name for entry in (memory.repository.top / folder).iterdir())
    except OSError:
        return ""
    if repository_paths.in_other_form(names, name):
        return repository_paths.OTHER_FORM
    matches = nearest(name, names)
    return f"did you mean {f'{folder}/{matches[0]}'.lstrip('/')}?" if matches else ""
