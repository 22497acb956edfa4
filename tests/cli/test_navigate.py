"""`show` of markers and `index`: texts, JSON, tokens, earlier revisions, and what can't be shown."""

from __future__ import annotations

import os
import pty
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Memctl, git, process
from tests.test_architecture import loaded_by
from tests.write.test_documents import run_commands

DETAILS = "Intro to §2.1.\n\n## Schema\n\nTables, see DEC-2025-11-04-001.\n\n## Queues\n\nNone.\n"


@pytest.fixture(scope="module")
def made(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a section and its details, beside some code; tests get copies."""
    folder = tmp_path_factory.mktemp("made") / "shop"
    shutil.copytree(built, folder, symlinks=True)
    for path, text in {"src/auth/jwt.py": "import jwt\n", "src/db.py": "x = 1\n", "lib/db.py": "y = 1\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    details = folder.parent / "details.md"
    details.write_text(DETAILS)
    code = ("--code", "src/auth/jwt.py")
    writes = (
        ("project", "set", "--goal", "Sell", "--title", "The Shop"),
        ("section", "add", "Auth", "--path", "src/auth/**", "--overview", "Lets people in."),
        ("detail", "add", "Tokens", "--section", "2.1", *code, "--file", str(details)),
        ("decide", "Use PostgreSQL", "--section", "2.1", "--rationale", "It has transactions."),
    )
    run_commands(folder, writes)
    return folder


@pytest.fixture
def shop(repo: Path, made: Path) -> Path:
    shutil.rmtree(repo)
    shutil.copytree(made, repo, symlinks=True)
    git(repo, "add", "src", "lib")
    git(repo, "commit", "-qm", "code")
    return repo


def test_every_level_can_be_shown_with_or_without_the_sign(shop: Path, memctl: Memctl) -> None:
    for marker, begins in (
        ("1.0", "# 1.0 Executive summary of The Shop\n"),
        ("2.1", "# 2.1 Auth\n\nLets people in.\n"),
        ("3.1", "# 3.1 Tokens\n\nDetails of [§2.1 Auth].\n"),
        ("3.1.1", "## 3.1.1 Schema\n\nTables, see [DEC-2025-11-04-001].\n"),
    ):
        shown = memctl("show", marker)
        assert shown.out.startswith(begins)
        assert shown.err == ""
        assert memctl("show", f"§{marker}").out == shown.out
        assert "](" not in shown.out
        assert "<!--" not in shown.out
    assert memctl("show", "§4.auth.jwt").out == memctl("show", "§4.src/auth/jwt.py").out == "import jwt\n"
    assert memctl("show", "§4.src").out == "src/auth/jwt.py\nsrc/db.py\n"
    assert "Queues" not in memctl("show", "3.1.1").out


def test_ids_and_markers_are_shown_in_the_order_in_which_they_are_asked_for(shop: Path, memctl: Memctl) -> None:
    out = memctl("show", "3.1.2", "DEC-2025-11-04-001", "§4.auth.jwt", "2.1").out
    places = [out.index(text) for text in ("## 3.1.2 Queues", "id: DEC-2025-11-04-001", "import jwt", "# 2.1 Auth")]
    assert places == sorted(places)
    found = memctl("show", "3.1.2", "DEC-2025", "2.1", "--json")
    assert found.json["kind"] == "records"
    assert found.data["total"] == 3
    assert [record["id"] for record in found.data["records"]] == ["DEC-2025-11-04-001"]
    assert [place["marker"] for place in found.data["places"]] == ["§3.1.2", "§2.1"]
    assert "places" not in memctl("show", "DEC-2025", "--json").data


def test_json_has_parent_and_children(shop: Path, memctl: Memctl) -> None:
    (place,) = memctl("show", "3.1", "--json").data["places"]
    assert place == {
        "marker": "§3.1",
        "level": 3,
        "title": "Tokens",
        "path": ".memory/details/3.1-tokens.md",
        "parent": "§2.1",
        "children": ["§3.1.1", "§3.1.2", "§4.src/auth/jwt.py"],
        "text": memctl("show", "3.1").out,
    }
    (source,) = memctl("show", "§4.auth.jwt", "--json").data["places"]
    assert (source["marker"], source["parent"], source["children"]) == ("§4.src/auth/jwt.py", "§2.1", [])


def test_tokens_are_printed_on_standard_error_and_in_json(shop: Path, memctl: Memctl) -> None:
    shown = memctl("show", "2.1", "DEC-2025-11-04-001", "§4.auth.jwt", "--tokens")
    assert shown.out == memctl("show", "2.1", "DEC-2025-11-04-001", "§4.auth.jwt").out
    lines = shown.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["§2.1", "DEC-2025-11-04-001", "§4.src/auth/jwt.py"]
    assert all(line.endswith(" tokens (claude)") for line in lines)
    (place,) = memctl("show", "2.1", "--json", "--tokens").data["places"]
    page = shop.parent / "page.md"
    page.write_text(place["text"])
    assert place["tokens"] == memctl("tokens", str(page), "--json").data["files"][0]["tokens"]
    assert lines[0] == f"§2.1: {place['tokens']:,} tokens (claude)"


def test_unknown_marker_is_refused_with_near_ones(shop: Path, memctl: Memctl) -> None:
    for marker, said in (
        ("§2.2", "there is no page or heading §2.2\nhint: did you mean §2.1"),
        ("3.1.9", "there is no page or heading §3.1.9\nhint: did you mean §3.1"),
        ("§9", "there is no page or heading §9\nhint: `memctl page index` lists all markers"),
        ("§4.db", "§4.db matches several files:\n  §4.lib/db.py\n  §4.src/db.py\nhint: give more of the path"),
        ("§4.auth.jwtt", "no file of the repository matches §4.auth.jwtt\nhint: did you mean §4.src/auth/jwt.py?"),
        ("§4..memory/config.yaml", "no file of the repository matches"),
        ("§4.../../etc/passwd", "no file of the repository matches"),
        ("§4./etc/passwd", "no file of the repository matches"),
        ("§4..git/config", "no file of the repository matches"),
        ("4.1", "no file of the repository matches §4.1"),
    ):
        failed = memctl("show", marker, code=1)
        assert failed.out == "", marker
        assert said in failed.err, marker


def test_binary_large_and_missing_files_are_reported(shop: Path, memctl: Memctl) -> None:
    (shop / "logo.png").write_bytes(b"\x89PNG\0\0\0")
    (shop / "huge.txt").write_bytes(b"x" * (2 * 1024 * 1024 + 1))
    (shop / "latin.txt").write_bytes(b"gr\xfc\xdfe\n")
    (shop / "empty.txt").write_text("")
    (shop / ".gitignore").write_text("secret.txt\n")
    (shop / "secret.txt").write_text("SECRET\n")
    (shop / "link.txt").symlink_to("/etc/hostname")
    git(shop, "add", "link.txt")
    assert "logo.png is not text" in memctl("show", "§4.logo.png", code=1).err
    assert "huge.txt is too large to be shown" in memctl("show", "§4.huge.txt", code=1).err
    assert memctl("show", "§4.latin.txt").out == "gr\ufffd\ufffde\n"
    assert memctl("show", "§4.empty.txt").out == ""
    for name in ("secret.txt", "link.txt"):
        assert "no file of the repository matches" in memctl("show", f"§4.{name}", code=1).err
    (shop / "src" / "db.py").unlink()
    (shop / "src" / "db.py").symlink_to("/etc/hostname")
    assert "too large" not in memctl("show", "§4.src/db.py", code=1).err
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "odd files")
    assert "logo.png is not text" in memctl("show", "§4.logo.png", "--at", "HEAD", code=1).err
    assert "too large to be shown" in memctl("show", "§4.huge.txt", "--at", "HEAD", code=1).err


def test_show_at_a_revision_gives_the_state_of_that_revision(shop: Path, memctl: Memctl) -> None:
    git(shop, "tag", "v1")
    memctl("section", "edit", "2.1", "--title", "Renamed", "--overview", "Other.")
    memctl("detail", "edit", "3.1", "--file", "-", stdin="## Only\n\nx\n")
    memctl("archive", "DEC-2025-11-04-001")
    (shop / "src" / "auth" / "jwt.py").write_text("changed\n")
    (shop / "src" / "new.py").write_text("new\n")
    git(shop, "rm", "-q", "src/db.py")
    git(shop, "add", "src")
    git(shop, "commit", "-qm", "more code")
    assert memctl("show", "2.1", "--at", "v1").out.startswith("# 2.1 Auth\n\nLets people in.\n")
    assert "Use PostgreSQL" in memctl("show", "2.1", "--at", "v1").out
    assert "Use PostgreSQL" not in memctl("show", "2.1").out
    assert "Tables" in memctl("show", "3.1.1", "--at", "v1").out
    assert "there is no page or heading §3.1.2" in memctl("show", "3.1.2", code=1).err
    assert memctl("show", "§4.auth.jwt", "--at", "v1").out == "import jwt\n"
    assert memctl("show", "§4.src", "--at", "v1").out == "src/auth/jwt.py\nsrc/db.py\n"
    assert "no file of the repository matches" in memctl("show", "§4.new.py", "--at", "v1", code=1).err
    assert memctl("show", "§4.db", code=0).out == "y = 1\n"  # of the two, one is left
    (place,) = memctl("show", "2.1", "--json", "--at", "v1").data["places"]
    assert place["title"] == "Auth"
    assert "no revision" in memctl("show", "2.1", "--at", "nowhere", code=1).err


def test_show_reads_files_of_the_working_tree(shop: Path, memctl: Memctl) -> None:
    (shop / "src" / "auth" / "jwt.py").write_text("dirty\n")
    (shop / "untracked.py").write_text("new\n")
    (shop / "lib" / "db.py").unlink()
    assert memctl("show", "§4.auth.jwt").out == "dirty\n"
    assert memctl("show", "§4.untracked").out == "new\n"
    assert memctl("show", "§4.db").out == "x = 1\n"


def test_showing_a_place_writes_nothing_and_counts_no_access(shop: Path, memctl: Memctl) -> None:
    def state() -> tuple[object, ...]:
        files = {str(f): f.stat().st_mtime_ns for f in shop.rglob("*") if f.is_file() and ".git" not in f.parts}
        return files, (shop / ".git" / "index").read_bytes(), git(shop, "for-each-ref")

    before = state()
    for args in (["show", "1.0", "2.1", "3.1.1", "§4.auth.jwt", "--tokens"], ["index", "--tokens"], ["index", "--json"],
                 ["show", "2.1", "--at", "HEAD"], ["index", "--at", "HEAD~1"]):  # fmt: skip
        memctl(*args)
        assert state() == before, args
    assert memctl("list", "--json").data["records"][0]["access_count"] == 0


def test_index_shows_every_marker_with_its_tokens(shop: Path, memctl: Memctl) -> None:
    text = memctl("index").out
    assert text.startswith("# Navigation index of The Shop\n")
    assert "](" not in text
    for marker in ("§1.0", "§2.1", "§3.1", "§3.1.1", "§3.1.2"):
        assert f"- {marker} " in text or f"[{marker}" in text
    rows = [line.split(maxsplit=2) for line in memctl("index", "--tokens").out.splitlines()]
    assert rows[0] == ["marker", "tokens", "title"]
    assert [(row[0], row[2]) for row in rows[1:]] == [
        ("§1.0", "The Shop"), ("§2.1", "Auth"), ("§3.1", "Tokens"), ("§3.1.1", "Schema"), ("§3.1.2", "Queues"),
    ]  # fmt: skip
    tree = memctl("index", "--json", "--tokens")
    assert tree.json["kind"] == "index"
    assert [f"{item['tokens']:,}" for item in tree.data["places"]] == [row[1] for row in rows[1:]]
    assert all("text" not in item for item in tree.data["places"])
    assert [(item["marker"], item["parent"]) for item in tree.data["places"]] == [
        ("§1.0", None), ("§2.1", "§1.0"), ("§3.1", "§2.1"), ("§3.1.1", "§3.1"), ("§3.1.2", "§3.1"),
    ]  # fmt: skip
    assert "tokens" not in memctl("index", "--json").data["places"][0]
    assert [item["marker"] for item in memctl("index", "--json", "--at", "HEAD~3").data["places"]] == ["§1.0", "§2.1"]
    assert "Tokens" not in memctl("index", "--at", "HEAD~3").out


def test_an_empty_memory_has_an_index_and_a_level_1(repo: Path, memctl: Memctl) -> None:
    assert "`memctl section add` adds one" in memctl("index").out
    assert memctl("index", "--tokens").out.splitlines()[1].startswith("§1.0")
    assert memctl("show", "1.0").out.startswith("# 1.0 Executive summary of shop\n")


def test_the_index_names_what_can_not_be_read(shop: Path, memctl: Memctl) -> None:
    (shop / ".memory" / "sections" / "2.2-broken.md").write_text("---\nid: §2.2\n---\n")
    found = memctl("index", "--json", code=None)
    assert [fault["path"] for fault in found.json["faults"]] == [".memory/sections/2.2-broken.md"]
    assert "2.2-broken.md" in memctl("index", code=None).err
    assert "2.2-broken.md" in memctl("index", "--tokens", code=None).err
    failed = memctl("show", "2.2", code=1).err
    assert ".memory/sections/2.2-broken.md:1: title: is missing" in failed  # it is there, and can't be read


def test_unreadable_page_does_not_prevent_showing_others(shop: Path, memctl: Memctl) -> None:
    for name in ("sections/2.2-broken.md", "details/3.2-broken.md", "project.md"):
        (shop / ".memory" / name).write_text("---\nid: x\n---\n")
    for marker, path in (
        ("2.2", "sections/2.2-broken.md"), ("3.2", "details/3.2-broken.md"), ("3.2.1", "details/3.2-broken.md"),
        ("1.0", "project.md"),
    ):  # fmt: skip
        failed = memctl("show", marker, code=1)
        assert failed.err.startswith(f"error: the page §{marker} can't be read: .memory/{path}:1: title: is missing\n")
        assert "lists all files that can't be read" in failed.err
    shown = memctl("show", "2.1")
    assert shown.out.startswith("# 2.1 Auth\n")
    assert "warning: .memory/details/3.2-broken.md:1: title: is missing\n" in shown.err
    for args in ([], ["--tokens"], ["--json"]):
        found = memctl("index", *args, code=1)
        assert "§3.1.2" in found.out
        assert "warning: .memory/project.md:1: title: is missing\n" in found.err
    places = memctl("index", "--json", code=1).data["places"]
    assert [item["marker"] for item in places] == ["§2.1", "§3.1", "§3.1.1", "§3.1.2"]
    assert memctl("index", "--at", "HEAD").err == ""
    assert memctl("show", "§4.auth.jwt").err == ""


def test_two_runs_in_one_process_see_their_own_memories(shop: Path, memctl: Memctl) -> None:
    assert "Lets people in." in memctl("show", "2.1").out
    memctl("section", "edit", "2.1", "--overview", "Keeps people out.")
    assert "Keeps people out." in memctl("show", "2.1").out
    assert "Lets people in." in memctl("show", "2.1", "--at", "HEAD~1").out


def test_showing_a_record_or_a_file_does_not_import_jinja2(shop: Path) -> None:
    for reference in ("DEC-2025", "§4.auth.jwt"):
        code = f"import memctl.cli.main as m; m.main(['-C', {str(shop)!r}, 'show', {reference!r}])"
        assert "jinja2" not in loaded_by(code)


def test_code_on_a_page_is_shown_as_it_was_written(shop: Path, memctl: Memctl) -> None:
    code = "handlers[name](event)"
    memctl("detail", "edit", "3.1", "--file", "-", stdin=f"## Code\n\n```py\n{code}\n```\n\n`{code}`\n")
    assert memctl("show", "3.1.1").out == f"## 3.1.1 Code\n\n```py\n{code}\n```\n\n`{code}`\n"


def test_show_works_from_anywhere_in_the_repository(shop: Path, memctl: Memctl) -> None:
    expected = memctl("show", "§4.auth.jwt", "2.1").out
    assert memctl("show", "§4.auth.jwt", "2.1", where=shop / "src" / "auth").out == expected
    other = shop.parent / "other"
    git(shop, "worktree", "add", "-q", "-b", "side", os.fspath(other))
    assert memctl("show", "§4.auth.jwt", "2.1", where=other).out == expected


def test_control_characters_of_a_body_do_not_reach_a_terminal(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Hostile", "--lesson", "Bell").id
    file = next(repo.rglob(f"{made}*.md"))
    file.write_text(file.read_text().replace("Bell", "Bell \x07, escape \x1b[31m, return \rX, eight bits \x9b2J."))
    for args in (["show", made], ["search", "escape"], ["rehydrate"], ["log"]):
        master, slave = pty.openpty()
        running = process(repo, *args, stdout=slave, stderr=slave)
        os.close(slave)
        shown = b""
        with suppress(OSError):  # the terminal is closed
            while block := os.read(master, 65_536):
                shown += block
        os.close(master)
        running.wait(timeout=30)
        shown = re.sub(rb"\x1b\[(?:[0-9;]*m|K)", b"", shown.replace(b"\x1b[31m,", b"RED")).replace(b"\r\n", b"\n")
        assert b"Hostile" in shown, args
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown.decode()), (args, shown)
        assert b"RED" not in shown, args
