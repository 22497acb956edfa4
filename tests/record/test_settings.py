"""Settings in YAML: strict, with the line in the file, and numbers for keys where that is meant."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.record import frontmatter, strict_yaml
from memctl.record.errors import FrontMatterError


def test_values_are_read_and_empty_ones_left_out() -> None:
    assert frontmatter.read_yaml("a: 1\nb:\nc: {d: [x]}\n", "s.yaml") == {"a": 1, "c": {"d": ["x"]}}
    assert frontmatter.read_yaml("---\r\na: 1\r\n", "s.yaml") == {"a": 1}
    assert frontmatter.read_yaml("", "s.yaml") == {}


def test_numbers_are_keys_below_the_first_level_only() -> None:
    assert frontmatter.read_yaml("a:\n  0.75: x\n  1: {2: y}\n", "s.yaml") == {"a": {0.75: "x", 1: {2: "y"}}}
    for wrong in ("0.75: x\n", "a:\n  true: x\n", "a:\n  ~: x\n", "a:\n  [1]: x\n"):
        with pytest.raises(MemctlError):
            frontmatter.read_yaml(wrong, "s.yaml")


def test_number_as_a_key_of_a_record_is_refused() -> None:
    with pytest.raises(FrontMatterError, match="must be text"):
        strict_yaml.read("a:\n  0.75: x\n")


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\na: 2\n", 2), ("a:\n  1: x\n  1.0: y\n", 3), ("a: [\n", 1), ("a: 1\nb: no\n", 2)]
)
def test_invalid_yaml_is_reported_with_its_line_and_hint(text: str, line: int) -> None:
    with pytest.raises(MemctlError) as caught:
        frontmatter.read_yaml(text, "s.yaml", "look there")
    assert caught.value.message.startswith(f"s.yaml:{line}: ")
    assert caught.value.hint == "look there"


def test_error_about_too_long_settings_names_the_settings() -> None:
    with pytest.raises(MemctlError) as caught:
        frontmatter.read_yaml("a: " + "x" * 70_000 + "\n", "s.yaml", "look there")
    assert caught.value.message == "s.yaml: the settings have 70,004 characters; memctl reads at most 65,536"
