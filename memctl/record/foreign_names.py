"""Names that other tools gave a record, such as `bd-xmf`: values of front matter keys that memctl does not know."""

from __future__ import annotations

from memctl.record import frontmatter
from memctl.record.errors import FrontMatterError
from memctl.record.record import ORDER


def has_name(text: str, name: str) -> bool:
    """Return whether a record's file has `name` as a value of a key that memctl does not know; case is ignored.

    `text` is the whole file. A file without readable front matter gives False.
    """
    try:
        values = frontmatter.read(text)[0]
    except FrontMatterError:
        return False
    known = [value for key, value in values.items() if key not in ORDER]
    names = [str(each) for value in known for each in (value if isinstance(value, list) else [value])]
    return name.casefold() in map(str.casefold, names)
