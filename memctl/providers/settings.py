"""The user's settings for a language model provider, which come from the user alone and never from the repository.

They come from the environment (`MEMCTL_LLM_BASE_URL`), then from Git's configuration (`git config --global
memctl.llm.baseUrl`). Cloning a repository brings neither. If it did, looking at a clone could run a program that the
clone names, or send a key to an address that it names. `.git/config` counts as the user's: no clone brings it, and
whoever writes it can make Git itself run programs (core.fsmonitor). `.memory/config.yaml` may only say `llm: {use:
false}`: then no model gets sessions of this project.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from memctl.errors import USAGE, MemctlError

NONE, COMMAND, OPENAI = "none", "command", "openai"
_IN_GIT, _IN_ENVIRON = "memctl.llm.", "MEMCTL_LLM_"
OPENAI_BASE, OPENAI_KEY = "https://api.openai.com/v1", "OPENAI_API_KEY"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the user's provider.

    `command` is a program with its arguments; no shell reads it. `api_key_env` names the environment variable with the
    key: by default OPENAI_API_KEY for OpenAI's own address and none for another. `timeout_seconds` limits one answer
    with all retries, `max_tokens` its length.
    """

    provider: Literal["none", "command", "openai"] = "none"
    command: tuple[str, ...] = ()
    base_url: str = OPENAI_BASE
    model: str = ""
    api_key_env: Annotated[str, msgspec.Meta(pattern=r"^(?:[A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 120
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 4096


def read(environ: Mapping[str, str], git_settings: Mapping[str, str]) -> Settings:
    """Return the settings from the environment and from Git, whose keys are in lower case.

    Raises MemctlError for an unknown setting, for a wrong value, and if there are settings but none names the provider.
    """
    given = {**_by_field(_of_git(git_settings)), **_by_field(_of_environment(environ))}
    values: dict[str, object] = {field: value for field, (_, value) in given.items()}
    if "command" in values:
        values["command"] = _words(*given["command"])
    try:
        found = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        message, _, field = str(error).partition(" - at `$.")
        where = given[field.rstrip("`")][0] if field else "the provider"
        raise MemctlError(f"{where}: {message}", None, USAGE) from None
    if given and "provider" not in given:
        raise MemctlError(
            f"{next(iter(given.values()))[0]} is set, but no provider is chosen",
            f"`git config --global {_IN_GIT}provider {COMMAND}` (or {OPENAI}, or {NONE})",
            USAGE,
        )
    return found


def _of_git(settings: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the settings in Git's configuration: field name without underscores -> (name of the setting, value)."""
    return {
        name[len(_IN_GIT) :].lower(): (name, value)
        for name, value in settings.items()
        if name.lower().startswith(_IN_GIT)
    }


def _of_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {
        name[len(_IN_ENVIRON) :].lower().replace("_", ""): (name, value)
        for name, value in environ.items()
        if name.startswith(_IN_ENVIRON) and value.strip()
    }


def _by_field(found: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return settings by the names of the fields; raises MemctlError for an unknown one."""
    fields = {name.replace("_", ""): name for name in Settings.__struct_fields__}
    for short, (name, _) in found.items():
        if short not in fields:
            known = ", ".join(_IN_GIT + _camel(field) for field in fields.values())
            raise MemctlError(f"{name} is not a setting", f"there are {known}", USAGE)
    return {fields[short]: (name, value.strip()) for short, (name, value) in found.items()}


def _words(name: str, value: str) -> list[str]:
    """Return the words of a command line as a shell would split it; raises MemctlError for an open quotation mark."""
    try:
        return shlex.split(value)
    except ValueError as error:
        raise MemctlError(f"{name}: {error}", "close every quotation mark", USAGE) from None


def _camel(field: str) -> str:
    """Return a field's name in the form that Git allows, without underscores."""
    return re.sub("_([a-z])", lambda match: match[1].upper(), field)
