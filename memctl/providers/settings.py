"""The user's settings for a language model provider, which never come from the repository.

They are read from environment variables (`MEMCTL_LLM_BASE_URL`), then from Git's configuration (`git config --global
memctl.llm.baseUrl`). Both belong to the user: if a clone could bring settings, it could make memctl run a program or
send a key to an address. `.git/config` counts as the user's, since it does not come with a clone, and anybody who can
write it can make Git itself run programs (core.fsmonitor). In `.memory/config.yaml` a project can only forbid
providers, by `llm: {use: false}`, so that no model gets its sessions.
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

    - `provider`: "command" for a program, "openai" for a server with OpenAI's chat completions, or "none".
    - `command`: the program with its arguments, which is run without a shell.
    - `base_url`, `model`: the address of the server, and the model that it is asked for.
    - `api_key_env`: the name of the environment variable with the API key. If it is "", it is OPENAI_API_KEY for
      OpenAI's own address, and no key is sent to other addresses.
    - `timeout_seconds`: the time limit of one answer with all retries.
    - `max_tokens`: the greatest length of an answer.
    """

    provider: Literal["none", "command", "openai"] = "none"
    command: tuple[str, ...] = ()
    base_url: str = OPENAI_BASE
    model: str = ""
    api_key_env: Annotated[str, msgspec.Meta(pattern=r"^(?:[A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 120
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 4096


def read(environ: Mapping[str, str], git_settings: Mapping[str, str]) -> Settings:
    """Return the settings of the provider from environment variables and from Git's configuration.

    A setting that is in both is taken from the environment. `git_settings` maps Git's keys, in lower case, to their
    values. Raises MemctlError for an unknown setting, for a wrong value, and if there are settings but no provider is
    chosen.
    """
    settings = {**_by_field(git_settings, _IN_GIT), **_by_field(environ, _IN_ENVIRON)}
    values: dict[str, object] = {field: value for field, (_, value) in settings.items()}
    if "command" in values:
        values["command"] = _words(*settings["command"])
    try:
        parsed = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        message, _, field = str(error).partition(" - at `$.")
        where = settings[field.rstrip("`")][0] if field else "the provider"
        raise MemctlError(f"{where}: {message}", None, USAGE) from None
    if settings and "provider" not in settings:
        raise MemctlError(
            f"{next(iter(settings.values()))[0]} is set, but no provider is chosen",
            f"choose one: `git config --global {_IN_GIT}provider {COMMAND}` (or {OPENAI}, or {NONE})",
            USAGE,
        )
    return parsed


def _by_field(values: Mapping[str, str], prefix: str) -> dict[str, tuple[str, str]]:
    """Upper case and underscores make no difference."""
    fields = {name.replace("_", ""): name for name in Settings.__struct_fields__}
    found = {}
    for name, value in values.items():
        if name[: len(prefix)].lower() == prefix.lower() and value.strip():
            field = fields.get(name[len(prefix) :].lower().replace("_", ""))
            if field is None:
                known = ", ".join(_IN_GIT + _camel(field) for field in fields.values())
                raise MemctlError(f"unknown Git setting {name}", f"the settings are {known}", USAGE)
            found[field] = (name, value.strip())
    return found


def _words(name: str, value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise MemctlError(f"{name}: {error}", f"close every quotation mark in the value of {name}", USAGE) from None


def _camel(field: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), field)
