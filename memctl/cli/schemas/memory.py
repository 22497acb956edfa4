"""The shapes of the JSON that commands print about the memory: records, pages, changes, search, checks, history."""

from __future__ import annotations

from memctl.cli.schemas.shapes import NAME, PATH, Fields, Shape
from memctl.record.record import FIELDS

RECORD = "memctl.record.record.Record"
FAULT = {"path field message": str, "line": int}
MAYBE_RECORD = (RECORD, None)
_PAGE = {"*": "memctl.record.pages.Page", "path": PATH, "kind=kind.name": str}
_PLACE = {"*": Fields("memctl.pages.navigate.Place", ("text",)), "text?": str, "tokens?": int}
_SHOWN = {"*": RECORD, "content?": {str: str | list[str]}, "body?": str, "tokens?": int}
_ACTION = "memctl.record.change.RecordAction"
_LINE = {**{f"{name}?": object for name in FIELDS}, "extra?": {str: object}, "body path": str}
CHANGE: dict[str, Shape] = {
    "op": str,
    "ids paths documents": [str],
    "changed": bool,
    "commit pending warning": str | None,
    "advice": [str],
    "writes?": {str: str},
    "deletes?": [str],
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
        "steps": [str],
        "total": int,
        "choices": [{"record": RECORD, "because": [str], "command": str, "is_own": bool, "unblocks": [str]}],
        "blocked": int,
        "elsewhere": [{"id=record.id because": str}],
        "everywhere": [str],
    },
    "index": {"total": int, "places": [_PLACE]},
    "sections": {"total": int, "sections=pages": [_PAGE]},
    "details": {"total": int, "details=pages": [_PAGE]},
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
        "files": [
            {
                "path=change.path status=change.status": str,
                "before=change.before row": str | None,
                "pages=page_ids": [str],
                "documents": [PATH],
            }
        ],
        "rows": [{"row title": str, "levels": [{"level": int, "condition": str, "documents": [PATH]}]}],
        "stale": [
            {
                "id=page.id title=page.title": str,
                "path=page.path": PATH,
                "suspect": [{"path reviewed now stamped": str}],
                "broken": [{"reference": str, "line": (int, None), "candidates": ([{"path by": str}], None)}],
            }
        ],
        "review": ([Fields("memctl.check.branch_review.ReviewItem")], None),
    },
    "check": {
        "counts": {"error warning info": int},
        "ignored unlisted=number_unlisted": int,
        "findings": [
            {
                "code name=rule.name severity": str,
                "path": PATH,
                "line": int,
                "message": str,
                "hint": str | None,
            }
        ],
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
                "commit=commit.commit date=commit.date author=commit.author subject=commit.subject": str,
                "ops=commit.trailers.ops ids": [str],
                "actor=commit.actor": str,
                # `recorded_on` is the branch on which a change on refs/memctl/changes was made; such a change is not
                # committed yet. A shallow clone begins with the commit that is its boundary, which has no paths.
                "session=commit.trailers.session reason=commit.trailers.reason": str | None,
                "deeds": [{"action=0 id=1 reason=2": str}],
                "paths=commit.paths": [str],
                "recorded_on=commit.trailers.branch": str | None,
                "is_boundary is_committed brought_text?": bool,
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
        "renamed=made.renamed": [{"from=name to=now title": str}],
        "unclear=made.unclear": [{"path": PATH, "line": int, "name taken_for": str}],
        "returned=made.returned": [{"path=0": PATH, "id=1": str}],
        "lost=made.lost": [{"path=0": PATH, "field=1.key lost=1.lost kept=1.kept": str}],
        "staged=within.staged": [PATH],
        "not_staged=within.why": str | None,
        "in_conflict=within.conflicts settled": [str],
    },
    "redaction": {
        **{name: shape for name, shape in CHANGE.items() if name != "writes?"},
        "rules": [str],
        "files": [{"path": PATH, "blanked": int, "in_git": bool}],
        "kept=made.erased.files": [NAME],
        "failed=made.erased.failed": [{"path=0": NAME, "why=1": str}],
        "coordination=made.coordination": str | None,
        "left=": {
            "names=made.named unreached=made.unreached": [PATH],
            "staged=made.staged commits=left.commits refs=left.refs": [str],
            "history_complete=left.is_complete": bool,
            "transcripts": [NAME],
        },
    },
    "sync": {
        "remote=upstream.remote branch=upstream.branch upstream=upstream.name": str,
        "push_target=target.name": str | None,
        "before theirs": str,
        "fetched pushed tries": int,
        "commit=made_commit": str | None,
        "changed": bool,
        "pushed_outside_of_memory=foreign": int,
        "merged=made.both": [PATH],
        "renumbered=made.renamed": [{"old=name new=now": str, "path=new_path": PATH}],
        "lost=made.lost": [{"id": str, "path": PATH, "field": str | None, "lost kept": str}],
        "kept=made.revived": [PATH],
        "coordination=": {
            "commit=coordination": str | None,
            "fetched=taken pushed=given": bool,
            "gave_way settled": [str],
        },
        "sessions=": {
            "fetched=sessions_taken pushed=sessions_given": bool,
            "redacted=sessions_redacted": [NAME],
        },
        "refs_refused=refusal": str | None,
        "finished": [str],
        "dry_run": bool,
        "warning": str | None,
    },
    "install": (
        {"what for file? text": str},
        {
            "what": str,
            "uninstall dry_run": bool,
            "parts": [
                {
                    "part state": str,
                    "note file=files.file text=files.text": (NAME, None),
                    "settings": {str: (NAME, None)},
                    "removed_section=section": str | None,
                    "added taken": [{"key=0 value=1": NAME}],
                    "add_to lines": (NAME, None),
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
