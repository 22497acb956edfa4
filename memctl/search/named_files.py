"""Find the records that name files of the repository in their text, without a code reference to them."""

from __future__ import annotations

from collections.abc import Collection

from memctl.record.snapshot import Snapshot
from memctl.text import named_files


def records_naming(snapshot: Snapshot, files: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the paths of the records that name some files, each with the files, and the name that the text has.

    A file that more than 20 records name is left out: none of them is about it.
    """
    files_by_base: dict[str, list[str]] = {}
    for file in files:
        files_by_base.setdefault(named_files.base(file), []).append(file)
    holders: dict[str, dict[str, str]] = {}
    known: dict[str, bool] = {}

    def is_unique(name: str) -> bool:
        if name not in known:
            ending = (path for path in snapshot.files.containing([name]) if f"/{path}".endswith(f"/{name}"))
            known[name] = sum(1 for _ in ending) == 1
        return known[name]

    for name, path in snapshot.catalogue.naming(files_by_base):
        for file in files_by_base[named_files.base(name)]:
            if named_files.means(name, file, is_unique):
                holders.setdefault(file, {})[path] = name
    naming: dict[str, dict[str, str]] = {}
    for file, names in holders.items():
        for path, name in names.items() if len(names) <= named_files.MOST_NAMING else ():
            naming.setdefault(path, {})[file] = name
    return naming
