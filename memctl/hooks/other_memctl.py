"""Find hooks in a host's settings that call another installation of memctl than the running one.

If two installations have hooks, each event would be answered twice. Current versions of memctl prevent that, since they
note which events are answered; old versions don't. Settings don't show a version, so every hook that calls another
program than the running memctl is reported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memctl.errors import MemctlError
from memctl.git import private_files
from memctl.hooks import settings
from memctl.hooks.hosts import Host
from memctl.hooks.settings import SettingsFile

_REPORTED = "other-memctl"
_MOST_BYTES = 1024 * 1024  # of settings; a start has no time for more


class OtherMemctl(NamedTuple):
    """A hook of another installation of memctl: the settings file with the hook, and the program that it calls."""

    place: SettingsFile
    program: str

    def sentence(self, host: Host) -> str:
        """Return a sentence that names the other program and the command that removes its hooks."""
        option = f" {self.place.option}" if self.place.option else ""
        return (
            f"{self.place.shown} has hooks of another memctl, {self.program}, which may be an older version that"
            f" answers every event a second time; `memctl install {host.name}{option} --uninstall` removes these hooks"
        )


def find(host: Host, project: Path, environ: Mapping[str, str], least: int = 1) -> list[OtherMemctl]:
    """Return the hooks in a host's settings that call another memctl than the running one.

    If fewer than `least` settings files mention memctl at all, the result is [] at once. A hook passes 2, to be fast:
    the file that has called the hook mentions memctl anyway.
    """
    places = {place.file: place for place in settings.places(host, project, environ)}  # a project may be the home
    texts = {place: text for place in places.values() if b"memctl" in (text := _read(place))}
    if len(texts) < least:
        return []
    from memctl.write import install

    own = install.own_program(sys.argv[0], sys.executable)
    hooks_found = []
    for place, text in texts.items():
        try:
            called = settings.programs(text.decode("utf-8-sig"), place.shown, host)
        except (MemctlError, UnicodeDecodeError):
            continue
        hooks_found += [OtherMemctl(place, call) for call in called if own and _is_another(call, own)]
    return hooks_found


def line(host: Host, project: Path, root: Path, environ: Mapping[str, str]) -> str:
    """Return a line for a session's start which says that another installation of memctl has hooks in the settings.

    The result is "" if there are no such hooks, or if the line was returned before in this clone. `root` is the folder
    in which hooks keep their data (`Memory.hooks`), and a file in it records that the line was returned.
    """
    if (root / _REPORTED).exists():
        return ""
    others = find(host, project, environ, least=2)
    if not others:
        return ""
    private_files.make_file(root / _REPORTED)
    return f"Tell the user: {others[0].sentence(host)}. (memctl)\n"


def _read(place: SettingsFile) -> bytes:
    try:
        with open(place.file, "rb") as stream:
            return stream.read(_MOST_BYTES)
    except OSError:
        return b""


def _is_another(program: str, own: str) -> bool:
    """Return whether a program exists and is another file than the running memctl (`own`)."""
    import shutil

    words = program.split()
    path = shutil.which(words[0] if " -m " in program else program)
    return path is not None and os.path.realpath(path) != os.path.realpath(own)
