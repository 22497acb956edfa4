"""Model names and kinds of text."""

from __future__ import annotations

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.tokens.families import FAMILIES, KINDS, Family, family_of, kind_of_text


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_family_has_a_factor_for_every_kind(family: Family) -> None:
    assert set(family.factors) == set(KINDS)
    assert all(factor >= 1 for factor in family.factors.values())


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude", "claude"),
        (" Claude ", "claude"),
        ("claude-4.5", "claude-4.5"),
        ("claude-3-opus-20240229", "claude-4.5"),
        ("claude-3-5-sonnet-20241022", "claude-4.5"),
        ("claude-sonnet-4-20250514", "claude-4.5"),
        ("claude-opus-4-5-20251101", "claude-4.5"),
        ("claude-opus-4.6", "claude-4.5"),
        ("claude-instant-1.2", "claude-4.5"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude-4.5"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-4.5"),
        ("claude-opus-4-7", "claude"),
        ("claude-opus-4-7-20260101", "claude"),
        ("claude-opus-4.10", "claude"),
        ("claude-sonnet-5", "claude"),
        ("claude-opus-latest", "claude"),
        ("gpt", "gpt"),
        ("gpt-4o-mini", "gpt"),
        ("gpt-4.1", "gpt"),
        ("GPT-5", "gpt"),
        ("openai/gpt-4o", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("o3-mini", "gpt"),
        ("o200k", "gpt"),
        ("codex-mini-latest", "gpt"),
    ],
)
def test_a_model_belongs_to_a_family(model: str, family: str) -> None:
    assert family_of(model).name == family


@pytest.mark.parametrize("model", ["", "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "llama-3", "gemini-2.5-pro", "ollama"])
def test_unknown_model_is_a_usage_error_that_names_the_families(model: str) -> None:
    with pytest.raises(MemctlError) as caught:
        family_of(model)
    assert caught.value.exit_code == USAGE
    assert all(name in (caught.value.hint or "") for name in FAMILIES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("README.md", "markdown"),
        ("a/b.PY", "python"),
        ("x.test.tsx", "typescript"),
        ("pyproject.toml", "json"),
        ("build.log", "log"),
        ("fix.patch", "diff"),
    ],
)
def test_the_file_name_tells_the_kind(name: str, kind: str) -> None:
    assert kind_of_text(name, "# anything") == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Title\n\ntext", "markdown"),
        ("text\n\n- item", "markdown"),
        ("---\ntitle: x\n---\n", "markdown"),
        ("```\ncode\n```", "markdown"),
        ("diff --git a/x b/x\n", "diff"),
        ("--- a/x\n+++ b/x\n", "diff"),
        (' \n{"a": 1}', "json"),
        ('["a"]', "json"),
        ('[{"a": 1}]', "json"),
        ("Just words, and a # sign.", "prose"),
        ("", "prose"),
    ],
)
@pytest.mark.parametrize("name", ["", "-", "LICENSE", "notes.unknown"])
def test_otherwise_the_text_tells_the_kind(name: str, text: str, kind: str) -> None:
    assert kind_of_text(name, text) == kind
