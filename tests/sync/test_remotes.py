"""Remotes that are no folder: Git's own protocol, and HTTP through Git's CGI program; clones of several shapes."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Memctl, git
from tests.sync.conftest import Clone
from tests.sync.test_sync import errors, the, write

EXEC = Path(git(Path(), "--exec-path").strip())


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def daemon(bare: Path) -> Iterator[str]:
    """The address of the repository at a `git daemon`."""
    if not (EXEC / "git-daemon").exists():
        pytest.skip("there is no git daemon")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(EXEC / "git-daemon"), "--export-all", "--enable=receive-pack", f"--base-path={bare.parent}"]
    process = subprocess.Popen(
        [*command, f"--port={port}", "--listen=127.0.0.1", str(bare.parent)], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"git://127.0.0.1:{port}/{bare.name}"
    finally:
        process.terminate()
        process.wait()


class _Backend(http.server.BaseHTTPRequestHandler):
    """Git's CGI program behind Python's web server."""

    root = ""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        size = int(self.headers.get("Content-Length") or 0)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "REMOTE_USER": "ada",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(size),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.rfile.read(size) if size else self._chunks()
        env["CONTENT_LENGTH"] = str(len(body))
        out = subprocess.run([EXEC / "git-http-backend"], input=body, env=env, capture_output=True).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_POST = do_GET

    def _chunks(self) -> bytes:
        found = b""
        while self.headers.get("Transfer-Encoding") == "chunked" and (size := int(self.rfile.readline(), 16)):
            found += self.rfile.read(size)
            self.rfile.readline()
        return found

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def web(bare: Path) -> Iterator[str]:
    """The address of the repository at a web server."""
    if not (EXEC / "git-http-backend").exists() or not (EXEC / "git-remote-http").exists():
        pytest.skip("this Git has no HTTP")
    handler = type("Backend", (_Backend,), {"root": str(bare.parent)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{bare.name}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("protocol", ["daemon", "web"])
def test_remote_behind_a_server_is_synced(
    memctl: Memctl, bob: Memctl, one: Path, two: Path, protocol: str, request: pytest.FixtureRequest
) -> None:
    for folder in (one, two):
        git(folder, "remote", "set-url", "origin", request.getfixturevalue(protocol))
    memctl("decide", "By one", where=one)
    memctl("own", "acquire", "2.1", where=one)
    bob("decide", "By two", where=two)
    bob("own", "acquire", "2.1", where=two)
    memctl("sync", where=one)
    assert "coordination state: section §2.1" in bob("sync", where=two).out
    memctl("sync", where=one)
    assert the(memctl, one, "By one") == the(memctl, two, "By one")
    assert git(one, "rev-parse", "HEAD") == git(two, "rev-parse", "HEAD")


def test_linked_worktree_with_its_own_branch_is_synced(memctl: Memctl, one: Path, two: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(two, "worktree", "add", "-q", "-b", "side", str(linked))
    git(linked, "branch", "-q", "--set-upstream-to=origin/main")
    git(linked, "config", "push.default", "upstream")
    memctl("decide", "By one", where=one)
    memctl("sync", where=one)
    memctl("decide", "By linked", where=linked)
    memctl("sync", where=linked)
    assert the(memctl, linked, "By one")
    assert git(two, "status", "--porcelain") == ""
    memctl("sync", where=two)
    assert the(memctl, two, "By linked")


def test_memory_in_a_subfolder_is_synced_with_its_code(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    part = repo / "services" / "shop"
    part.mkdir(parents=True)
    memctl("init", "--here", "--project", "part", where=part)
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "nested.git"))
    clones = [tmp_path / "left", tmp_path / "right"]
    for number, folder in enumerate(clones):
        git(tmp_path, "clone", "-q", str(tmp_path / "nested.git"), str(folder))
        git(folder, "config", "memctl.trusted", "true")
        memctl("decide", f"By {number}", where=folder / "services" / "shop")
        write(folder, f"services/shop/code{number}.py", "1\n")
    for folder in (*clones, clones[0]):
        memctl("sync", "--with-code", where=folder / "services" / "shop")
    for folder in clones:
        inner = folder / "services" / "shop"
        assert {r["title"] for r in memctl("list", "--json", where=inner).data["records"]} == {"By 0", "By 1"}
        assert (inner / "code0.py").exists()
        assert (inner / "code1.py").exists()
        assert errors(memctl, inner) == []
        assert git(folder, "status", "--porcelain") == ""


def test_criss_cross_histories_are_synced(memctl: Memctl, one: Path, two: Path) -> None:
    """Each side has merged an earlier commit of the other, so that there are two bases."""
    write(one, "one.py", "1\n")
    write(two, "two.py", "2\n")
    first, second = git(one, "rev-parse", "HEAD").strip(), git(two, "rev-parse", "HEAD").strip()
    git(one, "fetch", "-q", str(two), "main")
    git(two, "fetch", "-q", str(one), "main")
    git(one, "merge", "-q", "-m", "crossed", second)
    git(two, "merge", "-q", "-m", "crossed", first)
    base = the(memctl, one, "Shared")
    memctl("edit", base, "--add", "tags=one", where=one)
    memctl("edit", base, "--add", "tags=two", where=two)
    write(one, "one.py", "1\nby one\n")
    write(two, "two.py", "2\nby two\n")
    memctl("sync", "--with-code", where=one)
    assert len(git(two, "merge-base", "--all", "HEAD", git(one, "rev-parse", "HEAD").strip(), check=False).split()) in (
        0,
        2,
    )
    memctl("sync", "--with-code", where=two)
    assert (two / "one.py").read_text() == "1\nby one\n"
    assert sorted(memctl("show", base, "--json", where=two).data["records"][0]["tags"]) == ["one", "two"]


def test_documents_outside_git_are_kept_out_by_a_sync(memctl: Memctl, clone: Clone) -> None:
    one = clone("first")
    config = (one / ".memory" / "config.yaml").read_text()
    write(one, ".memory/config.yaml", config + "docs: false\n")
    memctl("render", where=one)
    memctl("sync", where=one)
    two = clone("second")
    memctl("decide", "By one", where=one)
    memctl("decide", "By two", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert not [path for path in git(two, "ls-files").split() if path.startswith(".memory/docs/")]
    assert errors(memctl, two) == []


def test_documents_edited_by_hand_are_kept_and_others_are_rendered(memctl: Memctl, one: Path, two: Path) -> None:
    document = two / ".memory" / "docs" / "1.0-executive-summary.md"
    document.write_text(document.read_text() + "By hand.\n")
    git(two, "commit", "-qam", "by hand")
    memctl("decide", "By one", "--section", "2.1", where=one)
    memctl("decide", "By two", "--section", "2.1", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert "By hand." in document.read_text()
    page = (two / ".memory" / "docs" / "2.1-payment.md").read_text()
    assert "By one" in page
    assert "By two" in page


def test_line_ends_converted_by_git_leave_no_changes(memctl: Memctl, one: Path, two: Path) -> None:
    write(one, ".gitattributes", "*.bat text eol=crlf\n")
    write(one, "run.bat", "echo one\n")
    memctl("sync", "--with-code", where=one)
    memctl("decide", "By two", where=two)
    memctl("sync", "--with-code", where=two)
    assert (two / "run.bat").read_bytes() == b"echo one\r\n"
    assert git(two, "status", "--porcelain") == ""


def test_unusual_paths_are_synced(memctl: Memctl, one: Path, two: Path) -> None:
    for name in ("with space.txt", "ünïcode.txt", 'quote".txt', "new\nline.txt", "deep/er/file.txt"):
        write(one, name, "1\n")
    os.symlink("app.py", one / "link")
    git(one, "add", "link")
    git(one, "commit", "-qm", "link")
    write(two, "other name.txt", "2\n")
    memctl("decide", "By one", where=one)
    memctl("decide", "By two", where=two)
    memctl("sync", "--with-code", where=one)
    memctl("sync", "--with-code", where=two)
    assert git(two, "status", "--porcelain") == ""
    assert os.readlink(two / "link") == "app.py"


def test_branch_and_shared_state_are_fetched_over_one_connection(
    one: Path, two: Path, memctl: Memctl, tmp_path: Path
) -> None:
    program, log = tmp_path / "upload-pack", tmp_path / "connections"
    program.write_text(f'#!/bin/sh\necho one >> "{log}"\nexec git upload-pack "$@"\n')
    program.chmod(0o755)
    write(one, "code", "x")
    memctl("own", "acquire", "2.1", where=one)
    memctl("sync", "--with-code", where=one)
    git(two, "config", "remote.origin.uploadpack", str(program))
    memctl("sync", "--with-code", where=two)
    assert memctl("own", "list", "--json", where=two).data == memctl("own", "list", "--json", where=one).data
    assert log.read_text().split() == ["one"]


def test_sync_after_a_failed_fetch_of_the_state_gets_the_state(
    one: Path, two: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("own", "acquire", "2.1", where=one)
    memctl("sync", where=one)
    write(one, "code", "x")
    memctl("sync", "--no-push", where=one)
    git(one, "push", "-q")
    lock = two / ".git/refs/memctl/remotes/origin/coordination.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    monkeypatch.setattr("memctl.git.refs._PATIENCE", 0.1)
    assert "has locked" in memctl("sync", where=two, code=1).err
    assert git(one, "rev-parse", "HEAD") == git(two, "rev-parse", "HEAD")
    lock.unlink()
    memctl("sync", where=two)
    assert memctl("own", "list", "--json", where=two).data == memctl("own", "list", "--json", where=one).data
