"""What is said of arguments of the wrong kind, and texts that no file can hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text.characters import encodable


def test_an_error_names_the_argument_and_its_actual_type() -> None:
    with pytest.raises(MemctlError, match=r"^tokens must be a number, not bool$") as caught:
        argument_checks.numbers(limit=5, tokens=True)
    assert caught.value.exit_code == USAGE
    with pytest.raises(MemctlError, match=r"^goal must be a text, not NoneType$"):
        argument_checks.texts(goal=None)
    argument_checks.numbers_or_none(target=None, free=0.5)
    with pytest.raises(MemctlError, match=r"^target must be a number, not nan$"):
        argument_checks.numbers_or_none(target=float("nan"))


@given(st.text(st.characters()))
def test_encodable_replaces_only_lone_surrogates(text: str) -> None:
    made = encodable(text)
    made.encode()
    assert len(made) == len(text)
    assert made == text or any("\ud800" <= character <= "\udfff" for character in text)
