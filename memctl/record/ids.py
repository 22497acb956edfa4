"""Identifiers: `DEC-2025-11-04-003` for people, a UUIDv7 for machines, and the path that follows from the first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from memctl.record.kinds import BY_PREFIX, Kind
from memctl.text.lazy_regex import lazy_regex

_PREFIXES = "|".join(BY_PREFIX)
PATTERN = lazy_regex(rf"(?a:({_PREFIXES})-(\d{{4}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))-(\d{{3,}}))")
SHAPE = rf"(?:{_PREFIXES})-\d{{4}}-\d\d-\d\d-\d{{3,}}"  # of an id, though no calendar has its day
ALLOWED = "an id such as DEC-2025-11-04-003"
_SLUG_LIMIT = 50
# From here on numbers are not counted but follow from a record's memory_id, so that every clone comes to the same one.
FIRST_DERIVED, _DERIVED = 100_000, 900_000


def record_id(kind: Kind, day: str, number: int) -> str:
    """Return the id of record `number` of a day (`YYYY-MM-DD`); numbers past 999 grow a digit."""
    return f"{kind.prefix}-{day}-{number:03d}"


def derived(identifier: str, memory_id: str, taken: Collection[str]) -> str:
    """Return another id for a record, of the same type and day, derived from its memory_id: six digits, not in `taken`.

    Nobody counts that far, so no clone gives it out later.
    """
    from hashlib import blake2b

    head, _ = series(identifier)
    number = int.from_bytes(blake2b(memory_id.encode(), digest_size=8).digest(), "big")
    while (found := f"{head}-{FIRST_DERIVED + number % _DERIVED}") in taken:
        number += 1
    return found


def kind_of(identifier: str) -> Kind | None:
    """Return the record type that an id names, or None if it is no id."""
    match = PATTERN.fullmatch(identifier)
    return BY_PREFIX[match[1]] if match else None


def series(identifier: str) -> tuple[str, int]:
    """Split an id into its series (`DEC-2025-11-04`) and its number."""
    head, _, number = identifier.rpartition("-")
    return head, int(number)


def numbers(names: Iterable[str], series: str) -> list[int]:
    """Return the numbers in a series that the given file names of records use."""
    matches = (PATTERN.match(name) for name in names if name.startswith(series + "-"))
    return [int(match[3]) for match in matches if match]


def path_of(identifier: str, title: str) -> str:
    """Return where a new record lives below `.memory/`. It stays there for ever: a later title does not move it."""
    kind = kind_of(identifier)
    assert kind is not None
    month = identifier[4:11]
    tail = slug(title)
    return f"{kind.folder}/{month}/{identifier}{'-' + tail if tail else ''}.md"


def id_in_path(path: str) -> str | None:
    """Return the id that a record's file name begins with."""
    match = PATTERN.match(path.rpartition("/")[2])
    return match[0] if match else None


def slug(title: str) -> str:
    """Return an ASCII file-name part for a title; empty if nothing of it can be written in ASCII."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    while words and len("-".join(words)) > _SLUG_LIMIT:
        words.pop() if len(words) > 1 else words.__setitem__(0, words[0][:_SLUG_LIMIT])
    return "-".join(words)


def uuid7(epoch_ms: int, entropy: bytes) -> str:
    """Return a version 7 UUID (RFC 9562, 5.7) from Unix milliseconds and at least 10 random bytes."""
    value = (epoch_ms & (1 << 48) - 1) << 80 | int.from_bytes(entropy[:10], "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def time_of(memory_id: str) -> int:
    """Return when a UUIDv7 was made, in Unix seconds."""
    return int(memory_id.replace("-", "")[:12], 16) // 1000
