"""Ids, paths, slugs and UUIDs."""

from __future__ import annotations

import re
import uuid

import pytest

from memctl.record import ids
from memctl.record.kinds import DECISION, ISSUE, KINDS, Kind


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_an_id_names_its_kind(kind: Kind) -> None:
    assert ids.kind_of(ids.record_id(kind, "2025-11-04", 3)) is kind


def test_an_id_with_a_tag_has_a_number_without_zeros() -> None:
    identifier = ids.record_id(DECISION, "2026-11-27", 3, "k7fq")
    assert identifier == "DEC-2026-11-27-k7fq-3"
    assert ids.kind_of(identifier) is DECISION
    assert ids.series(identifier) == ("DEC-2026-11-27-k7fq", 3)
    assert re.fullmatch(ids.SHAPE, identifier)
    assert ids.id_in_path(ids.path_of(identifier, "7 bits")) == identifier


@pytest.mark.parametrize(("number", "end"), [(1, "-001"), (999, "-999"), (1000, "-1000")])
def test_numbers_have_three_digits_and_grow(number: int, end: str) -> None:
    identifier = ids.record_id(DECISION, "2025-11-04", number)
    assert identifier.endswith(end)
    assert ids.series(identifier) == ("DEC-2025-11-04", number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DEC-2025-11-04",
        "DEC-2025-11-04-03",
        "dec-2025-11-04-003",
        "DEC-2025-13-04-003",
        "DEC-2025-00-04-003",
        "DEC-2025-11-32-003",
        "XXX-2025-11-04-003",
        "DEC-2025-11-04-003\n",
        " DEC-2025-11-04-003",
        "DEC-2025-11-04-003-title",
        "DEC-2026-11-27-k7fq",
        "DEC-2026-11-27-k7fq-0",
        "DEC-2026-11-27-k7fq-03",
        "DEC-2026-11-27-html-3",
        "DEC-2026-11-27-k7aq-3",
        "DEC-2026-11-27-7kfq-3",
        "DEC-2026-11-27-k7fqq-3",
        "DEC-2026-11-27-K7FQ-3",
        "DEC-\uff12\uff10\uff12\uff15-11-04-003",
    ],
)
def test_a_text_that_is_not_an_id_has_no_kind(text: str) -> None:
    assert ids.kind_of(text) is None


def test_a_path_follows_from_id_and_title() -> None:
    assert (
        ids.path_of("ISS-2025-11-04-003", "Über-slow login!") == "issues/2025-11/ISS-2025-11-04-003-uber-slow-login.md"
    )


@pytest.mark.parametrize("title", ["", "日本語", "!!!", "..", "///"])
def test_a_title_without_ascii_letters_leaves_the_id_alone(title: str) -> None:
    assert ids.path_of("DEC-2025-11-04-003", title) == "decisions/2025-11/DEC-2025-11-04-003.md"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("decisions/2025-11/DEC-2025-11-04-003-adopt.md", "DEC-2025-11-04-003"),
        ("DEC-2025-11-04-1000.md", "DEC-2025-11-04-1000"),
        ("decisions/DEC-2025-11-04-003/notes.md", None),
        ("decisions/2025-11/notes.md", None),
        ("decisions/2025-11/my-DEC-2025-11-04-003.md", None),
    ],
)
def test_the_id_in_a_path_begins_the_file_name(path: str, found: str | None) -> None:
    assert ids.id_in_path(path) == found


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Adopt PostgreSQL 16", "adopt-postgresql-16"),
        ("  --a__b--  ", "a-b"),
        ("Crème brûlée", "creme-brulee"),
        ("ﬁne ½", "fine-12"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\x00b\nc", "a-b-c"),
    ],
)
def test_a_slug_is_plain_ascii(title: str, slug: str) -> None:
    assert ids.slug(title) == slug


def test_a_slug_is_cut_between_words() -> None:
    assert ids.slug("word " * 40) == "-".join(["word"] * 10)


def test_a_slug_of_one_long_word_is_cut_inside() -> None:
    assert ids.slug("x" * 80 + " y") == "x" * 50


def test_a_uuid_is_of_version_7_and_holds_its_time() -> None:
    made = uuid.UUID(ids.uuid7(1_762_266_720_000, b"\xff" * 10))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == 1_762_266_720_000


def test_uuids_of_later_times_sort_later() -> None:
    assert ids.uuid7(1000, b"\xff" * 10) < ids.uuid7(1001, b"\0" * 10)


def test_different_bytes_make_different_uuids() -> None:
    assert ids.uuid7(5, bytes(10)) != ids.uuid7(5, bytes(9) + b"\1")


@pytest.mark.parametrize(
    ("part", "is_part"),
    [("dec-2026", True), ("K7FQ-3", True), ("q-3", True), ("-3", False), ("3", False), ("", False), ("k7fq", False)],
)
def test_a_part_is_a_beginning_or_an_end(part: str, is_part: bool) -> None:
    assert ids.is_part(part, "DEC-2026-11-27-k7fq-3") is is_part


def test_series_belong_to_one_kind_and_day() -> None:
    assert ids.series(ids.record_id(ISSUE, "2025-01-02", 7)) == ("ISS-2025-01-02", 7)


def test_a_derived_id_follows_from_the_record_and_is_unused() -> None:
    memory_id = "019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90"
    found = ids.derive_id("DEC-2025-11-04-001", memory_id, ())
    assert found == ids.derive_id("DEC-2025-11-04-002", memory_id, ())
    assert ids.FIRST_DERIVED <= ids.series(found)[1] < 1_000_000
    assert ids.derive_id("DEC-2025-11-04-001", memory_id, {found}) != found
