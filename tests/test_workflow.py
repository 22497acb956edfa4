"""The workflow of `memctl install github`: its own steps, in fresh clones, with the built wheel and a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from tests.conftest import Memctl, git

WORKFLOW = Path(".github/workflows/memctl.yml")
OWN = "github-actions[bot]"
COMMENT = """\
<!-- memctl impact -->
### memctl: 1 rejected option, 1 governing record, 1 changed record

**Rejected options that this change brings back**

- **MongoDB**: rejected by DEC-2025-11-04-001 (Adopt PostgreSQL): no joins (`src/pay.py:1`, `NEW`, `commit TIP`)

**Records that govern the changed code**

- **DEC-2025-11-04-001**: Adopt PostgreSQL: Orders need transactions. (`src/pay.py`)

**Records of this branch**

- **NEW**: added: Use MongoDB for payments (`.memory/decisions/2025-11/NEW-use-mongodb-for-payments.md`)
"""


class Host(NamedTuple):
    """A server that speaks the part of GitHub's API that the workflow uses; a repository with the workflow; memctl."""

    url: str
    comments: list[dict[str, Any]]
    requests: list[tuple[str, str, Any]]
    origin: Path
    program: Path


class Handler(BaseHTTPRequestHandler):
    server: Any

    def reply(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def serve(self) -> None:
        comments: list[dict[str, Any]] = self.server.comments
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        data = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        self.server.requests.append((self.command, path, data))
        notes = "/projects/5/merge_requests/7/notes"
        if not {"Bearer secret", "secret"} & {self.headers["Authorization"], self.headers["PRIVATE-TOKEN"]}:
            self.reply(401, {"message": "Unauthorized"})
        elif path == "/user":
            self.reply(200, {"id": 3})
        elif self.command == "GET" and path == notes:
            self.reply(200, comments)
        elif self.command == "POST" and path == notes:
            comments.append({"id": 1, "author": {"id": 3}, **data})
            self.reply(201, comments[-1])
        elif self.command == "PUT" and path == f"{notes}/1":
            comments[-1].update(data)
            self.reply(200, comments[-1])
        elif self.command == "GET" and path == "/repos/ada/shop/issues/7/comments":
            size, page = int(query["per_page"][0]), int(query["page"][0])
            self.reply(200, comments[size * (page - 1) : size * page])
        elif self.command == "POST" and path == "/repos/ada/shop/issues/7/comments":
            comments.append({"id": 1000 + len(comments), "user": {"login": OWN}, **data})
            self.reply(201, comments[-1])
        elif self.command == "PATCH" and (own := re.fullmatch(r"/repos/ada/shop/issues/comments/(\d+)", path)):
            next(comment for comment in comments if comment["id"] == int(own[1])).update(data)
            self.reply(200, {})
        elif self.command == "POST" and path == "/repos/ada/shop/pulls":
            self.reply(201, {"html_url": "https://github.example/ada/shop/pull/8"})
        else:
            self.reply(404, {"message": "Not Found"})

    do_GET = do_POST = do_PUT = do_PATCH = serve

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with pip, and what memctl depends on, but without memctl."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path) + "\n")
    return folder


@pytest.fixture
def host(repo: Path, memctl: Memctl, wheel: Path, environment: Path, tmp_path: Path) -> Iterator[Host]:
    (repo / "src").mkdir()
    (repo / "src/pay.py").write_text("import psycopg\n")
    (repo / "tools").mkdir()
    (repo / "tools" / wheel.name).write_bytes(wheel.read_bytes())
    memctl("install", "github", "--from", str(repo / "tools" / wheel.name), "--yes")
    git(repo, "add", "src", "tools", ".github")
    git(repo, "commit", "-qm", "feat: pay")
    reasons = ("--rationale", "Orders need transactions. They come in pairs.", "--code", "src/pay.py")
    memctl("decide", "Adopt PostgreSQL", *reasons, "--alternative", "MongoDB: no joins")
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(origin))
    git(repo, "remote", "add", "origin", str(origin))
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.comments, server.requests = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield Host(url, server.comments, server.requests, origin, environment)
    server.shutdown()
    server.server_close()


def bring_back_mongodb(repo: Path, memctl: Memctl) -> str:
    """Push what the decision rejected on a branch with an evil name, and return the comment that it deserves."""
    git(repo, "checkout", "-qb", "$(touch${IFS}pwned)")
    (repo / "src/pay.py").write_text("import pymongo\n")
    git(repo, "commit", "-qam", "feat: payments on mongodb `touch pwned`")
    tip = git(repo, "rev-parse", "--short=10", "HEAD").strip()
    new = memctl("decide", "Use MongoDB for payments", "--rationale", "Easy to shard").id
    git(repo, "push", "-q", "origin", "HEAD")
    return COMMENT.replace("TIP", tip).replace("NEW", new)


def run(host: Host, folder: Path, job: str, values: dict[str, str]) -> str:
    """Run a job's steps in a clone as a runner does, and return the job's summary; a failing step fails the test.

    `values` are those of the expressions in the workflow.
    """
    values = {"github.token": "secret", "github.repository": "ada/shop", **values}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], str(text))

    folder.mkdir()
    git(folder, "clone", "-q", "--no-local", str(host.origin), "work")
    work, summary = folder / "work", folder / "summary.md"
    workflow = yaml.safe_load((work / WORKFLOW).read_text())
    definition = workflow["jobs"][job]
    env = runner(host) | {
        "GITHUB_API_URL": host.url,
        "GITHUB_REPOSITORY": "ada/shop",
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(folder),
        **{name: filled(value) for name, value in {**workflow["env"], **definition.get("env", {})}.items()},
    }
    for step in definition["steps"]:
        if step.get("uses", "").startswith("actions/checkout@v"):
            assert step["with"]["fetch-depth"] == 0
            git(work, "checkout", "-q", filled(step["with"]["ref"]))
        elif "run" in step and is_true(step.get("if", ""), values):
            more = {name: filled(value) for name, value in step.get("env", {}).items()}
            execute(work, step["name"], step["run"], {**env, **more})
    return summary.read_text() if summary.exists() else ""


def runner(host: Host) -> dict[str, str]:
    """Return the environment of a runner, in which pip finds what memctl depends on installed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMCTL", "PYTHON"))}
    path = f"{host.program / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return env | {"PATH": path, "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}


def execute(work: Path, name: str, script: str, env: dict[str, str]) -> None:
    file = work.parent / "step.sh"
    file.write_text(script)
    done = subprocess.run(["bash", "-e", str(file)], cwd=work, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name}\n{done.stdout}\n{done.stderr}"


def is_true(condition: str, values: dict[str, str]) -> bool:
    """Return whether a condition of a step holds; the only form is `a == b`."""
    if not condition:
        return True
    left, right = condition.split(" == ")
    return values[left] == values[right]


def pull_request(repo: Path, of: str) -> dict[str, str]:
    return {
        "github.event.pull_request.base.sha": git(repo, "rev-parse", "main").strip(),
        "github.event.pull_request.head.sha": git(repo, "rev-parse", "HEAD").strip(),
        "github.event.pull_request.head.repo.full_name": of,
        "github.event.pull_request.number": "7",
    }


def test_branch_that_brings_back_a_rejected_option_gets_one_comment_which_is_updated(
    host: Host, repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    mine = "<!-- memctl impact --> mine"
    host.comments.extend({"id": n, "user": {"login": "bob"}, "body": mine} for n in range(100))
    expected = bring_back_mongodb(repo, memctl)
    summary = run(host, tmp_path / "first", "review", pull_request(repo, "ada/shop"))
    assert host.comments[100:] == [{"id": 1100, "user": {"login": OWN}, "body": expected}]
    assert summary == expected
    (repo / "src/pay.py").write_text("import psycopg\n")
    git(repo, "commit", "-qam", "fix: as decided")
    git(repo, "push", "-q", "origin", "HEAD")
    run(host, tmp_path / "second", "review", pull_request(repo, "ada/shop"))
    assert len(host.comments) == 101
    assert "src/pay.py:1" not in host.comments[100]["body"]
    assert {comment["body"] for comment in host.comments[:100]} == {mine}
    assert not list(tmp_path.rglob("pwned"))


def test_pull_request_of_a_fork_gets_the_summary_and_no_request_is_made(
    host: Host, repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    expected = bring_back_mongodb(repo, memctl)
    summary = run(host, tmp_path / "run", "review", pull_request(repo, "eve/shop"))
    assert summary == expected
    assert host.requests == []


def test_change_of_which_there_is_nothing_to_say_gets_no_comment(host: Host, repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-qb", "side")
    (repo / "other.py").write_text("a = 1\n")
    git(repo, "add", "other.py")
    git(repo, "commit", "-qm", "feat: more")
    git(repo, "push", "-q", "origin", "HEAD")
    assert "nothing to say" in run(host, tmp_path / "run", "review", pull_request(repo, "ada/shop"))
    assert [method for method, *_ in host.requests] == ["GET"]


def test_new_error_of_check_fails_the_job(host: Host, repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-qb", "side")
    file = next((repo / ".memory/decisions").rglob("*.md"))
    copy = file.with_name(file.name.replace("adopt", "copied"))
    copy.write_text(file.read_text())
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "docs: a copy", "--no-verify")
    git(repo, "push", "-q", "origin", "HEAD")
    with pytest.raises(AssertionError, match=r"Check\s+::error file=\.memory/decisions/.*MEM104"):
        run(host, tmp_path / "run", "review", pull_request(repo, "ada/shop"))


def documents_are_late(repo: Path) -> dict[str, str]:
    """Push a record whose documents were never rendered to the default branch."""
    config = repo / ".memory/config.yaml"
    lines = [line for line in config.read_text().splitlines() if not line.startswith(("docs:", "default_branch:"))]
    config.write_text("\n".join([*lines, "docs: default-branch", "default_branch: main", ""]))
    git(repo, "rm", "-rqf", "--ignore-unmatch", ".memory/docs")
    git(repo, "commit", "-qam", "chore: documents are rendered by the workflow")
    git(repo, "push", "-q", "origin", "HEAD:main")
    return {"github.event.repository.default_branch": "main"}


def test_push_to_the_default_branch_renders_the_documents(host: Host, repo: Path, tmp_path: Path) -> None:
    values = documents_are_late(repo)
    before = git(host.origin, "rev-parse", "main")
    run(host, tmp_path / "run", "render", values)
    assert git(host.origin, "rev-parse", "main^") == before
    assert ".memory/docs/INDEX.md" in git(host.origin, "ls-tree", "-r", "--name-only", "main")
    rendered = git(host.origin, "rev-parse", "main")
    run(host, tmp_path / "again", "render", values)
    assert git(host.origin, "rev-parse", "main") == rendered
    assert host.requests == []


def test_documents_of_a_protected_branch_are_proposed(host: Host, repo: Path, tmp_path: Path) -> None:
    values = documents_are_late(repo)
    before = git(host.origin, "rev-parse", "main")
    hook = host.origin / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ]\n')
    hook.chmod(0o755)
    summary = run(host, tmp_path / "run", "render", values)
    assert git(host.origin, "rev-parse", "main") == before
    assert git(host.origin, "rev-parse", "memctl/documents^") == before
    pull = {"title": "docs(memory): render the documents", "head": "memctl/documents", "base": "main"}
    assert host.requests == [("POST", "/repos/ada/shop/pulls", pull)]
    assert summary == "https://github.example/ada/shop/pull/8\n"


def test_gitlab_gets_one_note_which_is_updated(
    host: Host, repo: Path, memctl: Memctl, wheel: Path, tmp_path: Path
) -> None:
    memctl("install", "gitlab", "--from", str(repo / "tools" / wheel.name), "--yes")
    expected = bring_back_mongodb(repo, memctl)
    jobs = yaml.safe_load((repo / ".gitlab/memctl.yml").read_text())
    env = runner(host) | {
        "CI_API_V4_URL": host.url,
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(repo, "rev-parse", "main").strip(),
        **jobs[".memctl"]["variables"],
    }
    git(tmp_path, "clone", "-q", str(host.origin), "work")
    git(tmp_path / "work", "checkout", "-q", git(repo, "rev-parse", "HEAD").strip())
    shutil.copytree(repo / "tools", tmp_path / "work/tools", dirs_exist_ok=True)
    script = "\n".join([*jobs[".memctl"]["before_script"], *jobs["memctl-review"]["script"]])
    execute(tmp_path / "work", "without a token", script, env)
    assert host.requests == []
    for _ in range(2):
        execute(tmp_path / "work", "with a token", script, {**env, "MEMCTL_TOKEN": "secret"})
    assert host.comments == [{"id": 1, "author": {"id": 3}, "body": expected}]
    assert [method for method, *_ in host.requests] == ["GET", "GET", "POST", "GET", "GET", "PUT"]


def test_workflow_gives_least_permissions_and_no_script_an_expression(repo: Path, memctl: Memctl) -> None:
    memctl("install", "github", "--from", "git+https://example.org/memctl.git", "--yes")
    text = (repo / WORKFLOW).read_text()
    workflow = yaml.safe_load(text)
    assert "pull_request_target" not in text
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["review"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    uses = [step["uses"] for step in steps if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", name) for name in uses)
    gitlab = memctl("install", "gitlab", "--json", "-n").data["files"][0]
    assert set(yaml.safe_load(gitlab["after"])) == {".memctl", "memctl-review", "memctl-render"}
