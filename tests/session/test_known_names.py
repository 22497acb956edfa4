"""What a model made up is told from what stands in the record."""

from __future__ import annotations

import pytest

from memctl.session.prose import KnownNames

RECORD = """Fix the pool in src/shop/pool.py, see DEC-2025-11-04-001 and BUG-17; commit 5e4998f3be.
It fails after 1,500 requests (42 %) in `Makefile`, config.toml: and ~/notes/a.md. Read src/shop/pool.py:12!"""
KNOWN = KnownNames(RECORD, ["lib/other/part.js", "odd name/x"])


@pytest.mark.parametrize(
    "text",
    [
        "The pool in src/shop/pool.py is fixed.",
        "See src/shop/pool.py:99, `pool.py`... no: lib/other/part.js, other/part.js, part.js.",
        "All of lib/other/ and lib/ and/or the rest, i.e. everything, e.g. 3 files.",
        "DEC-2025-11-04-001 says 42 % of 1,500 requests; BUG-17 at 5e4998f3be.",
        "Look into ~/notes/a.md and config.toml.",
        "",
    ],
)
def test_names_from_the_record_are_known(text: str) -> None:
    assert KNOWN.has_all_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "See src/shop/pools.py.",
        "See src/pool.py.",
        "In src/shop/pool.py and src/shop/queue.py.",
        "(`queue.go`)",
        "Under /etc/shop.",
        "Under lib/another/.",
        "DEC-2025-11-04-002 says so.",
        "BUG-18 is closed.",
        "At 5e4998f3bf.",
        "12 of 42 tests pass.",
        "See https://example.org/docs",
        "in C:\\shop\\pool.py",
    ],
)
def test_names_missing_from_the_record_are_detected(text: str) -> None:
    assert not KNOWN.has_all_of(text)
