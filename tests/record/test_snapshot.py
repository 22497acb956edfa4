"""Snapshots: finding records, and what is said about those that are not there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.record import frontmatter
from memctl.record.errors import Fault
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from tests import snapshots


def made(number: int, memory_id: str = "", **more: Any) -> Record:
    return Record(
        id=f"DEC-2025-11-04-{number:03d}",
        memory_id=memory_id or f"019a4f3e-0000-7000-8000-{number:012d}",
        memory_type="decision",
        title=f"Title {number}",
        status="accepted",
        importance=7,
        timestamp="2025-11-04T14:32:00Z",
        project_id="shop",
        agent_id="claude",
        path=f"decisions/2025-11/DEC-2025-11-04-{number:03d}.md",
        **more,
    )


def text_of(record: Record, body: str = "") -> str:
    names = ("id", "memory_id", "memory_type", "title", "status", "importance", "timestamp", "project_id", "agent_id")
    return frontmatter.compose({name: getattr(record, name) for name in names}, body)


def snapshot(*records: Record, source: str = "disk", faults: tuple[Fault, ...] = ()) -> Snapshot:
    texts = {record.path: text_of(record, f"Body of {record.id}\n") for record in records}
    return snapshots.snapshot(records, texts, name=source, faults=faults)


def complaint(view: Snapshot, reference: str) -> MemctlError:
    with pytest.raises(MemctlError) as caught:
        view.resolve(reference)
    return caught.value


ONE = made(1, "019a4f3e-aaaa-7000-8000-000000000001")
TWO = made(2, "019a4f3e-bbbb-7000-8000-000000000002", aliases=["DEC-2025-11-04-009"])
LONG = made(1000)
VIEW = snapshot(ONE, TWO, LONG)


@pytest.mark.parametrize(
    ("reference", "record"),
    [
        ("DEC-2025-11-04-001", ONE),
        (" dec-2025-11-04-002 ", TWO),
        ("DEC-2025-11-04-002", TWO),
        ("DEC-2025-11-04-009", TWO),
        ("DEC-2025-11-04-10", LONG),
        ("019a4f3e-aaaa", ONE),
        ("019A4F3E-BBBB-7000-8000-000000000002", TWO),
    ],
)
def test_resolve_takes_ids_aliases_and_beginnings(reference: str, record: Record) -> None:
    assert VIEW.resolve(reference) == record


def tagged(day: str) -> Record:
    identifier, name = f"DEC-2026-11-{day}-k7fq-3", f"019a4f3e-dddd-7000-8000-0000000000{day}"
    path = f"decisions/2026-11/{identifier}.md"
    return msgspec.structs.replace(ONE, id=identifier, memory_id=name, path=path)


TAGGED = [tagged("17"), tagged("27")]


@pytest.mark.parametrize("reference", ["27-k7fq-3", "DEC-2026-11-27-K7FQ-3", "dec-2026-11-2", "7-K7fq-3 "])
def test_resolve_takes_ends_and_ids_with_a_tag_in_any_case(reference: str) -> None:
    assert snapshot(ONE, TAGGED[1]).resolve(reference) == TAGGED[1]


def test_ambiguous_end_names_the_candidates() -> None:
    message = complaint(snapshot(ONE, *TAGGED), "k7fq-3").message
    assert all(record.id in message for record in TAGGED)
    assert ONE.id not in message


@pytest.mark.parametrize("reference", ["3", "-3"])
def test_end_of_one_or_two_characters_names_no_record(reference: str) -> None:
    assert "there is no record" in complaint(snapshot(TAGGED[1]), reference).message


def test_near_miss_of_an_end_is_suggested() -> None:
    assert complaint(snapshot(ONE, TAGGED[1]), "k7fq-4").hint == "did you mean DEC-2026-11-27-k7fq-3?"


def test_an_exact_id_wins_over_longer_ones() -> None:
    hundred = made(100)
    assert snapshot(LONG, hundred).resolve("DEC-2025-11-04-100") == hundred


def test_an_ambiguous_beginning_names_the_candidates() -> None:
    message = complaint(VIEW, "DEC-2025-11-04").message
    assert all(record.id in message for record in (ONE, TWO, LONG))


def test_at_most_five_candidates_are_named() -> None:
    message = complaint(snapshot(*(made(number) for number in range(1, 100))), "DEC").message
    assert message.count("DEC-2025-11-04-") < 50


def test_two_records_with_one_id_are_distinguished_by_their_paths() -> None:
    other = msgspec.structs.replace(ONE, path="decisions/2025-11/DEC-2025-11-04-001-other.md")
    message = complaint(snapshot(ONE, other), ONE.id).message
    assert ONE.path in message
    assert other.path in message


def test_similar_id_is_suggested() -> None:
    assert "did you mean DEC-2025-11-04-00" in (complaint(VIEW, "DEC-2025-11-04-003").hint or "")


@pytest.mark.parametrize("reference", ["", "  ", "nonsense"])
def test_reference_without_a_near_match_hints_at_the_list(reference: str) -> None:
    assert "memctl list" in (complaint(VIEW, reference).hint or "")


def test_missing_record_at_a_revision_is_an_error_that_names_the_revision() -> None:
    assert complaint(snapshot(source="v1.0"), "DEC-2025-11-04-001").message.endswith("at v1.0")


def test_unreadable_record_is_reported_as_unreadable_and_not_as_missing() -> None:
    broken = snapshot(faults=(Fault("decisions/2025-11/DEC-2025-11-04-005-x.md", 3, "title", "is missing"),))
    message = complaint(broken, "dec-2025-11-04-005").message
    assert "can't be read" in message
    assert ":3: title: is missing" in message


def test_find_takes_only_whole_ids() -> None:
    assert VIEW.find("DEC-2025-11-04-009") == TWO
    assert VIEW.find(ONE.memory_id) is ONE
    assert VIEW.find("DEC-2025-11-04") is None


def test_body_is_the_text_below_the_front_matter() -> None:
    assert VIEW.body(ONE) == "Body of DEC-2025-11-04-001\n"


def test_id_finds_its_record_before_a_record_with_that_alias() -> None:
    once = made(3, "019a4f3e-0000-7000-8000-000000000003", aliases=[TWO.id, "DEC-2025-11-04-008"])
    snapshot = snapshots.snapshot([once, TWO])
    assert snapshot.find(TWO.id) == snapshot.resolve(TWO.id) == TWO
    assert snapshot.find("DEC-2025-11-04-008") == snapshot.resolve("dec-2025-11-04-008") == once
    assert snapshot.catalogue.with_alias(TWO.id) == [once]
