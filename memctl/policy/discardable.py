"""What of a text may go when a context is compacted, told by how it reads (rules.md#preservation).

Each rule looks at one text and knows nothing of where it comes from: a record, a file, a message.
"""

from __future__ import annotations

import re

from memctl.policy.redundancy import consolidated

CONFIRMATION, LOG, ABANDONED = "a confirmation", "a log", "an abandoned attempt"

_SHORT = 200  # characters of a confirmation at most; what is longer says more than that
_LOG_LINES, _LOG_SHARE = 10, 0.6  # so many lines, so much of them a log's, and a text is one
_FAILED = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|error|errors|timed? ?out|broken|not|no|never|but|except|warn(?:ing)?s?)\b", re.IGNORECASE
)
_NONE_FAILED = re.compile(r"\b(?:0|no|without)[ -](?:fail(?:ure|ed)?s?|errors?|warnings?|issues?)\b", re.IGNORECASE)
_CONFIRMS = re.compile(
    r"\b(?:(?:saved|written|created|deleted|updated|uploaded|installed|pushed|completed?|finished) successfully|"
    r"successfully \w+|(?:all )?(?:\d+ )?tests? (?:have )?pass(?:ed)?|\d+ passed|build (?:completed?|succeeded|passed)|"
    r"(?:lint|linting|check)s? (?:is |are )?(?:clean|passed)|nothing to (?:commit|do)|up to date|done)\b",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(
    r"\b(?:abandoned|gave up on|given up|dead[ -]end|did(?:n't| not) (?:work out|lead anywhere|help|pan out)|"
    r"rolled (?:it )?back again|no longer pursued|prototype (?:was )?(?:replaced|thrown away))\b",
    re.IGNORECASE,
)
_TRACE_LINE = re.compile(r"\s+(?:File \"[^\"]*\", line \d+|at [\w$.<>]+[ (]|\.\.\. \d+ more|\^+\s*$)")
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b[\]:| ])"
)
_LOG_MATTERS = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|Error|Exception|Caused by|panic|failed)\b")
# Details on threats, performance and the integrity of data must stay; rules.md#preservation.
_CRITICAL = re.compile(
    r"\b(?:security|vulnerab\w+|threat model|injection|XSS|CSRF|encrypt\w*|authoriz\w+|"
    r"race condition|deadlock\w*|data (?:integrity|loss|corruption)|unique (?:index|constraint)|foreign key|"
    r"performance[- ]critical|hot path|latency|throughput|SLA|GDPR)\b"
)
_MARKED = re.compile(r"^[^\w\n]*CRITICAL\b", re.MULTILINE)  # `\W*` would go on through the next lines


def reason(text: str) -> str:
    """Why a text may go, one of the names above; "" if nothing speaks for that."""
    if len(text) <= _SHORT and _CONFIRMS.search(text) and not _FAILED.search(_NONE_FAILED.sub("", text)):
        return CONFIRMATION
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) >= _LOG_LINES and sum(map(_is_of_log, lines)) >= _LOG_SHARE * len(lines):
        return LOG
    return ABANDONED if _GIVEN_UP.search(text) else ""


def is_critical_detail(text: str) -> bool:
    """Whether a text speaks of security, of what is fast on purpose, or of what keeps data whole."""
    return _CRITICAL.search(text) is not None or is_marked_critical(text)


def is_marked_critical(text: str) -> bool:
    """Whether a line of a text begins with CRITICAL."""
    return _MARKED.search(text) is not None


def shortened(text: str) -> str:
    """A text without the lines of traces and logs, but with the errors among them; what comes again stands once.

    Of a trace the error and its cause must stay; rules.md#preservation.
    """
    lines = text.split("\n")
    is_log = sum(1 for line in lines if _LOG_LINE.match(line)) >= _LOG_LINES
    kept: list[str] = []
    dropped = 0
    was_trace = False
    for line in lines:
        is_trace = _TRACE_LINE.match(line) is not None
        of_trace = was_trace and line.startswith("    ") and not is_trace  # the source line below a frame
        if is_trace or of_trace or (is_log and _LOG_LINE.match(line) and not _LOG_MATTERS.search(line)):
            dropped += 1
        else:
            kept.append(line)
        was_trace = is_trace
    text = consolidated("\n".join(kept))
    return f"{text}\n[{dropped} lines of log left out]" if dropped else text


def _is_of_log(line: str) -> bool:
    return _LOG_LINE.match(line) is not None or _TRACE_LINE.match(line) is not None
