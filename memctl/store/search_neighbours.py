"""Each entry of a view amid its neighbours: its text and how theirs begin, which the index has in a table of their own.

The neighbours of an entry are the page that it belongs to, entries that it is linked with, those just before and after
it (records of one agent and day, parts of one page), and the nearest in time of the same page. A row of `around` is for
one entry with one list of neighbours; a change renews the lists that it touches and no others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

_CUT = 200  # characters of each neighbour
_MOST = 8  # neighbours
_LINKS = 3  # of those that are linked
_BESIDES, _NEARESTS = 3, 1  # each way: before and after it, and nearest
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
_BESIDE_IT = f"""
SELECT number FROM entries WHERE {{group}} = :{{group}} AND {{group}} <> '' AND (time, key) {{than}} (:time, :key)
AND {{kinds}} AND {_IN_VIEW} ORDER BY time {{order}}, key {{order}} LIMIT {{limit}}
"""
_BESIDE = "SELECT * FROM ({}) UNION ALL SELECT * FROM ({})".format(
    _BESIDE_IT.replace("{than}", "<").replace("{order}", "DESC"),
    _BESIDE_IT.replace("{than}", ">").replace("{order}", "ASC"),
)
_IN_THREAD = _BESIDE.format(group="thread", kinds="1", limit=_BESIDES)
_NEAREST = _BESIDE.format(group="place", kinds="kind <> 'page' AND :kind <> 'page'", limit=_NEARESTS)
_PARTS = f"SELECT number FROM entries WHERE :kind = 'page' AND place = :key AND place <> '' AND {_IN_VIEW}"
# SQLite gives the rows of the first part of a compound before those of the next.
_NEAR = f"SELECT * FROM ({_PAGE}) UNION ALL SELECT * FROM ({_LINKED}) UNION ALL {_IN_THREAD} UNION ALL {_NEAREST}"
_FACTS = "SELECT number, kind, key, thread, time, place FROM entries WHERE number = ?"
_OWN = "SELECT c0 || char(10) || c1 FROM texts_content WHERE id = ?"
_BEGINNINGS = f"""
SELECT substr(c0 || char(10) || c1, 1, {_CUT}) FROM json_each(?) CROSS JOIN texts_content
ON texts_content.id = json_each.value ORDER BY json_each.key
"""


def renew(database: sqlite3.Connection, view: int, added: Collection[int], gone: Collection[int]) -> None:
    """Renew what stands around entries that are new in a view, and around those near them or near such as are gone."""
    total = database.execute("SELECT count(*) FROM live WHERE view = ?", (view,)).fetchone()[0]
    if _FEW * (len(added) + len(gone)) > total:
        find, numbers = "SELECT number, list FROM live WHERE view = ?", [tuple[int, ...]()]
    else:
        near = (_near(database, view, number, with_parts=True) for number in (*added, *gone))
        numbers = [(number,) for number in set(added).union(*near)]
        find = "SELECT number, list FROM live WHERE view = ? AND number = ?"
    before: dict[int, set[int | None]] = {}
    for some in numbers:
        for number, listed in database.execute(find, (view, *some)).fetchall():
            before.setdefault(number, set()).add(listed)
    now = {number: _list(database, number, _near(database, view, number)[:_MOST]) for number in sorted(before)}
    changed = [(now[number], view, number) for number in now if before[number] != {now[number]}]
    database.executemany("UPDATE live SET list = ? WHERE view = ? AND number = ?", changed)
    forget(database, {listed for _, _, number in changed for listed in before[number] if listed})


def forget(database: sqlite3.Connection, lists: Iterable[int]) -> None:
    """Delete those of some lists that no view has any more, while the entries in them are still there."""
    for listed in lists:
        row = database.execute("SELECT entry, numbers FROM neighbours WHERE list = ?", (listed,)).fetchone()
        if row and not database.execute("SELECT 1 FROM live WHERE list = ?", (listed,)).fetchone():
            # FTS5 keeps no text of this table, and takes out of its index what it is given here.
            taken = "INSERT INTO around (around, rowid, own, near) VALUES ('delete', ?, ?, ?)"
            database.execute(taken, (listed, *_texts(database, *row)))
            database.execute("DELETE FROM neighbours WHERE list = ?", (listed,))


def _near(database: sqlite3.Connection, view: int, number: int, *, with_parts: bool = False) -> list[int]:
    """The neighbours of an entry, the closest first; `with_parts` all that have it as theirs, for links and pages, too,
    and no matter how many."""
    names = ("number", "kind", "key", "thread", "time", "place")
    facts = dict(zip(names, database.execute(_FACTS, (number,)).fetchone(), strict=True))
    values = {**facts, "view": view, "links": -1 if with_parts else _LINKS}
    found = [row[0] for row in database.execute(_NEAR, values)]
    if with_parts:
        found += [row[0] for row in database.execute(_PARTS, values)]
    return [other for other in dict.fromkeys(found) if other != number]


def _list(database: sqlite3.Connection, entry: int, numbers: Collection[int]) -> int | None:
    """The number of an entry's list of neighbours, which is added if it had another before; None for an empty one."""
    if not numbers:
        return None
    known = " ".join(map(str, numbers))
    find = "SELECT list FROM neighbours WHERE entry = ? AND numbers = ?"
    row = database.execute(find, (entry, known)).fetchone()
    if row:
        return int(row[0])
    listed = database.execute("INSERT INTO neighbours (entry, numbers) VALUES (?, ?)", (entry, known)).lastrowid
    added = "INSERT INTO around (rowid, own, near) VALUES (?, ?, ?)"
    database.execute(added, (listed, *_texts(database, entry, known)))
    return listed


def _texts(database: sqlite3.Connection, entry: int, numbers: str) -> tuple[str, str]:
    """The text of an entry, and how those of its neighbours begin, from the table in which FTS5 keeps `texts`."""
    own = database.execute(_OWN, (entry,)).fetchone()
    near = database.execute(_BEGINNINGS, (f"[{numbers.replace(' ', ',')}]",))
    return own[0] if own else "", "\n".join(row[0] for row in near)
