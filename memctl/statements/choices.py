"""What a sentence that states a choice chooses, why, and instead of what."""

from __future__ import annotations

import re

import msgspec

from memctl.text.lazy_regex import lazy_regex

_BECAUSE = lazy_regex(r",? (?:because|since|due to the fact that|so that)\b ", re.IGNORECASE)
_REASON_FIRST = lazy_regex(r"(?:since|because) ([^,]+), ((?:we|i)\b.+)", re.IGNORECASE)
_INSTEAD = lazy_regex(
    r"(?P<first>.+?),? (?:instead of|rather than) (?P<instead>[^,;]{2,80})"
    r"|(?P<chosen>.*\b(?:chose|choose|picked|selected|selects?|preferred|adopt(?:ed)?|favou?red|use|went with) .+?)"
    r" over (?P<over>[^,;]{2,80})"
    r"|(?P<whole>.+?) \(not (?P<no>[^()]{2,60})\)",
    re.IGNORECASE,
)
_FOR = lazy_regex(r" (?:for|to|as|in|on|when|by|at) .*")
_LOOKED_AT = 2_000  # characters


class Choice(msgspec.Struct, frozen=True):
    """What is chosen, in its words, why, and what is not taken; "" and none if that is unsaid."""

    text: str
    reason: str = ""
    alternatives: tuple[str, ...] = ()


def reason_of(sentence: str) -> tuple[str, str]:
    """A sentence without its reason, and the reason, "" if there is none."""
    what, *why = _BECAUSE.split(sentence, maxsplit=1)
    return what.rstrip(" ."), why[0].rstrip() if why else ""


def read(sentence: str) -> Choice:
    """A choice, taken apart: `Since X, we picked A`, `We chose A over B for C because D`, `Used A (not B)`."""
    if first := _REASON_FIRST.fullmatch(sentence[:_LOOKED_AT]):
        what, why = first[2].rstrip(" ."), first[1]
    else:
        what, why = reason_of(sentence)
    found = _INSTEAD.fullmatch(what) if len(what) <= _LOOKED_AT else None
    if found is None:
        return Choice(what, why)
    taken = found["first"] or found["chosen"] or found["whole"]
    other = found["instead"] or found["over"] or found["no"]
    if found["over"]:  # `over B for C`: what for belongs to the choice
        purpose = _FOR.search(other)
        other, taken = (other[: purpose.start()], f"{taken}{purpose[0]}") if purpose else (other, taken)
    return Choice(taken, why, (other,))
