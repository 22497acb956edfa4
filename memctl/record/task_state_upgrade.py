"""Convert the state in a checkpoint of format 1 to the fields of a `TaskState`.

Its values are untrusted: a value of the wrong shape raises msgspec.ValidationError. (`hooks/session_state.py` converts
the hooks' own earlier files.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from memctl.record.task_state import steps
from memctl.text.actions import DELETED

_ASKED, _ERROR = "Asked last: ", "Not solved: "
# Fields that have only another name today.
_RENAMED = {"mission": "goal", "expected_outputs": "success_criteria"}
_Texts = tuple[str, ...]


class _File(msgspec.Struct, frozen=True):
    path: str
    deleted: bool = False


class _Earlier(msgspec.Struct, frozen=True):
    """The fields that have another shape today."""

    done: _Texts = ()
    in_progress: _Texts = ()
    planned: _Texts = ()
    issues: _Texts = ()
    phase: str = ""
    recorded_decisions: tuple[Any, ...] = ()
    open_issues: tuple[Any, ...] = ()
    learnings: tuple[Any, ...] = ()
    files_touched: tuple[_File, ...] = ()
    dirty_files: _Texts = ()
    branch: str = ""
    head: str = ""


def current(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a TaskState by name, converted from `values`, the state in a checkpoint of format 1.

    `values` are decoded from JSON. Raises msgspec.ValidationError for a value of the wrong shape.
    """
    values = {name: value for name, value in values.items() if value is not None}
    old = msgspec.convert(values, _Earlier)
    in_progress = [text for text in old.in_progress if not text.startswith(_ASKED)]
    steps_of = steps(done=old.done, in_progress=in_progress, planned=old.planned)
    return {
        **{_RENAMED.get(name, name): values[name] for name in values.keys() - {*_Earlier.__struct_fields__}},
        "steps": msgspec.to_builtins(steps_of),
        "said": [text.removeprefix(_ASKED) for text in old.in_progress if text.startswith(_ASKED)],
        "issues": [text for text in old.issues if not text.startswith(_ERROR)],
        "errors": [text.removeprefix(_ERROR) for text in old.issues if text.startswith(_ERROR)],
        "phases": [old.phase] if old.phase else [],
        "records": [*old.recorded_decisions, *old.open_issues, *old.learnings],
        "files": [{"path": file.path, "action": DELETED if file.deleted else ""} for file in old.files_touched],
        "environment": {"branch": old.branch, "head": old.head, "dirty": [{"path": path} for path in old.dirty_files]},
    }
