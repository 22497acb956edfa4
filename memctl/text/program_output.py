"""Lines that come from a program's output, such as logs, traces and diffs, and not from a person."""

from __future__ import annotations

from memctl.text.lazy_regex import lazy_regex

LOG_LINE = lazy_regex(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b[\]:| ])"
)
TRACE_LINE = lazy_regex(r"\s+(?:File \"[^\"]*\", line \d+|at [\w$.<>]+[ (]|\.\.\. \d+ more|\^+\s*$)")
DIFF_START = lazy_regex(r"(?:diff --git |index [0-9a-f]{7,}\.\.|--- \S|\+\+\+ \S|@@ -\d)")


def without_output(text: str) -> str:
    """Return the lines of a text that do not belong to a log, trace or diff; of a diff only its first line stays."""
    kept = []
    is_diff = False
    for line in text.split("\n"):
        is_diff = is_diff or DIFF_START.match(line) is not None
        if not (is_diff or LOG_LINE.match(line) or TRACE_LINE.match(line)):
            kept.append(line)
    return "\n".join(kept)
