from __future__ import annotations

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.record import time_input

NOW = "2025-11-04T14:32:00Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2h", "2025-11-04T12:32:00Z"), ("7d", "2025-10-28T14:32:00Z"), (" 2 w ", "2025-10-21T14:32:00Z"), ("0d", NOW)],
)
def test_time_span_is_subtracted_from_now(text: str, moment: str) -> None:
    assert time_input.parse(text, NOW) == moment


def test_span_can_count_into_the_future() -> None:
    assert time_input.parse("36h", NOW, ahead=True) == "2025-11-06T02:32:00Z"


def test_time_option_accepts_an_iso_time() -> None:
    assert time_input.parse("2025-11-04", NOW) == "2025-11-04T00:00:00Z"


@pytest.mark.parametrize("text", ["soon", "-1d", "1m", "999999w", "2025-02-30", "d"])
def test_invalid_time_option_is_a_usage_error_that_names_it(text: str) -> None:
    with pytest.raises(MemctlError) as caught:
        time_input.parse(text, NOW)
    assert caught.value.exit_code == USAGE
    assert repr(text) in caught.value.message
