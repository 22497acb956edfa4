"""Times as canonical texts."""

from __future__ import annotations

import pytest

from memctl.text import timestamps

NOW = "2025-11-04T14:32:00Z"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (NOW, NOW),
        ("2025-11-04", "2025-11-04T00:00:00Z"),
        ("2025-11-04 14:32", NOW),
        ("2025-11-04T14:32:00", NOW),
        ("2025-11-04T14:32:00.123456789Z", NOW),
        ("2025-11-04T14:32:00,5z", NOW),
        ("2025-11-04T16:32:00+02:00", NOW),
        ("2025-11-04T09:02:00-0530", NOW),
        ("2025-11-04T15:32:00.5+01", NOW),
        (" 2025-11-04T14:32:00Z\n", NOW),
        ("2025-01-01T00:30:00+01:00", "2024-12-31T23:30:00Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
    ],
)
def test_iso_times_become_canonical(text: str, canonical: str) -> None:
    assert timestamps.parse(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2025",
        "2025-11",
        "20251104",
        "2025-11-04T",
        "2025-13-01",
        "2025-02-31T00:00:00Z",
        "2025-02-29",
        "0000-01-01T00:00:00Z",
        "2025-11-04T25:00:00Z",
        "2025-11-04T14:32:00Z Z",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        "\uff12\uff10\uff12\uff15-11-04T14:32:00Z",
        "04.11.2025",
    ],
)
def test_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        timestamps.parse(text)


def test_days_between_can_be_negative_and_broken() -> None:
    assert timestamps.days_between("2025-11-03T14:32:00Z", NOW) == 1
    assert timestamps.days_between(NOW, "2025-11-04T08:32:00Z") == -0.25


def test_days_before_is_the_opposite_of_days_between() -> None:
    assert timestamps.days_before(NOW, 30) == "2025-10-05T14:32:00Z"
    assert timestamps.days_between(timestamps.days_before(NOW, 60), NOW) == 60


def test_unix_times_are_converted_in_utc() -> None:
    assert timestamps.from_epoch(0) == "1970-01-01T00:00:00Z"
    assert timestamps.to_epoch("1970-01-02T00:00:01Z") == 86401
    assert timestamps.from_epoch(timestamps.to_epoch(NOW) + 0.9) == NOW
