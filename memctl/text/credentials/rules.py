"""The rules that find credentials, read from `rules.txt`, which explains its columns at its beginning."""

from __future__ import annotations

import re
from functools import cache, cached_property
from pathlib import Path

_FILE = Path(__file__).with_name("rules.txt")
# The kinds of rules that the code handles in a special way; other kinds differ only in the check of a value.
BLOCK, TOKEN, NAMED, VARIABLE, WORD = "block", "token", "named", "variable", "word"
SETTING, PROSE, ANY = "setting", "prose", "any"
CAPITAL_WORD = "*"  # in place of a rule's words: the rule is for every long word with a capital letter
_IS = (  # the text between a name and its value: the end of the name, quotes, the sign, an annotated type
    r"""(?P<rest>[\w-]{0,24})\\{0,3}["'`)\]]{0,2}[ \t]{0,12}(?:=>|:=|\?=|={1,2}|:{1,2})[ \t]{0,12}"""
    r"""(?:[|>][-+]?\n[ \t]{1,20}|\w{3,20}(?:\[\w{3,20}\])?(?:[ \t]\|[ \t]\w{3,9})?[ \t]{0,2}=[ \t]{0,2}(?=["']))?"""
)
_VALUE = (
    r"""(?:\\{0,3}(?:[bfrulL]?"([^"\\\n]{1,300})|[bfrulL]?'([^'\\\n]{1,300})|`([^`\\\n]{1,300}))"""
    r"""|([^\s"'`<>\\\0]{1,300}))"""
)
_GIVEN = r"""[\w .-]{0,30}\\{0,3}["'`)\]]{0,3}[ \t]{0,8}(?:=>|:=|={1,2}|:{1,2}|,)[ \t]{0,8}\\{0,3}["'`]{0,2}"""
# The beginning of a word, also after an escaped line end or colour, as in JSON, in a URL or in terminal output.
_START = (
    r"(?:(?<![\w.-])|(?<=\\[nrt])|(?<=[%=][0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=\[m)|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\dm))"
)
_KEYS = (
    "api|access|auth|private|encryption|signing|master|service|license|webhook|session|cookie|hmac|jwt|admin|deploy|app"
    "|write"
)
_NAME = rf"(?:secret(?:[_.-]?(?:access[_.-]?)?key)?(?:[_.-]?base)?|token|(?:{_KEYS})[ _.-]?key|credentials?)"
_ANY = rf"(?:pass(?:word|wd|phrase|code|wort)?|pwd|{_NAME})"
_VARIABLE = (
    r"(?:[A-Z0-9]{1,30}_){0,8}(?:[A-Z0-9]{0,30}SECRET(?:_ACCESS)?(?:_KEY)?(?:_BASE)?|[A-Z0-9]{0,30}TOKEN"
    rf"|[A-Z0-9]{{0,30}}(?:{_KEYS.upper()})_?KEY)"
)
_PASSWORD_VARIABLE = r"(?:[A-Z0-9]{1,30}_){0,8}[A-Z0-9]{0,30}(?:PASS(?:WORD|WD|PHRASE)?|PWD)"
_AFTER = r"(\w+)<after:([\w|]+)>"
_PARTS = {
    "<start>": _START,
    "<=>": _IS,
    "<value>": _VALUE,
    "<name>": _NAME,
    "<any>": _ANY,
    "<NAME>": _VARIABLE,
    "<PASS>": _PASSWORD_VARIABLE,
}
_SHORT_NAME = 4  # letters; a vendor's name that is not longer may also be a part of another word


class CredentialRule:
    """One rule for finding credentials, from a line of `rules.txt`.

    - `name`: what the rule finds, for messages, such as "Anthropic key".
    - `words`: a text without any of these words is not searched by the rule.
    - `shape`: how the credential looks, as a regular expression in which marks such as `<value>` stand for parts that
      many rules have in common. `pattern` is compiled from it.
    - `example`: a credential that the rule finds. A number in braces stands for so many random characters: `ghp_{36}`.
    - `origin`: where the shape is from, such as "vendor" for the documentation of the service.
    - `kind`: the heading in `rules.txt` above the rule. It decides how a found value is checked before it counts.
    - `has_case`: whether it distinguishes upper and lower case. If not, its pattern must be given text in lower case.
    - `place`: the rule's place in the file. If two rules find one credential, the earlier rule gives it its name.
    """

    def __init__(self, place: int, kind: str, columns: list[str]) -> None:
        self.name, words, self.shape, self.example, self.origin = columns
        self.words = tuple(words.split("|"))
        self.place, self.kind = place, kind
        self.has_case = kind in (BLOCK, TOKEN, VARIABLE)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled regular expression that finds what may be a credential of this rule.

        The value of the credential is the last group that matches, or the whole match if there is no such group.
        """
        shape = re.sub(_AFTER, _behind, self.shape)
        for mark, part in _PARTS.items():
            shape = shape.replace(mark, part)
        if self.kind == NAMED:
            name = re.escape(self.words[0])
            start = r"(?<![a-z])" if len(name) <= _SHORT_NAME else ""
            shape = f"{start}{name}{_GIVEN}({shape})(?![\\w+/=-])"
        return re.compile(shape, re.ASCII | re.MULTILINE)


def _behind(match: re.Match[str]) -> str:
    """Return a pattern for a word that follows one of some other words, directly or after a space or sign."""
    word = match[1]
    places = (f"(?<={before}{word})|(?<={before}[ _.-]{word})" for before in match[2].split("|"))
    return f"{word}(?:{'|'.join(places)})"


@cache
def table() -> tuple[CredentialRule, ...]:
    """Return all rules for finding credentials, in the order of `rules.txt`."""
    rules: list[CredentialRule] = []
    kind = ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line[1 : line.index("]")]
        elif line and not line.startswith("#"):
            rules.append(
                CredentialRule(len(rules), kind, [column.strip() for column in line.split("  ") if column.strip()])
            )
    return tuple(rules)
