"""How much of a text says something: useful tokens to all tokens (rules.md#quality).

Not useful is what could go without anything being lost: closing tags and brackets, quotation marks of JSON, marks of
Markdown, rules, indentation and empty lines, and phrases that only pad. Titles, keys and values of attributes are
useful: they say what the text is about.
"""

from __future__ import annotations

import re

from memctl.policy.blocks import ParsedText

_PADDING = re.compile(
    r"\b(?:please (?:note|be aware|keep in mind) that|it is (?:important|worth|also important) (?:to note|noting) that|"
    r"as (?:mentioned|noted|discussed|described|stated) (?:above|below|before|earlier|previously)|needless to say|"
    r"in order(?= to\b)|at (?:this|the present) (?:point in time|moment)|for all intents and purposes|"
    r"i (?:would like|want) to|(?:basically|actually|essentially|literally|obviously|of course)|"
    r"due to the fact(?= that\b)|it should be noted that|in terms of|as you (?:can see|know)|"
    r"(?:i hope this helps|let me know if you have any questions|feel free to))\b[,:]?\s*",
    re.IGNORECASE,
)
_SPACE = re.compile(r"[ \t]+")


def useful_text(parsed: ParsedText) -> str:
    """What a text says, with the least markup: a line for each title, and below it what stands there."""
    lines: list[str] = []
    title = ""
    for block in parsed.blocks:
        piece = block.piece
        if piece.title and piece.title != title:
            lines.append(piece.title)
        title = piece.title
        says = piece.text if piece.kind == "code" else _SPACE.sub(" ", piece.text)
        lines += [line.strip() if piece.kind != "code" else line.rstrip() for line in says.split("\n") if line.strip()]
    return _PADDING.sub("", "\n".join(lines))


def padding(text: str) -> list[str]:
    """The phrases of a text that only pad."""
    return [match[0].strip() for match in _PADDING.finditer(text)]
