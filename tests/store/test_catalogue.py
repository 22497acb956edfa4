"""The catalogue always says what the records say: compared with plain computations over all of them."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memctl.record import frontmatter, mentions
from memctl.record.filters import ORDERS, Filters, select
from memctl.record.kinds import KINDS, KNOWLEDGE
from memctl.record.pages import code_path
from memctl.record.record import ORDER, Record
from memctl.record.snapshot import Snapshot
from memctl.record.source import Catalogue
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl, git, slow

PLACES = (None, "§2.1", "§2.2", "§3.1", "§3.1.4", "§4.src/a.py", "§2.10")
FILTERS = (
    Filters(),
    Filters(archived=None),
    Filters(is_open=True),
    Filters(archived=True),
    Filters(types=("decision", "issue"), statuses=("accepted", "open")),
    Filters(severities=("critical", "low"), archived=None),
    Filters(tags=("api", "größe")),
    Filters(tags=("a",)),
    Filters(importance_gte=2, agent="claude"),
    Filters(agent="codex"),
    Filters(paths=frozenset()),
    Filters(since="2025-11-02T00:00:00Z", until="2025-11-02T23:59:59Z"),
)
SECTIONS = ("§2.1", "§3", "§3.1.4")
FORMER = ("DEC-2025-11-04-007", "ISS-2025-11-04-001", "LRN-2025-11-04-00")
MOMENTS = (0, 1_800_000_000)
PAGES = ("", "§2.1", "§2.2", "§2.10", "§3.1")
COVERED = ["src/b.py"]
TAGS = ("db", "api", "größe", "a b")
MENTIONED = ("§2.1", "DEC-2025-11-04-001", "DEC-2025-11-04-00")
KEY = "AKIA" + "ABCDEFGHIJKLMNOP"
WORDS = (
    "plain",
    "See §2.1 and DEC-2025-11-04-001.",
    "`§2.2` is code",
    f"{KEY} in it",
    "\x1b[31mred",
    "x " * 2_500,
    "größer: 大" * 350,
    "",
)


def taken(snapshot: Snapshot) -> dict[str, Any]:
    """What the catalogue answers to every question."""
    catalogue = snapshot.catalogue
    unplaced = catalogue.unplaced()
    return {
        "top": {(t, p): ids(catalogue.top(t, p, limit)) for t in KINDS for p in PAGES for limit in (3,)},
        "anywhere": {t: ids(catalogue.top(t, None, 5)) for t in KINDS},
        "blocking": ids(catalogue.blocking(4)),
        "count": {(t, p): catalogue.count(t, p) for t in KINDS for p in PAGES},
        "top_with_code": {
            (t, p): ids(
                catalogue.top(t, p, 3, [path for path, name, file in unplaced if name == t and file in COVERED])
            )
            for t in KINDS
            for p in PAGES
        },
        "unplaced": sorted(unplaced),
        "unplaced_code": sorted(catalogue.unplaced_code()),
        "tags": catalogue.tags(),
        "latest": ids([found] if (found := catalogue.latest()) else []),
        "mentions": {path: [(m.line, m.text) for m in found] for path, found in catalogue.mentions().items()},
        "mentioning": {text: catalogue.mentioning(text) for text in MENTIONED},
        "heavy": {weight: catalogue.heavy(weight) for weight in (0, 4_000, 5_500)},
        "suspicious": catalogue.suspicious(),
        "with_hidden_characters": catalogue.with_hidden_characters(),
        "statuses": {tuple(key): number for *key, number in catalogue.statuses()},
        "shared_ids": catalogue.shared_ids(),
        "recorded_since": {moment: catalogue.recorded_since(moment) for moment in MOMENTS},
        "places": catalogue.places(),
        "severe": {p: sorted(ids(catalogue.severe(p))) for p in PAGES},
        "found": {i: found.path if (found := catalogue.find(i)) else None for i in ("DEC-2025-11-04-001", "nonsense")},
        "named": {i: ids(catalogue.with_id(i)) for i in ("ISS-2025-11-04-002", "nonsense")},
        "renamed": {i: ids(catalogue.with_alias(i)) for i in FORMER},
        "referring": {name: ids(catalogue.with_code_refs([name, "none"])) for name in ("src/a.py", "src/b.py", "src/")},
        "in_sections": {marker: catalogue.in_sections([marker, "§9"], COVERED) for marker in SECTIONS},
        "selected": {
            (filters, order, reverse): (ids(found), total)
            for filters in FILTERS
            for order in ORDERS
            for reverse in (False, True)
            for found, total in [catalogue.select(filters.conditions(), order, reverse=reverse, limit=5)]
        },
    }


def computed(snapshot: Snapshot) -> dict[str, Any]:
    """The same, from the records one by one."""
    records = list(snapshot.records)
    known = [record for record in records if record.memory_type in KNOWLEDGE]
    opened = [record for record in records if record.is_open]

    def best(found: Sequence[Record], limit: int) -> list[str]:
        ranked = sorted(found, key=lambda r: r.path)
        ranked.sort(key=lambda r: r.timestamp, reverse=True)
        ranked.sort(key=lambda r: r.importance, reverse=True)
        return ids(ranked[:limit])

    def at(kind: str, place: str, with_code: bool = False) -> list[Record]:
        of_kind = (record for record in opened if record.memory_type == kind)
        return [record for record in of_kind if place_of(record) == place or (with_code and is_in_b(record))]

    blocking = sorted((r for r in opened if r.memory_type == "issue"), key=lambda r: r.path)
    blocking = [r for r in blocking if r.severity in ("critical", "high")]
    blocking.sort(key=lambda r: r.timestamp, reverse=True)
    blocking.sort(key=lambda r: r.severity == "high")
    tags = Counter((tag, place_of(record)) for record in opened for tag in set(record.tags))
    bodies = {record.path: snapshot.body(record) for record in records}
    texts = {record.path: snapshot.read(record.path) for record in records}
    lines = {path: texts[path].count("\n", 0, len(texts[path]) - len(body)) + 1 for path, body in bodies.items()}
    mentioned = {path: [(m.line, m.text) for m in mentions.in_text(body, lines[path])] for path, body in bodies.items()}
    return {
        "top": {(t, p): best(at(t, p), 3) for t in KINDS for p in PAGES},
        "anywhere": {t: best([r for r in opened if r.memory_type == t], 5) for t in KINDS},
        "blocking": ids(blocking[:4]),
        "count": {(t, p): len(at(t, p)) for t in KINDS for p in PAGES},
        "top_with_code": {(t, p): best(at(t, p, True), 3) for t in KINDS for p in PAGES},
        "unplaced": sorted(
            {(r.path, r.memory_type, code_path(ref)) for r in opened if r.section is None for ref in r.code_refs}
        ),
        "unplaced_code": sorted({code_path(ref) for r in records if r.section is None for ref in r.code_refs}),
        "tags": sorted((tag, place, count) for (tag, place), count in tags.items()),
        "latest": ids(sorted(known, key=lambda r: (r.timestamp, r.path))[-1:]),
        "mentions": {path: found for path, found in mentioned.items() if found},
        "mentioning": {
            text: sorted(path for path, found in mentioned.items() if text in [m for _, m in found])
            for text in MENTIONED
        },
        "heavy": {n: sorted(path for path, text in texts.items() if weight(text) >= n) for n in (0, 4_000, 5_500)},
        "suspicious": sorted(path for path, text in texts.items() if KEY in text),
        "with_hidden_characters": sorted(path for path, text in texts.items() if "\x1b" in text),
        "statuses": dict(Counter((r.memory_type, state(r), r.severity or "") for r in records)),
        "shared_ids": sorted(name for name, number in Counter(ids(records)).items() if number > 1),
        "recorded_since": {n: sum(r.recorded is not None and r.recorded > n for r in records) for n in MOMENTS},
        "places": dict(Counter(place_of(record) for record in opened if record in known)),
        "severe": {p: sorted(r.id for r in at("issue", p) if r.severity in ("critical", "high")) for p in PAGES},
        "found": {i: next((r.path for r in records if r.id == i), None) for i in ("DEC-2025-11-04-001", "nonsense")},
        "named": {i: ids([r for r in records if r.id == i]) for i in ("ISS-2025-11-04-002", "nonsense")},
        "renamed": {i: ids([r for r in records if i in r.aliases and r.id != i]) for i in FORMER},
        "referring": {
            name: ids([r for r in records if any(ref.partition(":")[0] == name for ref in r.code_refs)])
            for name in ("src/a.py", "src/b.py", "src/")
        },
        "in_sections": {
            marker: frozenset(
                r.path for r in records if (f"{r.section}.".startswith(f"{marker}.") if r.section else is_in_b(r))
            )
            for marker in SECTIONS
        },
        "selected": {
            (filters, order, reverse): (ids(found[:5]), len(found))
            for filters in FILTERS
            for order in ORDERS
            for reverse in (False, True)
            for found in [select(records, filters, order, reverse=reverse)]
        },
    }


def ids(records: Sequence[Record]) -> list[str]:
    return [record.id for record in records]


def state(record: Record) -> str:
    return "archived" if record.is_archived else record.status


def weight(text: str) -> int:
    """An ASCII character weighs 1, one of two bytes 3, of three bytes 5, of four 7."""
    return sum(2 * len(character.encode()) - 1 for character in text)


def place_of(record: Record) -> str:
    """The page that a record belongs to: §2.N or §3.N."""
    section = record.section or ""
    return ".".join(section.split(".")[:2]) if section.startswith(("§2.", "§3.")) else ""


def is_in_b(record: Record) -> bool:
    """Whether a record names no section, but refers to code that a section covers."""
    return record.section is None and bool({code_path(ref) for ref in record.code_refs} & {*COVERED})


def text(chance: random.Random, kind: str, number: int) -> tuple[str, str]:
    """The path and text of a record of which everything but its id is by chance."""
    identifier = f"{KINDS[kind].prefix}-2025-11-04-{number:03d}"
    values = {
        "id": identifier,
        "memory_id": f"019a4f3e-{list(KINDS).index(kind):04d}-7000-8000-{number:012d}",
        "memory_type": kind,
        "title": chance.choice(["Title", f"A {KEY} title", "§2.1", "ägypten", "Ägypter", "title"]),
        "status": chance.choice(KINDS[kind].statuses),
        "code_refs": chance.choice(([], ["src/a.py:3", "src/a.py"], ["src/", "src/b.py:1-9"])),
        "severity": chance.choice([None, "critical", "high", "low"]) if kind == "issue" else None,
        "importance": chance.randint(1, 3),
        "section": chance.choice(PLACES),
        "tags": chance.sample(TAGS, k=chance.randint(0, 3)),
        "timestamp": f"2025-11-0{chance.randint(1, 3)}T00:00:00Z",
        "project_id": "shop",
        "agent_id": "claude",
        "is_archived": chance.random() < 0.2,
        "aliases": chance.sample(FORMER[:2], k=chance.choice([0, 0, 0, 1, 2])),
    }
    body = "\n".join(chance.choices(WORDS, k=2))
    head = frontmatter.compose({name: values.get(name) for name in ORDER}, f"## Notes\n\n{body}\n")
    slug = chance.choice(("", "", "-again"))  # clones may give out the same id
    return f"{KINDS[kind].folder}/2025-11/{identifier}{slug}.md", head


def write(repo: Path, chance: random.Random, _: Memctl) -> None:
    path, head = text(chance, chance.choice(list(KINDS)), chance.randint(1, 6))
    file = repo / ".memory" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head)


def files(repo: Path) -> list[Path]:
    return sorted(file for kind in KINDS.values() for file in (repo / ".memory" / kind.folder).rglob("*.md"))


def delete(repo: Path, chance: random.Random, _: Memctl) -> None:
    if found := files(repo):
        chance.choice(found).unlink()


def spoil(repo: Path, chance: random.Random, _: Memctl) -> None:
    if found := files(repo):
        chance.choice(found).write_text("---\nno record\n---\n")


def commit(repo: Path, chance: random.Random, _: Memctl) -> None:
    git(repo, "add", "-A", ".memory")
    git(repo, "commit", "-qm", "by hand", "--allow-empty")


def go_back(repo: Path, chance: random.Random, _: Memctl) -> None:
    git(repo, "reset", "-q", "--hard", "HEAD~1" if int(git(repo, "rev-list", "--count", "HEAD")) > 3 else "HEAD")


def by_memctl(repo: Path, chance: random.Random, memctl: Memctl) -> None:
    memctl("issue", "By memctl", "--severity", "critical", "--section", "2.1", "--tag", "db", code=None)


ACTIONS: tuple[Callable[[Path, random.Random, Memctl], None], ...] = (
    write, write, write, write, delete, spoil, commit, go_back, by_memctl,
)  # fmt: skip


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_catalogue_matches_the_files_after_any_change(repo: Path, memctl: Memctl, seed: int) -> None:
    chance = random.Random(seed)
    for turn in range(25):
        chance.choice(ACTIONS)(repo, chance, memctl)
        snapshot = load.disk(open_memory(repo, os.environ))
        if turn % 2:
            assert snapshot.records is not None  # the records first, or the catalogue first
        found = taken(snapshot)
        fresh = load.disk(open_memory(repo, os.environ))
        assert found == computed(fresh), turn
    shutil.rmtree(repo / ".git" / "memctl")
    assert taken(load.disk(open_memory(repo, os.environ))) == found


def test_index_and_revision_have_their_own_catalogues(repo: Path, memctl: Memctl) -> None:
    chance = random.Random(7)
    for _ in range(12):
        write(repo, chance, memctl)
    commit(repo, chance, memctl)
    for _ in range(6):
        write(repo, chance, memctl)
    git(repo, "add", ".memory")
    delete(repo, chance, memctl)
    memory = open_memory(repo, os.environ)
    snapshots = [load.disk(memory), load.index(memory), load.revision(memory, "HEAD")]
    answers = [taken(snapshot) for snapshot in snapshots]
    assert answers == [computed(snapshot) for snapshot in snapshots]
    assert answers[0] != answers[1] != answers[2]


def test_only_issues_count_as_critical(repo: Path, memctl: Memctl) -> None:
    """Only an issue has a severity; on another it is a slip that must not block the project."""
    made = memctl("decide", "No blocker")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text().replace("status: accepted", "status: accepted\nseverity: critical"))
    issue = memctl("issue", "A blocker", "--severity", "critical").id
    catalogue = load.disk(open_memory(repo, os.environ)).catalogue
    assert ids(catalogue.blocking(5)) == [issue]


def test_tag_written_twice_counts_once(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Tagged", "--tag", "db", "--section", "2.1")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text().replace("  - db\n", "  - db\n  - db\n"))

    def tags() -> list[tuple[str, str, int]]:
        catalogue: Catalogue = load.disk(open_memory(repo, os.environ)).catalogue
        return catalogue.tags()

    assert tags() == [("db", "§2.1", 1)]
    memctl("archive", made.id)
    assert tags() == []


def test_catalogue_finds_records_by_whole_ids_only(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "One")
    long = repo / made.out.split()[1].replace("-001-one", "-0010-ten")
    long.write_text((repo / made.out.split()[1]).read_text().replace("-04-001", "-04-0010"))
    catalogue = load.disk(open_memory(repo, os.environ)).catalogue
    for identifier in (made.id, "DEC-2025-11-04-0010"):
        found = catalogue.find(identifier)
        assert found is not None
        assert found.id == identifier
    for identifier in ("DEC-2025-11-04-00", "DEC-2025-11-04", "dec-2025-11-04-001", "", "DEC-2025-11-04-002", "%"):
        assert catalogue.find(identifier) is None


def test_cached_catalogue_is_renewed_when_a_record_changes(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Fine", "--lesson", "Nothing here.")
    file = repo / made.out.split()[1]
    os.utime(file, (1, 1))  # what was written a moment ago is looked at again in any case

    def catalogue() -> Catalogue:
        found: Catalogue = load.disk(open_memory(repo, os.environ)).catalogue
        return found

    first = catalogue()
    assert first.recall(b"key") is None
    first.keep(b"key", b"value")
    assert first.recall(b"key") == b"value"
    assert catalogue().recall(b"key") == b"value"
    assert catalogue().recall(b"other") is None
    file.write_text(file.read_text().replace("Nothing", "Something"))
    assert catalogue().recall(b"key") is None
    first.keep(b"key", b"found out of what was there before")
    assert catalogue().recall(b"key") is None
