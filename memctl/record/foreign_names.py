"""Other tools' names for a record, such as `bd-xmf`: values of front matter keys that are not memctl's."""

from __future__ import annotations

from memctl.record import frontmatter
from memctl.record.errors import Malformed
from memctl.record.record import ORDER


def has_name(text: str, name: str) -> bool:
    """Return whether the text of a record's file has a name, in upper or lower case, as a value of another tool's
    key."""
    try:
        values = frontmatter.read(text)[0]
    except Malformed:
        return False
    known = [value for key, value in values.items() if key not in ORDER]
    names = [str(each) for value in known for each in (value if isinstance(value, list) else [value])]
    return name.casefold() in map(str.casefold, names)
