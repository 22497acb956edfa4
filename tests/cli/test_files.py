"""`files` and `summarize`, in real repositories with ordinary and hostile files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Memctl, examples, git

KEY = "AK" + "IA" + "QWERTYUIOPASDFGH"
SHOP = {
    "src/shop/__init__.py": "",
    "src/shop/config.py": "TIMEOUT = 3\n",
    "src/shop/checkout.py": '"""Takes the money."""\n\nfrom shop import config\nfrom shop.card import CardClient\n\n\n'
    "def check_out(): ...\n",
    "src/shop/card.py": "from .retry import again\n\n\nclass CardClient:\n    def pay(self): ...  # TODO: retry\n",
    "src/shop/retry.py": "def again(): ...\n",
    "src/shop/stock.py": "def count(): ...\n",
    "tests/test_checkout.py": "from shop.checkout import check_out\n",
    "docs/stock.md": "# Stock\n\nIt is counted at night.\n",
}


@pytest.fixture
def shop(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository with a small shop in it, committed half a year ago."""
    write(repo, SHOP)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-05-01T00:00:00Z")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "the shop")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-05-02T00:00:00Z")
    for number in range(5):
        (repo / "app.py").write_text(f"print({number})\n")
        git(repo, "commit", "-qam", f"change {number}")
    return repo


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def ranked(memctl: Memctl, *args: str) -> dict[str, dict[str, Any]]:
    """The files by path, best first, as `files --json` has them."""
    return {file["path"]: file for file in memctl("files", "--limit", "0", "--json", *args).data["files"]}


def test_files_named_in_the_task_come_first_then_their_imports(shop: Path, memctl: Memctl) -> None:
    found = ranked(memctl, "--task", "let src/shop/checkout.py wait longer")
    assert next(iter(found)) == "src/shop/checkout.py"
    assert found["src/shop/checkout.py"]["dependency"] == 20
    assert found["src/shop/card.py"]["dependency"] == found["src/shop/config.py"]["dependency"] == 20
    assert found["src/shop/retry.py"]["dependency"] == 10
    assert found["tests/test_checkout.py"]["dependency"] == 15
    assert found["src/shop/stock.py"]["dependency"] == 0
    assert list(found)[1] == "tests/test_checkout.py", "it says the same, and imports it"


def test_uncommitted_file_is_active_and_recent(shop: Path, memctl: Memctl) -> None:
    (shop / "src/shop/stock.py").write_text("def count(): return 1\n")
    os.utime(shop / "src/shop/stock.py", (1762266000, 1762266000))
    found = ranked(memctl)
    assert next(iter(found)) == "src/shop/stock.py"
    assert (found["src/shop/stock.py"]["relevance"], found["src/shop/stock.py"]["recency"]) == (15, 30)
    assert memctl("files", "--json").data["active"] == ["src/shop/stock.py"]


def test_active_files_may_be_named_in_any_way(shop: Path, memctl: Memctl) -> None:
    for name in ("src/shop/card.py", "§4.shop.card"):
        assert memctl("files", "--json", "--active", name).data["active"] == ["src/shop/card.py"]
    assert memctl("files", "--json", "--active", "card.py", where=shop / "src/shop").data["active"]
    assert "did you mean src/shop/card.py" in memctl("files", "--active", "card.px", code=2).err
    assert "is a folder" in memctl("files", "--active", "src", code=2).err
    assert "is a file of the memory" in memctl("files", "--active", ".memory/config.yaml", code=1).err


def test_records_relate_a_task_to_files(shop: Path, memctl: Memctl) -> None:
    asked = ("--code", "src/shop/stock.py", "--rationale", "One refund queue.")
    decision = memctl("decide", "Refunds go through one queue", *asked).id
    memctl("section", "add", "Night shift", "--path", "docs/**")
    found = ranked(memctl, "--task", "refunds queue at night")
    why = {path: [reason["why"] for reason in file["reasons"]] for path, file in found.items()}
    assert why["src/shop/stock.py"] == [f"{decision} refers to it", "changed 6 commits ago"]
    assert why["docs/stock.md"] == ["its text has night", "§2.1 covers it", "changed 6 commits ago"]
    assert found["src/shop/stock.py"]["score"] > 0
    found = ranked(memctl, "--task", "one queue for refunds")
    assert next(iter(found)) == "src/shop/stock.py"


def test_open_issues_and_todos_are_unresolved(shop: Path, memctl: Memctl) -> None:
    issue = memctl("issue", "Stock is wrong", "--severity", "low", "--code", "src/shop/stock.py").id
    found = ranked(memctl)
    assert [reason["why"] for reason in found["src/shop/stock.py"]["reasons"]] == [f"unresolved: {issue}"]
    assert [reason["why"] for reason in found["src/shop/card.py"]["reasons"]] == ["unresolved: 1 TODO"]
    memctl("resolve", issue, "--resolution", "counted anew")
    assert ranked(memctl)["src/shop/stock.py"]["score"] == 0


def test_only_files_with_a_credential_in_their_text_are_listed_of_refused_ones(shop: Path, memctl: Memctl) -> None:
    write(
        shop,
        {
            ".gitignore": "out/\n",
            "out/made.py": "x = 1\n",
            ".memctlignore": "docs/\n",
            "src/.memctlignore": "stock.*\n",
            ".env": "A=1\n",
            "keys.py": f"KEY = '{KEY}'\n",
        },
    )
    (shop / "logo.png").write_bytes(b"\x89PNG\0\0")
    data = memctl("files", "--json", "--limit", "0").data
    refused = {item["path"]: item["reason"] for item in data["refused"]}
    assert refused == {
        "docs/stock.md": ".memctlignore excludes the file",
        "src/shop/stock.py": "src/.memctlignore excludes the file",
        ".env": "its name is typical of files with secrets",
        "keys.py": "it looks like it contains a credential (AWS access key)",
        "logo.png": "binary",
    }
    paths = {file["path"] for file in data["files"]}
    assert paths & {*refused, "out/made.py"} == {"keys.py"}, "it may be named"
    assert {file["path"]: file["left_out"] for file in data["files"]}["keys.py"] == refused["keys.py"]
    assert "memctl never gives " in memctl("files", "--active", "keys.py", code=1).err
    told = memctl("files", "--explain").err
    assert "never loaded: keys.py: it looks like it contains a credential (AWS access key)" in told
    assert KEY not in told
    (row,) = (line for line in memctl("files", "--limit", "0").out.splitlines() if "keys.py" in line)
    assert " ! credential " in row


def test_ignore_file_that_git_ignores_takes_effect(shop: Path, memctl: Memctl) -> None:
    write(shop, {"src/.memctlignore": "stock.*\n"})
    (shop / ".git/info/exclude").parent.mkdir(exist_ok=True)
    (shop / ".git/info/exclude").write_text(".memctlignore\n")
    assert "src/shop/stock.py" not in ranked(memctl)
    (shop / ".memctlignore").symlink_to(shop / "app.py")
    assert ".memctlignore is not a regular file" in memctl("files", code=1).err


def test_glob_narrows_the_ranked_files(shop: Path, memctl: Memctl) -> None:
    assert set(ranked(memctl, "--path", "docs/**", "--path", "*_checkout.py")) == {
        "docs/stock.md",
        "tests/test_checkout.py",
    }
    assert "is not a pattern for files" in memctl("files", "--path", "!", code=2).err


def test_crowded_window_loads_no_files_ahead(shop: Path, memctl: Memctl) -> None:
    data = memctl("files", "--task", "checkout.py", "--used", "160001", "--json").data
    assert {file["verdict"] for file in data["files"]} == {"just-in-time"}
    assert data["loaded"] == 0


def test_large_file_is_loaded_just_in_time(shop: Path, memctl: Memctl) -> None:
    (shop / "src/shop/config.py").write_text("VALUE = 1\n" * 6_000)
    file = ranked(memctl, "--task", "config.py", "--model", "gpt")["src/shop/config.py"]
    assert (file["verdict"], file["loaded"]) == ("just-in-time", True)
    assert file["outline"] == "the file has more than 10,000 tokens"
    assert (file["score"] >= 70, file["left_out"]) == (True, None)
    pack = memctl("files", "--task", "config.py", "--model", "gpt", "--pack").out
    assert "outline the file has more than 10,000 tokens" in pack
    assert pack.count("VALUE = 1\n") < 100


def test_files_prints_a_table_and_explain_adds_the_reasons(shop: Path, memctl: Memctl) -> None:
    told = memctl("files", "--task", "mend checkout.py", "--limit", "2", "--model", "gpt")
    assert told.out.split("\n")[0].split() == ["score", "verdict", "tokens", "file"]
    assert "src/shop/checkout.py" in told.out.split("\n")[1]
    assert "marks the files to load: " in told.err
    why = memctl("files", "--task", "mend checkout.py", "--limit", "1", "--explain").out
    assert "the task names checkout.py" in why
    assert "its text has checkout, py" in why


def test_reading_writes_nothing_to_the_tree(shop: Path, memctl: Memctl) -> None:
    before = git(shop, "status", "--porcelain", "--ignored"), git(shop, "rev-parse", "HEAD")
    memctl("files", "--task", "checkout", "--pack")
    memctl("summarize", "src/shop/checkout.py")
    assert (git(shop, "status", "--porcelain", "--ignored"), git(shop, "rev-parse", "HEAD")) == before


def test_two_runs_of_files_give_the_same_output(shop: Path, memctl: Memctl) -> None:
    first = memctl("files", "--task", "the checkout of cards", "--json", "--limit", "0").out
    assert memctl("files", "--task", "the checkout of cards", "--json", "--limit", "0").out == first
    shutil.rmtree(shop / ".git/memctl")
    assert memctl("files", "--task", "the checkout of cards", "--json", "--limit", "0").out == first


def test_without_a_memory_there_is_an_error(tmp_path: Path, memctl: Memctl) -> None:
    git(tmp_path, "init", "-q")
    assert "there is no memory" in memctl("files", where=tmp_path, code=1).err


def test_odd_files_do_not_break_files(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    for name in (b"new\nline.py", b"caf\xe9.py", b"tab\there.py", b"\x1b[31mred.py", b"-rf", "ünï.py".encode()):
        (os.fsencode(shop) + b"/" + name) and Path(os.fsdecode(os.fsencode(shop) + b"/" + name)).write_text(
            "import os\n"
        )
    write(shop, {"min.js": "var a=1;" * 100_000, "deep.py": "(" * 30_000, "wide.md": "> " * 20_000, "empty": ""})
    (shop / "outside.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "secret.py").write_text("SECRET = 1\n")
    (shop / "circle").symlink_to(shop)
    inner = shop / "module"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "own.py").write_text("x = 1\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "inner")
    git(shop, "add", "-A", check=False)
    found = ranked(memctl, "--task", "mend ünï.py and -rf and outside.py")
    assert {"min.js", "deep.py", "wide.md", "empty", "-rf", "ünï.py"} <= set(found)
    assert not {"outside.py", "module/own.py", "circle"} & set(found)
    git(shop, "commit", "-qm", "odd")
    assert "-rf" in ranked(memctl)
    memctl("files", "--pack", "--least", "0")


@pytest.mark.parametrize("form", ["markdown", "xml", "yaml", "tokens", "event", "auto"])
def test_a_pack_has_the_texts_and_what_was_left_out(shop: Path, memctl: Memctl, form: str) -> None:
    data = memctl("files", "--task", "mend src/shop/checkout.py", "--pack", "--format", form, "--json").data
    assert data["parts"]["files"][0] == "src/shop/checkout.py"
    assert [file["path"] for file in data["files"]] == data["parts"]["files"]
    assert "def check_out(): ..." in data["text"]
    left = {item["id"]: item["why"] for item in data["left_out"]}
    assert left["src/shop/stock.py"] == "its score is below 40"


def test_a_pack_describes_each_file(shop: Path, memctl: Memctl) -> None:
    (shop / "src/shop/card.py").write_text("class CardClient: ...\n")
    text = memctl("files", "--task", "mend src/shop/checkout.py", "--pack").out
    commit = git(shop, "log", "-1", "--format=%H", "--", "src/shop/card.py").strip()[:10]
    assert f"commit {commit} (changed since)" in text
    assert f"blob {git(shop, 'hash-object', 'src/shop/checkout.py')[:10]}" in text
    assert f"```py\n{SHOP['src/shop/checkout.py']}```" in text
    assert "## Left out" in text


def test_a_pack_can_go_to_a_file(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    out = tmp_path / "files.xml"
    memctl("files", "--task", "checkout.py", "--pack", "--format", "xml", "--out", str(out))
    assert out.read_text().startswith("<file_context")
    assert "add --pack" in memctl("files", "--out", str(out), code=2).err


@settings(examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(30, 3_000), form=st.sampled_from(["markdown", "xml", "yaml", "tokens", "event"]))
def test_a_pack_is_never_larger_than_its_budget(shop: Path, memctl: Memctl, budget: int, form: str) -> None:
    given = ("--pack", "--least", "0", "--format", form, "--budget", str(budget))
    told = memctl("files", "--json", "--task", "checkout", *given, code=None)
    assert told.code in (0, 2)
    if told.code == 0:
        assert told.data["tokens"] <= budget


def test_a_summary_is_of_one_file_of_the_repository(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    for name in ("src/shop/checkout.py", "§4.shop.checkout"):
        told = memctl("summarize", name).out
        assert told.startswith("# src/shop/checkout.py\n7 lines, ")
        assert "7  check_out()" in told
    assert memctl("summarize", "card.py", where=shop / "src/shop").out.startswith("# src/shop/card.py")
    assert "did you mean" in memctl("summarize", "src/shop/chekout.py", code=2).err
    assert "is a folder" in memctl("summarize", "src/shop", code=2).err
    (tmp_path / "outside.py").write_text("x = 1\n")
    assert "knows no file" in memctl("summarize", str(tmp_path / "outside.py"), code=2).err
    assert "knows no file" in memctl("summarize", "../outside.py", code=2).err


def test_summary_at_a_revision_uses_the_text_of_that_revision(shop: Path, memctl: Memctl) -> None:
    (shop / "src/shop/stock.py").write_text("def recount(): ...\n")
    git(shop, "commit", "-qam", "recount")
    data = memctl("summarize", "src/shop/stock.py", "--at", "HEAD~1", "--json").data
    assert "count()" in data["text"]
    assert "recount()" not in data["text"]
    assert (data["path"], data["budget"], data["left_out"], data["lines"]) == ("src/shop/stock.py", 500, 0, 1)


def test_several_files_may_be_meant_by_a_marker(shop: Path, memctl: Memctl) -> None:
    assert "matches several files" in memctl("summarize", "§4.stock", code=2).err


def test_active_file_and_its_imports_are_loaded_ahead(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "shop.py": "import cart\n",
        "cart.py": "import money\n",
        "money.py": "x = 1\n",
        "lib.rs": "mod pay;\n",
        "pay.rs": "",
    }.items():
        (repo / name).write_text(text)
    git(repo, "add", "*.py", "*.rs")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
    git(repo, "commit", "-qm", "start")
    data = memctl("files", "--active", "shop.py", "--active", "lib.rs", "--json").data
    assert data["reserve"] == {"tool_outputs": 15_000, "expansion": 10_000, "buffer": 5_000}
    verdicts = {file["path"]: (file["score"], file["verdict"]) for file in data["files"] if file["path"] != "app.py"}
    assert verdicts == {
        "lib.rs": (70, "preload"),
        "shop.py": (70, "preload"),
        "cart.py": (70, "preload"),
        "pay.rs": (70, "preload"),
        "money.py": (25, "on demand"),  # changed in the last five commits, and imported at second hand
    }
    assert [file["path"] for file in data["files"]][:2] == ["lib.rs", "shop.py"]
