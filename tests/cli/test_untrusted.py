"""Commands in a clone that nobody has trusted yet: they read, say whose records these are, and run no templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git

pytestmark = pytest.mark.terminal  # a person trusts a clone by a write or an installation

OWN = "# An index of their own\n"
COMMAND = "git config memctl.trusted true"


@pytest.fixture
def foreign(repo: Path, memctl: Memctl, tmp_path: Path, once: Once) -> Path:
    """A clone of somebody else's project, with a template of its own."""

    def make() -> None:
        templates = repo / ".memory" / "templates"
        templates.mkdir()
        (templates / "INDEX.md.j2").write_text(OWN)
        memctl("decide", "Theirs", "--rationale", "They wanted it.", "-i", "9")
        memctl("commit")
        assert OWN in (repo / ".memory" / "docs" / "INDEX.md").read_text()
        git(tmp_path, "clone", "-q", str(repo), str(tmp_path / "foreign"))

    once(make)
    return tmp_path / "foreign"


@pytest.mark.parametrize(
    "command",
    [
        ("rehydrate",),
        ("rehydrate", "--format", "xml"),
        ("rehydrate", "--format", "tokens"),
        ("rehydrate", "--budget", "60"),
        ("prompt", "system"),
        ("prompt", "user", "theirs"),
    ],
    ids=" ".join,
)
def test_packs_from_an_untrusted_clone_carry_a_notice(command: tuple[str, ...], foreign: Path, memctl: Memctl) -> None:
    notice = "Records from a clone that is not trusted"
    assert notice in memctl(*command, where=foreign).out
    git(foreign, "config", "memctl.trusted", "true")
    assert notice not in memctl(*command, where=foreign).out


@pytest.mark.parametrize("form", ["markdown", "xml", "yaml", "tokens", "event"])
def test_pack_from_an_untrusted_clone_is_judged_as_a_pack(form: str, foreign: Path, memctl: Memctl) -> None:
    pack = memctl("rehydrate", "--format", form, where=foreign).out
    assert "a pack keeps to its own budget" in memctl("quality", "-", "--json", stdin=pack, where=foreign).out


def test_status_reports_an_untrusted_clone(foreign: Path, memctl: Memctl) -> None:
    assert COMMAND in memctl("status", where=foreign).out
    assert memctl("status", "--json", where=foreign).data["trusted"] is False
    git(foreign, "config", "memctl.trusted", "true")
    assert "trusted" not in memctl("status", where=foreign).out
    assert memctl("status", "--json", where=foreign).data["trusted"] is True


def test_reading_does_not_trust_the_clone(foreign: Path, memctl: Memctl) -> None:
    for command in (["list"], ["show", "DEC"], ["search", "theirs"], ["check"], ["rehydrate"], ["status"], ["index"]):
        memctl(*command, where=foreign)
    assert git(foreign, "config", "--get", "memctl.trusted", check=False) == ""


def test_templates_of_the_project_are_not_used(foreign: Path, memctl: Memctl) -> None:
    (foreign / ".memory" / "templates" / "INDEX.md.j2").write_text("{{ 'a' * 10**9 }}")
    assert "An index of their own" not in memctl("index", where=foreign).out
    memctl("show", "§1.0", where=foreign)
    assert "can't tell whether the documents are up to date" in memctl("render", "--check", where=foreign, code=1).err


def test_check_reports_once_that_documents_are_not_compared(foreign: Path, memctl: Memctl) -> None:
    found = memctl("check", where=foreign)
    assert found.err.count("the rendered documents are not checked") == 1
    assert COMMAND in found.err
    assert "MEM308" not in found.out
    assert memctl("check", "--staged", where=foreign).code == 0


def test_check_compares_documents_in_a_trusted_clone(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_TRUST", "1")
    assert memctl("check", where=foreign).err == "nothing found\n"
    (foreign / ".memory" / "templates" / "INDEX.md.j2").write_text("# Another\n")
    assert "MEM308" in memctl("check", where=foreign, code=1).out


def test_the_first_write_renders_with_the_templates_of_the_project(foreign: Path, memctl: Memctl) -> None:
    memctl("learn", "Mine", where=foreign)
    assert OWN in (foreign / ".memory" / "docs" / "INDEX.md").read_text()
    assert "+# " not in git(foreign, "show", "--format=", "HEAD", "--", ".memory/docs/INDEX.md")


def test_resume_and_handoff_show_report_an_untrusted_clone(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("section", "add", "Payment")
    memctl("checkpoint", "save", "--task", "Refunds", "--doing", "A", "--next", "B")
    said = ("--reason", "Window full", "--summary", "Half done", "--immediate", "Go on", "--success", "Tests pass")
    memctl("handoff", "--to", "codex", "--section", "2.1", "--task", "Go on with refunds", *said)
    git(tmp_path, "clone", "-q", str(repo), str(tmp_path / "foreign"))
    foreign = tmp_path / "foreign"
    assert "in a clone that is not trusted; information" in memctl("checkpoint", "resume", where=foreign).out
    assert "from a clone that is not trusted" in memctl("handoff", "show", "HND", where=foreign).err
    git(foreign, "config", "memctl.trusted", "true")
    assert "trusted" not in memctl("checkpoint", "resume", where=foreign).out
    assert "trusted" not in memctl("handoff", "show", "HND", where=foreign).err
