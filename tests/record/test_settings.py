"""Settings in YAML: strict, with the line in the file, and numbers for keys where that is meant."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.record import settings, strict_yaml
from memctl.record.malformed import Malformed


def test_values_are_read_and_empty_ones_left_out() -> None:
    assert settings.read("a: 1\nb:\nc: {d: [x]}\n", "s.yaml") == {"a": 1, "c": {"d": ["x"]}}
    assert settings.read("---\r\na: 1\r\n", "s.yaml") == {"a": 1}
    assert settings.read("", "s.yaml") == {}


def test_numbers_are_keys_below_the_first_level_only() -> None:
    assert settings.read("a:\n  0.75: x\n  1: {2: y}\n", "s.yaml") == {"a": {0.75: "x", 1: {2: "y"}}}
    for wrong in ("0.75: x\n", "a:\n  true: x\n", "a:\n  ~: x\n", "a:\n  [1]: x\n"):
        with pytest.raises(MemctlError):
            settings.read(wrong, "s.yaml")


def test_a_record_has_no_numbers_for_keys() -> None:
    with pytest.raises(Malformed, match="not text"):
        strict_yaml.read("a:\n  0.75: x\n")


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\na: 2\n", 2), ("a:\n  1: x\n  1.0: y\n", 3), ("a: [\n", 1), ("a: 1\nb: no\n", 2)]
)
def test_what_is_wrong_is_told_with_its_line_and_hint(text: str, line: int) -> None:
    with pytest.raises(MemctlError) as caught:
        settings.read(text, "s.yaml", "look there")
    assert caught.value.message.startswith(f"s.yaml:{line}: ")
    assert caught.value.hint == "look there"


def test_settings_that_are_too_long_are_not_called_front_matter() -> None:
    with pytest.raises(MemctlError) as caught:
        settings.read("a: " + "x" * 70_000 + "\n", "s.yaml", "look there")
    assert caught.value.message == "s.yaml: the settings have 70,004 characters; at most 65,536 are read"
