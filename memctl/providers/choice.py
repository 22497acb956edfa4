"""Choose the language model provider by the user's settings."""

from __future__ import annotations

from collections.abc import Mapping

from memctl.providers import settings
from memctl.providers.completions import Completions
from memctl.providers.program import Program
from memctl.providers.provider import Provider


def user_provider(
    environ: Mapping[str, str], git_settings: Mapping[str, str], *, is_allowed: bool = True
) -> Provider | None:
    """Return the provider that the user's settings name; None if they name none, or if the project forbids providers.

    `environ` has the environment variables, and `git_settings` the settings of Git by name in lower case. `is_allowed`
    is False if the project forbids providers. Raises MemctlError if the settings are wrong, or if the provider can't be
    used.
    """
    if not is_allowed:
        return None
    settings_read = settings.read(environ, git_settings)
    if settings_read.provider == settings.COMMAND:
        return Program(settings_read.command, settings_read.timeout_seconds)
    if settings_read.provider == settings.OPENAI:
        return Completions(settings_read, environ)
    return None
