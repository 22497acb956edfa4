"""Import tasks of Backlog.md, a tool that stores each task as a Markdown file; ids and links are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange.relative_links import LinkRebase
from memctl.exchange.row_import import ImportResult, ImportTarget, import_items
from memctl.exchange.rows import Item, UnknownValues
from memctl.record import strict_yaml
from memctl.record.errors import FrontMatterError
from memctl.record.parser import is_unsafe_path
from memctl.record.record import SOURCE_ID, TITLE_LIMIT
from memctl.text import headings
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line

_FOLDERS = ("tasks", "completed", "archive/tasks", "drafts")  # folders of a project that hold tasks
_HINT = "give the folder that has files such as `task-1 - x.md`"
_STATUSES = {
    "to do": "open",
    "in progress": "in-progress",
    **dict.fromkeys(("done", "completed"), "resolved"),
    **dict.fromkeys(("won't do", "wont do", "cancelled", "canceled"), "wontfix"),
}
_SEVERITIES = ("critical", "high", "medium", "low")
_KNOWN = (
    "id", "title", "status", "priority", "type", "parent_task_id", "created_date", "reporter", "assignee", "labels",
    "dependencies", "references", "documentation", "modified_files", "updated_date", "milestone",
)  # fmt: skip
_FIELDS = {  # heading of a task -> heading of an issue
    "description": "Description",
    "final summary": "Resolution",
    "implementation plan": "Next actions",
}
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_MARK = re.compile(r"^[ \t]*<!-- (?:SECTION:)?[A-Z_]+:(?:BEGIN|END) -->[ \t]*\n?", re.MULTILINE)
_NUMBER = re.compile(r"(?:[A-Za-z]+-)?(\d+(?:\.\d+)*)$")
_VALUE = re.compile(r"^([ \t]*(?:- |[\w-]+:[ \t]+))(\S.*)$", re.MULTILINE)  # behind a key or the dash of a list
_BARE_ITEM = re.compile(r"([\[,][ \t]*)([@`%][^,\]]*)")


def files(folder: Path) -> list[Path]:
    """Return the task files of Backlog.md in a folder.

    `folder` is a folder of tasks, or that of a project which has such folders. Raises MemctlError if there are no task
    files.
    """
    places = [folder, *(folder / name for name in _FOLDERS), *(folder / "backlog" / name for name in _FOLDERS)]
    paths = [path for place in places if place.is_dir() for path in sorted(place.glob("*.md")) if path.is_file()]
    if not paths:
        raise MemctlError(f"{folder} has no tasks of Backlog.md", _HINT, USAGE)
    return paths


def import_backlog(target: ImportTarget, folder: Path) -> ImportResult:
    """Read the tasks of Backlog.md in a folder; return the Change that records them, and messages on what is lost.

    Raises MemctlError if the folder has no tasks.
    """
    links, unknown = LinkRebase(target.memory), UnknownValues()
    result = import_items(target, _tasks(files(folder), links, unknown), _HINT, canonical=canonical)
    return msgspec.structs.replace(result, notes=[*unknown.notes(), *result.notes, *links.notes])


def _tasks(paths: Iterable[Path], links: LinkRebase, unknown: UnknownValues) -> Iterator[Item]:
    """Relative links are rewritten to lead from the record to where they led before."""
    for path in paths:
        try:
            values = _record(path.read_bytes().decode(), unknown)
            values["body"] = links.rebase(path.name, path.parent, values.get("body", ""))[0]
            yield path.name, values
        except UnicodeDecodeError as error:
            yield path.name, f"this is not UTF-8 text (byte {error.start})"
        except OSError as error:
            yield path.name, f"the file can't be read: {error.strerror}"
        except FrontMatterError as error:
            yield f"{path.name}:{error.line}", str(error)


def _record(text: str, unknown: UnknownValues) -> dict[str, Any]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(text)
    if front is None:
        raise FrontMatterError(1, "", "this is not a task of Backlog.md: it has no front matter")
    task = _front_values(front[1] + "\n")
    for name in ("id", "title", "status", "priority", "type", "parent_task_id"):
        if isinstance(task.get(name), list | dict):
            line = next(n for n, line in enumerate(text.split("\n"), start=1) if name in line)
            raise FrontMatterError(line, name, f"{name} must be a text, not a list or a mapping")
    title, identifier = one_line(str(task.get("title") or "")), str(task.get("id") or "")
    if not title or not identifier:
        raise FrontMatterError(1, "", "this is not a task of Backlog.md: `id` or `title` is missing")
    references = _items(task, "references") + _items(task, "documentation")
    unknown.leave_out(name for name, value in task.items() if name not in _KNOWN and value)
    paths = [path for path in _items(task, "modified_files") if _is_path(path) or unknown.replace("file", path, "")]
    body = _body(text[front.end() :], references)
    if len(title) > TITLE_LIMIT:
        body = f"{title}\n\n{body}"
    assignees = _items(task, "assignee")
    status, priority = (str(task.get(name) or "").strip() for name in ("status", "priority"))
    severity = priority.lower()
    values: dict[str, Any] = {
        "memory_type": "issue",
        "title": cut_at_word(title, TITLE_LIMIT, "…"),
        "status": _STATUSES.get(status.lower()) or unknown.replace("status", status, "open"),
        "severity": severity if severity in _SEVERITIES else unknown.replace("priority", priority, "medium"),
        "timestamp": unknown.take_time("created_date", str(task.get("created_date") or "")),
        "agent_id": next(iter([*_items(task, "reporter"), *assignees]), "").lstrip("@") or None,
        "tags": _tags(task),
        "code_refs": list(dict.fromkeys(paths)),
        "parent": task.get("parent_task_id"),
        "blocked_by": _items(task, "dependencies"),
        "body": body,
        "extra": {
            SOURCE_ID: identifier,
            "assignee": assignees,
            **{name: str(task[name]) for name in ("updated_date", "milestone") if task.get(name)},
        },
    }
    values["extra"] = {name: value for name, value in values["extra"].items() if value}
    return {name: value for name, value in values.items() if value not in (None, [], "")}


def canonical(identifier: str) -> str:
    """Return one form of a task's id for all ways to write it: "45.2" for `task-45.02`, `BACK-45.2` and `45.2`."""
    match = _NUMBER.search(identifier.strip())
    return ".".join(str(int(part)) for part in match[1].split(".")) if match else identifier


def _items(task: Mapping[str, Any], name: str) -> list[str]:
    """Single values, and labels with commas, count as lists."""
    value = task.get(name)
    if isinstance(value, str) and name in ("labels", "dependencies"):
        value = value.split(",")
    items = value if isinstance(value, list) else [value] if value else []
    return [one_line(str(item)) for item in items if str(item or "").strip()]


def _is_path(path: str) -> bool:
    return "://" not in path and not is_unsafe_path(path)


def _tags(task: Mapping[str, Any]) -> list[str]:
    kind = str(task.get("type") or "")
    labels = [label.replace(",", " ") for label in _items(task, "labels")]
    return list(dict.fromkeys(filter(None, [kind, *labels])))


def _body(text: str, references: list[str]) -> str:
    parts = []
    taken: set[str] = set()
    for part in headings.split(_MARK.sub("", text)):
        heading = _FIELDS.get(part.heading.strip().casefold(), part.heading)
        again = heading if heading not in taken else part.heading
        taken.add(again)
        parts.append(f"## {again}\n{part.body}" if part.is_headed else part.text)
    body = "".join(parts).strip("\n")
    if references:
        body += "\n\n## References\n\n" + "\n".join(f"- {reference}" for reference in references)
    return body


def _front_values(head: str) -> dict[str, Any]:
    """Return the values of a task's front matter, also if values lack quotes that YAML demands.

    Raises FrontMatterError, with its line, for other text that is not YAML.
    """
    try:
        return strict_yaml.read(head)
    except FrontMatterError:
        return strict_yaml.read(_VALUE.sub(_quote_value, head))


def _quote_value(match: re.Match[str]) -> str:
    """Put the value in quotes if it needs them: `@ada`, `[@ada]`, `Fix: x`, `'It's x'`."""
    before, value = match[1], match[2].rstrip()
    if value.startswith("[") and value.endswith("]"):
        return before + _BARE_ITEM.sub(lambda item: f"{item[1]}'{item[2].strip()}'", value)
    inner = value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value
    is_odd = value[0] in "@`%" or ": " in value or value.endswith(":") or "'" in inner.replace("''", "")
    if not is_odd or value[0] in '"{|>&*!#[':
        return match[0]
    return f"{before}'{inner.replace(chr(39), chr(39) * 2)}'"
