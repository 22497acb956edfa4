"""Names of files that Windows can check out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memctl.text.file_names import portable
from tests.conftest import Memctl, git

_REFUSED = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:[ .:].*)?|.*[. ]")  # by Git for Windows


@pytest.mark.parametrize(
    "name", ["nul", "NUL", "Con", "com1.txt", "lpt9", "aux.tar.gz", "prn .x", "nul:", "a.", "b. ."]
)
def test_reserved_name_gets_a_prefix(name: str) -> None:
    assert _REFUSED.fullmatch(name)
    assert not _REFUSED.fullmatch(portable(name))


@pytest.mark.parametrize("name", ["null", "console", "com", "com10", "a.nul", "main", "x-nul", "auxiliary.txt"])
def test_other_name_stays(name: str) -> None:
    assert portable(name) == name


def test_no_file_of_the_memory_has_a_reserved_name(repo: Path, memctl: Memctl) -> None:
    for number, name in enumerate(("nul", "aux.fix", "COM1", "lpt1./x", "con", "prn...")):
        memctl("checkpoint", "save", "--workflow", name, "--task", "T", "--next", f"N{number}")
        memctl("learn", name, "--lesson", "x")
        memctl("section", "add", name)
        memctl("session", "summarize", "-t", "-", "--id", f"s-{number}", stdin=f"User: do {name}\n\nAssistant: done\n")
    git(repo, "switch", "-qc", "nul")
    memctl("checkpoint", "save", "--task", "T", "--next", "N")
    assert memctl("checkpoint", "list", "--json").data["checkpoints"]
    memctl("session", "start", "nul", code=2)
    paths = git(repo, "ls-files", "-z").split("\0")
    assert [path for path in paths if any(map(_REFUSED.fullmatch, path.split("/")))] == []
    assert memctl("check").code == 0


@pytest.mark.parametrize("session", ["nul", "COM1", "aux.1", "con."])
def test_session_of_a_host_has_a_portable_name(session: str) -> None:
    from memctl.session.active import name_like

    assert not _REFUSED.fullmatch(name_like(session))
