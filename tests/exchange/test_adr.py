"""Architecture decision records: what a file becomes, and that it is written out again as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.exchange.adr_text import KEY
from memctl.record import frontmatter, frontmatter_edit
from tests.conftest import Memctl, commits, git

EXAMPLES = Path(__file__).parent / "adr"
ODD = {
    "no date": "# 7. T\n\n## Status\n\nAccepted\n\n## Context\n\nC\n",
    "no status": "# T\n\nDate: 2024-01-01\n\n## Context\n\nC\n",
    "a fence with headings": "# T\n\n## Context\n\n```md\n## Status\n\nRejected\n```\n\n## Decision\n\nD\n",
    "CRLF": "# 7. T\r\n\r\nDate: 2024-01-01\r\n\r\n## Status\r\n\r\nAccepted\r\n\r\n## Context\r\n\r\nC\r\n",
    "a byte order mark": "\ufeff# T\n\n## Context\n\nC\n",
    "not ASCII": "# Größe und 日本語 🎉\n\n* Status: Accepted ✅\n\n## Context\n\nÀ \u2028 \u00a0\n",
    "nested lists": "# T\n\n## Considered Options\n\n* a\n  * b\n    1. c\n\n       d\n* e\n",
    "sections twice": "# T\n\n## Context\n\none\n\n## Context\n\ntwo\n\n## Decision Outcome\n\na\n\n## Decision\n\nb\n",
    "memctl's own headings": "# T\n\n## Expected impact\n\na\n\n## Consequences\n\nb\n\n## Context\n\nc\n",
    "headings in other words": "# T #\n\n##  context and problem statement ##\nC\n## Decision drivers <!-- -->\nD\n",
    "sub-headings first": "# T\n\n### Before\n\ntext\n\n## Context\n\nC\n",
    "empty sections": "# T\n\n## Status\n\n## Context\n\n## Decision\n## Consequences\n\n\n\n",
    "the status last": "# T\n\n## Context\n\nC\n\n\n## Decision\n\nD\n\n\n\n## Status\n\nRejected",
    "the status twice": "# T\n\n## Status\n\nAccepted\n\n## Context\n\nC\n\n## Status\n\nRejected\n",
    "a title alone": "# T",
    "a title with space around it": "\n\n  \n# T  \n\n\n\n",
    "text above the title": "<!-- lint off -->\n\n# T\n\n## Context\n\nC\n",
    "no line end": "---\nstatus: accepted\n---\n# T\n## Context\nC",
    "an open fence": "# T\n\n## Status\n\nAccepted\n\n## Context\n\n```\n\n## Decision\n\nD\n\n",
    "odd front matter": "---\nstatus: {proposed | rejected}\ndeciders: @ada, @bob\nno: 010\nno: 1\n---\n\n# T\n",
    "an empty heading": "# T\n\n## \n\ntext\n\n##\n\n## Status\n\nAccepted\n",
    "a rule": "# T\n\n---\n\ntext\n\n---\n\n## Context\n\n---\n",
    "an odd date": "# T\n\nDate: 17/12/2016\n\n## Status\n\nAccepted\n\n## Context\n\nC\n",
    "labels in bold": "# T\n\n**Status:** Accepted\n**Date:** 2024-02-30\n\nWho: nobody\n\n## Context\n\nC\n",
    "a table": "# T\n\n| Status | Accepted |\n|---|---|\n| Date | 2024-01-01 |\n| Team | b |\n\n## Context\n\nC\n",
    "another table": "# T\n\n| Option | Cost |\n|---|---|\n| a | 1 |\n\n## Context\n\nC\n",
    "a word": "# T\n\n_Rejected_\n\n## Context\n\nC\n",
    "a title in front matter": "---\ntitle: 'It''s T'\nstatus: accepted\n---\n\n## Context\n\nC\n",
    "no title": "## Status\n\nAccepted\n\n## Context\n\nC\n",
    "labels of their own": "# T\n\n* Tags: a\n* Status: accepted\n* Team: b\n\n* a list\n\n## Context\n\nC\n",
}


def put(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    return folder


def texts(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def record(memctl: Memctl, identifier: str) -> dict[str, Any]:
    found: dict[str, Any] = memctl("show", identifier, "--json").data["records"][0]
    return found


def import_folder(memctl: Memctl, folder: Path) -> dict[str, str]:
    """The ids of what an import adds, by file."""
    files: dict[str, str] = memctl("import", "adr", str(folder), "--json").data["files"]
    return files


def export_folder(memctl: Memctl, folder: Path, *options: str) -> dict[str, str]:
    memctl("export", "adr", str(folder), *options)
    return {name: data.decode() for name, data in texts(folder).items()}


@pytest.mark.parametrize("form", ["nygard", "madr"])
def test_a_folder_is_imported_in_one_commit_and_exported_unchanged(
    repo: Path, memctl: Memctl, tmp_path: Path, form: str
) -> None:
    before = commits(repo)
    memctl("import", "adr", str(EXAMPLES / form))
    assert commits(repo) == before + 1
    assert git(repo, "status", "--porcelain") == ""
    memctl("export", "adr", str(tmp_path / "out"))
    assert texts(tmp_path / "out") == texts(EXAMPLES / form)


def test_unusual_files_are_exported_unchanged(memctl: Memctl, tmp_path: Path) -> None:
    names = {f"{number:04d}-odd.md": text for number, text in enumerate(ODD.values(), start=7)}
    folder = put(tmp_path / "in", names)
    assert len(import_folder(memctl, folder)) == len(ODD)
    memctl("export", "adr", str(tmp_path / "out"))
    assert texts(tmp_path / "out") == texts(folder)
    assert import_folder(memctl, folder) == {}


def test_sections_become_the_fields_of_a_decision(memctl: Memctl) -> None:
    madr = import_folder(memctl, EXAMPLES / "madr")
    content = record(memctl, madr["0001-choose-a-message-broker.md"])["content"]
    assert content["context"].startswith("Orders, mails and stock")
    assert content["rationale"].startswith("* Nobody here")
    assert content["alternatives_considered"] == [
        "RabbitMQ",
        "Kafka\n* with three nodes\n* with one",
        "A table in PostgreSQL",
    ]
    assert "### Confirmation" in content["decision"]
    assert "validation_criteria" not in content
    assert record(memctl, madr["0002-use-the-database-as-a-queue.md"])["content"]["validation_criteria"][:3] == "Ten"
    nygard = import_folder(memctl, EXAMPLES / "nygard")
    third = record(memctl, nygard["0003-send-mail-from-a-queue.md"])
    assert third["content"]["expected_impact"] == "A mail may come a minute late."
    assert "## Alternatives weighed" in third["body"]
    assert (third["title"], third["status"]) == ("Send mail from a queue", "proposed")
    assert third["timestamp"] == "2024-03-15T00:00:00Z"


def test_superseding_files_are_linked_at_both_ends(memctl: Memctl) -> None:
    for form, old, new in (("nygard", 2, 4), ("madr", 1, 2)):
        ids = {int(file[:4]): identifier for file, identifier in import_folder(memctl, EXAMPLES / form).items()}
        assert record(memctl, ids[old])["superseded_by"] == [ids[new]]
        assert record(memctl, ids[new])["supersedes"] == [ids[old]]
        assert record(memctl, ids[old])["status"] == "superseded"


def test_superseding_links_are_read_from_a_list_of_links(memctl: Memctl, tmp_path: Path) -> None:
    links = "# B\n\n## Links <!-- optional -->\n\n* Supersedes [ADR-0001](0001-a.md)\n"
    prose = "# C\n\n## More Information\n\nThis supersedes [ADR-0002](0002-b.md) in spirit.\n"
    folder = put(tmp_path / "in", {"0001-a.md": "# A\n", "0002-b.md": links, "0003-c.md": prose})
    ids = import_folder(memctl, folder)
    assert record(memctl, ids["0001-a.md"])["superseded_by"] == [ids["0002-b.md"]]
    assert record(memctl, ids["0002-b.md"])["status"] == "accepted"


@pytest.mark.parametrize(
    ("old", "new", "status", "is_linked"),
    [
        ("Superseded by [ADR-0002](0002-b.md)", "Accepted", "superseded", True),
        ("Superceded by [2. B](./0002-b.md#status)", "Accepted", "superseded", True),
        ("superseeded by ADR-2", "Accepted", "superseded", True),
        ("Superseded by 0002.", "Accepted", "superseded", True),
        ("Accepted", "Accepted\n\nSupercedes [1. A](0001-a.md)", "superseded", True),
        ("Accepted", "Accepted, replaces ADR-0001 since 2024-01-01", "superseded", True),
        ("Accepted", "Proposed\n\nSupersedes [1. A](0001-a.md)", "accepted", False),
        ("Rejected", "Accepted\n\nSupersedes [1. A](0001-a.md)", "rejected", False),
        ("Superseded by [3. C](0003-c.md)", "Accepted", "superseded", False),
        ("Superseded by [2. B](../other/0002-b.md)", "Accepted", "superseded", False),
        ("Replaced by 2 smaller ones", "Accepted", "superseded", False),
        ("Superseded by ADR-0001", "Accepted", "superseded", False),
        ("Accepted", "Accepted\n\nAmends [1. A](0001-a.md)", "accepted", False),
    ],
)
def test_a_status_names_the_other_record_in_many_ways(
    memctl: Memctl, tmp_path: Path, old: str, new: str, status: str, is_linked: bool
) -> None:
    form = "# {}\n\n## Status\n\n{}\n\n## Context\n\nC\n"
    folder = put(tmp_path / "in", {"0001-a.md": form.format("1. A", old), "0002-b.md": form.format("2. B", new)})
    ids = import_folder(memctl, folder)
    first = record(memctl, ids["0001-a.md"])
    assert first["status"] == status
    assert first["superseded_by"] == ([ids["0002-b.md"]] if is_linked else [])
    assert record(memctl, ids["0002-b.md"])["supersedes"] == ([ids["0001-a.md"]] if is_linked else [])
    memctl("export", "adr", str(tmp_path / "out"))
    assert texts(tmp_path / "out") == texts(folder)


def test_record_without_a_date_gets_that_of_its_first_commit(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(repo / "docs", {"0001-a.md": "# A\n", "0002-b.md": "# B\n", "0003-c.md": "# C\n"})
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2023-05-06T07:08:09Z")
    git(repo, "add", "docs/0001-a.md", "docs/0002-b.md")
    git(repo, "commit", "-qm", "first")
    put(folder, {"0001-a.md": "# A\n\nmore\n"})
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-05-06T07:08:09Z")
    git(repo, "commit", "-qam", "second")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    ids = import_folder(memctl, folder)
    assert record(memctl, ids["0001-a.md"])["timestamp"] == "2023-05-06T07:08:09Z"
    assert ids["0002-b.md"] == "DEC-2023-05-06-002"
    assert record(memctl, ids["0003-c.md"])["timestamp"] == "2025-11-04T14:32:00Z"


def test_importing_again_adds_nothing_and_a_changed_file_is_left_alone(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    folder = put(tmp_path / "in", {name: text.decode() for name, text in texts(EXAMPLES / "nygard").items()})
    ids = import_folder(memctl, folder)
    before = commits(repo)
    again = memctl("import", "adr", str(folder))
    assert "nothing to change" in again.err
    assert "skipped these items, because they were imported before: 0001-record" in again.err
    file = folder / "0001-record-architecture-decisions.md"
    file.write_text(file.read_text().replace("nobody remembers", "we forget"))
    put(folder, {"0005-new.md": "# 5. New\n\n## Context\n\nC\n"})
    third = memctl("import", "adr", str(folder))
    assert f"{file.name} ({ids[file.name]})" in third.err
    assert "hint: " in third.err
    assert third.out == "DEC-2025-11-04-001 0005-new.md\n"
    assert commits(repo) == before + 1
    assert "nobody remembers" in record(memctl, ids[file.name])["body"]


def test_a_new_file_supersedes_an_existing_decision(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    form = "# {}\n\nDate: 2024-01-01\n\n## Status\n\nAccepted\n\n{}## Context\n\nC\n"
    folder = put(tmp_path / "in", {"0001-a.md": form.format("1. A", ""), "0002-b.md": form.format("2. B", "")})
    ids = import_folder(memctl, folder)
    before = commits(repo)
    put(folder, {"0003-c.md": form.format("3. C", "Supersedes [1. A](0001-a.md)\n\nSupersedes ADR-2\n\n")})
    changed = form.format("2. B", "").replace("Accepted\n", "Superseded by [3. C](0003-c.md)\n")
    put(folder, {"0002-b.md": changed})  # as adr-tools does it
    ids |= import_folder(memctl, folder)
    assert commits(repo) == before + 1
    for old in ("0001-a.md", "0002-b.md"):
        assert record(memctl, ids[old])["superseded_by"] == [ids["0003-c.md"]]
        assert record(memctl, ids[old])["status"] == "superseded"
    assert record(memctl, ids["0003-c.md"])["supersedes"] == [ids["0001-a.md"], ids["0002-b.md"]]
    memctl("export", "adr", str(tmp_path / "out"))
    assert texts(tmp_path / "out") == texts(folder)


def test_faulty_files_are_reported_with_lines_and_strict_imports_nothing(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    before = commits(repo)
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    folder = put(
        tmp_path / "in",
        {
            "0001-fine.md": "# Fine\n",
            "0002-untitled.md": "text\n\n## Context\n\nC\n",
            "0003-long.md": "<!-- -->\n# " + "x" * 101 + "\n",
            "0004-secret.md": f"# Secret\n\n## Context\n\n{key}\n",
            "0005-ends.md": "# Ends\r\n\r\ntext\n",
            "0006-front.md": "---\nstatus: accepted\n# Open\n",
            "0007-nul.md": "# Nul\n\n\0\n",
            "0009-conflict.md": "# C\n\n" + "<" * 7 + " a\n" + "=" * 7 + "\n" + ">" * 7 + " b\n",
        },
    )
    (folder / "0008-bytes.md").write_bytes(b"# Bytes\n\n\xe9\n")
    (folder / "0010-link.md").symlink_to(folder / "0001-fine.md")
    (folder / "0011-folder.md").mkdir()
    wrong = memctl("import", "adr", str(folder), "--strict", code=1).err
    for place in ("2-untitled.md:3", "4-secret.md:5", "5-ends.md:3", "6-front.md:1", "7-nul.md:3", "8-bytes.md:3"):
        assert f"000{place}: " in wrong
    assert "0010-link.md:1: " in wrong
    assert "0011-folder.md:1: " in wrong
    assert "0001-fine.md" not in wrong
    loose = memctl("import", "adr", str(folder), "-n")
    assert "would import 1 decision of in" in loose.out
    assert loose.err.count("warning: not imported: ") == 10
    assert "warning: not imported: 0004-secret.md:5: " in loose.err
    for name in ("0002-untitled.md", "0004-secret.md", "0005-ends.md", "0006-front.md", "0007-nul.md"):
        (folder / name).unlink()
    (folder / "0008-bytes.md").unlink()
    (folder / "0010-link.md").unlink()
    (folder / "0011-folder.md").rmdir()
    (folder / "0001-fine.md").unlink()
    wrong = memctl("import", "adr", str(folder), code=1).err
    assert "0003-long.md:2: title: " in wrong
    assert "0009-conflict.md:3: " in wrong
    assert commits(repo) == before
    assert memctl("list", "--json").data["total"] == 0


def test_titles_and_statuses_are_read_from_any_usual_place(memctl: Memctl, tmp_path: Path) -> None:
    folder = put(
        tmp_path / "in",
        {
            "adr013-use-node-fetch.md": '---\nid: a\ntitle: "ADR013: Use \\"fetch\\""\n---\n\n## Context\n\nC\n',
            "0002-keep-carts.md": "| Status | Deprecated |\n|--|--|\n| Date | 2024-02-01 |\n\n## Context\n\nC\n",
            "0003-word.md": "# Word\n\n**Rejected**\n\n## Context\n\nC\n",
            "queues.md": "# Queues\n\nDate: 2024-03-01\n\n## Status\n\nPROPOSED Not Implemented\n",
            "locks.md": "## Context\n\nC\n\n## Decision\n\nD\n",
            "README.md": "# All decisions\n\n- [Queues](queues.md)\n",
            "adr-template.md": "# Template\n\n## Status\n\nAccepted\n",
            "0004-use-x.md": "<!-- MD025 -->\n# {short title of the choice}\n\n## Context\n\n{Describe it}\n",
        },
    )
    ids = import_folder(memctl, folder)
    found = {name: record(memctl, identifier) for name, identifier in ids.items()}
    assert {name: (one["title"], one["status"]) for name, one in found.items()} == {
        "0002-keep-carts.md": ("Keep carts", "deprecated"),
        "0003-word.md": ("Word", "rejected"),
        "adr013-use-node-fetch.md": ('Use "fetch"', "accepted"),
        "queues.md": ("Queues", "proposed"),
        "locks.md": ("Locks", "accepted"),
    }
    assert found["0002-keep-carts.md"]["timestamp"] == "2024-02-01T00:00:00Z"
    assert texts(folder).items() >= {n: d.encode() for n, d in export_folder(memctl, tmp_path / "out").items()}.items()
    for name, title in (("adr013-use-node-fetch.md", "Use it"), ("locks.md", "Lock"), ("0003-word.md", "Words")):
        memctl("edit", ids[name], "--allow-accepted", "--title", title)
    memctl("edit", ids["0003-word.md"], "--status", "proposed")
    files = export_folder(memctl, tmp_path / "out")
    assert 'title: "ADR013: Use it"' in files["adr013-use-node-fetch.md"]
    assert files["locks.md"].startswith("# Lock\n\n## Context")
    assert files["0003-word.md"] == "# Words\n\n**Proposed**\n\n## Context\n\nC\n"
    assert import_folder(memctl, folder) == {}


def test_a_credential_is_imported_only_with_the_option(memctl: Memctl, tmp_path: Path) -> None:
    folder = put(tmp_path / "in", {"0001-a.md": "# A\n\nAKIA" + "IOSFODNN7EXAMPLF\n"})
    assert "0001-a.md:3: this looks like a credential" in memctl("import", "adr", str(folder), code=1).err
    memctl("import", "adr", str(folder), "--allow-secret")


def test_export_after_an_edit_changes_only_that_part(memctl: Memctl, tmp_path: Path) -> None:
    ids = import_folder(memctl, EXAMPLES / "nygard") | import_folder(memctl, EXAMPLES / "madr")
    nygard, madr = ids["0003-send-mail-from-a-queue.md"], ids["0003-write-prices-as-integers.md"]
    sets = ("status=accepted", "title=Send mails later", "timestamp=2024-04-01", "rationale=It waits.")
    memctl("edit", nygard, *[part for value in sets[1:] for part in ("--set", value)])
    memctl("edit", nygard, "--set", sets[0])
    memctl("edit", madr, "--set", "rationale=* Books must balance")
    memctl("edit", madr, "--set", "status=accepted")
    files = export_folder(memctl, tmp_path / "out")
    text = (EXAMPLES / "nygard" / "0003-send-mail-from-a-queue.md").read_text()
    text = text.replace("3. Send mail from a queue\n\nDate: 2024-03-15", "3. Send mails later\n\nDate: 2024-04-01")
    text = text.replace("Proposed", "Accepted").replace("\n\n## Alt", "\n\n## Rationale\n\nIt waits.\n\n## Alt")
    assert files["0003-send-mail-from-a-queue.md"] == text
    text = (EXAMPLES / "madr" / "0003-write-prices-as-integers.md").read_text()
    text = text.replace("Status: proposed", "Status: accepted").replace("* Sums must be exact", "* Books must balance")
    assert files["0003-write-prices-as-integers.md"] == text


def test_superseding_is_exported_to_both_files_in_their_forms(memctl: Memctl, tmp_path: Path) -> None:
    ids = import_folder(memctl, EXAMPLES / "nygard")
    old = "0004-keep-carts-in-redis.md"
    memctl("decide", "Keep carts [in] the browser", "--decision", "D", "--supersedes", ids[old])
    files = export_folder(memctl, tmp_path / "nygard", "--form", "nygard")
    new = "0005-keep-carts-in-the-browser.md"
    link = f"[5. Keep carts \\[in\\] the browser]({new})"
    text = (EXAMPLES / "nygard" / old).read_text()
    status = "Supersedes [2. Keep carts in MySQL](0002-keep-carts-in-mysql.md)"
    assert files[old] == text.replace(f"Accepted\n\n{status}", f"{status}\n\nSuperseded by {link}")
    assert "Accepted\n\nSupersedes [4. Keep carts in Redis](0004-keep-carts-in-redis.md)\n" in files[new]
    assert (
        files["0001-record-architecture-decisions.md"]
        == (EXAMPLES / "nygard" / "0001-record-architecture-decisions.md").read_text()
    )


def test_superseding_changes_the_status_of_a_madr_file(memctl: Memctl, tmp_path: Path) -> None:
    ids = import_folder(memctl, EXAMPLES / "madr")
    old, bare = "0002-use-the-database-as-a-queue.md", "0000-use-madr.md"
    memctl("decide", "Use Kafka", "--supersedes", ids[old])
    memctl("edit", ids[bare], "--set", "status=deprecated")
    files = export_folder(memctl, tmp_path / "out")
    text = (EXAMPLES / "madr" / old).read_text()
    assert files[old] == text.replace('"accepted"', '"superseded by [ADR-0004](0004-use-kafka.md)"')
    assert files[bare] == "---\nstatus: deprecated\n---\n\n" + (EXAMPLES / "madr" / bare).read_text()


def test_file_without_a_status_gets_one_in_its_usual_place(memctl: Memctl, tmp_path: Path) -> None:
    folder = put(tmp_path / "in", {"0001-a.md": "# 1. A\n\nDate: 2024-01-01\n\nBefore.\n\n## Context\n\nC\n"})
    put(folder, {"0002-b.md": "---\ndate: 2024-01-01\n---\n# B\n\n## Decision Outcome\n\nC"})
    ids = import_folder(memctl, folder)
    for identifier in ids.values():
        memctl("edit", identifier, "--set", "status=deprecated")
    files = export_folder(memctl, tmp_path / "out")
    assert files["0001-a.md"] == (folder / "0001-a.md").read_text().replace("## C", "## Status\n\nDeprecated\n\n## C")
    assert files["0002-b.md"] == (folder / "0002-b.md").read_text().replace("date", "status: deprecated\ndate")


def test_crlf_and_a_missing_last_line_end_survive_an_edit(memctl: Memctl, tmp_path: Path) -> None:
    text = "# 1. A\r\n\r\n## Status\r\n\r\nProposed\r\n\r\n## Context\r\n\r\nC"
    ids = import_folder(memctl, put(tmp_path / "in", {"0001-a.md": text}))
    memctl("edit", ids["0001-a.md"], "--set", "impact=None", "--set", "status=rejected")
    files = export_folder(memctl, tmp_path / "out")
    added = "## Consequences\r\n\r\nNone\r\n\r\n## Context"
    assert files["0001-a.md"] == text.replace("Proposed", "Rejected").replace("## Context", added)


def test_export_in_the_other_form_loses_nothing(memctl: Memctl, tmp_path: Path) -> None:
    import_folder(memctl, EXAMPLES / "madr")
    files = export_folder(memctl, tmp_path / "out", "--form", "nygard")
    text = files["0003-write-prices-as-integers.md"]
    assert text.startswith("# 3. Write prices as integers\n\nDate: 2024-10-02\n\n* Deciders: Ada, Bob\n  * and whoever")
    wanted = ("Technical Story: sums", "## Status\n\nProposed", "## Context\n\nFloats", "## Decision\n\nChosen")
    assert all(part in text for part in (*wanted, "## Rationale\n\n* Sums", "## Links <!-- optional -->"))
    assert text.index("## Context") < text.index("## Decision") < text.index("## Rationale")
    assert "nav_order: 1" in files["0001-choose-a-message-broker.md"]
    assert "status" not in files["0002-use-the-database-as-a-queue.md"].split("# 2.")[0]
    assert import_folder(memctl, tmp_path / "out") == {}


def test_amendments_stay_when_a_nygard_file_becomes_madr(memctl: Memctl, tmp_path: Path) -> None:
    import_folder(memctl, EXAMPLES / "nygard")
    text = export_folder(memctl, tmp_path / "out", "--form", "madr")["0003-send-mail-from-a-queue.md"]
    assert text.startswith("---\nstatus: proposed\ndate: 2024-03-15\n---\n\n# Send mail from a queue\n\nAmends [1. ")
    assert "## Decision Outcome\n\nMails" in text
    assert "### Consequences\n\nA mail" in text


def test_decisions_of_memctl_are_numbered_after_imported_ones(memctl: Memctl, tmp_path: Path) -> None:
    one = memctl("decide", "One", "--context", "C", "--alternative", "A: no", "--decision", "D", "--validation", "V").id
    assert list(export_folder(memctl, tmp_path / "out")) == ["0001-one.md"]
    folder = put(tmp_path / "in", {"adr-017-a.md": "# A\n", "adr-009-one.md": "# By hand\n"})
    (folder / "adr-009-one.md").unlink()
    import_folder(memctl, folder)
    memctl("decide", "Two")
    assert list(export_folder(memctl, tmp_path / "new")) == ["adr-017-a.md", "adr-018-one.md", "adr-019-two.md"]
    files = export_folder(memctl, tmp_path / "out")
    assert list(files) == ["0001-one.md", "adr-017-a.md", "adr-018-two.md"]
    assert files["0001-one.md"] == (
        "---\nstatus: accepted\ndate: 2025-11-04\n---\n\n# One\n\n## Context and Problem Statement\n\nC\n\n"
        "## Considered Options\n\n- One\n- A: no\n\n## Decision Outcome\n\nD\n\n### Confirmation\n\nV\n"
    )
    assert import_folder(memctl, tmp_path / "out") == {}
    assert record(memctl, one)["title"] == "One"


def test_a_new_file_has_the_usual_form_and_the_choice_as_outcome(memctl: Memctl, tmp_path: Path) -> None:
    memctl("decide", "Use Redis", "--rationale", "Keys expire.", "--alternative", "A file: locks")
    text = export_folder(memctl, tmp_path / "out")["0001-use-redis.md"]
    assert text.endswith(
        "## Considered Options\n\n- Use Redis\n- A file: locks\n\n"
        '## Decision Outcome\n\nChosen option: "Use Redis", because:\n\nKeys expire.\n'
    )
    assert import_folder(memctl, tmp_path / "out") == {}
    import_folder(memctl, EXAMPLES / "nygard")
    text = next(text for name, text in export_folder(memctl, tmp_path / "all").items() if name.endswith("use-redis.md"))
    assert "\n\n## Status\n\nAccepted\n\n## Rationale\n\nKeys expire.\n" in text


def test_a_record_can_not_name_a_path_outside_the_folder(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    origin = {"form": "madr", "digest": "", "head": "# T\n\n"}
    for number, name in enumerate(("../0001-x.md", ".git/hooks/0001-x.md", "/0001-x.md", "..\\0001-x.md", "x")):
        made = memctl("decide", f"Title {number}").out.split()[1]
        text = (repo / made).read_text()
        odd = frontmatter_edit.replace(text, {KEY: {**origin, "file": name}}, ())
        (repo / made).write_text(odd)
    files = export_folder(memctl, tmp_path / "out")
    assert list(files) == [f"000{number + 1}-title-{number}.md" for number in range(5)]


def test_two_decisions_of_one_file_are_not_written_over_each_other(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    ids = list(import_folder(memctl, EXAMPLES / "madr").values())
    made = memctl("decide", "From another clone")
    paths = [repo / path for path in (memctl("show", ids[0], "--json").data["records"][0]["path"], made.out.split()[1])]
    kept = frontmatter.read(paths[0].read_text())[0][KEY]
    paths[1].write_text(frontmatter_edit.replace(paths[1].read_text(), {KEY: kept}, ()))
    failed = memctl("export", "adr", str(tmp_path / "out"), code=1).err
    assert f"the decisions {ids[0]} and {made.id} would both be written to 0000-use-madr.md" in failed
    assert not (tmp_path / "out").exists()


def test_an_export_writes_through_no_symbolic_link(memctl: Memctl, tmp_path: Path) -> None:
    import_folder(memctl, EXAMPLES / "madr")
    folder = put(tmp_path / "out", {})
    (tmp_path / "victim").write_text("mine")
    (folder / "0000-use-madr.md").symlink_to(tmp_path / "victim")
    assert "symbolic link" in memctl("export", "adr", str(folder), "--force", code=1).err
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_folder_may_be_named_by_a_link(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to(EXAMPLES / "madr")
    put(tmp_path / "real", {})
    (tmp_path / "out").symlink_to(tmp_path / "real")
    import_folder(memctl, tmp_path / "in")
    memctl("export", "adr", str(tmp_path / "out"))
    assert texts(tmp_path / "real") == texts(EXAMPLES / "madr")


def test_json_lines_preserve_the_original_adr_files(memctl: Memctl, tmp_path: Path) -> None:
    ids = import_folder(memctl, EXAMPLES / "nygard")
    lines = memctl("export").out
    memctl("delete", *ids.values(), "--unlink")
    memctl("import", "-", stdin=lines)
    memctl("export", "adr", str(tmp_path / "out"))
    assert texts(tmp_path / "out") == texts(EXAMPLES / "nygard")


def test_decisions_of_two_folders_are_exported_to_their_own(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    text = "# {0}\n\n## Status\n\nAccepted\n\n## Context\n\nC\n"
    one = put(repo / "api/adr", {"0001-record.md": text.format("Use A"), "0002-same.md": text.format("Same")})
    two = put(repo / "web/adr", {"0001-record.md": text.format("Use B"), "0002-same.md": text.format("Same")})
    assert list(import_folder(memctl, one)) == ["0001-record.md", "0002-same.md"]
    assert list(import_folder(memctl, two)) == ["0001-record.md"]  # the other has the very same text
    assert import_folder(memctl, two) == {}
    before = texts(one), texts(two)
    memctl("decide", "Use C")
    for folder in (one, two):
        memctl("export", "adr", str(folder), "--force")
    assert [{name: now[name] for name in was} for was, now in zip(before, map(texts, (one, two)), strict=True)] == list(
        before
    )
    one.rename(repo / "decisions")
    assert import_folder(memctl, repo / "decisions").keys() <= {"0003-use-c.md"}
    assert memctl("check").out == ""


@pytest.mark.parametrize("folder", ["exp", "docs/adr", "exp/new/adr"])
def test_an_export_writes_through_no_link_that_the_repository_brought(
    repo: Path, memctl: Memctl, tmp_path: Path, folder: str
) -> None:
    import_folder(memctl, EXAMPLES / "madr")
    outside = put(tmp_path / "outside", {})
    (repo / folder.partition("/")[0]).symlink_to(outside)
    failed = memctl("export", "adr", str(repo / folder), code=1).err
    assert "leads out of the worktree" in failed
    assert list(outside.iterdir()) == []


def test_an_export_writes_through_no_tracked_link_within_the_repository(repo: Path, memctl: Memctl) -> None:
    import_folder(memctl, EXAMPLES / "madr")
    (repo / "src").mkdir()
    (repo / "exp").symlink_to("src")
    git(repo, "add", "exp")
    assert "is tracked by Git" in memctl("export", "adr", str(repo / "exp"), code=1).err
    assert list((repo / "src").iterdir()) == []


def test_links_that_are_left_out_are_named_with_reason_and_line(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    text = "# {}\n\n## Status\n\n{}\n\n## Decision\n\nText\n"
    folder = put(
        tmp_path / "in",
        {
            "0027-sso.md": text.format("27. SSO", "Accepted"),
            "0027-trace.md": text.format("27. Trace", "Accepted"),
            "0030-rejected.md": text.format("30. Old", "Rejected"),
            "0040-proposed.md": text.format("40. New", "Proposed\n\nSupersedes ADR-0027"),
            "0055-runner.md": text.format("55. Runner", "Accepted (supersedes ADR-027, ADR-036, ADR-30)"),
            "0056-self.md": text.format("56. Self", "Accepted\n\nSupersedes ADR-056"),
        },
    )
    said = memctl("import", "adr", str(folder), "-n").err
    for note in (
        "0055-runner.md:5: supersedes 27: several files have this number (0027-sso.md, 0027-trace.md)",
        "0055-runner.md:5: supersedes 36: the folder has no such file",
        "0055-runner.md:5: supersedes 30: a rejected decision can't be superseded",
        "0040-proposed.md:7: supersedes 27: several files have this number",
        "0056-self.md:7: supersedes 56: this is the file itself",
    ):
        assert f"note: {note}" in said
    refused = memctl("import", "adr", str(folder), "--strict", code=1).err
    assert "supersedes 36: the folder has no such file" in refused
    assert commits(repo) == 2
    memctl("import", "adr", str(folder))
    assert "supersedes" not in memctl("import", "adr", str(folder)).err
