"""The pages, records and files that a Snapshot leaves out because their owner restricts who may read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from memctl.errors import MemctlError
from memctl.record import ids


class Withheld(msgspec.Struct, frozen=True):
    """The pages, records and files that a reader may not see, each with the reason.

    - `pages` has pages of details, by their markers.
    - `records` has the records whose section is such a page, by their paths.
    - `files` has files of the repository, by their paths.
    - `paths` are files below `.memory/` that quote a withheld page, record or file.
    - `globs` are pairs of patterns and a reason. All files that match them are withheld, also files that do not exist.
      `{}` in the reason stands for the file's path.
    """

    pages: Mapping[str, str] = {}
    records: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    paths: frozenset[str] = frozenset()
    globs: tuple[tuple[tuple[str, ...], str], ...] = ()

    def reasons_for(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the repository files among `paths` that match a withheld glob, each with the reason.

        The files need not exist.
        """
        if not self.globs:
            return {}
        from memctl.text.globs import Globs  # mostly nothing is withheld

        known, reasons = sorted(paths), dict[str, str]()
        for patterns, why in self.globs:
            matches = Globs(patterns).match
            reasons |= {path: why.replace("{}", path, 1) for path in known if matches(path) is not None}
        return reasons

    def refuse_page(self, marker: str) -> None:
        """Raise MemctlError if a marker names a withheld page (§3.1) or a heading in one (§3.1.2)."""
        _refuse(self.pages.get("§" + ".".join(marker[1:].split(".")[:2])))

    def refuse_record(self, wanted: str) -> None:
        """Raise MemctlError if a withheld record has an id that begins or ends with `wanted`."""
        reasons = (why for path, why in self.records.items() if ids.is_part(wanted, ids.id_in_path(path) or ""))
        _refuse(next(reasons, None) if wanted else None)

    def refuse_file(self, path: str) -> None:
        """Raise MemctlError if a path is that of a withheld file of the repository, even if the file is deleted."""
        _refuse(self.reasons_for([path]).get(path))


def _refuse(why: str | None) -> None:
    if why:
        raise MemctlError(why, "ask the owner of the section for access")
