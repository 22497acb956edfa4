"""Remove from a text the lines that are a program's output: logs, traces and diffs."""

from __future__ import annotations

from memctl.text.lazy_regex import lazy_regex

LOG_LINE = lazy_regex(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b[\]:| ])"
)
TRACE_LINE = lazy_regex(r"\s+(?:File \"[^\"]*\", line \d+|at [\w$.<>]+[ (]|\.\.\. \d+ more|\^+\s*$)")
DIFF_START = lazy_regex(r"(?:diff --git |index [0-9a-f]{7,}\.\.|--- \S|\+\+\+ \S|@@ -\d)")


def without_output(text: str) -> str:
    """Return a text without the lines of logs and traces, and without the first diff and everything after it."""
    lines_kept = []
    is_diff = False
    for line in text.split("\n"):
        is_diff = is_diff or DIFF_START.match(line) is not None
        if not (is_diff or LOG_LINE.match(line) or TRACE_LINE.match(line)):
            lines_kept.append(line)
    return "\n".join(lines_kept)
