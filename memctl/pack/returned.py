"""What a sub-agent returned: plain text, or the JSON object of rules.md#phase-summaries.

Of the object the decision, the summary, the files and the open errors go on; the raw findings do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.pack import summary_rules as rules
from memctl.pack.context_summary import DECISIONS
from memctl.statements.units import SENTENCE, Unit

_JSON_BLOCK = re.compile(r"^```(?:json)?[ \t]*\n(\{.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FILES = ("files_of_interest", "files_changed", "files_modified", "files")
_GOES_ON = (*_FILES, "task_id", "phase", "status", "decision", "context_summary", "errors", "tokens_used")
_NAMES_A_FILE = ("path", "file", "file_path", "filename")


class Returned(msgspec.Struct, frozen=True):
    """What goes on: the text to summarise, the decision if one is given apart, paths; and what does not, by name."""

    text: str
    decision: str = ""
    task_id: str = ""
    phase: str = ""
    paths: list[str] = []
    discarded: dict[str, str] = {}


def parse(text: str) -> Returned:
    """What a sub-agent returned; raises MemctlError for an object that is broken or says nothing."""
    if text.lstrip().startswith("{"):
        try:
            return _of_object(msgspec.json.decode(text, type=dict[str, Any]))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise MemctlError(f"this begins like a JSON object and is none: {error}") from None
    for match in _JSON_BLOCK.finditer(text):
        try:
            data = msgspec.json.decode(match[1], type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            continue
        if "context_summary" in data:
            found = _of_object(data)
            around = (text[: match.start()] + text[match.end() :]).strip()
            return msgspec.structs.replace(found, discarded={**found.discarded, "text around": around})
    return Returned(text)


def _of_object(data: dict[str, Any]) -> Returned:
    findings = data.get("findings")
    summary = "\n".join(_texts(data.get("context_summary"))) or "\n".join(_texts(findings))
    open_errors = [f"- Error: {message}" for message in _open_errors(data.get("errors"))]
    text = "\n".join([summary, *(["", *open_errors] if open_errors else [])])
    if not text.strip():
        raise MemctlError("the object has no context_summary and no findings", 'it needs {"context_summary": "…"}')
    decision = str(data.get("decision") or "").strip().upper()
    paths = [path for name in _FILES for path in _paths(data.get(name), is_path=True)]
    raw = {f"findings.{name}": value for name, value in findings.items()} if isinstance(findings, dict) else {}
    raw |= {name: value for name, value in data.items() if name not in _GOES_ON and not (name == "findings" and raw)}
    return Returned(
        text,
        decision if decision in DECISIONS else "",
        str(data.get("task_id") or ""),
        str(data.get("phase") or ""),
        list(dict.fromkeys([*paths, *_paths(findings)])),
        {name: msgspec.json.encode(value).decode() for name, value in raw.items() if value},
    )


def _texts(value: Any) -> list[str]:
    """A text as it is, or the texts in a list or object as items."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text if text.startswith("- ") else f"- {' '.join(text.split())}" for one in values for text in _texts(one)]


def _open_errors(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else ():
        given = one if isinstance(one, dict) else {"message": one}
        is_resolved = given.get("resolved") is True or given.get("status") in ("resolved", "fixed")
        message = given.get("message") or given.get("error")
        if not isinstance(message, str) or not message.strip() or is_resolved:
            continue
        if rules.judge(Unit(0, SENTENCE, f"Error: {message}")).drops != rules.RESOLVED:
            yield " ".join(message.split())


def _paths(value: Any, *, is_path: bool = False) -> Iterator[str]:
    """The paths in a list of files, or wherever an object below says which file it is about."""
    if isinstance(value, str):
        if is_path and value.strip() and "\n" not in value:
            yield value.strip()
    elif isinstance(value, list):
        for one in value:
            yield from _paths(one, is_path=is_path)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _paths(one, is_path=name in _NAMES_A_FILE)
