"""Write the new paths of renamed files and folders into code references of records and pages, and globs of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from memctl.pages import freshness, repository_paths
from memctl.pages.file_query import start_revision
from memctl.pages.line_references import CurrentFile, follow
from memctl.pages.provenance import line_count
from memctl.pages.renamed_files import fixed_path, meanings, present_glob, present_paths
from memctl.record import frontmatter_edit, mentions, pages
from memctl.record.change import Write
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory


class MovedReferences:
    """Finds where the code of broken references is now; it looks in Git's history and in Git's index."""

    def __init__(self, memory: Memory, snapshot: Snapshot) -> None:
        self._memory, self._snapshot = memory, snapshot

    def of_record(self, record: Record) -> list[str]:
        """Return a record's code references with the new paths and lines; [] if none of them has moved.

        The line numbers are those that the lines have in the present file. A reference whose lines were deleted is
        returned unchanged.
        """
        renamed = self._renamed(map(pages.code_path, record.code_refs))
        references = [self._moved(record, reference, renamed) for reference in record.code_refs]
        return list(dict.fromkeys(references)) if references != record.code_refs else []

    def in_page(self, page: Page) -> Write | None:
        """Return the Write that corrects a page's references and globs, None if none has moved.

        The page does not count as reviewed by that.
        """
        broken = [ref for ref in freshness.references(self._snapshot, page) if ref.state == freshness.MISSING]
        written = [ref.reference.removeprefix("§4.") for ref in broken]
        renamed = self._renamed({*map(pages.code_path, written), *map(fixed_path, page.paths), *page.stamps} - {""})
        names = self._snapshot.files.names()
        old = self._snapshot.read(page.path)
        reviewed = {renamed.get(path, path): stamp for path, stamp in page.stamps.items()}
        paths = {reference: pages.code_path(reference) for reference in page.code_refs}
        values = {
            "paths": [present_glob(glob, renamed, names) or glob for glob in page.paths],
            "code_refs": [renamed.get(path, path) + reference[len(path) :] for reference, path in paths.items()],
            "reviewed": [f"{path} {stamp}" for path, stamp in sorted(reviewed.items())],
        }
        changed = {name: value for name, value in values.items() if value != getattr(page, name)}
        text = frontmatter_edit.replace(old, changed, pages.ORDER) if renamed and changed else old
        text = _with_present_paths(text, written, renamed)
        return Write(page.path, text, old) if text != old else None

    def in_body(self, record: Record, body: str) -> str:
        """Return the body of a record with the present paths in its § references."""
        mentioned = [mention.text[3:] for mention in mentions.in_text(body) if mention.text.startswith("§4.")]
        names = self._snapshot.files.names()
        written = [path for path in mentioned if "*" not in path and not repository_paths.resolve(names, path)]
        renamed = self._renamed(map(pages.code_path, (*written, *record.code_refs))) if written else {}
        return _with_present_paths(body, written, renamed)

    def _renamed(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return the present path of each missing file or folder among some whole paths, by its old path."""
        names = self._snapshot.files.names()
        missing = {path for path in paths if not freshness.code_paths(names, path)}
        found = present_paths(self._memory, self._snapshot, missing) if missing else {}
        return {old: new for old, new in found.items() if old not in names and freshness.code_paths(names, new)}

    def _moved(self, record: Record, reference: str, renamed: Mapping[str, str]) -> str:
        """Return a reference with the present path, and the present lines if it has lines."""
        path = pages.code_path(reference)
        new = renamed.get(path, path)
        if new == path or reference == path:
            return new if reference == path else reference
        text = self._snapshot.files.read([new]).get(new, b"").decode(errors="replace")
        blob = self._snapshot.files.blobs([new]).get(new, "")
        start = start_revision(self._memory, "")
        file = CurrentFile(new, frozenset({path}), f"./{new}", blob, line_count(text), start)
        lines = follow(self._memory, file, [(record, reference)])[record.path, reference].now
        if lines is None:
            return reference
        first, last = lines
        return f"{new}:{first}" if first == last else f"{new}:{first}-{last}"


def _with_present_paths(text: str, written: Iterable[str], renamed: Mapping[str, str]) -> str:
    """Return a text with the present path in each of some § references, if it is certain what the reference means.

    `written` are the references without `§4.`, and `renamed` has the present paths by the old ones.
    """
    for reference in written:
        new_paths = meanings(reference, renamed)
        if len(new_paths) == 1 and mentions.is_path(new_paths[0]):
            text = new_paths[0].join(re.split(rf"(?<=§4\.){re.escape(reference)}(?![\w@*+-]|[./]\w)", text))
    return text
