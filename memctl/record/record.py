"""A record: the fields of its front matter with their types. `record_form` says how a file has them."""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec

from memctl.record.kinds import KINDS, SEVERITIES, Kind

TITLE_LIMIT = 100  # characters; rules.md#records
_AFTERWARDS = 24 * 3_600  # seconds at most between a record's date and the time in its memory_id

if TYPE_CHECKING:
    TypeName: TypeAlias = str
    Severity: TypeAlias = str
else:
    TypeName, Severity = Literal[tuple(KINDS)], Literal[SEVERITIES]
TITLE = Annotated[str, msgspec.Meta(min_length=1, max_length=TITLE_LIMIT)]
Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class Record(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The values of one record, with those that its file leaves out (`record_form`).

    Times are UTC texts such as "2025-11-04T14:32:00Z". Links are ids of records, except `parent_memory_id`, which is a
    `memory_id`. `code_refs` are paths in the repository, also with lines: "src/auth.py:10-20". `section` is a marker.
    `aliases` are ids that the record had formerly. `assignee` is a name or @handle, or several with commas between.
    `access_count` is how often the record was retrieved. `project_id` is "" in a record of the memory's own project,
    whose name is in config.yaml; `of_project` fills it in. `path` is that of the file, relative to `.memory/`, and is
    not in the file.
    """

    id: str
    memory_id: str
    memory_type: TypeName
    title: TITLE
    status: str
    severity: Severity | None = None
    completion_percentage: Percent | None = None
    assignee: str | None = None
    importance: Annotated[int, msgspec.Meta(ge=1, le=10)]
    section: str | None = None
    tags: list[str] = []
    timestamp: str
    project_id: str
    agent_id: str
    expires_at: str | None = None
    parent_memory_id: str | None = None
    supersedes: list[str] = []
    superseded_by: list[str] = []
    relates_to: list[str] = []
    blocks: list[str] = []
    blocked_by: list[str] = []
    code_refs: list[str] = []
    aliases: list[str] = []
    is_archived: bool = False
    archived_at: str | None = None
    access_count: Count = 0
    last_accessed: str | None = None
    path: str = ""

    @property
    def kind(self) -> Kind:
        """The record's type, with everything in which it differs from other types."""
        return KINDS[self.memory_type]

    @property
    def is_open(self) -> bool:
        """Whether the record is not archived and has no status that closes it, such as resolved."""
        return not self.is_archived and self.status not in self.kind.closed_statuses

    @property
    def assignees(self) -> tuple[str, ...]:
        """The names in `assignee` as they are compared: in lower case, without an @, and also each word of a name."""
        names = [name.strip().lstrip("@").casefold() for name in (self.assignee or "").split(",")]
        words = [word for name in names for word in (name, *name.replace("@", " ").split())]
        return tuple(dict.fromkeys(filter(None, words)))

    @property
    def place(self) -> str:
        """The marker of the page to which the record belongs, §2.N or §3.N; "" for none.

        A record at a heading (§3.1.2) belongs to the heading's page (§3.1).
        """
        if self.section is None or self.section[1] not in "23":
            return ""
        return ".".join(self.section.split(".")[:2])

    @property
    def recorded(self) -> int | None:
        """When the record was made, in Unix seconds; None if this is not known for certain.

        This is the record's `timestamp`, if it is at most a day away from the time in the record's `memory_id`. The
        `memory_id` of an imported record has no such time.
        """
        from memctl.record import ids
        from memctl.text import timestamps  # mostly the cache has the answer

        dated = timestamps.to_epoch(self.timestamp)
        return dated if abs(dated - ids.time_of(self.memory_id)) <= _AFTERWARDS else None

    def of_project(self, project: str) -> "Record":
        """Return the record with the memory's project, if its file names no other."""
        return self if self.project_id else msgspec.structs.replace(self, project_id=project)

    def is_expired(self, now: str) -> bool:
        """Return whether the record's `expires_at` is at or before `now`, a canonical time."""
        return self.expires_at is not None and self.expires_at <= now

    def may_answer(self, now: str) -> bool:
        """Return whether the record may answer a question: it is open or says how work ended, and has not expired.

        A resolved issue and a finished state do; what was superseded, rejected, retracted or archived does not.
        """
        is_resolved = self.status == self.kind.resolved and not self.is_archived
        return (self.is_open or is_resolved) and not self.is_expired(now)


TIMES = ("timestamp", "expires_at", "archived_at", "last_accessed")
LISTS = ("tags", "supersedes", "superseded_by", "relates_to", "blocks", "blocked_by", "code_refs", "aliases")
FIXED = ("id", "memory_id", "memory_type", "aliases", "path")  # what no edit may change
BY_OPTION = {  # the keys of front matter that options of commands name otherwise
    "agent": "agent_id",
    "code": "code_refs",
    "completion": "completion_percentage",
    "expires": "expires_at",
    "tag": "tags",
}
FIELDS = Record.__struct_fields__[:-1]
ORDER = tuple(name for name in FIELDS if name != "assignee")  # of the full form, which has it as an unknown key
SOURCE_ID = "source_id"  # the key among `extra` for a record's id in another tool
ADR = "adr"  # the key among `extra` for the file that a decision was imported from
IMPORTED = (SOURCE_ID, ADR)
