"""Text that a model reads: without characters that nobody sees, and without what a model takes for another speaker.

Invisible characters are those that Unicode calls ignorable by default, and marks that change the order of text. Words
can be hidden in them which a model reads and a person does not see. Where a script or an emoji needs one, it stays: a
joiner within a word or an emoji, a soft hyphen in a word, a direction mark beside letters that run from right to left,
a variation selector behind an emoji.
"""

from __future__ import annotations

from memctl.text.lazy_regex import lazy_regex

# Scripts in which joiners and breaks without width are parts of words, from Arabic to Myanmar, and Khmer.
_JOINED = "\u0600-\u109f\u1780-\u17d3\u1820-\u18aa\ua840-\uaaff"
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_EMOJI = "#*0-9\u00a9\u00ae\u203c\u2049\u2122-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_STAYS = (
    rf"(?<=[{_JOINED}])[\u200b-\u200d](?=[{_JOINED}])|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])|(?<=\w)\u00ad(?=\w)"
    rf"|(?<=[{_RIGHT_TO_LEFT}])[\u061c\u200e\u200f]|[\u061c\u200e\u200f](?=[{_RIGHT_TO_LEFT}])"
    rf"|(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[\u1820-\u18aa])[\u180b-\u180f]"
)
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE = lazy_regex(f"[{_INVISIBLE}]")  # wherever it is
_HIDDEN = lazy_regex(f"{_STAYS}|([{_INVISIBLE}]+)")
# Control characters but for tab and line feed, and other ends of lines.
_STEERING = lazy_regex(f"{_STAYS}|([\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|[{_INVISIBLE}]+)")
# What begins a turn of a dialogue for models: a name at the beginning of a line, also of one in a JSON text; or a mark.
_TURN = lazy_regex(
    r"(?m)(?:^|(?<=\\n))(?P<name>Human|Assistant|System|User):"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)
_TURNS = ("Human:", "Assistant:", "System:", "User:", "INST]", "PROMPT]", "TOOLS]", "CALLS]", "RESULTS]")


def first_invisible(text: str) -> str:
    """Return the first invisible character of a text that no script or emoji needs, "" if it has none."""
    if text.isascii() or INVISIBLE.search(text) is None:  # ten times as fast as _HIDDEN
        return ""
    return next((match[1][0] for match in _HIDDEN.finditer(text) if match[1]), "")


def visible(text: str) -> str:
    """Return a text with U+FFFD in place of each control character, and of each run of invisible characters.

    Tabs and line feeds stay. The result is safe in every format, as U+FFFD means nothing in any.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():  # twice as fast as the pattern
        return text
    return _STEERING.sub(lambda match: "\N{REPLACEMENT CHARACTER}" if match[1] else match[0], text)


def escaped(text: str) -> str:
    r"""Return a JSON text with escapes such as `\u200b` for what `visible` and `without_turns` replace.

    A program that reads the JSON gets the same values as before.
    """
    if any(turn in text for turn in _TURNS):
        text = _TURN.sub(lambda match: json_escapes(match[0][0]) + match[0][1:], text)
    return _STEERING.sub(lambda match: json_escapes(match[0]) if match[1] else match[0], text)


def json_escapes(text: str) -> str:
    r"""Return the characters of a text as escapes of JSON, such as `\u202e`."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def without_turns(text: str) -> str:
    """Return a text without beginnings of a turn of a dialogue: `Human:` is `Human&#58;`, `[INST]` begins `&#91;`."""
    if not any(turn in text for turn in _TURNS):
        return text
    return _TURN.sub(lambda match: f"{match['name']}&#58;" if match["name"] else "&#91;", text)
