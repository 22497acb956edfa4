"""The shapes of the JSON that commands print about the memory: records, pages, changes, search, checks, history."""

from __future__ import annotations

from memctl.cli.schemas.shapes import PATH, Fields, Shape
from memctl.record.record import FIELDS

RECORD = "memctl.record.record.Record"
FAULT = {"path field message": str, "line": int}
MAYBE_RECORD = (RECORD, None)
_PAGE = {"*": "memctl.record.pages.Page", "kind": str}
_PLACE = {"*": Fields("memctl.pages.navigate.Place", ("text",)), "text?": str, "tokens?": int}
_SHOWN = {"*": RECORD, "content?": {str: str | list[str]}, "body?": str, "tokens?": int}
_ACTION = "memctl.record.change.RecordAction"
_LINE = {**{f"{name}?": object for name in FIELDS}, "extra?": {str: object}, "body path": str}
CHANGE: dict[str, Shape] = {
    "op": str,
    "ids paths documents advice deletes?": [str],
    "changed": bool,
    "commit pending warning": str | None,
    "writes?": {str: str},
}
STEP = {"command purpose": str}
_IMPORTED = {
    **CHANGE,
    "changed": (bool, {str: str}),  # of an import of ADRs: files that differ from their decision, with its id
    "known? notes? near? refused? passed_over? templates?": [str],
    "files?": {str: str},
    "next?": [STEP],  # of init
}
_LINK_REASON = {
    "by where": str,
    "is_here": bool,
    "how": str | None,
    "lines?": {"recorded": [int], "is_followed": bool, "commit": str | None, "now": ([int], None)},
}
_EXPLAINED = {"id": str, "record": MAYBE_RECORD, "reason": str | None, "reasons?": [_LINK_REASON]}
_WAITING = {"stage op title since": str, "ids": [str], "why": str | None, "undone overdue": bool}

KINDS: dict[str, Shape] = {
    "error": {"code message": str, "hint": str | None, "exit_code": int},
    "records": {
        "total": int,
        "records": [_SHOWN],
        "places?": [_PLACE],
        "waits_for?": {str: [str]},
        "stated_blockers?": {str: [str]},
    },
    "search": {
        "query": str,
        "instead": {str: [str]},
        "verdict": str,
        "total": int,
        "results": [
            {
                "type kind id title open": str,
                "score own around meaning importance recency access": float,
                "path marker?": str,
                "excerpt": ("memctl.record.source.Excerpt", None),
                "record?": RECORD,
            }
        ],
    },
    "related": {
        "to": str,
        "total": int,
        "results": [{"score links code text tags section": float, "because": [str], "record": RECORD}],
    },
    "next": {
        "total": int,
        "choices": [{"record": RECORD, "because": [str], "command": str, "is_own": bool, "unblocks": [str]}],
        "blocked": int,
        "elsewhere": [{"id=record.id because": str}],
        "everywhere": [str],
    },
    "index": {"total": int, "places": [_PLACE]},
    "sections": {"total": int, "sections": [_PAGE]},
    "details": {"total": int, "details": [_PAGE]},
    "why": {
        "path=asked.path": str,
        "line=asked.line": int | None,
        "exists=asked.exists": bool,
        "removed_by=asked.last.removed_by answer": str | None,
        "origin": ({"commit": str | None, "path": str, "line": int}, None),
        "sections": [{"id=page.id title=page.title": str, "path=page.path": PATH, "globs": [str]}],
        "pages": [
            {
                "id=page.id title=page.title": str,
                "references": [str],
                "state": str,
                "path=page.path": PATH,
                "reviewed now": str | None,
            }
        ],
        "records": [_EXPLAINED],
        "commits": [
            {
                "commit=touch.commit author=touch.author date=touch.date message=touch.message path=touch.path": str,
                "subject": str,
                "records": [str],
                "is_here": bool,
            }
        ],
        "has_more": bool,
        "history_ends": [str],
        "of_places": [_EXPLAINED],
        "session": str | None,
        "of_session": [_EXPLAINED],
        "last_session": ({"id ended asked": str, "path": PATH}, None),
        "perhaps": [_EXPLAINED],
    },
    "impact": {
        "source": str,
        "files": [{"path status": str, "before row": str | None, "pages documents": [str]}],
        "rows": [{"row title": str, "levels": [{"level": int, "condition": str, "documents": [str]}]}],
        "stale": [
            {
                "id title path": str,
                "suspect": [{"path reviewed now stamped": str}],
                "broken": [{"reference": str, "line": int | None, "candidates": ([{"path by": str}], None)}],
            }
        ],
        "review": ([Fields("memctl.check.branch_review.ReviewItem")], None),
    },
    "check": {
        "counts": {"error warning info": int},
        "ignored unlisted": int,
        "findings": [{"code name severity path message": str, "line": int, "hint": str | None}],
    },
    "rules": {"total": int, "rules": ["memctl.check.rules.Rule"]},
    "status": {
        "project folder": str,
        "records": {str: {str: int}},
        "last_change": ({"commit date actor subject": str}, None),
        "duplicate_ids": {str: [str]},
        "records_since_overview waiting?": int,
        "stale_pages": [{"id": str, "files": [str]}],
        "completion": int | None,
        "sections": [{"id title": str, "completion": int | None, "open_issues": int}],
        "open_issues": {"critical high medium low": int},
        "work": {"ready blocked in_parts begun": int},
        "last_session": ({"id ended intent": str}, None),
        "pack": {"tokens budget": int},
        # The next keys describe the present, and are missing with --at.
        "at_work?": [{"agent since task": str}],
        "trusted?": bool,
        "hook_commits? fault_of_settings? documents? commits_blocked_by? index_lock?": str | None,
        "pending?": [_WAITING],
        "uncommitted? interrupted? locks?": [str],
        "handoffs?": [{"id from title": str, "branch": str | None}],
        "upstream?": ({"name": str, "ahead behind ahead_outside_of_memory": int}, None),
    },
    "log": {
        "total": int | None,  # null if --limit ended the search
        "commits": [
            {
                "commit date author subject actor": str,
                "ops ids paths": [str],
                # `recorded_on` is the branch on which a change on refs/memctl/changes was made; such a change is not
                # committed yet. A shallow clone begins with the commit that is its boundary, which has no paths.
                "session reason recorded_on": str | None,
                "deeds": [_ACTION],
                "is_committed is_boundary brought_text?": bool,
            }
        ],
    },
    "diff": {"from diff": str, "to": str | None},
    "change": _IMPORTED,
    "commits": {"total": int, "commits": [CHANGE]},
    "proposed-sections": {"total": int, "sections": [STEP]},
    "demo": {"folder": str, "made": bool},
    "export": {"total": int, "records": [_LINE]},
    "export-adr": {"total": int, "files": [{"id file state": str}]},
    "render": (
        {**CHANGE, "edited_by_hand": [str]},
        {"commit": str | None},
        {"paths": [str]},
        {"stale edited_by_hand": [str]},
    ),
    "upgrade": {**CHANGE, "format records": int, "docs": bool | str},
    "maintain": {**CHANGE, "deeds": [_ACTION], "kept": [{"id due reason why": str}], "folded": int},
    "renumbering": {
        **CHANGE,
        "renamed": [{"from to title": str}],
        "unclear": [{"path name taken_for": str, "line": int}],
        "returned": [{"path id": str}],
        "lost": [{"path field lost kept": str}],
        "staged in_conflict settled": [str],
        "not_staged": str | None,
    },
    "redaction": {
        **CHANGE,
        "rules kept failed": [str],
        "files": [{"path": str, "blanked": int, "in_git": bool}],
        "coordination": str | None,
        "left": {"names unreached staged commits refs transcripts": [str], "history_complete": bool},
    },
    "sync": {
        "remote branch upstream before theirs": str,
        "push_target commit refs_refused warning": str | None,
        "changed dry_run": bool,
        "fetched pushed pushed_outside_of_memory tries": int,
        "merged kept finished": [str],
        "renumbered": [{"old new path": str}],
        "lost": [{"id path lost kept": str, "field": str | None}],
        "coordination": {"commit": str | None, "fetched pushed": bool, "gave_way settled": [str]},
        "sessions": {"fetched pushed": bool, "redacted": [str]},
    },
    "install": (
        {"what for file? text": str},
        {
            "what": str,
            "uninstall dry_run": bool,
            "parts": [
                {
                    "part state": str,
                    "note file text removed_section add_to lines": str | None,
                    "settings": {str: str | None},
                    "added": [{"key value": str}],
                    "taken": [{"key value": str}],
                }
            ],
        },
        {
            "what source": str,
            "uninstall dry_run user own done": bool,
            "allow": str | None,
            "files": [{"file": str, "changes": bool, "before after note": str | None}],
        },
    ),
}
