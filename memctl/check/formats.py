"""The formats of a check's report: text, JSON, GitHub's workflow commands and SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec

from memctl.check.findings import Finding
from memctl.check.rules import ERROR, INFO, RULES, SEVERITIES, WARNING, Rule
from memctl.check.run import Report
from memctl.text.phrases import quantity

_GITHUB = {ERROR: "error", WARNING: "warning", INFO: "notice"}
_SARIF = {ERROR: "error", WARNING: "warning", INFO: "note"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
Place = Callable[[str], str]  # a path below `.memory/` -> the path below the worktree's top


def as_text(report: Report, place: Place) -> list[str]:
    """Return a report as lines: one per finding (`PATH:LINE: SEVERITY CODE MESSAGE`), and one per hint.

    `place` is a function that turns a path below `.memory/` into one relative to the worktree's top.
    """
    lines = []
    for finding in report.findings:
        where = _one_line(place(finding.path))
        lines.append(f"{where}:{finding.line}: {finding.severity} {finding.code} {_one_line(finding.message)}")
        if finding.hint:
            lines.append(f"    hint: {_one_line(finding.hint)}")
    return lines


def summary(report: Report) -> str:
    """Return the number of findings by severity as text, such as `1 error, 2 warnings, 1 ignored`."""
    nouns = {name: "note" if name == INFO else name for name in SEVERITIES}
    words = [quantity(count, noun) for name, noun in nouns.items() if (count := report.count(name))]
    words += [f"{report.ignored:,} ignored"] if report.ignored else []
    return ", ".join(words) or "nothing found"


def omission(report: Report) -> str:
    """Return a line that says how many findings a report leaves out because there are too many; "" if it has all."""
    listed, unlisted = len(report.findings), sum(report.unlisted.values())
    return f"only the worst {listed:,} of {listed + unlisted:,} findings are listed" if unlisted else ""


def as_github(report: Report, place: Place) -> list[str]:
    """Return a report as workflow commands, one per finding, which GitHub shows beside the lines of the files.

    `place` is a function that turns a path below `.memory/` into one relative to the worktree's top.
    """
    return [
        f"::{_GITHUB[f.severity]} file={_property(place(f.path))},line={f.line},"
        f"title={_property(f'{f.code} {f.rule.name}')}::{_message(f.message + (f' ({f.hint})' if f.hint else ''))}"
        for f in report.findings
    ]


def as_sarif(report: Report, place: Place, version: str, home: str) -> str:
    """Return a report as a SARIF 2.1.0 log (OASIS standard), which tools for code scanning read.

    `place` is a function that turns a path below `.memory/` into one relative to the worktree's top. `version` is
    memctl's version, and `home` the absolute URI of memctl's web pages.
    """
    used = sorted({finding.code for finding in report.findings})
    driver: dict[str, Any] = {
        "name": "memctl",
        "version": version,
        "informationUri": home,
        "rules": [_sarif_rule(RULES[code]) for code in used],
    }
    results = [_sarif_result(finding, used.index(finding.code), place) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    if omitted := omission(report):
        notes = [{"level": "warning", "message": {"text": omitted}}]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode()


def explanation(rule: Rule) -> str:
    """Return a rule as text: code, name, severity, what is wrong, why it matters, and whether --fix corrects it."""
    fix = "\n\n`memctl check --fix` corrects it." if rule.is_mended else ""
    return f"{rule.code} {rule.name} ({rule.severity})\n\n{rule.summary} {rule.explanation}{fix}"


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.summary} {rule.explanation}"},
        "help": {"text": rule.explanation},
        "defaultConfiguration": {"level": _SARIF[rule.severity]},
    }


def _sarif_result(finding: Finding, index: int, place: Place) -> dict[str, Any]:
    location = {
        "artifactLocation": {"uri": quote(place(finding.path)), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": finding.line},
    }
    text = finding.message + (f" ({finding.hint})" if finding.hint else "")
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _SARIF[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
