"""Write the new paths of renamed files and folders into code references of records and pages, and globs of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from memctl.pages import freshness, repository_paths
from memctl.pages.file_query import start_revision
from memctl.pages.line_references import CurrentFile, LineReference, follow, read_history
from memctl.pages.provenance import line_count
from memctl.pages.renamed_files import RenamedCode, renamed_code
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
        self._renamed = renamed_code(memory, snapshot)

    def of_records(self, records: Iterable[Record]) -> dict[str, list[str]]:
        """Return code references with the new paths and lines, by record's path; only of records with moved ones.

        The line numbers are those that the lines have in the present file. A reference whose lines were deleted is
        returned unchanged.
        """
        moved = [(record, self._new_paths(record)) for record in records]
        by_file: dict[str, list[tuple[Record, str]]] = {}
        for record, new_paths in moved:
            for reference, new in new_paths.items():
                if reference != pages.code_path(reference):
                    by_file.setdefault(new, []).append((record, reference))
        lines = self._lines(by_file)
        result = {}
        for record, new_paths in moved:
            now = {ref: _at_lines(new, lines.get((record.path, ref))) or ref for ref, new in new_paths.items()}
            references = [now.get(reference, reference) for reference in record.code_refs]
            if references != record.code_refs:
                result[record.path] = list(dict.fromkeys(references))
        return result

    def in_page(self, page: Page) -> Write | None:
        """Return the Write that corrects a page's references and globs, None if none has moved.

        The page does not count as reviewed by that.
        """
        broken = [ref for ref in freshness.references(self._snapshot, page) if ref.state == freshness.MISSING]
        renamed = self._renamed.paths
        old = self._snapshot.read(page.path)
        reviewed = {renamed.get(path, path): stamp for path, stamp in page.stamps.items()}
        paths = {reference: pages.code_path(reference) for reference in page.code_refs}
        values = {
            "paths": [self._renamed.glob(glob) or glob for glob in page.paths],
            "code_refs": [renamed.get(path, path) + reference[len(path) :] for reference, path in paths.items()],
            "reviewed": [f"{path} {stamp}" for path, stamp in sorted(reviewed.items())],
        }
        changed = {name: value for name, value in values.items() if value != getattr(page, name)}
        text = frontmatter_edit.replace(old, changed, pages.ORDER) if renamed and changed else old
        text = _with_present_paths(text, [ref.reference.removeprefix("§4.") for ref in broken], self._renamed)
        return Write(page.path, text, old) if text != old else None

    def in_body(self, body: str) -> str:
        """Return the body of a record with the present paths in its § references."""
        mentioned = [mention.text[3:] for mention in mentions.in_text(body) if mention.text.startswith("§4.")]
        names = self._snapshot.files.names()
        written = [path for path in mentioned if "*" not in path and not repository_paths.resolve(names, path)]
        return _with_present_paths(body, written, self._renamed)

    def _new_paths(self, record: Record) -> dict[str, str]:
        """Return the present paths of a record's references to renamed files and folders, by reference."""
        paths = {reference: pages.code_path(reference) for reference in record.code_refs}
        return {
            reference: self._renamed.paths[path] for reference, path in paths.items() if path in self._renamed.paths
        }

    def _lines(self, by_file: Mapping[str, Sequence[tuple[Record, str]]]) -> dict[tuple[str, str], LineReference]:
        """Return the present lines of references to lines, which are given by the present path of their file."""
        texts, blobs = self._snapshot.files.read(by_file), self._snapshot.files.blobs(by_file)
        start = start_revision(self._memory, "") if by_file else ""
        files = []
        for new, references in by_file.items():
            former = frozenset(pages.code_path(reference) for _, reference in references)
            length = line_count(texts.get(new, b"").decode(errors="replace"))
            files.append(CurrentFile(new, former, f"./{new}", blobs.get(new, ""), length, start))
        known = read_history(self._memory, files, {record.path for some in by_file.values() for record, _ in some})
        result: dict[tuple[str, str], LineReference] = {}
        for file in files:
            result |= follow(self._memory, file, by_file[file.path], known)
        return result


def _at_lines(path: str, lines: LineReference | None) -> str:
    """Return a reference to the present lines of a file, to the whole file without lines; "" if they were deleted."""
    if lines is None:
        return path
    first, last = lines.now or (0, 0)
    return f"{path}:{first}" + (f"-{last}" if last > first else "") if first else ""


def _with_present_paths(text: str, written: Iterable[str], renamed: RenamedCode) -> str:
    """Return a text with the present path in each of some § references, if it is certain what the reference means.

    `written` are the references without `§4.`.
    """
    for reference in written:
        new_paths = renamed.meanings(reference)
        if len(new_paths) == 1 and mentions.is_path(new_paths[0]):
            text = new_paths[0].join(re.split(rf"(?<=§4\.){re.escape(reference)}(?![\w@*+-]|[./]\w)", text))
    return text
