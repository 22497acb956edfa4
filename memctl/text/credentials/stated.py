"""Find secrets that a sentence states and no rule knows by its shape: passphrases, PINs, codes, card numbers, keys.

Only a strict search looks for them (`finder.find`), since a text that somebody reads before it is committed may well
speak of such things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import memctl.text.credentials.values as values
from memctl.text.lazy_regex import lazy_regex

# Between what a value is called and the value: a few words, and a verb or a sign.
_IS = r"(?:[ \t]+(?:for|of|to|on|at|in)(?:[ \t]+[\w.@'-]{1,30}){1,4})?[\"'`*)]{0,3}"
_IS += r"(?:[ \t]*(?:[:=]|->)|[ \t]+(?:is|was|are|ist|lautet|remains|becomes|will be|set to|changed to))?[ \t]+"
_IS += r"(?:now|still|again|always|just)?[ \t]*[\"'`*(]{0,3}"
_PHRASE = lazy_regex(
    rf"\b(?:pass[ -]?(?:phrase|word|code|wort)s?|kennwort|(?:seed|secret|recovery|backup|mnemonic)[ -]?(?:phrase|words)"
    rf"|mnemonic)\b{_IS}((?:[a-z]{{3,12}}[ \t,-]{{1,2}}){{3,24}}[a-z]{{3,12}})(?=[\"'`*).,;!?]|[ \t]*(?:$|\n))",
    re.IGNORECASE,
)
_CODE = lazy_regex(
    r"\b(?:pin|puk|cvv2?|cvc2?|otp|tan|passcode|pin[ -]?(?:code|number)|(?:security|access|door|gate|alarm|recovery"
    r"|backup|reset|rescue|unlock|lock|safe|verification|confirmation|activation|pairing|invite|emergency|scratch"
    r"|one[ -]time|2fa|mfa|two[ -]factor|authenticator|login|entry|voicemail)[ -](?:codes?|pin|combination|password))\b"
    rf"{_IS}((?-i:[A-Z0-9]{{1,8}}(?:[- ][A-Z0-9]{{2,8}}){{1,7}})|[a-z0-9]{{1,8}}(?:-[a-z0-9]{{2,8}}){{1,7}}"
    r"|\d{3,12}|(?-i:[A-Z0-9]{6,24})|\d[a-z0-9]{5,23})(?![\w-])",
    re.IGNORECASE,
)
_LOGIN = lazy_regex(
    r"\b(?:log(?:ged|ging|s)?[ -]?(?:in|on)|sign(?:ed|ing|s)?[ -]?(?:in|on)|authenticat\w+|connect\w*|ssh|sftp|login"
    r"|account|credentials?|creds|users?)\b(?:[ \t]+(?:to|at|on|into|via)[ \t]+[\w.:/-]{1,60}){0,2}"
    r"(?:[ \t]+(?:as|for|is|are|with|user))?[ \t:]+[\"'`]?[\w.@+-]{2,40}[\"'`]?(?:,|[ \t]+(?:with|using|and|by))"
    r"(?:[ \t]+(?:the|my|our|its|this)){0,1}(?:[ \t]+pass(?:word|phrase|code)?)?[ \t:]+[\"'`]?([^\s\"'`<>]{6,100})",
    re.IGNORECASE,
)
_HEXADECIMAL = r"(?:0x)?((?:[0-9a-f]{2}){16}|(?:[0-9a-f]{2}){24}|(?:[0-9a-f]{2}){32}|(?:[0-9a-f]{2}){48,64})(?![\w-])"
_OF_KEY = r"(?:(?:en|de)crypt\w*|secret|seed|private|master|signing|hmac|aes\w*|wallet|shared|session)"
_KEY = lazy_regex(
    rf"\b{_OF_KEY}\b[^\n;]{{0,40}}?(?<![\w:-]){_HEXADECIMAL}"
    rf"|\bkey\b[^\n;/]{{0,24}}?(?<![\w:-]){_HEXADECIMAL}(?=[^\n]{{0,20}}\b{_OF_KEY}\b)"
    rf"|(?<![\w:-]){_HEXADECIMAL}(?=[^\n]{{0,20}}\b{_OF_KEY}\b[^\n]{{0,10}}\b(?:key|secret)\b)",
    re.IGNORECASE,
)
_CARD = lazy_regex(
    r"(?<![\w.-])(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|65\d\d|35\d\d)(?:([ -]?)\d{4})(?:\1\d{4}){2}(?![\w-]|\.\d)"
    r"|(?<![\w.-])3[47]\d\d([ -]?)\d{6}\2\d{5}(?![\w-]|\.\d)"
)
_FEWEST_DIGITS = 5  # different digits of a card; numbers to test with, such as 4242 4242 4242 4242, have fewer
_TEST_CARDS = ("378282246310005", "371449635398431", "6011000990139424", "3566002020360505", "5105105105105100")
_OF_HASH = lazy_regex(r"sha|hash|digest|checksum|finger|commit|cache|idempot|public|etag|blob|object|tree|nonce")
# Words that sentences about passphrases have, and that no generator of passphrases uses.
_COMMON = """
the and for not with from that this into only has have had can must may will was are were been never always when
where which what who how your our its his her their they you all any but too also than then there here use used uses
required optional missing invalid needs need should would could does did via per one two set get new old out off
about after before again without between under over each every both either neither because since until while
password passphrase passwort secret phrase key file user token der die das und ist nicht mit von ein eine wird im
string value default empty example prompt prompts screen option flag field input variable
"""
_WORDS = ("pass", "phrase", "mnemonic", "kennwort", "seed")
_CODES = ("pin", "puk", "cv", "otp", "tan", "code", "combination")
_LOGINS = ("log", "sign", "auth", "connect", "ssh", "account", "cred", "user")
_KEYS = ("crypt", "secret", "seed", "private", "master", "signing", "hmac", "aes", "wallet", "shared", "session")


def stated_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end offsets of the secrets that sentences of a text state; some may overlap."""
    lower = text.lower()
    if any(word in lower for word in _WORDS):
        yield from (match.span(1) for match in _PHRASE.finditer(text) if _is_phrase(match[1]))
    if any(word in lower for word in _CODES):
        yield from (match.span(1) for match in _CODE.finditer(text) if _is_code(match[1]))
    if any(word in lower for word in _LOGINS):
        yield from _logins(text)
    if any(word in lower for word in _KEYS):
        for match in _KEY.finditer(text):
            group = match.lastindex or 0
            if not _OF_HASH.search(lower, max(0, match.start(group) - 40), match.end() + 20):
                yield match.span(group)
    yield from (match.span() for match in _CARD.finditer(text) if _is_card(match[0]))


def _is_code(value: str) -> bool:
    """Return whether a value may be a code: digits, or groups with a digit, or letters and digits that alternate."""
    changes = len(re.findall(r"[a-z](?=\d)|\d(?=[a-z])", value, re.IGNORECASE))
    return any(map(str.isdigit, value)) and (not value.isalnum() or value.isdigit() or changes > 1)


def _is_phrase(value: str) -> bool:
    """Return whether words may be a passphrase: no sentence, and none of them an inflected verb."""
    words = re.split(r"[^a-z]+", value.lower())
    return not any(word in _COMMON.split() or (len(word) > 4 and word.endswith(("ed", "ing"))) for word in words)


def _logins(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of passwords behind the name of a user: `log in as ada with hunter42x`."""
    for match in _LOGIN.finditer(text):
        value = match[1].rstrip(".,;:!?)")
        if values.is_setting(value, quoted=False) or values.is_in_prose(value, quoted=False):
            yield match.start(1), match.start(1) + len(value)


def _is_card(value: str) -> bool:
    """Return whether digits are the number of a payment card, by their checksum (ISO/IEC 7812), and not a sample."""
    digits = [int(sign) for sign in value if sign.isdigit()]
    doubled = (digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2])
    is_valid = (sum(digits[::-2]) + sum(doubled)) % 10 == 0
    is_sample = len(set(digits)) < _FEWEST_DIGITS or "".join(map(str, digits)) in _TEST_CARDS
    return is_valid and not is_sample
