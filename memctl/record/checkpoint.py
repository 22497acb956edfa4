"""Checkpoints: the whole state of a task, from which another window, agent or machine can continue it.

A checkpoint is a JSON file with a Markdown file beside it for people, and never changes. Its path is such as
`checkpoints/main/w1-v3-5f0c9a.json`: the workflow, the numbers of the context window and of the version, and six
hexadecimal digits. So memctl finds the newest checkpoint by file names alone. rules.md#checkpoints lists what a
checkpoint contains.
"""

from __future__ import annotations

import re

import msgspec

from memctl.record import task_state_upgrade
from memctl.record.errors import Fault, InvalidRecord, field_and_message
from memctl.record.event import Tokens
from memctl.record.kinds import CHECKPOINTS
from memctl.record.required_text import Lines
from memctl.record.task_state import PROGRESS, TaskState, conflicting
from memctl.text import timestamps
from memctl.text.lazy_regex import lazy_regex

FOLDER = CHECKPOINTS
FORMAT = 2  # `task_state_upgrade` reads format 1
_WORKFLOW = r"(?P<workflow>[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?)"
_NUMBERS = r"w(?P<window>[1-9]\d{0,5})-v(?P<version>[1-9]\d{0,5})-(?P<mark>[0-9a-f]{6})"
_ID = lazy_regex(f"{_WORKFLOW}-{_NUMBERS}", re.ASCII)
_ID_PREFIX = lazy_regex(rf"{_WORKFLOW}-w\d{{1,6}}(?:-v\d{{1,6}}(?:-[0-9a-f]{{0,5}})?)?", re.ASCII)
_PATH = lazy_regex(f"{FOLDER}/{_WORKFLOW}/{_NUMBERS}[.]json", re.ASCII)


class Version(msgspec.Struct, frozen=True, order=True):
    """The number of a checkpoint's context window and the number of its version within a workflow.

    Both numbers only grow, so the checkpoint with the larger numbers is the newer one. Two clones may make checkpoints
    with equal numbers, so `mark`, six hexadecimal digits, distinguishes them.
    """

    version: int
    window: int
    mark: str = ""
    workflow: str = ""

    @property
    def id(self) -> str:
        """The checkpoint's id, such as `main-w1-v3-5f0c9a`: workflow, window, version and mark."""
        return f"{self.workflow}-w{self.window}-v{self.version}-{self.mark}"

    @property
    def path(self) -> str:
        """The path of the checkpoint's JSON file, relative to `.memory/`."""
        return f"{FOLDER}/{self.workflow}/w{self.window}-v{self.version}-{self.mark}.json"

    @property
    def page(self) -> str:
        """The path of the checkpoint's Markdown page, relative to `.memory/`."""
        return self.path.removesuffix("json") + "md"

    def is_behind(self, other: Version) -> bool:
        """Return whether this version is older than `other`: its window or its version number is smaller.

        Both are versions of the same workflow.
        """
        return self.version < other.version or self.window < other.window


class Metrics(msgspec.Struct, frozen=True):
    """How full the context window was when a checkpoint was saved; a value that was not measured is None.

    `aws_size` is the size of everything in the window, and `scs_size` that of the shared slice, both in tokens.
    `compression_ratio` is the percentage by which the latest event that gives sizes made the window's content smaller.
    `events` counts the workflow's events up to the checkpoint, and `compressions` those that compressed the context.
    """

    scs_size: Tokens | None = None
    aws_size: Tokens | None = None
    compression_ratio: float | None = None
    compressions: int = 0
    events: int = 0


class Checkpoint(TaskState, frozen=True, kw_only=True):
    """A saved state of a task, with its workflow, a summary of the workflow's events and the size of the context.

    `format` is the number of the file format. `checkpoint_id` is the id, such as `main-w1-v3-5f0c9a`: workflow, window,
    version and mark.
    """

    format: int
    checkpoint_id: str
    workflow_id: str
    event_stream_summary: Lines = ()
    context_metrics: Metrics = Metrics()

    @property
    def number(self) -> Version:
        """The window, version and mark in the checkpoint's id."""
        parts = version_in(self.checkpoint_id)
        assert parts is not None  # `parse` and `write.task_state` make sure of it
        return parts


def leaves_repository(path: str) -> bool:
    """Return whether a path can't belong to a file of the repository.

    Such a path is absolute or empty, has a `..`, is in `.git`, or contains a NUL character. A checkpoint must not name
    it, except as a file that the task touched outside of the repository (`is_outside`). Other unusual names, such as
    one with a backslash, can belong to files, because some systems have such files.
    """
    parts = path.split("/")
    return not parts[0] or ".." in parts or parts[0].lower() == ".git" or "\0" in path


def is_outside(path: str) -> bool:
    """Return whether a path is that of a file outside of the repository, in the form that a checkpoint may have.

    Such a path is absolute or begins with `~/`, and has neither a `..` nor a NUL character. A checkpoint may have it
    only among the files that the task touched.
    """
    return path.startswith(("/", "~/")) and ".." not in path.split("/") and "\0" not in path


def version_in(identifier: str) -> Version | None:
    """Return the version that a checkpoint's id names, such as `main-w1-v3-5f0c9a`.

    Returns None if the text is not such an id.
    """
    return _version(_ID.fullmatch(identifier))


def is_id_prefix(identifier: str) -> bool:
    """Return whether a text is the beginning of a checkpoint's id, but not the whole id.

    It must have the workflow and the window at least, such as `main-w1`.
    """
    return _ID_PREFIX.fullmatch(identifier) is not None


def version_at(path: str) -> Version | None:
    """Return the version that the path of a checkpoint's JSON file names, None for any other path.

    `path` is relative to `.memory/`.
    """
    return _version(_PATH.fullmatch(path))


def _version(match: re.Match[str] | None) -> Version | None:
    if match is None:
        return None
    return Version(int(match["version"]), int(match["window"]), match["mark"], match["workflow"])


def is_json(path: str) -> bool:
    """Return whether a path below `.memory/` is in the folder of checkpoints and ends in `.json`."""
    return path.startswith(f"{FOLDER}/") and path.endswith(".json")


def is_file(path: str) -> bool:
    """Return whether a path below `.memory/` is that of a checkpoint's JSON file or of its Markdown page."""
    return version_at(f"{path.removesuffix('.md')}.json" if path.endswith(".md") else path) is not None


def parse(text: str, path: str) -> Checkpoint:
    """Return the checkpoint in the text of a JSON file, also of earlier formats; `path` is relative to `.memory/`.

    Raises InvalidRecord with the faults of the file, such as a format newer than this memctl's.
    """
    try:
        values = msgspec.json.decode(text)
        if isinstance(values, dict) and values.get("format") == 1:
            values = task_state_upgrade.current(values)
        checkpoint = msgspec.convert(values, Checkpoint)
    except msgspec.ValidationError as error:
        raise InvalidRecord([Fault(path, 1, *field_and_message(error))]) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidRecord([Fault(path, 1, "", f"the file is not JSON: {error}")]) from None
    if wrong := _problems(checkpoint, path):
        raise InvalidRecord([Fault(path, 1, field, message) for field, message in wrong])
    return checkpoint


def _problems(checkpoint: Checkpoint, path: str) -> list[tuple[str, str]]:
    number, path_version = version_in(checkpoint.checkpoint_id), version_at(path)
    says = (checkpoint.version, checkpoint.window_id, checkpoint.workflow_id)
    agrees = (
        path_version is not None
        and number == path_version
        and says == (path_version.version, path_version.window, path_version.workflow)
    )
    newer = f"a newer version of memctl wrote the format {checkpoint.format}; this version reads formats up to {FORMAT}"
    differs = "the file's name must consist of the checkpoint's workflow, window, version and id"
    wrong = [("format", newer)] if checkpoint.format > FORMAT else []
    wrong += [] if agrees else [("checkpoint_id", differs)]
    if not timestamps.is_moment(checkpoint.saved_at):
        wrong.append(("saved_at", f"{checkpoint.saved_at!r} is not a time such as 2025-11-04T14:32:00Z"))
    # Files outside of the repository are allowed by absolute paths; a relative path that leads out is refused.
    paths = {
        "environment": [file.path for file in checkpoint.environment.dirty],
        "files": [file.path for file in checkpoint.files if not is_outside(file.path)],
    }
    for field, some in paths.items():
        wrong += [(field, f"{path!r} leads out of the repository") for path in some if leaves_repository(path)]
    return wrong + [
        ("steps", f"the step {item!r} has more than one status of {', '.join(PROGRESS)}")
        for item in conflicting(checkpoint.steps)
    ]


def to_json(checkpoint: Checkpoint) -> str:
    """Return the text of a checkpoint's JSON file."""
    return msgspec.json.format(msgspec.json.encode(checkpoint), indent=2).decode() + "\n"
