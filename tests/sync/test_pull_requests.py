"""Two clones write on branches of their own, and a host merges both: without memctl, its drivers and its hooks."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import msgspec
import pytest

from tests.conftest import Memctl, Once, git, share_templates, slow

ANN, BEN = "ann", "ben"
ID = re.compile(r"\b(?:DEC|ISS|STA|LRN|HND)-\d{4}-\d\d-\d\d-(?:\w{4}-)?\d+\b|§[23]\.\d+")


class Clone(msgspec.Struct):
    """A person's clone: runs memctl there, and keeps the ids that it printed and the titles that it recorded."""

    name: str
    folder: Path
    memctl: Memctl
    ids: set[str] = msgspec.field(default_factory=set)
    titles: dict[str, str] = msgspec.field(default_factory=dict)

    def run(self, *args: str) -> str:
        result = self.memctl(*args, where=self.folder)
        self.ids |= set(ID.findall(result.out + result.err))
        return result.out

    def record(self, kind: str, title: str, *args: str) -> str:
        """Record something under a title, and return its id."""
        title = f"{title} of {self.name}"
        name = self.run(kind, title, *args).split()[0]
        assert name not in self.titles
        self.titles[name] = title
        return name

    def is_ann(self) -> bool:
        return self.name == ANN


def decide(clone: Clone) -> None:
    clone.record("decide", "A queue", "--rationale", "It is fast", "--section", "2.1", "--alternative", "Polling: slow")


def critical_issue(clone: Clone) -> None:
    clone.record("issue", "Checkout fails", "--severity", "critical", "--section", "2.1")


def low_issue(clone: Clone) -> None:
    clone.record("issue", "A typo", "--severity", "low")


def state(clone: Clone) -> None:
    clone.record("state", "Refunds", "--completion", "40", "--next", "Test")


def learn(clone: Clone) -> None:
    clone.record("learn", "Retries hide", "--lesson", "Look at the pool", "--section", "2.1")


def edit_others(clone: Clone) -> None:
    """Each edits another record of before."""
    name = the(clone, "Adopt PostgreSQL" if clone.is_ann() else "Pool is exhausted")
    clone.run("edit", name, "--add", "tags=edited", "--reason", "To find it")


def edit_same(clone: Clone) -> None:
    """Both edit the same record of before, each another field."""
    field = "completion_percentage=80" if clone.is_ann() else "next_actions=Ship it"
    clone.run("edit", the(clone, "Profile API"), "--set", field)


def resolve_and_edit(clone: Clone) -> None:
    """One resolves an issue to which the other adds a tag."""
    name = the(clone, "Pool is exhausted")
    if clone.is_ann():
        clone.run("resolve", name, "--resolution", "A larger pool")
    else:
        clone.run("edit", name, "--add", "tags=database")


def section(clone: Clone) -> None:
    """Both add a section, the second once it has fetched the first one's branch."""
    git(clone.folder, "fetch", "-q")
    title = f"Part of {clone.name}"
    number = clone.run("section", "add", title, "--path", f"{clone.name}/**").split()[0]
    clone.titles[number] = title


def supersede(clone: Clone) -> None:
    old = the(clone, "Adopt PostgreSQL" if clone.is_ann() else "Round half up")
    clone.record("decide", "Otherwise", "--rationale", "It is better", "--supersedes", old)


def archive(clone: Clone) -> None:
    clone.run("archive", the(clone, "Adopt PostgreSQL" if clone.is_ann() else "Round half up"), "--reason", "Old")


def handoff(clone: Clone) -> None:
    git(clone.folder, "push", "-q", "-u", "origin", "HEAD")
    more = ("--summary", "It works", "--immediate", "Test it", "--success", "Tests pass")
    clone.run("handoff", "--to", "eve", "--reason", "Done", "--task", f"Tests for {clone.name}", *more)


def the(clone: Clone, title: str) -> str:
    """Return the id of the record of before with a title."""
    records = clone.memctl("list", "--all", "--json", where=clone.folder).data["records"]
    return str(next(record["id"] for record in records if record["title"] == title))


WRITES: list[Callable[[Clone], None]] = [
    decide,
    critical_issue,
    low_issue,
    state,
    learn,
    edit_others,
    edit_same,
    resolve_and_edit,
    section,
    supersede,
    archive,
    handoff,
]


def everything(clone: Clone) -> None:
    for write in WRITES:
        write(clone)


DOCUMENTS = {"off": "default-branch", "on": "true", "none": "false"}
WAYS = ["merge", "squash", "rebase"]
CELLS = list(product(WAYS, DOCUMENTS, ["each", "later"]))


def matrix() -> list[object]:
    """Return each write with each way to merge, documents and commits; only some of these are usual, each part once."""
    cells: list[object] = []
    for row, write in enumerate([*WRITES, everything]):
        for column, cell in enumerate(CELLS):
            values = (write, *cell)
            cells += [values] if column == row * 5 % len(CELLS) else slow(values)
    return cells


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs, as it does for two people."""
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def documents() -> str:
    return "off"


@pytest.fixture
def commits() -> str:
    return "each"


@pytest.fixture
def clones(
    repo: Path,
    tmp_path: Path,
    memctl: Memctl,
    once: Once,
    documents: str,
    commits: str,
    monkeypatch: pytest.MonkeyPatch,
) -> list[Clone]:
    """Clones of ann, ben and the host, of one bare remote with a memory."""

    def make(documents: str) -> None:
        seed = tmp_path / "seed"
        git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
        git(tmp_path, "clone", "-q", "origin.git", "seed")
        git(seed, "checkout", "-q", "-b", "main")
        (seed / "app.py").write_text("print('shop')\n")
        git(seed, "add", "-A")
        git(seed, "commit", "-qm", "start")
        git(seed, "push", "-q", "-u", "origin", "main")
        git(seed, "remote", "set-head", "origin", "main")
        share_templates(repo, seed)
        for command in (
            ("init", "--project", "shop", "--docs", DOCUMENTS[documents]),
            ("project", "set", "--goal", "A shop", "--status", "In work", "--priority", "Refunds"),
            ("section", "add", "Payment", "--path", "*.py", "--overview", "Takes money."),
            ("section", "add", "Catalogue", "--overview", "What there is to buy."),
            ("decide", "Adopt PostgreSQL", "--rationale", "Transactions", "--section", "2.1", "-i", "9"),
            ("decide", "Round half up", "--rationale", "It is simple"),
            ("issue", "Pool is exhausted", "--severity", "high", "--section", "2.1", "--next", "Measure"),
            ("state", "Profile API", "--completion", "65", "--done", "GET", "--remaining", "PATCH", "--next", "Test"),
            ("learn", "Ask first", "--lesson", "Then act"),
            ("review", "§2.1"),
            ("render",),
            ("check", "--strict"),
        ):
            memctl(*command, where=seed)
        git(seed, "push", "-q")
        git(tmp_path / "origin.git", "repack", "-adq")
        for name in (ANN, BEN, "host"):
            git(tmp_path, "clone", "-q", "origin.git", name)
            git(tmp_path / name, "config", "memctl.trusted", "true")
            share_templates(repo, tmp_path / name)

    once(make, documents)
    found = []
    for name in (ANN, BEN, "host"):
        folder = tmp_path / name

        def run(*args: str, name: str = name, **options: object) -> object:
            with monkeypatch.context() as patch:
                patch.setenv("MEMCTL_AGENT", name)
                return memctl(*args, **options)

        if name != "host":
            git(folder, "config", "memctl.commits", commits)
            git(folder, "switch", "-q", "-c", f"topic-{name}")
        found.append(Clone(name, folder, run))  # type: ignore[arg-type]
    return found


def propose(clone: Clone, write: Callable[[Clone], None], commits: str) -> None:
    """Write records and code on a branch, and push it."""
    folder = clone.folder
    before = git(folder, "rev-parse", "HEAD")
    write(clone)
    if commits == "later" and write not in (handoff, everything):
        assert git(folder, "rev-parse", "HEAD") == before
    (folder / clone.name).mkdir()
    (folder / clone.name / "code.py").write_text("CODE = 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"feat: {clone.name}")
    assert git(folder, "status", "--porcelain") == ""
    git(folder, "push", "-q", "-u", "origin", "HEAD")


def merge(host: Clone, branch: str, way: str) -> None:
    """Merge a branch into main as a host does; documents in conflict are rendered."""
    folder, theirs = host.folder, f"origin/{branch}"
    git(folder, "fetch", "-q")
    if way == "merge":
        git(folder, "merge", "-q", "--no-ff", "-m", f"Merge {branch}", theirs, check=False)
        resolve_documents(host)
        if (folder / ".git" / "MERGE_HEAD").exists():
            git(folder, "commit", "-qm", f"Merge {branch}")
    elif way == "squash":
        git(folder, "merge", "-q", "--squash", theirs, check=False)
        resolve_documents(host)
        git(folder, "commit", "-qm", f"{branch} (#1)")
    else:
        git(folder, "switch", "-q", "-c", branch, theirs)
        git(folder, "rebase", "-q", "main", check=False)
        while (folder / ".git" / "rebase-merge").exists():
            resolve_documents(host)
            git(folder, "-c", "core.editor=true", "rebase", "--continue", check=False)
        git(folder, "switch", "-q", "main")
        git(folder, "merge", "-q", "--ff-only", branch)
    assert git(folder, "status", "--porcelain") == ""


def resolve_documents(host: Clone) -> None:
    """End conflicts below docs/ by rendering; there may be no others."""
    conflicts = git(host.folder, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert [path for path in conflicts if not path.startswith(".memory/docs/")] == []
    if conflicts:
        assert (host.folder / ".memory" / "config.yaml").read_text().count("docs: default-branch") == 0
        host.memctl("render", where=host.folder, code=None)
        git(host.folder, "add", "-A")


@pytest.mark.parametrize(("write", "way", "documents", "commits"), matrix())
def test_two_pull_requests_merge_and_main_has_all_of_both(
    clones: list[Clone], write: Callable[[Clone], None], way: str, documents: str, commits: str
) -> None:
    ann, ben, host = clones
    for clone in (ann, ben):
        propose(clone, write, commits)
        if documents != "on":
            assert ".memory/docs/" not in git(clone.folder, "diff", "--name-only", "origin/main", "HEAD")
    for clone in (ann, ben):
        merge(host, f"topic-{clone.name}", way)
    if documents == "on":
        host.run("render")
    host.run("check", "--strict")
    git(host.folder, "push", "-q", "origin", "main")
    for clone in (ann, ben):
        has_all(host, clone)
        clone.run("check", "--strict")
        git(clone.folder, "switch", "-q", "main")
        git(clone.folder, "pull", "-q", "--ff-only")
        clone.run("check", "--strict")
        has_all(clone, ann)
        has_all(clone, ben)


def has_all(there: Clone, clone: Clone) -> None:
    """Assert that each id that a clone printed names one record or page, with the title that it was given."""
    names = sorted(clone.ids)
    found = there.memctl("show", *names, "--json", where=there.folder).data
    titles = {one.get("id") or one["marker"]: one["title"] for one in (*found["records"], *found.get("places", ()))}
    assert sorted(titles) == names
    assert clone.titles.items() <= titles.items()


def test_pull_request_with_four_records_touches_four_files(clones: list[Clone]) -> None:
    ann = clones[0]
    for write in (decide, critical_issue, state, learn):
        write(ann)
    files = git(ann.folder, "diff", "--name-only", "origin/main", "HEAD").splitlines()
    assert len(files) == 4, files
