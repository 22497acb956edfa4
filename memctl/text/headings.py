"""Finding headings and code in a Markdown text, as CommonMark defines them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from memctl.text.lazy_regex import lazy_regex
from memctl.text.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CODE_SPAN = lazy_regex(r"(?<!`)(`+)(?!`)(?:.*?[^`])?\1(?!`)")
_FENCE = lazy_regex(r"(`{3,}|~{3,})(.*)")
_FENCES = lazy_regex(r"^(?:`{3}|~{3}).*", re.MULTILINE)
_FENCES_AND_HEADINGS = lazy_regex(r"^(?:(#{1,6})(?![^ \t\n])|`{3}|~{3}).*", re.MULTILINE)
# Lines whose meaning only a parser of Markdown finds out: a line that may begin HTML, an indented heading or fence,
# which may be in a list item, and a line that may be the underline of a heading.
_ODD = lazy_regex(r"\n(?: {0,3}<[A-Za-z/!?]| {1,3}(?:#|`{3}|~{3})|(?<=[^\n]\n) {0,3}(?:=+|-+)[ \t]*(?=\n|\Z))")
_CLOSINGS = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!": ">"}  # for HTML that does not end at an empty line
_COMMENTS_BEFORE = lazy_regex(r"\A(?:\s*<!--.*?-->)+\s*", re.DOTALL)
_PLACEHOLDER = lazy_regex(r"<!--.*?-->|\{[^{}]*\}|[\s*+>#-]", re.DOTALL)  # comments and placeholders
_BRACKETS = lazy_regex(r"\[[^\[\]]*\](?!\()|<[^<>]*>")  # placeholders in titles only: elsewhere they may be real text
ITEM = lazy_regex(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")


class Heading(NamedTuple):
    """A heading of a Markdown text: its level, and its text as Markdown.

    `start` is the offset of the heading's first character, and `end` the offset at which the line below the heading
    begins.
    """

    level: int
    title: str
    start: int
    end: int


class HeadedPart(NamedTuple):
    """A part of a Markdown text, from one heading to the next.

    `heading` is the text of its heading without marks such as `##` ("" for the part before the first heading), `text`
    is the whole part with the heading, and `body` is the text below the heading.
    """

    heading: str
    text: str
    body: str

    @property
    def heading_text(self) -> str:
        """The heading as the text has it, with its marks and line ends; "" for the part before the first heading."""
        return self.text[: len(self.text) - len(self.body)]

    @property
    def is_headed(self) -> bool:
        """Whether the part has a heading."""
        return len(self.body) < len(self.text)


def _is_odd(text: str) -> bool:
    return _ODD.search("\n" + text) is not None  # a pattern with `^` would take three times as long


def parse(text: str) -> list[Heading]:
    """Return the headings of a Markdown text, without those in quotations and list items.

    A line of text with `---` below it is a heading of level 2. Lines in fenced code and in comments are not headings.
    """
    return _by_markdown_it(text) if _is_odd(text) else _by_lines(text)


def _by_lines(text: str) -> list[Heading]:
    """Where all headings begin with `#`, this is ten times as fast as a parser."""
    headings_found = []
    fence = ""
    for match in _FENCES_AND_HEADINGS.finditer(text):
        if not match[1]:
            fence = _fence_after(match[0], fence)
        elif not fence:
            end = min(match.end() + 1, len(text))
            headings_found.append(Heading(len(match[1]), _title(match[0]), match.start(), end))
    return headings_found


def _by_markdown_it(text: str) -> list[Heading]:
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    tokens = _tokens(text)
    return [
        Heading(int(opening.tag[1:]), " ".join(inline.content.split("\n")), starts[lines[0]], starts[lines[1]])
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open" and not opening.level and (lines := opening.map)
    ]


def _tokens(text: str) -> list[Token]:
    return _parser().parse(text.replace("\r", " "))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 30 ms, and few texts need it

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _title(line: str) -> str:
    title = line.lstrip("#").rstrip(" \t")
    text = title.rstrip("#")
    return (text if text[-1:] in ("", " ", "\t") else title).strip()


@lru_cache(maxsize=8)  # many rules and documents split the same page, one after the other
def split(body: str) -> tuple[HeadedPart, ...]:
    """Split a Markdown text at its headings of level 2; the joined texts of the parts are the whole text."""
    sections = [heading for heading in parse(body) if heading.level == 2]
    ends = [*(section.start for section in sections), len(body)]
    parts = [HeadedPart("", body[: ends[0]], body[: ends[0]])] if ends[0] else []
    for section, end in zip(sections, ends[1:], strict=True):
        parts.append(HeadedPart(section.title, body[section.start : end], body[section.end : end]))
    return tuple(parts)


def take_title(text: str) -> tuple[str, str]:
    """Split a text into the heading of level 1 at its beginning and the rest.

    If the text does not begin with such a heading, the result is "" and the whole text.
    """
    first = next(iter(parse(text)), None)
    if first is None or first.level != 1 or not first.title or text[: first.start].strip():
        return "", text
    return first.title, text[first.end :]


def close_fence(text: str) -> str:
    """Return a text with an unclosed code fence or comment closed, so that text appended to it is outside of both."""
    if not _is_odd(text):
        fence = ""
        for match in _FENCES.finditer(text):
            fence = _fence_after(match[0], fence)
        return f"{text}\n{fence}" if fence else text
    last = _tokens(f"{text}\n\n# x")[-1]
    if last.type == "fence":
        return f"{text}\n{last.markup}"
    if last.type != "html_block":
        return text
    opening = last.content.lstrip()
    name = re.match(r"<(\w+)", opening)
    closing = next((end for begin, end in _CLOSINGS.items() if opening.startswith(begin)), "")
    return f"{text}\n{closing or f'</{name[1] if name else str()}>'}"


def stretches(text: str) -> Iterator[tuple[str, bool]]:
    """Yield a text in stretches of whole lines, each with True if it is outside of fenced code, else False.

    Joined by newlines, the stretches are the text again. The line that opens a fence counts as code, the line that
    closes it does not.
    """
    fence, start = "", 0
    for match in _FENCES.finditer(text):
        before, fence = fence, _fence_after(match[0], fence)
        if bool(before) != bool(fence):
            if match.start() > start:
                yield text[start : match.start() - 1], not before
            start = match.start()
    yield text[start:], not fence


def outside_fences(text: str) -> list[tuple[str, bool]]:
    """Return the lines of a text, each with True if it is outside of fenced code, else False.

    The line that opens a fence counts as code, the line that closes it does not.
    """
    if not _is_odd(text):
        return [(line, outside) for stretch, outside in stretches(text) for line in stretch.split("\n")]
    lines = text.split("\n")
    inside: set[int] = set()
    for token in _tokens(text):
        if token.type == "fence" and token.map:
            first, end = token.map
            inside.update(range(first, end))
            if end - 1 > first and lines[end - 1].strip(" \t>").startswith(token.markup):
                inside.discard(end - 1)
    return [(line, number not in inside) for number, line in enumerate(lines)]


def outside_code(text: str) -> list[tuple[str, bool]]:
    """Return the lines of a text, each with True if it is outside of fenced and of indented code, else False."""
    marked: list[tuple[str, bool]] = []
    is_list = is_code = False
    before = fence = ""
    for line, outside in outside_fences(text):
        inner = line.strip() if line[:1] in (" ", "\t") else ""  # a fence inside of a list item
        was_open, fence = fence, _fence_after(inner, fence)
        outside = outside and not fence and not was_open
        if outside and line.strip():
            is_indented = line.startswith(("    ", "\t"))
            is_code = is_indented and not is_list and (is_code or not before.strip())
            is_list = ITEM.match(line) is not None or (is_list and line[0] in " \t")
        marked.append((line, outside and not (is_code and line.strip())))
        before = line
    return marked


def _fence_after(line: str, fence: str) -> str:
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1] if match[1][0] == "~" or "`" not in match[2] else ""
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip(" \t\n")
    return "" if closes else fence


def is_unfilled(text: str) -> bool:
    """Return whether a text is a template that nobody has filled in.

    Its title is a placeholder such as `{title}` or `[short title]`, or below its headings there are only comments and
    placeholders in braces.
    """
    title, body = take_title(_COMMENTS_BEFORE.sub("", text))
    parts = split(body)
    is_empty = len(parts) > 1 and not any(_PLACEHOLDER.sub("", part.body) for part in parts)
    return is_empty or (bool(title) and is_placeholder(title))


def is_placeholder(title: str) -> bool:
    """Return whether a title is empty or a placeholder, such as `{title}` and `[short title]`."""
    return not _PLACEHOLDER.sub("", _BRACKETS.sub("", title))
