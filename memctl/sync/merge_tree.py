"""Merge the files of the memory path by path, without Git's search for renames.

The path of a record never changes. But Git would find renames: records resemble each other, so if one is deleted and
another is added, Git may take the new one for the old one under a new name. A change of the old record would then end
up in the new one.

If both sides changed a field, the remote's value wins, since other clones rely on it (rules.md#coordination). The later
value can't win, because clocks do not agree. A replaced value is reported, and this clone's history still has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import MemctlError
from memctl.git import tree_merge, trees
from memctl.git.git import GitFailed
from memctl.git.tree_merge import Leaf, store_files
from memctl.pages import documents
from memctl.pages.links import FOLDER
from memctl.record import content_fields, frontmatter, handoff, ids, pages, record_form, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.handoff import OFFERED, Handoff
from memctl.record.kinds import HANDOFF
from memctl.record.record_form import differs_only_in_retrievals
from memctl.store import files
from memctl.store.memory import Memory
from memctl.sync.collisions import Leaves
from memctl.text.fit import cut
from memctl.write import documents as rendering
from memctl.write import merge as record_merge
from memctl.write.merge import WHOLE, LostValue
from memctl.write.redact_file import is_readable

if TYPE_CHECKING:
    from memctl.tokens.count import Counter


_KEYS = ("status", "answered_by", "answered_at", "declined")
_ANSWER = next(field for field in HANDOFF.fields if field.name == "answer")
_SHOWN = 300  # characters of a value that gave way; the rest is in the history


def merge_text(
    path: str, base: str, ours: str, theirs: str, counter: Callable[[], Counter]
) -> tuple[str, tuple[LostValue, ...]]:
    """Return the merged text of two versions of a record or page, and the values that the merge replaced.

    `path` is the file's, below `.memory/`. `base` is the common version ("" for none), `ours` this clone's, and
    `theirs` the remote's. If both sides changed a value, the remote's is taken; if the remote's version can't be read,
    this clone's text is. `counter` returns the token counter for the budget of a session's page; it is called only if
    needed.
    """
    if not is_readable(path, theirs) and is_readable(path, ours):
        return ours, (LostValue(WHOLE, theirs, ours),)  # a file that can't be read is no version to go on with
    whole = (theirs, (LostValue(WHOLE, ours, theirs),))
    try:
        if session_page.is_page(path) or session_page.is_trail(path):
            from memctl.session import merge as session_merge

            merged = session_merge.merge_versions(base, ours, theirs, counter(), prefer="theirs")
        else:
            ours, answer = _without_our_answer(path, base, ours, theirs) if is_handoff(path) else (ours, ())
            merged = record_merge.merge(base, ours, theirs, prefer="theirs")
            merged = msgspec.structs.replace(merged, lost=(*answer, *merged.lost))
    except MemctlError:  # Git takes it for binary
        return whole
    return (merged.text, merged.lost) if is_readable(path, merged.text) or not is_readable(path, theirs) else whole


def is_handoff(path: str) -> bool:
    """Return whether a path below `.memory/` is that of a handoff's record."""
    return path.startswith(f"{HANDOFF.folder}/") and files.is_record_path(path)


def one_line(value: Any) -> str:
    """Return a value as text on one line of at most 300 characters."""
    text = " ".join(str(value).encode(errors="surrogateescape").decode(errors="backslashreplace").split())
    return cut(text, _SHOWN)


def _without_our_answer(path: str, base: str, ours: str, theirs: str) -> tuple[str, tuple[LostValue, ...]]:
    """Return our version of a handoff without its answer if theirs has a different one, and what was lost; else
    unchanged."""
    try:
        before, one, other = (handoff.read(text, path) for text in (base, ours, theirs))
    except InvalidRecord:
        return ours, ()
    statuses = [version.record.status for version in (before, one, other)]
    if statuses[0] != OFFERED or OFFERED in statuses[1:]:
        return ours, ()
    mine, yours = _answer(one), _answer(other)
    lost = tuple(LostValue(key, _as_text(mine[key]), _as_text(yours[key])) for key in mine if mine[key] != yours[key])
    if not lost:
        return ours, ()
    was = _answer(before)
    text = record_form.replace(ours, {key: was[key] or None for key in _KEYS})
    head = len(text) - len(frontmatter.split(text)[1])
    return text[:head] + content_fields.replace(HANDOFF, text[head:], _ANSWER, was["answer"]), lost


def _answer(record: Handoff) -> dict[str, Any]:
    who = record.parties
    answer = content_fields.content(HANDOFF, record.body).get(_ANSWER.name, "")
    return {
        "status": record.record.status,
        "answered_by": who.answered_by,
        "answered_at": who.answered_at,
        "declined": list(who.declined),
        _ANSWER.name: answer,
    }


def _as_text(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


_LARGEST = files.MAX_BYTES * 8  # of a file that people put into the memory


class LostInFile(msgspec.Struct, frozen=True):
    """A value in a file of the memory that a merge replaced with the other side's value.

    `path` is the file's path below `.memory/`. `id` is the id or § marker in the file's name.
    """

    path: str
    id: str
    loss: LostValue

    @property
    def field(self) -> str:
        """The name of the value's field, "" for the whole file."""
        return "" if self.loss.key == WHOLE else self.loss.key

    @property
    def lost(self) -> str:
        """The value that was replaced, as a line."""
        return one_line(self.loss.lost)

    @property
    def kept(self) -> str:
        """The value that replaced it, as a line."""
        return one_line(self.loss.kept)


class MergedTree(msgspec.Struct, frozen=True):
    """The merge of this clone's and the remote's memory: all files, and what the merge decided about some of them.

    - `both` are the paths of files that the two sides changed differently, and `lost` the values that were replaced.
    - `revived` are the paths of files that one side deleted and the merge keeps, since the other side changed them or
      newly refers to them.
    - `conflicts` are the paths of files, such as the settings, that only a person can merge.
    """

    files: Leaves
    both: tuple[str, ...] = ()
    lost: tuple[LostInFile, ...] = ()
    revived: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class _Merge:
    """The state of a merge of three trees."""

    def __init__(self, memory: Memory, base: Leaves, ours: Leaves, theirs: Leaves, *, apart: bool) -> None:
        self.memory = memory
        self.base, self.ours, self.theirs = base, ours, theirs
        self.found: dict[str, Leaf] = {}
        self.open: list[str] = []
        for path in sorted({*base, *ours, *theirs}):
            before, one, other = (side.get(path) for side in (base, ours, theirs))
            if one != before and other != before and (one != other or (apart and _may_count(path, before, one))):
                self.open.append(path)
            elif (leaf := one if other == before or one == other else other) is not None:
                self.found[path] = leaf
        self.texts: dict[str, str] = {}
        self.lost: list[LostInFile] = []
        self.revived: list[str] = []
        self.conflicts: list[str] = []
        self.written: dict[str, str] = {}
        self.modes: dict[str, str] = {}

    def read(self, leaves: Iterable[Leaf | None]) -> None:
        wanted = {leaf.blob for leaf in leaves if leaf is not None and leaf.is_regular} - set(self.texts)
        for blob, content in trees.blobs(self.memory.repository, wanted, _LARGEST).items():
            if content is not None:
                self.texts[blob] = content.decode("utf-8", "surrogateescape")

    def text(self, leaf: Leaf | None) -> str:
        return self.texts[leaf.blob] if leaf else ""

    def put(self, path: str, text: str) -> None:
        """The mode is the one that a side changed, if one did."""
        before, one, other = (side.get(path) for side in (self.base, self.ours, self.theirs))
        assert one is not None
        assert other is not None
        self.written[path] = text
        self.modes[path] = one.mode if before is None or one.mode != before.mode else other.mode


def _may_count(path: str, before: Leaf | None, now: Leaf | None) -> bool:
    """An equal change of both sides may be an access counter, whose counts add up."""
    return before is not None and now is not None and files.is_record_path(path)


def merge(memory: Memory, base: Leaves, ours: Leaves, theirs: Leaves, *, apart: bool) -> MergedTree:
    """Merge the memory's files of this clone and of a remote. It writes nothing but blobs to Git's object store.

    `base`, `ours` and `theirs` are the files in the common commit, in this clone and at the remote. `apart` says that
    the two sides have exactly one merge base. Then each side counted retrievals of a record on its own, and the two
    counts are added up even if they are equal. Otherwise an equal change of both sides is taken for one change.
    """
    work = _Merge(memory, base, ours, theirs, apart=apart)
    work.read(side.get(path) for path in work.open for side in (base, ours, theirs))
    for path in work.open:
        _merge_path(work, path)
    _revive(work)
    work.found |= store_files(memory.repository, work.written, work.modes)
    both = tuple(path for path in work.open if _is_news(work, path))
    return MergedTree(work.found, both, tuple(work.lost), tuple(work.revived), tuple(work.conflicts))


def _is_news(work: _Merge, path: str) -> bool:
    known = [side.get(path) for side in (work.ours, work.theirs)]
    return path in work.found and not path.startswith(f"{FOLDER}/") and known != [work.found[path]] * 2


def name_of(path: str) -> str:
    """Return what people call the file at a path: the id of its record, the § marker of its page, or else the path."""
    number = pages.number_at(path)
    return f"§{number}" if number else ids.id_in_path(path) or path


def is_authored(path: str) -> bool:
    """Return whether a path below `.memory/` is that of a record, a page or a session's page.

    Two versions of such a file are merged field by field.
    """
    is_record = files.is_record_path(path) or pages.kind_at(path) is not None
    return is_record or (path.startswith(f"{session_page.FOLDER}/") and path.endswith(".md"))


def _merge_path(work: _Merge, path: str) -> None:
    before, one, other = (side.get(path) for side in (work.base, work.ours, work.theirs))
    known = [leaf for leaf in (before, one, other) if leaf is not None]
    if path.startswith(f"{FOLDER}/"):  # it is rendered anew
        _choose_document(work, path, before, one, other)
    elif one == other:
        _add_counts(work, path, before, one)
    elif not all(leaf.is_regular and leaf.blob in work.texts for leaf in known):
        work.conflicts.append(path)
    elif one is None or other is None:
        _merge_deleted(work, path, before, one or other)
    elif is_authored(path):
        counter = partial(rendering.counter, work.memory)
        text, losses = merge_text(path, work.text(before), work.text(one), work.text(other), counter)
        work.lost += [LostInFile(path, name_of(path), loss) for loss in losses]
        work.put(path, text)
    else:
        _merge_lines(work, path)


def _choose_document(work: _Merge, path: str, before: Leaf | None, one: Leaf | None, other: Leaf | None) -> None:
    """Keep a version of a document: the changed one in format 2, else the one that somebody edited by hand, if any.

    Where documents follow writes, it will be rendered.
    """
    if work.memory.config.format > 1 and before in (one, other):
        one = other if one == before else one
        other = None
    edited = [leaf for leaf in (one, other) if leaf and not documents.is_intact(work.texts.get(leaf.blob, ""))]
    chosen = next((leaf for leaf in (*edited, one, other) if leaf is not None), None)
    if chosen is not None:
        work.found[path] = chosen


def _add_counts(work: _Merge, path: str, before: Leaf | None, now: Leaf | None) -> None:
    assert now is not None
    work.found[path] = now
    versions = [work.texts.get(leaf.blob, "") if leaf else "" for leaf in (before, now)]
    if now.is_regular and all(is_readable(path, text) for text in versions):
        merged = record_merge.merge(versions[0], versions[1], versions[1], apart=True)
        if merged.text != versions[1]:
            work.put(path, merged.text)


def _merge_deleted(work: _Merge, path: str, before: Leaf | None, left: Leaf | None) -> None:
    """If only its access counts changed, a file that the other side deleted goes."""
    assert left is not None
    if is_authored(path) and differs_only_in_retrievals(work.text(before), work.text(left)):
        return
    work.found[path] = left
    work.revived.append(path)


def _merge_lines(work: _Merge, path: str) -> None:
    before, one, other = (work.text(side.get(path)) for side in (work.base, work.ours, work.theirs))
    try:
        text, conflicts = tree_merge.merge_texts(before, one, other)
    except GitFailed:  # it is binary
        text, conflicts = "", 1
    if conflicts:
        work.conflicts.append(path)
    else:
        work.put(path, text)


def _revive(work: _Merge) -> None:
    """Keep files that one side deleted while the other side began to refer to them."""
    gone = [path for path in work.base if path not in work.found and files.is_record_path(path)]
    gone = [path for path in gone if path not in work.open]
    for side, deleting in ((work.ours, work.theirs), (work.theirs, work.ours)):
        names = {name_of(path): path for path in gone if path in side and path not in deleting}
        changed = [path for path in side if side[path] != work.base.get(path) and is_authored(path)] if names else []
        work.read(leaf for path in changed for leaf in (side[path], work.base.get(path)))
        for name, path in names.items():
            for other in changed:
                answer, before = (
                    work.texts.get(leaf.blob, "") if leaf else "" for leaf in (side[other], work.base.get(other))
                )
                if name in answer and name not in before and path not in work.found:
                    work.found[path] = work.base[path]
                    work.revived.append(path)


def record_ids(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the records at some paths, each once."""
    return tuple(dict.fromkeys(identifier for path in paths if (identifier := ids.id_in_path(path))))


def changes(before: Leaves, after: Leaves) -> Mapping[str, Leaf | None]:
    """Return the files that differ between `before` and `after`, by path: as `after` has them, None if deleted."""
    gone: dict[str, Leaf | None] = dict.fromkeys(path for path in before if path not in after)
    return {**gone, **{path: leaf for path, leaf in after.items() if before.get(path) != leaf}}
