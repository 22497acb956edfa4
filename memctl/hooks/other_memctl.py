"""Hooks of another memctl beside ours, in the other settings of a host: an older one answers every event once more.

Versions that note an event answer it once, whoever is first; an older one does not look. Settings don't show the
version, so a program is named if it is another file than ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memctl.errors import MemctlError
from memctl.git import private
from memctl.hooks import settings
from memctl.hooks.hosts import Host
from memctl.hooks.settings import SettingsFile

_NOTED = "other-memctl"
_MOST_BYTES = 1024 * 1024  # of settings; a start has no time for more


class OtherMemctl(NamedTuple):
    """Another memctl that is hooked: where, and what is called."""

    place: SettingsFile
    program: str

    def sentence(self, host: Host) -> str:
        option = f" {self.place.option}" if self.place.option else ""
        return (
            f"{self.place.shown} hooks another memctl, {self.program}, which answers everything once more if it is an"
            f" older one; `memctl install {host.name}{option} --uninstall` takes it out"
        )


def find(host: Host, project: Path, environ: Mapping[str, str], least: int = 1) -> list[OtherMemctl]:
    """Return the programs that a host's settings call for us, and that are not the memctl that runs; none if fewer than
    `least` files name memctl."""
    places = {place.file: place for place in settings.places(host, project, environ)}  # a project may be the home
    texts = {place: text for place in places.values() if b"memctl" in (text := _read(place))}
    if len(texts) < least:
        return []
    from memctl.write import install

    own = install.own_program(sys.argv[0], sys.executable)
    found = []
    for place, text in texts.items():
        try:
            called = settings.programs(text.decode("utf-8-sig"), place.shown, host)
        except (MemctlError, UnicodeDecodeError):
            continue
        found += [OtherMemctl(place, one) for one in called if own and _is_another(one, own)]
    return found


def line(host: Host, project: Path, root: Path, environ: Mapping[str, str]) -> str:
    """Return the line for a session's start, once in a clone; "" if no other memctl is hooked."""
    if (root / _NOTED).exists():
        return ""
    found = find(host, project, environ, least=2)
    if not found:
        return ""
    private.make_file(root / _NOTED)
    return f"Tell the user: {found[0].sentence(host)}. (memctl)\n"


def _read(place: SettingsFile) -> bytes:
    try:
        with open(place.file, "rb") as stream:
            return stream.read(_MOST_BYTES)
    except OSError:
        return b""


def _is_another(program: str, own: str) -> bool:
    """Return whether a program exists and is another file than ours."""
    import shutil

    words = program.split()
    found = shutil.which(words[0] if " -m " in program else program)
    return found is not None and os.path.realpath(found) != os.path.realpath(own)
