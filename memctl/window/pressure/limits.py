"""The size of a model's window, and the tokens at which the host compacts it.

Zones are shares of the point at which the host compacts: Claude Code does so at 83.5 % of 200,000 tokens, where a red
zone from 90 % of the window on would never begin.

The windows of Claude's models are those that Claude Code reports (`memctl.tokens.model_windows`). The windows of other
models are assumed, and outputs say so. Gemini has 1,048,576 tokens, as Google's pages of 2.0 Flash and 2.5 Pro state. A
name of a family alone, such as `claude`, is taken for a model with a small window: a size that is too small costs a
compaction, but one that is too large costs the request. For OpenAI's models no page with a size was found, and one
model may have several sizes (Codex is reported to give GPT-5 272,000). A size that the user gives replaces all of
these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text.phrases import quantity
from memctl.tokens import model_windows
from memctl.tokens.families import FAMILIES
from memctl.tokens.model_windows import DEFAULT_OUTPUT

CLAUDE_CODE, NO_HOST = "claude-code", "none"
HOSTS = (CLAUDE_CODE, NO_HOST)
# Context windows in tokens that are assumed by how models are called; the first that fits holds.
_WINDOWS = (
    (re.compile(r"gpt-4\.1"), 1_047_576),
    (re.compile(r"gpt-5|codex"), 400_000),
    (re.compile(r"gpt-4o|gpt-4-turbo|gpt-4\.5"), 128_000),
    (re.compile(r"(?:^|/)o[134](?:-|$)"), 200_000),
    (re.compile(r"gemini"), 1_048_576),
)
_CLAUDES = [model_windows.SMALL, model_windows.LARGE]
_ALL = sorted({window for _, window in _WINDOWS} | {*_CLAUDES})


class Limit(msgspec.Struct, frozen=True):
    """The size of a window in tokens, the part that can be filled before the host compacts, and their source.

    `is_guessed` says that the size was chosen by the largest request seen, `is_assumed` that it was chosen by the
    model's name although no reliable source states it.
    """

    window: int
    usable: int
    source: str
    is_guessed: bool = False
    is_assumed: bool = False


def window_of(model: str) -> int | None:
    """Return the tokens of a model's window by its name, which may end in `[1m]`; None if not known."""
    name = model.strip().lower()
    if model_windows.is_large(name):
        return model_windows.LARGE
    if "claude" in name:
        return model_windows.SMALL if name in FAMILIES else model_windows.claude_window(name)
    return next((window for pattern, window in _WINDOWS if pattern.search(name)), None)


def _is_assumed(model: str) -> bool:
    name = model.strip().lower()
    return ("claude" not in name or name in FAMILIES) and not model_windows.is_large(name)


def compaction_point(
    window: int, host: str = NO_HOST, max_output: int = DEFAULT_OUTPUT, environ: Mapping[str, str] | None = None
) -> int:
    """Return the tokens at which a host compacts a window of `window` tokens; the whole window for NO_HOST.

    `host` is "claude-code" or "none" (HOSTS). `max_output` is the most tokens that an answer may have. `environ` has
    the environment variables of the host. Raises MemctlError for an unknown host, and for a window that is too small
    for the host.
    """
    argument_checks.numbers(window=window, max_output=max_output)
    if host not in HOSTS:
        raise MemctlError(f"memctl does not know the host {host!r}", f"the hosts are {', '.join(HOSTS)}", USAGE)
    point = model_windows.host_limit(window, environ or {}, max_output) if host == CLAUDE_CODE else window
    if point <= 0:
        raise MemctlError(
            f"a window of {quantity(window, 'token')} is too small for {host}", "give a larger window", USAGE
        )
    return point


def limit_of(
    model: str,
    host: str = NO_HOST,
    *,
    window: int | None = None,
    max_output: int = DEFAULT_OUTPUT,
    seen: int = 0,
    compacted: int = 0,
    environ: Mapping[str, str] | None = None,
) -> Limit:
    """Return the size of a model's window, and the tokens that can be filled before the host compacts it.

    The size is `window` if it is given, else it follows from the model's name, else from the largest request. `seen` is
    the tokens of the largest request, which may be beyond the point where the host compacts; 0 if no request is known.
    `compacted` is the number of tokens at which the host compacted by itself, 0 if it did not; a number that a small
    window holds proves the small window. `host`, `max_output` and `environ` are the arguments of `compaction_point`.
    Raises MemctlError if the size is not known.
    """
    argument_checks.texts(model=model)
    argument_checks.numbers(seen=seen, compacted=compacted)
    environ = environ or {}

    def limit(size: int, source: str, **more: bool) -> Limit:
        return Limit(size, compaction_point(size, host, max_output, environ), source, **more)

    def of_host(size: int) -> int:
        return model_windows.host_window(size, environ) if host == CLAUDE_CODE else size

    if window is not None:
        return limit(window, "given")
    named = window_of(model)
    if host == CLAUDE_CODE and named == model_windows.LARGE:
        known = model_windows.claude_window(model, seen, compacted)
        if known < named:
            return limit(of_host(known), f"the window of {model}, which the host compacted at {compacted:,} tokens")
    if named is not None and seen <= named:
        return limit(of_host(named), f"the window of {model}", is_assumed=_is_assumed(model))
    sizes = _CLAUDES if host == CLAUDE_CODE or "claude" in model.lower() else _ALL
    larger = next((known for known in sizes if known >= seen), None) if seen else None
    if larger is None:
        raise MemctlError(
            f"the window size of the model {model!r} is not known", "give the size in tokens with --window", USAGE
        )
    return limit(
        of_host(larger), f"the smallest known window that holds the {seen:,} tokens of this session", is_guessed=True
    )
