"""The provider that the user has set up, if any."""

from __future__ import annotations

from collections.abc import Mapping

from memctl.providers import settings
from memctl.providers.completions import Completions
from memctl.providers.program import Program
from memctl.providers.provider import Provider


def chosen(environ: Mapping[str, str], git_settings: Mapping[str, str], *, is_allowed: bool = True) -> Provider | None:
    """Return the provider of the user's own settings; None without one, or where the project wants none.

    Raises MemctlError if the chosen one can't be used.
    """
    if not is_allowed:
        return None
    found = settings.read(environ, git_settings)
    if found.provider == settings.COMMAND:
        return Program(found.command, found.timeout_seconds)
    if found.provider == settings.OPENAI:
        return Completions(found, environ)
    return None
