"""A dry run of a sync says what the sync then does, and refuses what it would refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, Once, git
from tests.sync.test_sync import refused, the, write


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def parted(memctl: Memctl, bob: Memctl, one: Path, two: Path, once: Once) -> Path:
    """A clone in which an id, a section's number, a field's value and an ownership have to give way."""

    def make() -> None:
        for clone, run in ((one, memctl), (two, bob)):
            base = the(run, clone, "Shared")
            run("decide", f"By {clone.name}", where=clone)
            run("section", "add", f"Of {clone.name}", where=clone)
            run("edit", base, "--set", f"importance={3 if clone is one else 8}", where=clone)
            run("own", "acquire", "2.1", "2.2", where=clone)
        memctl("sync", where=one)

    once(make)
    return two


def told(memctl: Memctl, clone: Path, *args: str) -> dict[str, Any]:
    """What a sync says of itself, without what can't be known before."""
    data: dict[str, Any] = memctl("sync", "--json", *args, where=clone).data
    for name in ("commit", "dry_run"):
        del data[name]
    del data["coordination"]["commit"]
    return data


@pytest.mark.parametrize("options", [(), ("--no-push",)])
def test_a_dry_run_reports_what_the_sync_then_does(bob: Memctl, parted: Path, options: tuple[str, ...]) -> None:
    before = git(parted, "for-each-ref", "refs/heads", "refs/memctl/coordination")
    would = told(bob, parted, "--dry-run", *options)
    assert git(parted, "for-each-ref", "refs/heads", "refs/memctl/coordination") == before
    assert would == told(bob, parted, *options)
    assert would["lost"]
    assert [item["old"][:4] for item in would["renumbered"]] == ["DEC-", "§2.2"]
    assert [line[:13] for line in would["coordination"]["gave_way"]] == ["section §2.1:"]


def test_a_changed_ownership_alone_is_reported(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("own", "acquire", "2.1", where=one)
    assert memctl("sync", "-n", where=one).out == "coordination state: would be pushed to origin\n"
    assert memctl("sync", where=one).out == "coordination state: pushed to origin\n"
    assert memctl("sync", "-n", where=two).out == "coordination state: would be fetched from origin\n"
    assert memctl("sync", where=two).out == "coordination state: fetched from origin\n"
    assert memctl("sync", where=two).out.startswith("nothing to do: ")


def test_dry_run_names_a_file_in_the_way(memctl: Memctl, one: Path, two: Path) -> None:
    write(one, "new.txt", "of one\n")
    memctl("sync", "--with-code", where=one)
    (two / "new.txt").write_text("of two\n")
    assert refused(memctl, two, "--with-code", "--dry-run").err == refused(memctl, two, "--with-code").err
    (two / "new.txt").unlink()
    (two / ".gitignore").write_text("*.txt\n")
    (two / "new.txt").write_text("of two, ignored\n")
    assert "  new.txt" in refused(memctl, two, "--with-code", "--dry-run").err
