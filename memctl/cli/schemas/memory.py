"""The shapes of the JSON that commands print about the memory: records, pages, changes, search, checks, history."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from memctl.check.branch_review import ReviewItem
from memctl.check.rules import Rule
from memctl.cli.schemas.shapes import Shape, shape_of
from memctl.record.change import RecordAction
from memctl.record.pages import Page
from memctl.record.record import FIELDS, Record
from memctl.record.source import Excerpt


class ShownRecord(Record, frozen=True, kw_only=True):
    """A record as `memctl show --json` prints it: its fields, the parts of its text by name, and the whole text."""

    content: dict[str, str | list[str]] | UnsetType = UNSET
    body: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET


FAULT = {"path": str, "line": int, "field": str, "message": str}
MAYBE_RECORD = (Record, None)
_PAGE = {**{one.encode_name: one.type for one in msgspec.structs.fields(Page)}, "kind": str}


def _place() -> Shape:
    from memctl.pages.navigate import Place

    place = shape_of(Place)
    return {"text?": place.pop("text"), "tokens?": int, **place}


_LINE = {**{f"{name}?": object for name in FIELDS}, "extra?": {str: object}, "body": str, "path": str}
CHANGE: dict[str, Shape] = {
    "op": str,
    "ids": [str],
    "paths": [str],
    "documents": [str],
    "changed": bool,
    "commit": str | None,
    "pending": str | None,
    "warning": str | None,
    "advice": [str],
    "writes?": {str: str},
    "deletes?": [str],
}
STEP = {"command": str, "purpose": str}
_IMPORTED = {
    **CHANGE,
    "changed": (bool, {str: str}),  # of an import of ADRs: files that differ from their decision, with its id
    "known?": [str],
    "notes?": [str],
    "files?": {str: str},
    "refused?": [str],
    "passed_over?": [str],
    "templates?": [str],
    "next?": [STEP],  # of init
}
_LINK_REASON = {
    "by": str,
    "where": str,
    "how": str | None,
    "is_here": bool,
    "lines?": {"recorded": [int], "commit": str | None, "now": ([int], None), "is_followed": bool},
}
_EXPLAINED = {"id": str, "record": MAYBE_RECORD, "reason": str | None, "reasons?": [_LINK_REASON]}
_SCORES = dict.fromkeys(("score", "own", "around", "meaning", "importance", "recency", "access"), float)
_WAITING = {
    "stage": str,
    "op": str,
    "title": str,
    "ids": [str],
    "why": str | None,
    "undone": bool,
    "overdue": bool,
    "since": str,
}

KINDS: dict[str, Shape] = {
    "error": {"code": str, "message": str, "hint": str | None, "exit_code": int},
    "records": {
        "total": int,
        "records": [ShownRecord],
        "places?": [_place],
        "waits_for?": {str: [str]},
        "stated_blockers?": {str: [str]},
    },
    "search": {
        "query": str,
        "instead": {str: [str]},
        "total": int,
        "results": [
            {
                "type": str,
                "kind": str,
                "id": str,
                "title": str,
                "open": str,
                **_SCORES,
                "path": str,
                "excerpt": (Excerpt, None),
                "record?": Record,
                "marker?": str,
            }
        ],
    },
    "related": {
        "to": str,
        "total": int,
        "results": [
            {
                **dict.fromkeys(("score", "links", "code", "text", "tags", "section"), float),
                "because": [str],
                "record": Record,
            }
        ],
    },
    "next": {
        "total": int,
        "choices": [{"record": Record, "because": [str], "command": str, "is_own": bool, "unblocks": [str]}],
        "blocked": int,
        "elsewhere": [{"id": str, "because": str}],
        "everywhere": [str],
    },
    "index": {"total": int, "places": [_place]},
    "sections": {"total": int, "sections": [_PAGE]},
    "details": {"total": int, "details": [_PAGE]},
    "why": {
        "path": str,
        "line": int | None,
        "exists": bool,
        "removed_by": str | None,
        "answer": str | None,
        "origin": ({"commit": str | None, "path": str, "line": int}, None),
        "sections": [{"id": str, "title": str, "path": str, "globs": [str]}],
        "pages": [
            {
                "id": str,
                "title": str,
                "path": str,
                "references": [str],
                "state": str,
                "reviewed": str | None,
                "now": str | None,
            }
        ],
        "records": [_EXPLAINED],
        "commits": [
            {
                **dict.fromkeys(("commit", "author", "date", "message", "path", "subject"), str),
                "records": [str],
                "is_here": bool,
            }
        ],
        "has_more": bool,
        "history_ends": [str],
        "of_places": [_EXPLAINED],
        "session": str | None,
        "of_session": [_EXPLAINED],
        "perhaps": [_EXPLAINED],
    },
    "impact": {
        "source": str,
        "files": [
            {
                "path": str,
                "status": str,
                "before": str | None,
                "row": str | None,
                "pages": [str],
                "documents": [str],
            }
        ],
        "rows": [
            {
                "row": str,
                "title": str,
                "levels": [{"level": int, "condition": str, "documents": [str]}],
            }
        ],
        "stale": [
            {
                "id": str,
                "title": str,
                "path": str,
                "suspect": [{"path": str, "reviewed": str, "now": str, "stamped": str}],
                "broken": [
                    {
                        "reference": str,
                        "line": int | None,
                        "candidates": ([{"path": str, "by": str}], None),
                    }
                ],
            }
        ],
        "review": ([shape_of(ReviewItem)], None),
    },
    "check": {
        "counts": {"error": int, "warning": int, "info": int},
        "ignored": int,
        "unlisted": int,
        "findings": [
            {
                "code": str,
                "name": str,
                "severity": str,
                "path": str,
                "line": int,
                "message": str,
                "hint": str | None,
            }
        ],
    },
    "rules": {"total": int, "rules": [Rule]},
    "status": {
        "project": str,
        "folder": str,
        "records": {str: {str: int}},
        "last_change": (dict.fromkeys(("commit", "date", "actor", "subject"), str), None),
        "duplicate_ids": {str: [str]},
        "records_since_overview": int,
        "stale_pages": [{"id": str, "files": [str]}],
        "completion": int | None,
        "sections": [{"id": str, "title": str, "completion": int | None, "open_issues": int}],
        "open_issues": {"critical": int, "high": int, "medium": int, "low": int},
        "work": {"ready": int, "blocked": int, "in_parts": int, "begun": int},
        "last_session": ({"id": str, "ended": str, "intent": str}, None),
        "pack": {"tokens": int, "budget": int},
        # The next keys describe the present, and are missing with --at.
        "at_work?": [{"agent": str, "since": str, "task": str}],
        "trusted?": bool,
        "hook_commits?": str | None,
        "fault_of_settings?": str | None,
        "documents?": str | None,
        "pending?": [_WAITING],
        "uncommitted?": [str],
        "waiting?": int,
        "interrupted?": [str],
        "handoffs?": [{"id": str, "from": str, "title": str, "branch": str | None}],
        "commits_blocked_by?": str | None,
        "locks?": [str],
        "index_lock?": str | None,
        "upstream?": ({"name": str, **dict.fromkeys(("ahead", "behind", "ahead_outside_of_memory"), int)}, None),
    },
    "log": {
        "total": int | None,  # null if --limit ended the search
        "commits": [
            {
                **dict.fromkeys(("commit", "date", "author", "subject", "actor"), str),
                "ops": [str],
                "ids": [str],
                "session": str | None,
                "reason": str | None,
                "deeds": [RecordAction],
                "paths": [str],  # empty for is_boundary
                "recorded_on": str | None,  # of a change on refs/memctl/changes: the branch on which it was made
                "is_committed": bool,  # false of a change that no branch has yet
                "is_boundary": bool,  # a shallow clone begins with it
                "brought_text?": bool,
            }
        ],
    },
    "diff": {"from": str, "to": str | None, "diff": str},
    "change": _IMPORTED,
    "commits": {"total": int, "commits": [CHANGE]},
    "proposed-sections": {"total": int, "sections": [STEP]},
    "demo": {"folder": str, "made": bool},
    "export": {"total": int, "records": [_LINE]},
    "export-adr": {"total": int, "files": [{"id": str, "file": str, "state": str}]},
    "render": (
        {**CHANGE, "edited_by_hand": [str]},
        {"commit": str | None},
        {"paths": [str]},
        {"stale": [str], "edited_by_hand": [str]},
    ),
    "upgrade": {**CHANGE, "format": int, "records": int, "docs": bool | str},
    "maintain": {
        **CHANGE,
        "deeds": [RecordAction],
        "kept": [{"id": str, "due": str, "reason": str, "why": str}],
        "folded": int,
    },
    "renumbering": {
        **CHANGE,
        "renamed": [{"from": str, "to": str, "title": str}],
        "unclear": [{"path": str, "line": int, "name": str, "taken_for": str}],
        "returned": [{"path": str, "id": str}],
        "lost": [{"path": str, "field": str, "lost": str, "kept": str}],
        "staged": [str],
        "not_staged": str | None,
        "in_conflict": [str],
        "settled": [str],
    },
    "redaction": {
        **CHANGE,
        "rules": [str],
        "files": [{"path": str, "blanked": int, "in_git": bool}],
        "kept": [str],
        "failed": [str],
        "coordination": str | None,
        "left": {
            "names": [str],
            "unreached": [str],
            "staged": [str],
            "commits": [str],
            "refs": [str],
            "history_complete": bool,
            "transcripts": [str],
        },
    },
    "sync": {
        **dict.fromkeys(("remote", "branch", "upstream", "before", "theirs"), str),
        "push_target": str | None,
        "commit": str | None,
        "changed": bool,
        "fetched": int,
        "pushed": int,
        "pushed_outside_of_memory": int,
        "merged": [str],
        "renumbered": [{"old": str, "new": str, "path": str}],
        "lost": [{"id": str, "path": str, "field": str | None, "lost": str, "kept": str}],
        "kept": [str],
        "coordination": {
            "commit": str | None,
            "fetched": bool,
            "pushed": bool,
            "gave_way": [str],
            "settled": [str],
        },
        "sessions": {"fetched": bool, "pushed": bool, "redacted": [str]},
        "refs_refused": str | None,
        "finished": [str],
        "tries": int,
        "dry_run": bool,
        "warning": str | None,
    },
    "install": (
        {"what": str, "for": str, "file?": str, "text": str},
        {
            "what": str,
            "uninstall": bool,
            "dry_run": bool,
            "parts": [
                {
                    "part": str,
                    "state": str,
                    **dict.fromkeys(("note", "file", "text", "removed_section", "add_to", "lines"), str | None),
                    "settings": {str: str | None},
                    "added": [{"key": str, "value": str}],
                    "taken": [{"key": str, "value": str}],
                }
            ],
        },
        {
            "what": str,
            "source": str,
            "uninstall": bool,
            "dry_run": bool,
            "user": bool,
            "own": bool,
            "allow": str | None,
            "done": bool,
            "files": [
                {
                    "file": str,
                    "changes": bool,
                    "before": str | None,
                    "after": str | None,
                    "note": str | None,
                }
            ],
        },
    ),
}
