"""What stands around each entry of a view, which the index has in a table of its own.

Entries of one thread (parts of a page, sections of a session's page, records of one agent and day) stand together, up
to 64 in their order, and beside them how the pages that they belong to begin, and what they are linked with. All of
them have one list, and a row of `around` is for one list; a change renews the lists that it touches and no others.

For SQLite they are JSON, which lists of numbers are as Python writes them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator

_TOGETHER = 64  # entries; of 16, 32, 48 and 64 it found most in the first half of bench/conversations.py
_CUT = 200  # characters of what is beside them
_LINKS = 3  # of those that an entry is linked with
_FEW = 4  # if more than one in so many entries is new, all are looked at

_IN_VIEW = "EXISTS (SELECT 1 FROM live WHERE live.view = :view AND live.number = entries.number)"
_PAGE = f"SELECT number FROM entries WHERE key = :place AND kind = 'page' AND {_IN_VIEW} ORDER BY number LIMIT 1"
_LINKED = f"""
SELECT number FROM (
    SELECT number, time, entries.key AS key FROM links JOIN entries USING (number)
    WHERE links.key = :key AND {_IN_VIEW}
    UNION SELECT entries.number, time, key FROM links JOIN entries USING (key)
    WHERE links.number = :number AND {_IN_VIEW}
) ORDER BY time DESC, key LIMIT :links
"""
# SQLite gives the rows of the first part of a compound before those of the next.
_BESIDE = f"SELECT * FROM ({_PAGE}) UNION ALL SELECT * FROM ({_LINKED})"
_PARTS = f"SELECT number FROM entries WHERE :kind = 'page' AND place = :key AND place <> '' AND {_IN_VIEW}"
_THREAD = f"""
SELECT number FROM entries WHERE (number = :number OR thread = :thread AND thread <> '') AND {_IN_VIEW}
ORDER BY time, key, number
"""
_FACTS = "SELECT number, kind, key, thread, place FROM entries WHERE number = ?"
_LISTS = "SELECT DISTINCT list FROM live WHERE view = ? AND number IN (SELECT value FROM json_each(?))"
_RENEW = "UPDATE live SET list = ? WHERE view = ? AND number IN (SELECT value FROM json_each(?))"
_TEXTS = """
SELECT {text} FROM json_each(?) CROSS JOIN texts_content ON texts_content.id = json_each.value ORDER BY json_each.key
"""
_WHOLE = _TEXTS.format(text="c0 || char(10) || c1 || char(10) || c2 || char(10) || c3")
_BEGINNINGS = _TEXTS.format(text=f"substr(c0 || char(10) || c1, 1, {_CUT})")


def renew(database: sqlite3.Connection, view: int, added: Collection[int], gone: Collection[int]) -> None:
    """Renew the lists of entries that are new in a view, and of those beside which they stand or such as are gone."""
    total = database.execute("SELECT count(*) FROM live WHERE view = ?", (view,)).fetchone()[0]
    if _FEW * (len(added) + len(gone)) > total:
        looked_at = {row[0] for row in database.execute("SELECT number FROM live WHERE view = ?", (view,))}
    else:
        looked_at = set(added).union(*(_beside(database, view, number, every=True) for number in (*added, *gone)))
    left: set[int | None] = set()
    for members in _together(database, view, looked_at.union(gone)):
        known = str(members)
        before = {row[0] for row in database.execute(_LISTS, (view, known))}
        if looked_at.isdisjoint(members) and len(before) == 1 and known == _members(database, *before):
            continue
        listed = _list(database, view, members, before)
        if before != {listed}:
            database.execute(_RENEW, (listed, view, known))
            left |= before - {listed}
    forget(database, filter(None, left))


def forget(database: sqlite3.Connection, lists: Iterable[int]) -> None:
    """Delete those of some lists that no view has any more, while the entries in them are still there."""
    for listed in lists:
        row = database.execute("SELECT members, beside FROM neighbours WHERE list = ?", (listed,)).fetchone()
        if row and not database.execute("SELECT 1 FROM live WHERE list = ?", (listed,)).fetchone():
            # FTS5 keeps no text of this table, and takes out of its index what it is given here.
            taken = "INSERT INTO around (around, rowid, text) VALUES ('delete', ?, ?)"
            database.execute(taken, (listed, _text(database, *row)))
            database.execute("DELETE FROM neighbours WHERE list = ?", (listed,))


def _together(database: sqlite3.Connection, view: int, numbers: Collection[int]) -> Iterator[list[int]]:
    """The entries that stand together in the threads of some."""
    seen: set[str | int] = set()
    for number in sorted(numbers):
        facts = _facts(database, number)
        thread = facts["thread"] or number
        if thread not in seen:
            seen.add(thread)
            found = [row[0] for row in database.execute(_THREAD, {**facts, "view": view})]
            yield from (found[start : start + _TOGETHER] for start in range(0, len(found), _TOGETHER))


def _beside(database: sqlite3.Connection, view: int, number: int, *, every: bool = False) -> list[int]:
    """What stands beside an entry: its page, and some entries that it is linked with; `every` of those, and also those
    of which it is the page."""
    values = {**_facts(database, number), "view": view, "links": -1 if every else _LINKS}
    found = [row[0] for row in database.execute(_BESIDE, values)]
    return found + [row[0] for row in database.execute(_PARTS, values)] if every else found


def _facts(database: sqlite3.Connection, number: int) -> dict[str, str | int]:
    names = ("number", "kind", "key", "thread", "place")
    return dict(zip(names, database.execute(_FACTS, (number,)).fetchone(), strict=True))


def _members(database: sqlite3.Connection, listed: int | None) -> str:
    row = database.execute("SELECT members FROM neighbours WHERE list = ?", (listed,)).fetchone()
    return row[0] if row else ""


def _list(database: sqlite3.Connection, view: int, members: list[int], before: Collection[int | None]) -> int | None:
    """The number of the list of some entries, which is added if it is new; None if nothing is around them.

    Is its text that of the one list `before`, and no other view has that, it stays: most edits of a page change
    nothing of how it begins.
    """
    beside = dict.fromkeys(other for number in members for other in _beside(database, view, number))
    known = str(members), str([other for other in beside if other not in members])
    if known == (str(members[:1]), "[]"):
        return None
    row = database.execute("SELECT list FROM neighbours WHERE members = ? AND beside = ?", known).fetchone()
    if row:
        return int(row[0])
    text = _text(database, *known)
    for former in filter(None, before if len(before) == 1 else ()):
        row = database.execute("SELECT members, beside FROM neighbours WHERE list = ?", (former,)).fetchone()
        is_shared = database.execute("SELECT 1 FROM live WHERE list = ? AND view <> ?", (former, view)).fetchone()
        if row and row[0] == known[0] and not is_shared and _text(database, *row) == text:
            database.execute("UPDATE neighbours SET beside = ? WHERE list = ?", (known[1], former))
            return former
    listed = database.execute("INSERT INTO neighbours (members, beside) VALUES (?, ?)", known).lastrowid
    database.execute("INSERT INTO around (rowid, text) VALUES (?, ?)", (listed, text))
    return listed


def _text(database: sqlite3.Connection, members: str, beside: str) -> str:
    """The text of some entries and how those beside them begin, from the table in which FTS5 keeps `texts`."""
    rows = (*database.execute(_WHOLE, (members,)), *database.execute(_BEGINNINGS, (beside,)))
    return "\n".join(row[0] for row in rows)
