"""Where a provider comes from: its user's own settings, and nothing that a clone brings."""

from __future__ import annotations

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.providers import choice, settings
from memctl.providers.settings import Settings
from memctl.record import config


def test_missing_settings_give_no_provider() -> None:
    assert settings.read({"HOME": "/x"}, {"user.name": "Ada"}) == Settings()
    assert choice.user_provider({}, {}) is None


def test_environment_overrides_git_settings_of_the_provider() -> None:
    git = {
        "memctl.llm.provider": "command",
        "memctl.llm.command": "ask 'two words' -p",
        "memctl.llm.timeoutseconds": "9",
    }
    found = settings.read({"MEMCTL_LLM_TIMEOUT_SECONDS": "7.5", "MEMCTL_LLM_MAX_TOKENS": "100"}, git)
    assert found.command == ("ask", "two words", "-p")
    assert (found.provider, found.timeout_seconds, found.max_tokens) == ("command", 7.5, 100)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memctl.llm.provider", "robot"),
        ("memctl.llm.timeoutseconds", "0"),
        ("memctl.llm.timeoutseconds", "soon"),
        ("memctl.llm.maxtokens", "-1"),
        ("memctl.llm.apikeyenv", "NOT A NAME"),
        ("memctl.llm.command", "ask 'open"),
        ("memctl.llm.temperature", "1"),
    ],
)
def test_invalid_setting_is_reported_with_its_name(name: str, value: str) -> None:
    with pytest.raises(MemctlError, match=name) as caught:
        settings.read({}, {"memctl.llm.provider": "none", name: value})
    assert caught.value.exit_code == USAGE


def test_settings_without_a_chosen_provider_are_reported() -> None:
    with pytest.raises(MemctlError, match=r"MEMCTL_LLM_MODEL is set, but no provider is chosen"):
        settings.read({"MEMCTL_LLM_MODEL": "m"}, {})


def test_project_can_only_forbid_a_provider() -> None:
    text = "format: 1\nproject: shop\nllm:\n  use: false\n"
    assert config.parse(text, "config.yaml").llm.use is False
    assert config.parse("format: 1\nproject: shop\n", "config.yaml").llm.use is True
    own = {"MEMCTL_LLM_PROVIDER": "command", "MEMCTL_LLM_COMMAND": "sh"}
    assert choice.user_provider(own, {}) is not None
    assert choice.user_provider(own, {}, is_allowed=False) is None


@pytest.mark.parametrize(
    "line", ["provider: command", "command: [sh]", "base_url: https://x.example", "api_key_env: K"]
)
def test_project_setting_of_a_program_or_an_address_is_refused(line: str) -> None:
    with pytest.raises(MemctlError, match="llm") as caught:
        config.parse(f"format: 1\nproject: shop\nllm:\n  {line}\n", "config.yaml")
    assert "git config --global" in str(caught.value.hint)
