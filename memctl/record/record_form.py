"""The two forms of a record's front matter.

Format 1 has the full form: every value that has one, in a fixed order. Format 2 has the slim form: what a person reads,
and what Git can't tell. A slim record does not write its type, which its id names, its project, if that is the
memory's own, an importance that follows from its type and severity, and what is false, 0 or empty.

In the slim form, keys that are edited stand between keys that never change (`id`, `memory_id`, `timestamp`,
`agent_id`). Git merges two changes of a file if an unchanged line is between them.

A text has the slim form if it lacks `memory_type`. An edit leaves a record in the form that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memctl.record import frontmatter
from memctl.record.errors import FrontMatterError
from memctl.record.parser import DEFAULTS, assignee, derived, is_slim
from memctl.record.record import FIELDS, ORDER

if TYPE_CHECKING:
    from memctl.record.config import Config

SLIM_ORDER = (
    "title", "section",
    "id", "aliases",
    "status", "superseded_by", "is_archived", "archived_at",
    "memory_id",
    "severity", "completion_percentage", "importance", "expires_at",
    "timestamp",
    "last_accessed", "access_count", "assignee", "tags",
    "agent_id", "project_id",
    "relates_to", "blocks", "blocked_by", "supersedes", "parent_memory_id", "code_refs",
)  # fmt: skip
_COUNTERS = ("access_count", "last_accessed")


def complete(values: Mapping[str, Any], project: str) -> dict[str, Any]:
    """Return the values of a record's front matter with those that the slim form leaves out, in the order of FIELDS.

    `project` is the memory's project. Values of the full form are returned as they are.
    """
    if not is_slim(values):
        return dict(values)
    whole = {**derived(values), "project_id": project, **values}
    return {**{name: whole[name] for name in FIELDS if name in whole}, **whole}


def slim(values: Mapping[str, Any], project: str) -> dict[str, Any]:
    """Return the values that the slim form writes, in its order; keys that are not memctl's come last.

    `project` is the memory's project.
    """
    kept = _without_defaults(values)
    if kept.get("project_id") == project:
        del kept["project_id"]
    if "assignee" in kept:
        kept["assignee"] = assignee(kept["assignee"])
    return {**{name: kept[name] for name in SLIM_ORDER if name in kept}, **kept}


def _without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    implied = {**DEFAULTS, **derived(values)}
    return {
        name: value
        for name, value in values.items()
        if value is not None and value != [] and (name not in implied or value != implied[name])
    }


def compose(values: Mapping[str, Any], body: str, config: Config) -> str:
    """Return the text of a new record with all its `values` and a body, in the form of the memory's format."""
    if config.format > 1:
        return frontmatter.compose(slim(values, config.project), body, formatted=True)
    ordered = {name: values[name] for name in ORDER if name in values}
    return frontmatter.compose({**ordered, **values}, body)


def replace(text: str, changes: Mapping[str, Any]) -> str:
    """Return the text of a record's file with some values changed, and every other character as it was.

    `changes` maps keys to their new values; None or [] removes the key.
    """
    from memctl.record import frontmatter_edit  # readers don't need it

    current, _ = frontmatter.read(text)
    if not is_slim(current):
        return frontmatter_edit.replace(text, changes, ORDER)
    kept = _without_defaults({**current, **changes})
    written = {name: value if value == current.get(name) else kept.get(name) for name, value in changes.items()}
    return frontmatter_edit.replace(text, written, SLIM_ORDER, formatted=True)


def to_slim(text: str, project: str = "") -> str:
    """Return the text of a record's file in the slim form; any other text is returned as it is.

    `project` is the memory's project. Comments stay, and with them the order of the keys, since a comment may be about
    the key above or below it. Raises FrontMatterError for a text without front matter that can be read.
    """
    from memctl.record import frontmatter_edit

    head, rest = frontmatter.split(text)
    values, _ = frontmatter.read(text)
    if is_slim(values):
        return text
    kept = slim(values, project)
    if not _has_comment(head) and frontmatter.read_canonical(head) is not None:
        return frontmatter.compose(kept, "", formatted=True) + rest
    text = frontmatter_edit.replace(text, {name: None for name in values if name not in kept}, ())
    blocks = list(frontmatter_edit.blocks(text))
    if not _has_comment(head):
        places = {name: place for place, name in enumerate(kept)}
        blocks.sort(key=lambda block: places.get(block.key, -1))
    return "---\n" + "".join(block.text for block in blocks) + "---\n" + rest


def _has_comment(head: str) -> bool:
    return any(line.lstrip().startswith("#") for line in head.split("\n"))


def differs_only_in_retrievals(base: str, now: str) -> bool:
    """Return whether two versions of a record's file differ in nothing but their form and when it was retrieved.

    `base` and `now` are the whole texts of the file. The result is False if one has no readable front matter.
    """
    try:
        (before, body), (after, body_now) = frontmatter.read(base), frontmatter.read(now)
    except FrontMatterError:
        return False
    if is_slim(before) != is_slim(after):
        before, after = (slim(values, str(values.get("project_id"))) for values in (before, after))
    counted = dict.fromkeys(_COUNTERS)
    return body == body_now and {**before, **counted} == {**after, **counted}
