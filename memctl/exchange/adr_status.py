"""What an architecture decision record says of its status, and how a file says what has become of its decision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from memctl.exchange import adr_text
from memctl.exchange.adr_text import STATUS_WORDS, AdrOrigin, Form, Head, Span, head_of, is_name, number_of
from memctl.record import frontmatter
from memctl.record.record import Record
from memctl.text import headings, timestamps

SUPERSEDED = "superseded"
UNSAID = "accepted"  # what a record is that says nothing: adr-tools writes so, and nobody keeps drafts without a word
_UNKNOWN = "proposed"  # what nobody may rely on
_WORD = re.compile(rf"\b(?:{'|'.join(STATUS_WORDS)})\b", re.IGNORECASE)
_ASIDE = re.compile(r"~~.*?~~|\[[^\[\]\n]*\]\([^()\n]*\)")  # what is struck out, and the titles of other records
_RELATION = re.compile(r"\b(?:supersee?d|superced|replac)(?:(?P<by>ed[ \t]+by)|es)\b", re.IGNORECASE)
_LINK = re.compile(r"\]\([ \t]*(?:<([^<>\n]{1,255})>|([^()\s]{1,255}))[^()\n]*\)")  # no file has a longer name
_BY_NAME = re.compile(r"\bADR[-_ #]*(\d{1,14})\b", re.IGNORECASE)
_BY_NUMBER = re.compile(r"\W*(\d{1,14})\W*")  # with nothing behind it: `by 3 smaller ones` names no record
_LINKS = "links"  # the section of MADR 2 that lists them

Target = str | int  # a file's name, or the number of a record


class Statement(msgspec.Struct, frozen=True):
    """What a file says: its status, by which records it is superseded, and which it supersedes.

    `unclear` is the text that named no status that is known.
    """

    status: str
    by: tuple[Target, ...] = ()
    of: tuple[Target, ...] = ()
    unclear: str = ""


class Other(msgspec.Struct, frozen=True):
    """Another record, to be linked to: its file and its title."""

    file: str
    title: str

    @property
    def number(self) -> str:
        return number_of(self.file) or ""

    def link(self, form: Form) -> str:
        """Return a Markdown link to this record's file, as adr-tools (`nygard`) or MADR writes it."""
        title = re.sub(r"([\\\[\]])", r"\\\1", self.title)
        numbered = f"{int(self.number or 0)}. {title}" if form == "nygard" else f"ADR-{self.number}"
        text = numbered if self.number else title
        return f"[{text}]({f'<{self.file}>' if re.search(r'[ ()]', self.file) else self.file})"


def statement_of(origin: AdrOrigin, body: str) -> Statement:
    """Return what a file says in its head or its section `Status`, and in a list of links."""
    head = head_of(origin)
    text = head.at(head.status) or _status_text(origin)
    lists = [part.text for part in headings.split(body) if adr_text.name_of(part) == _LINKS]
    relations = [found for line in "\n".join([text, *lists]).split("\n") for found in _relations(line)]
    by = tuple(target for is_by, target in relations if is_by)
    status = SUPERSEDED if by else _status(text)
    return Statement(
        status=status or (_UNKNOWN if text.strip() else UNSAID),
        by=by,
        of=tuple(target for is_by, target in relations if not is_by),
        unclear="" if status else text.strip(),
    )


def _status_text(origin: AdrOrigin) -> str:
    """Return the text of a file's section `Status`."""
    return "".join(part.body for part in headings.split(origin.status))


def refresh(origin: AdrOrigin, body: str, record: Record, by: Sequence[Other], of: Sequence[Other]) -> AdrOrigin:
    """Return the origin of a record with what has become of the record since: its title, date, status and successors.

    `by` are the records that supersede it, `of` those that it supersedes.
    """
    said = statement_of(origin, body)
    new_by = [other for other in by if not _names(said.by, other) and other.file not in origin.superseded_by]
    new_of = [other for other in of if not _names(said.of, other) and other.file not in origin.supersedes]
    meant = SUPERSEDED if origin.superseded_by else said.status
    head = head_of(origin)
    changes = _plain_changes(head, record)
    is_stale = record.status != meant
    status, place = origin.status, origin.place
    if head.status and (is_stale or new_by):
        changes.append((head.status, _value(head, _in_words(record.status, by, origin.form))))
    lines = [f"Superseded by {other.link(origin.form)}" for other in new_by]
    lines += [f"Supersedes {other.link(origin.form)}" for other in new_of]
    if status and (is_stale or lines):
        status = _rewrite_section(status, record.status if is_stale else "", lines)
    elif not status and not head.status and (is_stale or new_by or (new_of and origin.form == "nygard")):
        if origin.form == "nygard":
            status = _rewrite_section("## Status\n\n", record.status, lines)
            place = sum(not part.is_headed for part in headings.split(body))
        else:
            changes.append(_new_in_front(head, _in_words(record.status, by, origin.form)))
    return msgspec.structs.replace(origin, head=head.with_changes(changes), status=status, place=place)


def fresh(
    file: str, form: Form, record: Record, by: Sequence[Other], of: Sequence[Other], old: AdrOrigin | None = None
) -> str:
    """Return what stands above a record's body in a form that it did not come in; what else its `old` head says is
    kept."""
    front, above, below = _other_parts(old) if old else ("", "", "")
    day = record.timestamp[:10]
    if form == "madr":
        status = frontmatter.emit("status", _in_words(record.status, by, form))
        return f"---\n{status}date: {day}\n{front}---\n\n{above}# {record.title}\n\n{below}"
    lines = [f"Superseded by {other.link(form)}" for other in by]
    lines += [f"Supersedes {other.link(form)}" for other in of]
    front = f"---\n{front}---\n\n" if front else ""
    title = f"# {int(number_of(file) or 0)}. {record.title}"
    section = _rewrite_section("## Status\n\n", record.status, lines)
    return f"{front}{above}{title}\n\nDate: {day}\n\n{below}{section}"


def _status(text: str) -> str:
    """Return the status that a text names, "" if none that is known. What a decision has become last outweighs the
    rest."""
    lines = [_ASIDE.sub("", line) for line in text.split("\n")]
    words = [match for line in lines if (match := _WORD.search(line))]
    for match in words:
        if STATUS_WORDS[match[0].lower()] == SUPERSEDED and not re.search(r"\w", match.string[: match.start()]):
            return SUPERSEDED
    return STATUS_WORDS[words[0][0].lower()] if words else ""


def _relations(line: str) -> Iterable[tuple[bool, Target]]:
    """Return the records that a line says supersede this one (True) or are superseded by it (False)."""
    found = list(_RELATION.finditer(line))
    for match, following in zip(found, [*found[1:], None], strict=False):
        text = line[match.end() : following.start() if following else len(line)]
        is_by = match["by"] is not None
        links = [(link[1] or link[2]).partition("#")[0].removeprefix("./") for link in _LINK.finditer(text)]
        if links:
            from urllib.parse import unquote

            yield from ((is_by, unquote(link)) for link in links if is_name(unquote(link)))
            continue
        number = _BY_NUMBER.fullmatch(text)
        numbers = _BY_NAME.findall(text) or ([number[1]] if number else [])
        yield from ((is_by, int(digits)) for digits in numbers)


def _names(targets: Iterable[Target], other: Other) -> bool:
    number = int(other.number) if other.number else None
    return any(target in (other.file, number) for target in targets)


def _plain_changes(head: Head, record: Record) -> list[tuple[Span, str]]:
    """Title and date, where the record has others than its file."""
    changes: list[tuple[Span, str]] = []
    if " ".join(head.called.split()) != record.title:
        has_title = head.title[1] > head.title[0]
        changes.append((head.title, _quote(head, head.title, record.title) if has_title else f"# {record.title}\n\n"))
    if head.date and timestamps.parse(head.at(head.date))[:10] != record.timestamp[:10]:
        changes.append((head.date, record.timestamp[:10]))
    return changes


def _in_words(status: str, by: Sequence[Other], form: Form) -> str:
    links = ", ".join(other.link(form) for other in by)
    return f"{status} by {links}" if links and status == SUPERSEDED else status


def _value(head: Head, words: str) -> str:
    """Return the words of a status in place of those that stand in a head: with a capital as there, quoted where need
    be."""
    assert head.status is not None
    words = words[0].upper() + words[1:] if head.text[head.status[0]].isupper() else words
    return _quote(head, head.status, words)


def _quote(head: Head, span: Span, words: str) -> str:
    """Return words in place of a span of a head: in front matter as YAML has them."""
    start, end = span
    if not head.front[0] <= start < head.front[1]:
        return words
    quote = head.text[end : end + 1]  # before a title there may be the number
    if quote in ("'", '"'):
        return words.replace("\\", "\\\\").replace('"', '\\"') if quote == '"' else words.replace("'", "''")
    return _yaml(words)


def _yaml(words: str) -> str:
    return frontmatter.emit("status", words).removeprefix("status: ").removesuffix("\n")


def _new_in_front(head: Head, words: str) -> tuple[Span, str]:
    """Return the change that puts a status into the front matter of a head that has none, and the front matter too."""
    start = head.front[0]
    line = f"status: {_yaml(words)}\n"
    return ((start, start), line if start else f"---\n{line}---\n\n")


def _rewrite_section(section: str, status: str, lines: Sequence[str]) -> str:
    """Return a section `Status` with another status ("" for the same) and more lines, each a paragraph as adr-tools has
    it."""
    part = headings.split(section)[0]
    heading, rest = part.opening.rstrip("\n"), part.body
    kept = rest.strip("\n")
    if status:
        is_told = status == SUPERSEDED and any(line.startswith("Superseded by") for line in lines)
        word = "" if is_told else status.capitalize()
        old = [line for line in kept.split("\n") if _status(line)]
        kept = "\n".join(word if line == old[0] else line for line in kept.split("\n")) if old else f"{word}\n\n{kept}"
    text = re.sub(r"\n{3,}", "\n\n", "\n\n".join([kept.strip("\n"), *lines]).strip("\n"))
    ending = section[len(section.rstrip("\n")) :] if rest.strip("\n") else "\n\n"
    return f"{heading}\n\n{text}{ending}"


def _other_parts(origin: AdrOrigin) -> tuple[str, str, str]:
    """Return what a head says beside title, status and date: in its front matter, above its title and below it.

    Lines of the section with the status that say something else stand behind what is below.
    """
    head = head_of(origin)
    told = {head.text.count("\n", 0, span[0]) for span in (head.status, head.date) if span}
    lines = [None if number in told else line for number, line in enumerate(head.text.split("\n"))]
    first, last = (head.text.count("\n", 0, position) for position in head.front)
    title = head.text.count("\n", 0, head.above)
    amendments = [line for line in _status_text(origin).split("\n") if not _status(line) and not _RELATION.search(line)]
    above = _join_lines(lines[last + 1 if head.front[1] else 0 : title])
    below = [t for t in (_join_lines(lines[title + (head.above < head.below) :]), _join_lines(amendments)) if t]
    front = _join_lines(lines[first:last])
    return front + "\n" if front else "", above + "\n\n" if above else "", "".join(f"{text}\n\n" for text in below)


def _join_lines(lines: Iterable[str | None]) -> str:
    """Return the lines that are left, without the gaps that others leave."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if line is not None)).strip("\n")
