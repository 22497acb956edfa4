"""Split the text of an ADR file into a decision's body and the rest, and put them together again without a difference.

The sections become the decision's body, in their order. The text above them (front matter, title, lines such as `Date:
…`) and the section `Status` are kept unchanged beside it, since the record has fields for what they say.

A file has one of two forms: Nygard's, which adr-tools writes, or that of MADR's templates, versions 2 to 4. They name
the sections of a decision differently. A section that neither form has keeps its heading and its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from memctl.exchange import relative_links
from memctl.record import content_fields
from memctl.record.errors import FrontMatterError
from memctl.record.kinds import DECISION, Field
from memctl.record.record import ADR
from memctl.statements import labels
from memctl.text import headings, timestamps
from memctl.text.headings import HeadedPart
from memctl.text.markdown import one_line

Form = Literal["madr", "nygard"]
FORMS: tuple[Form, ...] = ("madr", "nygard")
STATUS = "status"  # the name of the section with the status, in small letters

# Words for a status in ADR files, in small letters -> the status of a decision.
STATUS_WORDS = {
    **dict.fromkeys(("proposed", "proposal", "draft", "pending", "open", "on hold", "deferred"), "proposed"),
    **dict.fromkeys(("accepted", "approved", "adopted", "agreed", "decided", "implemented"), "accepted"),
    **dict.fromkeys(("rejected", "declined"), "rejected"),
    **dict.fromkeys(("deprecated", "obsolete", "retired"), "deprecated"),
    # adr-tools writes `superceded`, MADR 1 `superseeded`
    **dict.fromkeys(("superseded", "superceded", "superseeded", "replaced"), "superseded"),
}

# Content field -> the name of its section, in the order in which a form has them.
_SECTIONS: dict[Form, dict[str, str]] = {
    "madr": {
        "context": "Context and Problem Statement",
        "rationale": "Decision Drivers",
        "alternatives_considered": "Considered Options",
        "decision": "Decision Outcome",
        "expected_impact": "Consequences",
        "validation_criteria": "Confirmation",
    },
    "nygard": {
        "context": "Context",
        "decision": "Decision",
        "rationale": "Rationale",
        "alternatives_considered": "Alternatives considered",
        "expected_impact": "Consequences",
        "validation_criteria": "Validation criteria",
    },
}
_BELOW_OUTCOME = ("expected_impact", "validation_criteria")  # subsections of `Decision Outcome` in MADR
_FIELDS = {field.name: field for field in DECISION.fields}
_NOT_READ = frozenset([labels.DESCRIPTION, labels.STATUS])  # a summary is not a decision, a status is no content
_ONLY_MADR = {"context and problem statement", "decision drivers", "considered options", "decision outcome"}
_ONLY_NYGARD = {STATUS, "context", "decision", "consequences"}


def detect(parts: Iterable[HeadedPart]) -> Form:
    """Return the form of an ADR file, by the names of its sections.

    It is "nygard" if the file has a section that only Nygard's form has, and none that only MADR has; otherwise "madr".
    """
    names = {name_of(part) for part in parts}
    return "nygard" if names & _ONLY_NYGARD and not names & _ONLY_MADR else "madr"


def body_of_parts(parts: Iterable[HeadedPart], form: Form) -> tuple[str, dict[str, str]]:
    """Turn the sections of an ADR file into a decision's body, and return it with the headings that were changed.

    In the body, a section that is a content field of decisions has memctl's heading. The second value maps the names of
    fields to the file's own headings, such as `## Options considered`, so that an export can restore them; it leaves
    out headings that are usual in the given form ("madr" or "nygard", two templates for ADR files).
    """
    texts: list[str] = []
    wording: dict[str, str] = {}
    taken: set[str] = set()
    for part in parts:
        field = _field_of(name_of(part))
        if field is None or field.name in taken:  # only the first section of a name is the field's
            texts.append(part.text)
            continue
        taken.add(field.name)
        if (line := part.heading_text.rstrip("\n")) != _opening(field, form):
            wording[field.name] = line
        texts.append(f"## {field.heading}{_line_end(part)}{part.body}")
    return "".join(texts), wording


def parts_of_body(body: str, form: Form, wording: Mapping[str, str]) -> list[str]:
    """Turn a decision's body into the sections of an ADR file, each a text with its heading.

    This is the inverse of `body_of_parts`. `wording` has the file's own headings by the content field's name; other
    fields have the headings of the `form`.
    """
    texts = []
    for part, field in _with_fields(body):
        opening = f"{wording.get(field.name, _opening(field, form))}{_line_end(part)}" if field else part.heading_text
        texts.append(opening + part.body)
    return texts


def with_outcome(body: str, title: str) -> str:
    """Return the body of a decision that was not imported, completed by what MADR expects.

    MADR lists the chosen option among the others, so `title` is added before the alternatives. If the body has a reason
    but no section `Decision`, it gets this section with the text `Chosen option: …, because: …`, instead of the reason.
    """
    content = content_fields.content(DECISION, body)
    options = content.get("alternatives_considered") or []
    if isinstance(options, list) and options:
        body = content_fields.replace(DECISION, body, _FIELDS["alternatives_considered"], [title, *options])
    reason = content.get("rationale")
    if "decision" in content or not isinstance(reason, str):
        return body
    body = content_fields.replace(DECISION, body, _FIELDS["rationale"], "")
    outcome = f'Chosen option: "{title}", because:\n\n{reason}'
    return content_fields.replace(DECISION, body, _FIELDS["decision"], outcome)


def arrange(body: str, form: Form) -> str:
    """Return a decision's body with a form's headings in the form's order; sections that the form lacks come last."""
    places = list(_SECTIONS[form])
    parts = _with_fields(body)
    has_outcome = form == "madr" and any(field and field.name == "decision" for _, field in parts)
    placed: list[tuple[int, str]] = []
    for part, field in parts:
        if field is None:
            placed.append((len(places) if part.is_headed else -1, part.text))
            continue
        level = "#" if has_outcome and field.name in _BELOW_OUTCOME else ""
        line = level + _opening(field, form)
        placed.append((places.index(field.name), f"{line}\n{part.body}"))
    texts = [headings.close_fence(text.rstrip("\n")) for _, text in sorted(placed, key=lambda item: item[0])]
    return "\n\n".join(texts) + "\n" if texts else ""


def _field_of(name: str) -> Field | None:
    role = labels.look_up(name)[0]
    return None if role in _NOT_READ else _FIELDS.get(labels.FIELDS[DECISION.name].get(role, ""))


def name_of(part: HeadedPart) -> str:
    """Return the heading of a part of a decision file, in small letters, for comparisons.

    HTML comments, which the MADR template has in its headings, and a colon at the end are left out.
    """
    return part.heading.partition("<!--")[0].strip().removesuffix(":").rstrip().casefold()


def _with_fields(body: str) -> Sequence[tuple[HeadedPart, Field | None]]:
    pairs: list[tuple[HeadedPart, Field | None]] = []
    taken: set[str] = set()
    for part in headings.split(body):
        field = next((field for field in DECISION.fields if field.heading.casefold() == part.heading.casefold()), None)
        if field is None or field.name in taken:
            pairs.append((part, None))
        else:
            taken.add(field.name)
            pairs.append((part, field))
    return pairs


def _line_end(part: HeadedPart) -> str:
    return "\n" * part.heading_text.endswith("\n")


def _opening(field: Field, form: Form) -> str:
    return f"## {_SECTIONS[form][field.name]}"


KEY = ADR  # the key of the front matter with an AdrOrigin
Span = tuple[int, int]
_ENDS = ("\n", "\ufeff")

# `0012-title.md` as adr-tools and MADR name files, `adr-012-title.md`, and names without a title.
_FILE = re.compile(r"((?:adr[-_]?)?)(\d{1,14})(?:[-_ .].*)?\.md", re.IGNORECASE)
_FILE_NUMBER = re.compile(r"(?i)^(?:adr[-_ ]?)?\d{0,14}[-_. ]*")
_FRONT = re.compile(r"---[ \t]*\n((?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_FRONT_LINE = re.compile(r"^(status|date|title)[ \t]*:[ \t]*(.*)", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"(?<![^ \t])#.*")
_LABEL = re.compile(r"([-*+][ \t]+)?[*_]*([A-Za-z][A-Za-z -]{0,40}?)[*_]*:[*_]*[ \t]*(.*)")
_OTHER_LABELS = {"consulted", "informed", "technical story"}  # of MADR 3 and 4, and `technical story` of MADR 2
_DECIDERS = re.compile(
    r"(?im)^(?:[-*+][ \t]+)?[*_]*(?:decision[- ]makers|deciders|authors?)[*_]*:[*_]*[ \t]*(.*)(?:\n|\Z)"
    r"((?:[ \t]*- .*\n)*)"
)
_LINKED = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_ROW = re.compile(r"\|[ \t]*[*_`]*([A-Za-z][A-Za-z -]{0,40}?)[*_`]*:?[*_`]*[ \t]*\|[ \t]*(.*?)[ \t]*(?:\|.*)?")
_WORD = re.compile(r"[ \t]*[*_]*([A-Za-z]+)[*_]*\.?[ \t]*")
_NAME = re.compile(r"(?m)^[ \t]*- (.*)")
_LONGEST_NAMES = 200  # characters
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?")


_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAY, _MONTH, _YEAR = r"(?P<day>\d\d?)", r"(?P<month>[A-Za-z]{3,9})\.?", r"(?P<year>\d{4})\b"
_DATES = tuple(
    re.compile(form)
    for form in (
        r"(?P<year>\d{4})(?P<mark>[/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)\b",
        rf"{_DAY}\.(?P<month>\d\d?)\.{_YEAR}",
        rf"{_DAY}(?:st|nd|rd|th)?[ -]{_MONTH},?[ -]{_YEAR}",
        rf"{_MONTH} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
    )
)


_NO_TITLE = "there is no title (a line `# Title`) above the first section; `memctl import FILE` reads other templates"


class AdrOrigin(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a decision stores of the ADR file from which it was imported, so that an export can write this file again.

    It is the key `adr` of the decision's front matter.

    - `file`: the file's name; `form`: its form, "nygard" or "madr".
    - `digest`: a hash of the whole file; `head`: the text above its first section.
    - `status`: the section `Status` as it was; `place`: how many sections were before it.
    - `headings`: the file's own headings by content field, if they are not the usual ones of the form.
    - `end`: the line ends at the end of the body; `is_crlf`: whether lines end with CRLF; `has_mark`: whether the file
      begins with a byte order mark.
    - `superseded_by`: files that say that they supersede this file, without this file saying so.
    - `supersedes`: files that say that this file supersedes them, without this file saying so.
    - `links`: relative links that an import changed, from the target in the record's text to the target in the file.
    - `folder`: the file's folder, relative to the top of the repository; "" if it is outside or not known.
    """

    file: str
    form: Form
    digest: str
    head: str
    status: str = ""
    place: int = 0
    headings: dict[str, str] = {}
    end: str = "\n"
    is_crlf: bool = False
    has_mark: bool = False  # a byte order mark
    superseded_by: list[str] = []
    supersedes: list[str] = []
    links: dict[str, str] = {}
    folder: str = ""


class Head(msgspec.Struct, frozen=True):
    """The text of an ADR file above its first section, and where it has title, status and date.

    A span is a pair of offsets in `text`: the start and the end of a part.

    - `title`: the span of the title without its number; `status`: that of the status; `date`: that of the date. A span
      is None if the part is missing.
    - `invalid_date`: the text of a date that can't be parsed; `date` is None then.
    - `front`: the span of the text between the fences of the front matter, (0, 0) if there is none.
    - `above`, `below`: the offsets of the start and the end of the title's line. They are equal if no line has the
      title, because the front matter has it or the file has none.
    - `file_title`: a title made from the file's name, which is used if the file has none.
    """

    text: str
    title: Span
    above: int
    below: int
    front: Span = (0, 0)
    status: Span | None = None
    date: Span | None = None
    invalid_date: str = ""  # a date that can't be read
    file_title: str = ""

    @property
    def title_text(self) -> str:
        """The title of the ADR file, without quotes around it and without its number."""
        words = self.at(self.title) or self.file_title
        quote = self.text[self.title[1] : self.title[1] + 1]
        if not self.front[0] <= self.title[0] < self.front[1] or quote not in ("'", '"'):
            return words
        return words.replace('\\"', '"') if quote == '"' else words.replace("''", "'")

    def at(self, span: Span | None) -> str:
        """Return the text at a span; "" if the span is None."""
        return "" if span is None else self.text[span[0] : span[1]]

    def line(self, span: Span) -> int:
        """Return the line of the file (from 1) on which a span begins."""
        return self.text.count("\n", 0, span[0]) + 1

    def with_changes(self, changes: Iterable[tuple[Span, str]]) -> str:
        """Return the text with some spans replaced; `changes` are pairs of a span and its new text."""
        text = self.text
        for (start, end), new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def is_name(file: str) -> bool:
    """Return whether a file name may be that of an ADR: a Markdown file, not hidden, without a folder before it."""
    return file.endswith(".md") and file[0] != "." and not {"/", "\\"} & set(file) and file.isprintable()


def number_of(file: str) -> str | None:
    """Return the number in the name of an ADR file, such as "0012" of `0012-use-postgres.md`; None if it has none."""
    match = _FILE.fullmatch(file)
    return match[2] if match and "/" not in file and "\\" not in file and file.isprintable() else None


def prefix_of(file: str) -> str:
    """Return the text before the number in the name of an ADR file, such as "adr-" of `adr-012-cache.md`."""
    match = _FILE.fullmatch(file)
    return match[1] if match else ""


def without_front_matter(text: str) -> str:
    """Return a file's text without its byte order mark and front matter, with LF line ends."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(text)
    return text[front.end() :] if front else text


def parse_file(file: str, text: str) -> tuple[AdrOrigin, str]:
    """Split an ADR file into what is needed to write the file again (AdrOrigin), and the body of the decision.

    `file` is the file's name, and `text` its content. Raises FrontMatterError, with the line, if the file has no title
    or can't be parsed. `file_text` is the inverse.
    """
    digest = digest_of(text)
    has_mark, is_crlf = text.startswith("\ufeff"), "\r\n" in text
    text = _with_line_feeds(text.removeprefix("\ufeff"))
    _, end = _scan(text, file)
    parts = list(headings.split(text[end:]))
    form = detect(parts)
    places = [number for number, part in enumerate(parts) if name_of(part) == STATUS]
    place = places[0] if places else 0
    status = parts.pop(place).text if places else ""
    body, wording = body_of_parts(parts, form)
    text_of_body = body.rstrip("\n")
    origin = AdrOrigin(
        file=file,
        form=form,
        digest=digest,
        head=text[:end],
        status=status,
        place=place,
        headings=wording,
        end=body[len(text_of_body) :] if text_of_body else "\n",
        is_crlf=is_crlf,
        has_mark=has_mark,
    )
    return origin, text_of_body + "\n" if text_of_body else ""


def file_text(origin: AdrOrigin, body: str) -> str:
    """Return the text of the ADR file that `parse_file` has split into `origin` and `body`."""
    kept = relative_links.restore(body.strip("\n"), origin.links)
    parts = parts_of_body(kept + origin.end, origin.form, origin.headings) if kept else []
    if origin.status:
        parts.insert(min(origin.place, len(parts)), origin.status)
    text = origin.head
    for part in parts:  # a file without a last line end may have got another section since
        text += part if not text or text.endswith(_ENDS) else "\n" + part
    if origin.is_crlf:
        text = text.replace("\n", "\r\n")
    return "\ufeff" + text if origin.has_mark else text


def digest_of(text: str) -> str:
    """Return the hash of a file's text, as 16 hexadecimal digits."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def head_of(origin: AdrOrigin) -> Head:
    """Return the text above the first section of an ADR file, with the places of title, status and date in it.

    `origin` is what is stored of the file. Raises FrontMatterError if the file has no title.
    """
    return _scan(origin.head, origin.file, is_head=True)[0]


def deciders(head: str) -> str:
    """Return the names of the people who decided, from the head of an ADR file; "" if it names nobody.

    The head is the text above the first section. It has the names in a line such as `Deciders: Ada, Bob`, or in a YAML
    list below `deciders:`.
    """
    match = _DECIDERS.search(head)
    if match is None:
        return ""
    line = _LINKED.sub(r"\1", match[1].partition(" #")[0])
    names = line.strip(" \t*_[]\"'") or ", ".join(name.strip(" \t\"'") for name in _NAME.findall(match[2]))
    line = one_line(names).replace('"', "")
    return "" if line.startswith(("{", "<")) else line[:_LONGEST_NAMES]  # `{names}` and `<names>` are left of templates


def read_origin(values: Mapping[str, Any]) -> AdrOrigin | None:
    """Return what a decision stores of the ADR file from which it was imported.

    `values` are the decision's front matter. The result is None if the decision was not imported, or if the stored
    value is invalid.
    """
    try:
        origin = msgspec.convert(values.get(KEY), AdrOrigin)
        head_of(origin)
    except (msgspec.ValidationError, FrontMatterError):
        return None
    return origin if is_name(origin.file) else None  # a record of another clone must not name a path outside


def _with_line_feeds(text: str) -> str:
    """Mixed line ends raise FrontMatterError: no export could restore them."""
    if "\r" not in text:
        return text
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        if "\r" in (line if is_last else line.removesuffix(end)) or not (is_last or line.endswith(end)):
            raise FrontMatterError(number, "", "the file mixes CRLF and LF line ends: use only one of them")
    return text.replace("\r\n", "\n")


def _scan(text: str, file: str, *, is_head: bool = False) -> tuple[Head, int]:
    front = _FRONT.match(text)
    if front is None and text.startswith("---\n"):
        raise FrontMatterError(1, "", "the front matter has no closing line `---`")
    start = front.end() if front else 0
    first = next((heading for heading in headings.parse(text[start:]) if heading.level <= 2), None)
    if first is None or first.level != 1 or not first.title:
        if (untitled := _head_without_title(text, file, front, is_head)) is not None:
            return untitled
        end = start + first.start if first else len(text)
        line_number = text.count("\n", 0, end) + (end < len(text))
        raise FrontMatterError(max(line_number, 1), "", _NO_TITLE)
    position, below = start + first.start, start + first.end
    words, start = first.title, text.find(first.title, position, below)
    if start < 0:
        line_number = text.count("\n", 0, position) + 1
        raise FrontMatterError(line_number, "", "the title has more than one line: write it on one line")
    title = (start + _numbering(words, file), start + len(words))
    end, spans = _labels(text, below, front)
    head = Head(text[:end], title, position, below, front.span(1) if front else (0, 0), spans.get("status"))
    return _with_date(head, spans.get("date")), end


def _head_without_title(text: str, file: str, front: re.Match[str] | None, is_head: bool) -> tuple[Head, int] | None:
    """Return the head of a file without a line for its title, and the offset of its body.

    The title is in the front matter, or made from the file name. Returns None for a file that does not read as a
    decision.
    """
    place = front.end() if front else 0
    end, spans = _labels(text, place, front)
    title = spans.get("title") if front else None
    words = re.sub(r"[-_ ]+", " ", _FILE_NUMBER.sub("", file).removesuffix(".md")).strip()
    if title is None and not is_head and not (words and (spans.get("status") or has_sections(text[end:]))):
        return None
    if title is not None:
        title = (title[0] + _numbering(text[slice(*title)], file), title[1])
    file_title = "" if title else words[:1].upper() + words[1:]
    title, span = title or (place, place), front.span(1) if front else (0, 0)
    head = Head(text[:end], title, place, place, span, spans.get("status"), file_title=file_title)
    return _with_date(head, spans.get("date")), end


def has_sections(text: str) -> bool:
    """Return whether a text has at least two sections that are usual for a decision, such as `Consequences`."""
    names = {name_of(part) for part in headings.split(text)}
    return sum(name in _ONLY_MADR or name in _ONLY_NYGARD or _field_of(name) is not None for name in names) > 1


def _with_date(head: Head, span: Span | None) -> Head:
    if span is None:
        return head
    _, length = moment_of(head.at(span))
    if not length:
        return msgspec.structs.replace(head, invalid_date=head.at(span))
    return msgspec.structs.replace(head, date=(span[0], span[0] + length))


def moment_of(text: str) -> tuple[str, int]:
    """Return the time with which a text begins, in canonical form, and the number of characters that state it.

    An example of the canonical form is "2024-03-05T00:00:00Z". Returns ("", 0) if the text does not begin with a time.
    A date may be ISO 8601, `2024/03/05`, `5.3.2024`, `5 March 2024` or `Mar 5th, 2024`. `3/5/2024` is not read as a
    date, since the country decides which number is the month.
    """
    match = _DATE.match(text)
    words = match[0] if match else ""
    if match is None and (match := next(filter(None, (form.match(text) for form in _DATES)), None)):
        month = match["month"].casefold()
        named = next((number for number, name in enumerate(_MONTHS, start=1) if name.startswith(month)), 0)
        number = int(month) if month.isdigit() else named
        words = f"{match['year']}-{number:02d}-{int(match['day']):02d}"
    try:
        return timestamps.parse(words), len(match[0]) if match else 0
    except ValueError:
        return "", 0


def _numbering(title: str, file: str) -> int:
    number = str(int(number_of(file) or 0))
    pattern = rf"ADR[-_ #]*0*{number}\b[ \t]*[.:)–—-]*[ \t]*|0*{number}[ \t]*[.:)–—-]+[ \t]+|0+{number}[ \t]+"  # noqa: RUF001
    match = re.match(rf"(?:{pattern})(?=\S)", title, re.IGNORECASE)
    return match.end() if match else 0


def _front_spans(text: str, front: Span) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    for match in _FRONT_LINE.finditer(text, *front):
        value = _COMMENT.sub("", match[2]).rstrip(" \t")
        start, end = match.start(2), match.start(2) + len(value)
        if end - start > 1 and text[start] in "\"'" and text[start] == text[end - 1]:
            start, end = start + 1, end - 1
        if end > start and text[start] not in "|>":
            spans.setdefault(match[1].lower(), (start, end))
    return spans


def _is_table_of_labels(lines: Sequence[str]) -> bool:
    for line in lines:
        if not line.startswith("|"):
            return False
        if (row := _ROW.fullmatch(line)) and _is_label(row[1]):
            return True
    return False


def _is_label(name: str) -> bool:
    is_of_head = labels.look_up(name)[0] in (labels.STATUS, labels.MOMENT, labels.AGENT)
    return is_of_head or name.casefold() in _OTHER_LABELS


def _labels(text: str, start: int, front: re.Match[str] | None) -> tuple[int, dict[str, Span]]:
    """Return the offset after the lines such as `* Status: …` below a title, and the spans of their values by label.

    Lines in between with other labels belong to them, and so do indented lines and the empty lines after them. The
    values in the front matter `front` are among the spans; of a label that is in both places they count.
    """
    spans: dict[str, Span] = {}
    position = end = start
    is_known = False
    rows = text[start:].split("\n")
    for place, line in enumerate(rows):
        match = _LABEL.fullmatch(line)
        row = _ROW.fullmatch(line)
        word = _WORD.fullmatch(line) if not spans else None
        if row and (is_known or _is_table_of_labels(rows[place:])):
            is_known = True
            if _is_label(row[1]) and row[2]:
                begin = position + row.start(2)
                spans.setdefault(row[1].casefold(), (begin, begin + len(row[2])))
        elif match and (match[1] or _is_label(match[2])):
            is_known = _is_label(match[2])
            if value := match[3].rstrip(" \t"):
                begin = position + match.start(3)
                spans.setdefault(match[2].casefold(), (begin, begin + len(value)))
        elif word and word[1].casefold() in STATUS_WORDS:
            is_known = True
            spans["status"] = (position + word.start(1), position + word.end(1))
        elif not line.strip():
            is_known = False
        elif (line[0] not in " \t" and not (is_known and line[0] == "|")) or not is_known:
            break
        position += len(line) + 1
        end = min(position, len(text)) if is_known else end
    while text.startswith(_ENDS, end):  # a body begins with neither an empty line nor a byte order mark
        end += 1
    spans = {name: span for name, span in spans.items() if span[1] <= end}
    return end, spans | (_front_spans(text, front.span(1)) if front else {})
