"""Lists of files that no repository has, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from memctl.sources.file_list_update import new_file
from memctl.store.file_list import FileList, ListState
from memctl.store.search_index import SearchIndex
from memctl.store.source_facts import FileFacts
from memctl.text.words import InnerWords


def contents(files: Mapping[str, FileFacts]) -> FileList:
    """Return the contents of files with some facts, in an index in memory; a file's blob id is its path."""
    listed = FileList(SearchIndex.in_memory(""), "tests")
    parts = InnerWords()
    listed.add([new_file(path, path, found, b"", parts, 1) for path, found in files.items()])
    rows = {path: row for path in files if (row := listed.row_of(path, path))}
    listed.change(ListState("", ""), {path: (row[0], True, "") for path, row in rows.items()})
    return listed
