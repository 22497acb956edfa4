"""Merging two versions of a session's page that two clones made: by the rules for a later summary of the session.

Which of the two is the later one is told by where they end, not by which side has it, so that both directions of a
merge come to the same page. What people wrote below headings of their own is merged line by line.
"""

from __future__ import annotations

import msgspec

from memctl.git import threeway
from memctl.git.threeway import Preference
from memctl.record import frontmatter, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.session_page import SessionPage
from memctl.session import fitting, merging
from memctl.tokens.count import Counter
from memctl.write.merge import WHOLE, Merged
from memctl.write.merge_bodies import Lost

_BY_HAND = "text under other headings"
_REPLACED = (session_page.STATE, session_page.NEXT)


def merge(base: str, ours: str, theirs: str, counter: Counter, *, prefer: Preference = "") -> Merged:
    """Merge two versions of a page that come from `base` ("" if both were added).

    Decisions, issues, learnings and errors are joined, files merged per path; state and next steps are those of the
    later summary, and those of the other are `lost` if it had changed them. Lists of files beside pages are joined.
    Text by hand in conflict stands between Git's markers, or as the preferred side has it. The page keeps within its
    budget, as `counter` counts. Versions that can't be read, or are of two sessions, are merged as lines. Raises
    GitFailed for what Git takes for binary.
    """
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    before, one, other = (_read(frontmatter.clean_newlines(text)) for text in (base, ours, theirs))
    if one is None or other is None or one.id != other.id:
        return _lines(base, ours, theirs, prefer)
    earlier, later = sorted((one, other), key=_order)
    made = merging.merge(earlier, later)
    # Each replaces what it is the later summary of; only what one has said on its own gives way.
    lost = [
        Lost(heading, "\n".join(earlier.lines.get(heading, ())), "\n".join(later.lines.get(heading, ())))
        for heading in _REPLACED
        if earlier.lines.get(heading, ())
        not in (later.lines.get(heading, ()), before.lines.get(heading, ()) if before else ())
    ]
    was = before.more if before else ""
    more, count = _by_hand(was, one.more, other.more, prefer)
    if count:
        winner, loser = (one, other) if prefer == "ours" else (other, one)
        lost += [Lost(_BY_HAND, loser.more, winner.more)] if prefer else []
    text = _text(msgspec.structs.replace(made, more=more), (one, other), counter)
    return Merged(text, (_BY_HAND,) if count and not prefer else (), _notes(lost), tuple(lost))


def _text(made: SessionPage, sides: tuple[SessionPage, SessionPage], counter: Counter) -> str:
    """The text of a merged page within its budget, or of a merged list of files.

    A file beside a page is merged by itself: of how many files there are the page knows what the larger side said.
    """
    if all(session_page.is_list(side) for side in sides):
        return session_page.render_trail(made)
    if made.trail:
        most = max(int(side.values.get("files_accessed") or 0) for side in sides)
        made = msgspec.structs.replace(made, values={**made.values, "files_accessed": most})
    return session_page.render(fitting.alone(made, counter))


def _read(text: str) -> SessionPage | None:
    try:
        found = session_page.parse(text, "")
    except InvalidRecord:
        return None
    return found if found.id else None


def _order(version: SessionPage) -> tuple[str, str, str]:
    return (
        str(version.values.get("ended") or ""),
        str(version.values.get("summarized") or ""),
        session_page.render(version),
    )


def _by_hand(base: str, ours: str, theirs: str, prefer: Preference) -> tuple[str, int]:
    if ours == theirs or theirs == base:
        return ours, 0
    if ours == base:
        return theirs, 0
    text, count = threeway.texts(base, ours, theirs)
    return (threeway.texts(base, ours, theirs, prefer=prefer)[0] if count and prefer else text), count


def _notes(lost: list[Lost]) -> tuple[str, ...]:
    return tuple(f"{one.key} is that of the later summary" for one in lost if one.key in _REPLACED)


def _lines(base: str, ours: str, theirs: str, prefer: Preference) -> Merged:
    text, count = threeway.texts(base, ours, theirs)
    if not count:
        return Merged(text)
    if not prefer:
        return Merged(text, (WHOLE,))
    winner, loser = (ours, theirs) if prefer == "ours" else (theirs, ours)
    return Merged(winner, lost=(Lost(WHOLE, loser, winner),))
