"""References to names (ids, markers, numbers) that several records, pages or headings share: what each of them means.

References to whatever gets a new name are rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from memctl.git.first_commits import History, Origin
from memctl.record import frontmatter, frontmatter_edit, handoff, pages, record_form
from memctl.record.errors import FrontMatterError
from memctl.record.kinds import OTHER_END
from memctl.record.mentions import REFERENCE
from memctl.write.id_collisions import Holder, MemoryFile

_OWN = ("id", "memory_id", "aliases")  # keys with the file's own names
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s<>()\[\]\"'`|]+")
_PERHAPS, _SURELY = 1, 2


class Reference(msgspec.Struct, frozen=True):
    """A place in a file where a shared name is: its line, and its start and end in the text, in characters.

    If the name is in a link field of the front matter, `key` is that field.
    """

    name: str
    line: int
    start: int = 0
    end: int = 0
    key: str = ""


class UnclearReference(msgspec.Struct, frozen=True):
    """A reference to a name that several records, pages or headings share, if nothing tells which of them it means.

    A renumbering lets one of them keep the name, and gives the others new names. The reference is not changed, so from
    then on it means the one that keeps the name: `taken_for` is its title. `path` is the file with the reference, as it
    is called after the renumbering. `line` is the reference's line in it, and `name` the shared name.
    """

    path: str
    line: int
    name: str
    taken_for: str


class Rewriting:
    """A search for references to shared names, which rewrites each reference to what gets a new name.

    `holders` are the records, pages and headings that share names. `files` are the files that are searched. `history`
    says which holders were in the Git history when a file or line was written: a reference in it can mean only these.
    `unclear` lists the references for which the history does not decide.
    """

    def __init__(self, holders: Sequence[Holder], files: Sequence[MemoryFile], history: History) -> None:
        self._by_name: dict[str, list[Holder]] = {}
        # The holder that keeps the name comes first.
        for holder in sorted(holders, key=lambda holder: holder.now != holder.name):
            self._by_name.setdefault(holder.name, []).append(holder)
        things = {(holder.path, holder.origin.mark): holder for holder in holders if not holder.origin.line}
        self._moving = {key: holder for key, holder in things.items() if holder.moves}
        self._headings = {holder.origin: holder for holder in holders if holder.origin.line}
        self._files = files
        self._by_key = {(file.path, file.mark): file for file in files}
        self._found = {(file.path, file.mark): list(self._references(file)) for file in files}
        self._possible = self._possible_targets(history)
        self._renamed = _file_names(self._moving.values())
        self.unclear: list[UnclearReference] = []

    def _possible_targets(self, history: History) -> dict[tuple[Origin, str], list[Holder]]:
        """Return which holders the writer of a name can have meant, by the writer's origin and the name.

        They are the holders in the writer's history that had no later name there. If there are none, the name was
        written before it was given: then they are the holders whose own history has the writer's text.
        """
        uses = {
            (_writer(file, reference), reference.name)
            for file in self._files
            for reference in self._found[file.path, file.mark]
        }
        if not uses:
            return {}
        holders = [holder for sharing in self._by_name.values() for holder in sharing]
        things = [holder.origin for holder in holders]
        knew = history.visible_to(
            {writer for writer, _ in uses}, {*things, *(holder.until for holder in holders if holder.until)}
        )
        near = {
            (w, n): [h for h in self._by_name[n] if h.origin in knew[w] and h.until not in knew[w]] for w, n in uses
        }
        early = {writer for (writer, _), candidates in near.items() if not candidates}
        if early:
            later = history.visible_to(things, early)
            for writer, name in (key for key, candidates in near.items() if not candidates):
                near[writer, name] = [holder for holder in self._by_name[name] if writer in later[holder.origin]]
        return near

    def texts(self) -> Iterator[tuple[MemoryFile, Holder | None, str]]:
        """Yield a triple for each searched file, changed or not: the file, a Holder or None, and the file's new text.

        The Holder is the record or page whose new name gives the file a new path; None if the path stays.
        """
        for file in self._files:
            moving = self._moving.get((file.path, file.mark))
            yield file, moving, self._rewrite(file, moving)

    def _references(self, file: MemoryFile) -> Iterator[Reference]:
        """Yield the references in a file to shared names."""
        pairs = [(match, name) for match in REFERENCE.finditer(file.text) if (name := self._name(match[0]))]
        linked = (name for key in OTHER_END for name in getattr(file.record, key)) if file.record else ()
        if not pairs and self._by_name.keys().isdisjoint(linked):
            return
        skipped = _skipped_spans(file)
        for match, name in pairs:
            if not any(start <= match.start() < end for start, end in skipped):
                line = file.text.count("\n", 0, match.start()) + 1
                yield Reference(name, line, match.start(), match.start() + len(name))
        for key in OTHER_END if file.record else ():
            for name in getattr(file.record, key):
                if name in self._by_name:
                    yield Reference(name, _line_of(file.text, key, name), key=key)

    def _name(self, text: str) -> str:
        """Return the shared name that a text begins with, "" for none; a heading's number begins with its page's."""
        if text in self._by_name or not text.startswith("§"):
            return text if text in self._by_name else ""
        page = ".".join(text.split(".")[:2])
        return page if page in self._by_name else ""

    def _rewrite(self, file: MemoryFile, moving: Holder | None) -> str:
        """Return the new text of a file; `moving` is the holder that gives it a new path, None for none."""
        text = file.text
        links: dict[str, list[str]] = {}
        for reference in reversed(self._found[file.path, file.mark]):  # from the end: earlier places stay valid
            meant = self._holders_of(file, reference)
            if reference.key:
                links.setdefault(reference.key, [])
            elif meant:
                text = text[: reference.start] + meant[0].now + text[reference.end :]
        values: dict[str, object] = {key: self._links(file, key) for key in links}
        text = self._with_headings(file, moving, text)
        for old, new in self._renamed.items():
            text = text.replace(old, new) if old in text else text
        if moving is not None:
            known = file.record.aliases if file.record else frontmatter.read(text)[0].get("aliases") or []
            values |= {"id": moving.now, "aliases": [*known, moving.name]}
            values |= {"memory_id": moving.memory_id} if file.record else {}
        if file.record:
            return record_form.replace(text, values)
        return frontmatter_edit.replace(text, values, pages.ORDER) if values else text

    def _links(self, file: MemoryFile, key: str) -> list[str]:
        """Return the new ids in a link field of a record."""
        names: list[str] = []
        by_name = {reference.name: reference for reference in self._found[file.path, file.mark] if reference.key == key}
        for name in getattr(file.record, key):
            meant = self._holders_of(file, by_name[name]) if name in by_name else []
            names += [holder.now for holder in meant] or [name]
        return list(dict.fromkeys(names))

    def _with_headings(self, file: MemoryFile, moving: Holder | None, text: str) -> str:
        """Return a page's text with the numbers that its headings contain replaced by their new ones."""
        if moving is not None and file.record is None:
            pattern = rf"^(## +§?){re.escape(moving.name[1:])}(?=\.[0-9])"
            text = re.sub(pattern, rf"\g<1>{moving.now[1:]}", text, flags=re.MULTILINE)
        for origin, holder in self._headings.items():
            if origin.path == file.path and holder.moves:
                lines = text.split("\n")
                lines[origin.line - 1] = lines[origin.line - 1].replace(holder.name[1:], holder.now[1:], 1)
                text = "\n".join(lines)
        return text

    def _holders_of(self, file: MemoryFile, reference: Reference) -> list[Holder]:
        """Return the holders that a reference means, [] if that is unclear.

        A link may mean several, since both sides of a merge may have linked a record of theirs.
        """
        sharing = self._by_name[reference.name]
        if heading := self._headings.get(Origin(file.path, reference.line)):
            return [heading]
        known = self._possible[_writer(file, reference), reference.name]
        if reference.key and file.record:
            meant = self._link_targets(file, reference)
        else:
            own = [holder for holder in sharing if (holder.path, holder.origin.mark) == (file.path, file.mark)]
            given = [holder for holder in sharing if holder.path == handoff.record_path(file.path)]  # in its package
            meant = given if len(given) == 1 else known if len(known) == 1 else own
        if not meant and any(holder.is_new for holder in sharing):
            first = next(holder for holder in sharing if holder.now == holder.name)
            moving = self._moving.get((file.path, file.mark))
            path = moving.new_path if moving else file.path
            unclear = UnclearReference(path, reference.line, reference.name, first.title)
            self.unclear += [unclear] if unclear not in self.unclear else []
        return meant

    def _link_targets(self, file: MemoryFile, reference: Reference) -> list[Holder]:
        """Return the holders that a link may mean: those that link back, or else those that its writer knew."""
        sharing, near = self._by_name[reference.name], self._possible[_writer(file, reference), reference.name]
        back = [(self._links_to(holder, OTHER_END[reference.key], file), holder) for holder in sharing]
        surely = [holder for how, holder in back if how == _SURELY]
        perhaps = [holder for how, holder in back if how]
        if surely:
            return surely
        return near if len(near) == 1 else perhaps if len(perhaps) == 1 else []

    def _links_to(self, holder: Holder, key: str, target: MemoryFile) -> int:
        """Return how surely a holder links to the record of a file: 0, _PERHAPS or _SURELY."""
        key_of_file = (holder.path, holder.origin.mark)
        if target.record is None or holder.record is None:
            return 0
        linked = getattr(holder.record, key)
        names = (target.record.id, *target.record.aliases)
        how = _SURELY if any(name in linked and name not in self._by_name for name in names) else 0
        for reference in self._found[key_of_file]:
            if reference.key == key and not how:
                near = self._possible[_writer(self._by_key[key_of_file], reference), reference.name]
                meant = [(holder.path, holder.origin.mark) for holder in near or self._by_name[reference.name]]
                if (target.path, target.mark) in meant:
                    how = _SURELY if len(meant) == 1 else _PERHAPS
        return how


def _writer(file: MemoryFile, reference: Reference) -> Origin:
    """Return the origin of a reference: its line, or for a record without a file of its own, the side of the merge."""
    return Origin(file.path, mark=file.mark) if file.apart else Origin(file.path, reference.line)


def _skipped_spans(file: MemoryFile) -> list[tuple[int, int]]:
    """Return the spans of a text that are not searched.

    They are web addresses, and in the front matter the file's own names and, of a record, its links.
    """
    spans = [match.span() for match in _ADDRESS.finditer(file.text)]
    if file.record is None and pages.kind_at(file.path) is None:
        return spans
    keys, start = (*_OWN, *OTHER_END) if file.record else _OWN, len(frontmatter.FENCE) + 1
    with suppress(FrontMatterError):  # the file then has no names of its own
        for block in frontmatter_edit.blocks(file.text):
            spans += [(start, start + len(block.text))] if block.key in keys else []
            start += len(block.text)
    return spans


def _line_of(text: str, key: str, name: str) -> int:
    """Return the line of a name in a list of the front matter, 1 if it is not found."""
    try:
        block = next(block for block in frontmatter_edit.blocks(text) if block.key == key)
    except (FrontMatterError, StopIteration):
        return 1
    return block.line + next((n for n, line in enumerate(block.text.split("\n")) if name in line), 0)


def _file_names(moving: Iterable[Holder]) -> dict[str, str]:
    """Return the new names of renamed files by their old ones, without old names that two records share."""
    names = [(holder.path.rpartition("/")[2], holder.new_path.rpartition("/")[2]) for holder in moving]
    return {old: new for old, new in names if sum(old == other for other, _ in names) == 1}
