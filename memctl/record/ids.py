"""Identifiers of records: `DEC-2025-11-04-003` for people, a UUIDv7 for machines; and the path of a record's file.

In a repository with a remote the clone's tag stands before the number: `DEC-2026-11-27-k7fq-3`. A tag is a letter and
three digits or consonants, one of them a digit: no number, and no word (rules.md#ids). `store/sequence.py` draws it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from memctl.record.kinds import BY_PREFIX, Kind
from memctl.text.lazy_regex import lazy_regex

_PREFIXES = "|".join(BY_PREFIX)
LETTERS = "bcdfghjkmnpqrstvwxz"  # without vowels and y, of which words are made, and without l, which looks like 1
SIGNS = f"{LETTERS}0123456789"
TAG = rf"[{LETTERS}](?=[{LETTERS}]*[0-9])[{SIGNS}]{{3}}"  # of a clone
_NUMBER = rf"(?:{TAG}-[1-9]\d*|\d{{3,}})"
PATTERN = lazy_regex(rf"(?a:({_PREFIXES})-\d{{4}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])-{_NUMBER})")
SHAPE = rf"(?:{_PREFIXES})-\d{{4}}-\d\d-\d\d-{_NUMBER}"  # the form of an id; its day may not exist
ALLOWED = "an id such as DEC-2025-11-04-003 or DEC-2026-11-27-k7fq-3"
LAST = "@last"  # stands for the id of the last record that was recorded in this worktree
_SHORTEST_END = 3  # characters; `3` would name a record today and another one tomorrow
_SLUG_LIMIT = 50
# Numbers from here on are derived from a record's memory_id, so that every clone gets the same one.
FIRST_DERIVED, _DERIVED = 100_000, 900_000


def record_id(kind: Kind, day: str, number: int, tag: str = "") -> str:
    """Return the id of the record with a number on a day (`YYYY-MM-DD`), such as DEC-2025-11-04-003.

    Numbers have three digits, and more from 1,000 on. Behind a clone's `tag` they have no zeros in front.
    """
    return f"{kind.prefix}-{day}-{tag}-{number}" if tag else f"{kind.prefix}-{day}-{number:03d}"


def canonical(reference: str) -> str:
    """Return an id, or its beginning, in the case in which ids are written: dec-2026-11-27-K7FQ-3 with DEC and k7fq."""
    text = reference.strip()
    return text[:3].upper() + text[3:].lower()


def is_part(part: str, identifier: str) -> bool:
    """Return whether an id begins or ends with `part`, in any case. "" is no part, and an end has 3 characters."""
    part, identifier = part.upper(), identifier.upper()
    is_end = len(part) >= _SHORTEST_END and identifier.endswith(part)
    return is_end or (part != "" and identifier.startswith(part))


def derive_id(identifier: str, memory_id: str, taken: Collection[str]) -> str:
    """Return an unused id for a record whose id another record has, too.

    The new id has the type and day of `identifier`, and is not in `taken`. Its number has six digits, unlike those that
    are counted up from 1. It is computed from `memory_id`, so that every clone gets the same number.
    """
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

    head, _ = series(identifier)
    number = int.from_bytes(blake2b(memory_id.encode(), digest_size=8).digest(), "big")
    while (found := f"{head}-{FIRST_DERIVED + number % _DERIVED}") in taken:
        number += 1
    return found


def kind_of(identifier: str) -> Kind | None:
    """Return the record type that an id's prefix names, or None if the text is not an id."""
    match = PATTERN.fullmatch(identifier)
    return BY_PREFIX[match[1]] if match else None


def series(identifier: str) -> tuple[str, int]:
    """Split an id into everything before the number, and the number: DEC-2025-11-04-003 gives ("DEC-2025-11-04", 3).

    A tag belongs to what stands before the number.
    """
    head, _, number = identifier.rpartition("-")
    return head, int(number)


def path_of(identifier: str, title: str) -> str:
    """Return the path of a new record's file below `.memory/`, from its id and title.

    The file keeps this path, even if the title changes later.
    """
    kind = kind_of(identifier)
    assert kind is not None
    month = identifier[4:11]
    tail = slug(title)
    return f"{kind.folder}/{month}/{identifier}{'-' + tail if tail else ''}.md"


def id_in_path(path: str) -> str | None:
    """Return the record id with which the file name in a path begins, None if it begins with none."""
    match = PATTERN.match(path.rpartition("/")[2])
    return match[0] if match else None


def slug(title: str) -> str:
    """Return a title as a part of a file name: "Use Café 2" gives "use-cafe-2".

    Returns "" if nothing of the title can be written with ASCII letters and digits.
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    while words and len("-".join(words)) > _SLUG_LIMIT:
        words.pop() if len(words) > 1 else words.__setitem__(0, words[0][:_SLUG_LIMIT])
    return "-".join(words)


def uuid7(epoch_ms: int, entropy: bytes) -> str:
    """Return a version 7 UUID (RFC 9562, 5.7) made of a time and random bytes.

    `epoch_ms` is the Unix time in milliseconds, and `entropy` has at least 10 random bytes.
    """
    value = (epoch_ms & (1 << 48) - 1) << 80 | int.from_bytes(entropy[:10], "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def time_of(memory_id: str) -> int:
    """Return the time in a version 7 UUID (`memory_id`), in Unix seconds."""
    return int(memory_id.replace("-", "")[:12], 16) // 1000
