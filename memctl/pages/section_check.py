"""Where a record may be put: at what its section marker leads to."""

from __future__ import annotations

from memctl.errors import USAGE, MemctlError
from memctl.record.pages import Outline

_CODE = "§4."  # files come and go without the memory: `check` looks at these


def refuse_nowhere(outline: Outline, marker: str) -> None:
    """Raise MemctlError if a marker leads to no section or heading, which `check` would find as MEM205.

    A memory without any page has nowhere to lead to: there, records may come first. A page that can't be read counts.
    """
    if not outline.pages or marker.startswith(_CODE) or outline.fault_of(marker) is not None:
        return
    if marker not in outline.markers():
        raise missing(outline, marker)


def missing(outline: Outline, marker: str) -> MemctlError:
    """What to say to somebody who names a section that there is not."""
    known = ", ".join(page.id for page in (*outline.sections, *outline.details)) or "none"
    return MemctlError(f"there is no section {marker}", f"there are {known}", USAGE)
