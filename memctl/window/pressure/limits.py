"""The size of a model's window, and the number of tokens at which the host compacts it.

Zones are shares of the number of tokens at which the host compacts. They are not shares of the whole window, because
Claude Code compacts at 83.5 % of 200,000 tokens, and a red zone from 90 % on would never begin.

The windows of Claude's models are those that Claude Code reports (`memctl.tokens.model_windows`). The windows of other
models are assumed, and outputs say so. Gemini has 1,048,576 tokens, as Google's pages of 2.0 Flash and 2.5 Pro state. A
name of a family alone, such as `claude`, is taken for a model with a small window: a size that is too small costs a
compaction, but one that is too large makes a request fail. For OpenAI's models no page with a size was found, and one
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
    """The size of a window in tokens (`window`), and how many can be filled before the host compacts (`usable`).

    `source` says in words where the size comes from. `is_guessed` is True if the size was chosen to fit the largest
    request seen. `is_assumed` is True if it follows from the model's name, but no reliable source states it.
    """

    window: int
    usable: int
    source: str
    is_guessed: bool = False
    is_assumed: bool = False


def window_of(model: str) -> int | None:
    """Return the size of a model's window in tokens, by the model's name; None if it is not known.

    The name may end in `[1m]`, as Claude Code writes it for a window of a million tokens.
    """
    name = model.strip().lower()
    if model_windows.is_large(name):
        return model_windows.LARGE
    if "claude" in name:
        return model_windows.SMALL if name in FAMILIES else model_windows.claude_window(name)
    return next((window for pattern, window in _WINDOWS if pattern.search(name)), None)


def compaction_point(
    window: int, host: str = NO_HOST, max_output: int = DEFAULT_OUTPUT, environ: Mapping[str, str] | None = None
) -> int:
    """Return the number of tokens at which a host compacts a window of `window` tokens.

    `host` is "claude-code", or "none" for a host that never compacts, for which the result is the whole window.
    `max_output` is the largest number of tokens that an answer may have. `environ` has the environment variables of the
    host, which may change the number. Raises MemctlError for an unknown host, and for a window that is too small for
    the host.
    """
    argument_checks.numbers(window=window, max_output=max_output)
    if host not in HOSTS:
        raise MemctlError(f"there is no host {host!r} known here", f"hosts are {', '.join(HOSTS)}", USAGE)
    point = model_windows.host_limit(window, environ or {}, max_output) if host == CLAUDE_CODE else window
    if point <= 0:
        raise MemctlError(f"a window of {quantity(window, 'token')} is too small for {host}", exit_code=USAGE)
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
    """Return the size of a model's window, and the number of tokens that can be filled before the host compacts it.

    The size is `window` if that is given; otherwise it follows from the model's name, or if that is not known, from the
    largest request. `seen` is the size of the largest request in tokens, 0 if none is known; it may be above the number
    at which the host compacts. `host`, `max_output` and `environ` are the arguments of `compaction_point`. Raises
    MemctlError if the size can't be found.

    `compacted` is the number of tokens at which the host compacted by itself, 0 if it did not. It matters for models
    that may have a large or a small window: if this number fits into the small one, the window is small.
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
    name, by_name = model.strip().lower(), window_of(model)
    if host == CLAUDE_CODE and by_name == model_windows.LARGE:
        known = model_windows.claude_window(model, seen, compacted)
        if known < by_name:
            return limit(of_host(known), f"the window of {model}, which the host compacted at {compacted:,} tokens")
    if by_name is not None and seen <= by_name:
        is_assumed = ("claude" not in name or name in FAMILIES) and not model_windows.is_large(name)
        return limit(of_host(by_name), f"the window of {model}", is_assumed=is_assumed)
    sizes = _CLAUDES if host == CLAUDE_CODE or "claude" in model.lower() else _ALL
    larger = next((known for known in sizes if known >= seen), None) if seen else None
    if larger is None:
        raise MemctlError(f"the window size of {model!r} is not known", "set it with --window", USAGE)
    return limit(of_host(larger), f"the smallest known that holds {seen:,} tokens", is_guessed=True)
