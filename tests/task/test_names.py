"""Names of workflows: readable, and never the same for two that differ in letters."""

from __future__ import annotations

import pytest

from memctl.errors import USAGE
from memctl.task import events
from tests.conftest import Memctl


@pytest.mark.parametrize("name", ["main", "fix/refunds", "Release_2.1", "über", "ÄÖÜ", "日本", "x" * 90, "fix/öber"])
def test_slug_of_a_slug_is_itself(name: str) -> None:
    made = events.slug(name)
    assert events.slug(made) == made
    assert len(made) <= 40


def test_slugs_of_names_with_non_ascii_letters_differ() -> None:
    given = ["fix/über", "fix/öber", "fix-ber", "x" * 50, "x" * 51, "日本", "中国", "\ud83d日"]
    assert len({events.slug(name) for name in given}) == len(given)
    assert events.slug("fix/refunds") == "fix-refunds"


@pytest.mark.parametrize(
    ("path", "hint"), [("../x", "`--workflow x`"), ("/tmp/x", "`--workflow x`"), ("..", "letters")]
)
def test_path_as_a_workflow_name_is_refused_with_a_hint(memctl: Memctl, path: str, hint: str) -> None:
    for command in (("save", "--task", "y", "--doing", "z"), ("list",), ("show",)):
        err = memctl("checkpoint", *command, "--workflow", path, code=USAGE).err
        assert f"{path!r} is a path, not the name of a workflow\nhint: " in err
        assert hint in err
