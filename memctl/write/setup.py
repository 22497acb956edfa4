"""Setting up a memory in a repository."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import git, trust
from memctl.git.repository import Repository, open_repository, refuse_bare
from memctl.record import config as configuration
from memctl.record import frontmatter
from memctl.record.change import Change, Write
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG, FOLDER, RESTORE, refuse_foreign, refuse_link, refuse_repository
from memctl.write import documents


def make_repository(folder: Path) -> None:
    """Create a Git repository in a folder, and the folder if it is missing.

    Raises MemctlError in a bare repository, which can't have a memory.
    """
    refuse_bare(folder)
    folder.mkdir(parents=True, exist_ok=True)
    git.write(["init", "--quiet"], folder)


def plan(
    start: Path, environ: Mapping[str, str], project: str | None, *, here: bool = False, docs: str = ""
) -> tuple[Memory, Change]:
    """Return the memory that is to be created, and the Change that creates it.

    The memory's folder is in the worktree's root, or with `here` in the folder `start`. `project` is the project's
    name, None for that of the repository at the remote or, without a remote or with `here`, of the folder around it.
    `docs` is the value of the setting `docs` in config.yaml; "" stands for `default-branch` if there is a remote, else
    for the default. Raises MemctlError if there is a memory already, or if the folder `.memory` is another tool's.
    """
    repository = open_repository(start)
    parent = start.resolve() if here else repository.top
    folder = parent / FOLDER
    refuse_link(folder)
    refuse_repository(folder)
    refuse_foreign(folder)
    refuse_present(folder)
    _refuse_absent(repository, folder)
    own = os.fsencode(parent.name).decode(errors="replace")  # Python may have read it as ASCII
    name = project or ("" if here else _name_at_remote(repository)) or own or "project"
    docs = docs or (configuration.DEFAULT_BRANCH if repository.remotes() else "")
    text = _config_text(name) + (_documents_lines(repository, docs) if docs else "")
    memory = Memory(folder, repository, environ, configuration.parse(text, f"{FOLDER}/{CONFIG}"))
    writes = (Write(CONFIG, text), Write("README.md", readme(name)), Write(".gitattributes", documents.attributes()))
    new = tuple(write for write in writes if write.path == CONFIG or not (folder / write.path).exists())
    change = Change(op="init", title=name, writes=new)
    return memory, change


def _name_at_remote(repository: Repository) -> str:
    """Return the name of the repository in the address of its remote, such as "shop"; "" if it has none."""
    names = repository.remotes()
    name = "origin" if "origin" in names else (names or [""])[0]
    address = repository.settings().get(f"remote.{name}.url", "").rstrip("/").removesuffix("/.git")
    last = re.split(r"[/:\\]", address)[-1].removesuffix(".git")
    return last if last.isprintable() else ""


def refuse_present(folder: Path) -> None:
    """Raise MemctlError if a folder has a memory's settings already."""
    if (folder / CONFIG).exists():
        raise MemctlError(f"this repository already has a memory: {folder}", "`memctl status` shows what it has")


def plan_documents(memory: Memory, value: str) -> Change:
    """Return the Change that sets the setting `docs` in config.yaml to `value`."""
    text = files.read(memory.folder, CONFIG)
    changed = with_documents(memory.repository, text, value)
    return Change(op="edit", title=f"{CONFIG} (docs: {value})", writes=(Write(CONFIG, changed, text),))


def with_documents(repository: Repository, text: str, docs: str) -> str:
    """Return the text of config.yaml with the setting `docs`."""
    rest = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("docs:", "default_branch:")))
    return rest + "\n" * (not rest.endswith("\n")) + _documents_lines(repository, docs)


def _documents_lines(repository: Repository, docs: str) -> str:
    """Return the lines of config.yaml that set `docs`, and with `default-branch` the name of that branch.

    It is named because the clones in which builds run mostly don't know it. It is what origin/HEAD names, else HEAD's
    branch.
    """
    if docs != configuration.DEFAULT_BRANCH:
        return f"docs: {docs}\n"
    branch = repository.default_branch("origin") or repository.branch()[0].removeprefix("refs/heads/")
    return f"docs: {docs}\n" + frontmatter.emit("default_branch", branch)


def _refuse_absent(repository: Repository, folder: Path) -> None:
    """Raise MemctlError if Git has a memory at a folder that is not checked out, and would be overwritten."""
    config = f"{folder.relative_to(repository.top).as_posix()}/{CONFIG}"
    tracked = bool(git.read(["ls-files", "-z", "--", config], repository.top))
    if tracked or (repository.has_head() and git.read(["ls-tree", "HEAD", "--", config], repository.top)):
        raise MemctlError(
            f"Git has a memory in {folder}, which is not checked out here",
            RESTORE,
        )


def has_memories(repository: Repository) -> bool:
    """Return whether Git's index has files of a memory in any folder, even if its `config.yaml` is missing."""
    return bool(git.read(["ls-files", "-z", "--", f":(glob)**/{FOLDER}/**"], repository.top, literal=False))


def readme(project: str) -> str:
    """Return the text of the README of a project's memory."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(files.templates()), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("README.md.j2").render(project=project)


def _config_text(project: str) -> str:
    return (
        "# The settings of this memory. A setting that is missing has its default value.\n"
        + frontmatter.emit("format", configuration.FORMAT)
        + frontmatter.emit("project", project)
        + "# description: one sentence about the project, shown first in every pack\n"
        + "# model: whose tokens budgets count, such as claude (the default), claude-4.5 or gpt-5\n"
        + "# rehydrate_budget: 20000 (the tokens of `memctl rehydrate` without --budget)\n"
        + "# search_weights: {title: 15, content: 25, importance: 25, recency: 20, access: 15}\n"
        + "# agents: {codex: {role: You fix payment code., skills: [python, payments]}}, for prompts and handoffs\n"
        + "# scs_threshold: 2000 (the tokens that agents who work at once may share)\n"
        + "# lifecycle: {archive_issue_days: 30, delete: false}, for `memctl maintain`, whose help lists the keys\n"
        + "# window: {max_context_tokens: 150000}; `memctl context window status -h` lists the keys\n"
        + "# docs: false keeps the rendered documents out of Git, default-branch renders them on that branch alone\n"
    )


# The commits of source files whose dates the memory shows; all other files are in the first commit.
_HISTORY = (
    ("2025-09-19T10:00:00Z", "catalogue", ("src/lantern/catalogue", "migrations/0011_normalised_skus.sql")),
    ("2025-10-10T09:00:00Z", "carts", ("src/lantern/checkout/cart_store.py", "migrations/0017_carts.sql", "tools")),
    ("2025-10-17T16:00:00Z", "payments", ("src/lantern/payments", "migrations/0021_payment_event.sql")),
    ("2025-11-03T17:00:00Z", "checkout", ("src/lantern/checkout/orders.py", "tests/load")),
    ("2025-11-04T10:00:00Z", "restore", ("deploy/backup", "docs")),
)
_FIRST, _LAST = "2025-09-05T09:00:00Z", "2025-11-04T14:00:00Z"
# The user's settings, hooks and templates are disabled, so that the example is the same everywhere.
_SETTINGS = {
    "user.name": "Mira",
    "user.email": "mira@lantern.example",
    "commit.gpgsign": "false",
    "core.hooksPath": "",
    "core.autocrlf": "false",
}


def build_example(folder: Path) -> None:
    """Create the example repository in a folder that is missing or empty. Raises MemctlError for any other folder."""
    refuse_used_folder(folder)
    shop, memory = _sources()
    ours = shutil.ignore_patterns("__pycache__", "conftest.py")
    shutil.copytree(shop, folder, ignore=ours, dirs_exist_ok=True)
    git.write(["init", "--quiet", "--initial-branch=main", "--template="], folder)
    later = [f":!{path}" for _, _, paths in _HISTORY for path in paths]
    _commit(folder, _FIRST, "service", (".", *later))
    for moment, subject, paths in _HISTORY:
        _commit(folder, moment, subject, paths)
    shutil.copytree(memory, folder / FOLDER)
    _commit(folder, _LAST, "memory", (FOLDER,))
    trust.grant(open_repository(folder))


def refuse_used_folder(folder: Path) -> None:
    """Raise MemctlError if a folder is not empty."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise MemctlError(
            f"{folder} already exists and is not an empty folder", "name a new folder, such as `memctl demo lantern`"
        )


def _commit(folder: Path, moment: str, subject: str, paths: tuple[str, ...]) -> None:
    settings = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    git.write([*settings, "add", "--force", "--", *paths], folder)
    git.write([*settings, "commit", "--quiet", "--message", subject], folder, extra=dates)


def _sources() -> tuple[Path, Path]:
    """Return the folders of the shop and its memory: inside the installed package, or beside it in a checkout."""
    package = Path(sys.modules["memctl"].__path__[0])
    installed = package / "example"
    if installed.is_dir():
        return installed / "shop", installed / "memory"
    return package.parent / "tests" / "lantern", package.parent / ".memory.example"
