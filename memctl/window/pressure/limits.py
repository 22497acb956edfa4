"""How much a window takes, and where the host compacts it, by a model's name or as given.

A zone is of no use beyond the point where the host compacts by itself: Claude Code's is at 83.5 % of 200,000 tokens, so
that a red zone at 90 % of the raw window never comes there. Everything here is relative to that point.

The windows of Claude's models are those that Claude Code reports (`models`). Those of others are assumed, and what is
shown by them says so: Google's pages of Gemini 2.0 Flash and 2.5 Pro state 1,048,576 tokens, which is taken for every
Gemini; a name that is only a family's, as `claude` is, names no model, and is taken for a small one, as `budget` does:
too small a window costs a compaction, too large a one the request. For OpenAI's models no page of OpenAI's that was
read has a size, and one model may have several (Codex is reported to give its GPT-5 ones 272,000). What a user says
goes before: --window, or max_context_tokens in the settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
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
    """A window in tokens, the part of it that can be filled before the host compacts, and how both are known.

    `is_guessed`: by what was seen to fit; `is_assumed`: by a name whose size no source of ours confirms.
    """

    window: int
    usable: int
    source: str
    is_guessed: bool = False
    is_assumed: bool = False


def window_of(model: str) -> int | None:
    """Return the window of a model in tokens by its name, one that ends in `[1m]` included; None if it is not known."""
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
    """Return the tokens at which a host compacts a window; all of it where no host does.

    `max_output` is what the model may answer with, `environ` has what the host's user set. Raises MemctlError for an
    unknown host or a window without room.
    """
    argument_checks.numbers(window=window, max_output=max_output)
    if host not in HOSTS:
        raise MemctlError(f"there is no host {host!r} known here", f"hosts are {', '.join(HOSTS)}", USAGE)
    point = model_windows.host_limit(window, environ or {}, max_output) if host == CLAUDE_CODE else window
    if point <= 0:
        raise MemctlError(f"a window of {window:,} tokens is too small for {host}", exit_code=USAGE)
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
    """Return the limit for a model: as given, by its name, or what was seen to fit, if that is more than the name says.

    `seen` is the largest number of tokens that a request had; it may be beyond the point at which the host compacts,
    which is after that request. `compacted` is how many tokens were there when the host compacted by itself (0: it did
    not): a window of Claude's that was so early is a small one. Raises MemctlError if nothing tells the window.
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
        raise MemctlError(f"the window size of {model!r} is not known", "set it with --window", USAGE)
    return limit(of_host(larger), f"the smallest known that holds {seen:,} tokens", is_guessed=True)
