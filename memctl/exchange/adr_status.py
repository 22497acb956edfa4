"""Read the status of an architecture decision record (ADR) from its file, and update it in the file's text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from memctl.exchange import adr_text
from memctl.exchange.adr_text import STATUS_WORDS, AdrOrigin, Form, Head, Span, head_of, is_name, number_of
from memctl.record import frontmatter
from memctl.record.record import Record
from memctl.text import headings

SUPERSEDED = "superseded"
UNSTATED = "accepted"  # the status of a file that states none, as of new files of adr-tools
_UNKNOWN = "proposed"  # for a status that is not known: nobody relies on a proposal
_WORD = re.compile(rf"\b(?:{'|'.join(STATUS_WORDS)})\b", re.IGNORECASE)
_ASIDE = re.compile(r"~~.*?~~|\[[^\[\]\n]*\]\([^()\n]*\)")  # struck text and links, whose words are not the status
_RELATION = re.compile(r"\b(?:supersee?d|superced|replac)(?:(?P<by>ed[ \t]+by)|es)\b", re.IGNORECASE)
_LINK = re.compile(r"\]\([ \t]*(?:<([^<>\n]{1,255})>|([^()\s]{1,255}))[^()\n]*\)")  # file names have up to 255 bytes
_BY_NAME = re.compile(r"\bADR[-_ #]*(\d{1,14})\b", re.IGNORECASE)
_BY_NUMBER = re.compile(r"\W*(\d{1,14})\W*")  # matches all of a text, since `by 3 smaller ones` has no record's number

Target = str | int  # the name or the number of an ADR file


class Statement(msgspec.Struct, frozen=True):
    """What an ADR file says of its status, of the files that supersede it, and of the files that it supersedes.

    A file is given by its name, or by its number if only that is known. If the file states a status that memctl does
    not know, `unclear` is the text of it, otherwise "".
    """

    status: str
    superseded_by: tuple[Target, ...] = ()
    supersedes: tuple[Target, ...] = ()
    unclear: str = ""


class LinkedDecision(msgspec.Struct, frozen=True):
    """Another decision that an ADR file links to: the name of its file, and its title."""

    file: str
    title: str

    @property
    def number(self) -> str:
        """Return the number in the file's name, such as `0007`, or ""."""
        return number_of(self.file) or ""

    def link(self, form: Form) -> str:
        """Return a Markdown link to this decision's file, in the words of adr-tools (form `nygard`) or of MADR."""
        title = re.sub(r"([\\\[\]])", r"\\\1", self.title)
        numbered = f"{int(self.number or 0)}. {title}" if form == "nygard" else f"ADR-{self.number}"
        text = numbered if self.number else title
        return f"[{text}]({f'<{self.file}>' if re.search(r'[ ()]', self.file) else self.file})"


def statement_of(origin: AdrOrigin, body: str) -> Statement:
    """Return what an ADR file says of its status, of the files that supersede it, and of the files that it supersedes.

    `origin` and `body` are the parts of the file (see `adr_text.parse_file`). All that is read from the status, which
    is in the lines above the first section or in the section `Status`. The other files' names are also read from the
    section `Links`, which files of MADR 2 have.
    """
    head = head_of(origin)
    text = head.at(head.status) or _status_text(origin)
    # `Links` is the section of MADR 2 with links to other records.
    lists = [part.text for part in headings.split(body) if adr_text.name_of(part) == "links"]
    relations = [relation for line in "\n".join([text, *lists]).split("\n") for relation in _relations(line)]
    by = tuple(target for is_by, target in relations if is_by)
    status = SUPERSEDED if by else _status(text)
    return Statement(
        status=status or (_UNKNOWN if text.strip() else UNSTATED),
        superseded_by=by,
        supersedes=tuple(target for is_by, target in relations if not is_by),
        unclear="" if status else text.strip(),
    )


def status_of(text: str) -> tuple[str, bool]:
    """Return the status that a text states, and True; or "proposed" and False if it states none."""
    status = _status(text)
    return status or _UNKNOWN, bool(status)


def _status_text(origin: AdrOrigin) -> str:
    return "".join(part.body for part in headings.split(origin.status))


def updated_origin(
    origin: AdrOrigin,
    body: str,
    record: Record,
    successors: Sequence[LinkedDecision],
    predecessors: Sequence[LinkedDecision],
) -> AdrOrigin:
    """Return the stored parts of an imported ADR file, updated to the record's present title, date, status and links.

    `origin` and `body` are the parts of the file (see `adr_text.parse_file`). `successors` are the decisions that
    supersede the record, `predecessors` those that the record supersedes.
    """
    stated = statement_of(origin, body)
    new_by = _without_linked(successors, (*stated.superseded_by, *origin.superseded_by))
    new_of = _without_linked(predecessors, (*stated.supersedes, *origin.supersedes))
    meant = SUPERSEDED if origin.superseded_by else stated.status
    head = head_of(origin)
    changes = _plain_changes(head, record)
    is_stale = record.status != meant
    status, place = origin.status, origin.place
    if head.status and (is_stale or new_by):
        changes.append((head.status, _value(head, _in_words(record.status, successors, origin.form))))
    lines = _link_lines(origin.form, new_by, new_of)
    if status and (is_stale or lines):
        status = _rewrite_section(status, record.status if is_stale else "", lines)
    elif not status and not head.status and (is_stale or new_by or (new_of and origin.form == "nygard")):
        if origin.form == "nygard":
            status = _rewrite_section("## Status\n\n", record.status, lines)
            place = sum(not part.is_headed for part in headings.split(body))
        else:
            changes.append(_new_in_front(head, _in_words(record.status, successors, origin.form)))
    return msgspec.structs.replace(origin, head=head.with_changes(changes), status=status, place=place)


def new_head(
    file: str,
    form: Form,
    record: Record,
    successors: Sequence[LinkedDecision],
    predecessors: Sequence[LinkedDecision],
    old: AdrOrigin | None = None,
) -> str:
    """Return a new beginning (front matter, title, status) for a decision's ADR file.

    It is needed if the decision was not imported from a file, or is exported in another form than that file's. `file`
    is the file's name; in the form "nygard" the title begins with its number. `successors` are the decisions that
    supersede this one, `predecessors` those that it supersedes. `old` are the stored parts of the imported file, None
    if there is none; whatever else the beginning of this file has is kept.
    """
    front, above, below = _other_parts(old) if old else ("", "", "")
    day = record.timestamp[:10]
    if form == "madr":
        status = frontmatter.emit("status", _in_words(record.status, successors, form))
        return f"---\n{status}date: {day}\n{front}---\n\n{above}# {record.title}\n\n{below}"
    front = f"---\n{front}---\n\n" if front else ""
    title = f"# {int(number_of(file) or 0)}. {record.title}"
    section = _rewrite_section("## Status\n\n", record.status, _link_lines(form, successors, predecessors))
    return f"{front}{above}{title}\n\nDate: {day}\n\n{below}{section}"


def _link_lines(form: Form, by: Iterable[LinkedDecision], of: Iterable[LinkedDecision]) -> list[str]:
    lines = [f"Superseded by {other.link(form)}" for other in by]
    return lines + [f"Supersedes {other.link(form)}" for other in of]


def _status(text: str) -> str:
    """`superseded` at the start of a line wins over other words."""
    lines = [_ASIDE.sub("", line) for line in text.split("\n")]
    words = [match for line in lines if (match := _WORD.search(line))]
    for match in words:
        if STATUS_WORDS[match[0].lower()] == SUPERSEDED and not re.search(r"\w", match.string[: match.start()]):
            return SUPERSEDED
    return STATUS_WORDS[words[0][0].lower()] if words else ""


def _relations(line: str) -> Iterable[tuple[bool, Target]]:
    matches = list(_RELATION.finditer(line))
    for match, following in zip(matches, [*matches[1:], None], strict=False):
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


def _without_linked(others: Iterable[LinkedDecision], targets: Sequence[Target]) -> list[LinkedDecision]:
    names = {other.file: (other.file, int(other.number) if other.number else None) for other in others}
    return [other for other in others if not any(target in names[other.file] for target in targets)]


def _plain_changes(head: Head, record: Record) -> list[tuple[Span, str]]:
    changes: list[tuple[Span, str]] = []
    if " ".join(head.title_text.split()) != record.title:
        has_title = head.title[1] > head.title[0]
        changes.append((head.title, _quote(head, head.title, record.title) if has_title else f"# {record.title}\n\n"))
    if head.date and adr_text.moment_of(head.at(head.date))[0][:10] != record.timestamp[:10]:
        changes.append((head.date, record.timestamp[:10]))
    return changes


def _in_words(status: str, successors: Sequence[LinkedDecision], form: Form) -> str:
    links = ", ".join(other.link(form) for other in successors)
    return f"{status} by {links}" if links and status == SUPERSEDED else status


def _value(head: Head, words: str) -> str:
    """A status begins with a capital if the old one does, and is quoted where YAML needs it."""
    assert head.status is not None
    words = words[0].upper() + words[1:] if head.text[head.status[0]].isupper() else words
    return _quote(head, head.status, words)


def _quote(head: Head, span: Span, words: str) -> str:
    start, end = span
    if not head.front[0] <= start < head.front[1]:
        return words
    quote = head.text[end : end + 1]  # the closing one; a number may stand between the opening one and the title
    if quote in ("'", '"'):
        return words.replace("\\", "\\\\").replace('"', '\\"') if quote == '"' else words.replace("'", "''")
    return _yaml(words)


def _yaml(words: str) -> str:
    return frontmatter.emit("status", words).removeprefix("status: ").removesuffix("\n")


def _new_in_front(head: Head, words: str) -> tuple[Span, str]:
    start = head.front[0]
    line = f"status: {_yaml(words)}\n"
    return ((start, start), line if start else f"---\n{line}---\n\n")


def _rewrite_section(section: str, status: str, lines: Sequence[str]) -> str:
    """Replace the status ("" keeps it) and add lines, each a paragraph as adr-tools writes them."""
    part = headings.split(section)[0]
    heading, rest = part.heading_text.rstrip("\n"), part.body
    text = rest.strip("\n")
    if status:
        is_stated = status == SUPERSEDED and any(line.startswith("Superseded by") for line in lines)
        word = "" if is_stated else status.capitalize()
        old = [line for line in text.split("\n") if _status(line)]
        text = "\n".join(word if line == old[0] else line for line in text.split("\n")) if old else f"{word}\n\n{text}"
    text = re.sub(r"\n{3,}", "\n\n", "\n\n".join([text.strip("\n"), *lines]).strip("\n"))
    ending = section[len(section.rstrip("\n")) :] if rest.strip("\n") else "\n\n"
    return f"{heading}\n\n{text}{ending}"


def _other_parts(origin: AdrOrigin) -> tuple[str, str, str]:
    """Return the front matter, and the text above and below the title, without title, status and date."""
    head = head_of(origin)
    stated = {head.text.count("\n", 0, span[0]) for span in (head.status, head.date) if span}
    lines = [None if number in stated else line for number, line in enumerate(head.text.split("\n"))]
    first, last = (head.text.count("\n", 0, position) for position in head.front)
    title = head.text.count("\n", 0, head.above)
    amendments = [line for line in _status_text(origin).split("\n") if not _status(line) and not _RELATION.search(line)]
    above = _join_lines(lines[last + 1 if head.front[1] else 0 : title])
    below = [t for t in (_join_lines(lines[title + (head.above < head.below) :]), _join_lines(amendments)) if t]
    front = _join_lines(lines[first:last])
    return front + "\n" if front else "", above + "\n\n" if above else "", "".join(f"{text}\n\n" for text in below)


def _join_lines(lines: Iterable[str | None]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if line is not None)).strip("\n")
