"""Decide whether a value that is assigned to a name such as `token` is a real secret.

The value may also be a placeholder, a type, a call or an ordinary word. Most functions here judge one kind of value.

Random words (keys) are told from words that people write by the share of *familiar* pairs among a word's pairs of
neighbouring letters and digits. This share is 10 to 30 % in random words of 20 to 64 characters, and 60 % and more in
words that people write. A word with less than 50 % is taken for random.

A pair is familiar if it is one of the 200 pairs of letters that are the most frequent in words of code and prose (93 %
of all pairs there; counted in the modules of Python's library). A pair whose second letter is a capital is unfamiliar,
unless the whole word is in capitals. If its first letter is a small one, the pair counts only half, since words in
camelCase have such pairs. Pairs of two digits, and pairs with a character such as `_`, do not count at all.

This was measured with 2,000 random keys each of 20, 24, 28, 32, 40, 48 and 64 characters. Of keys of letters and digits
100 % are found, of base64 97 to 99.6 % (with slashes it may look like a path), of URL-safe base64 97 to 100 %, and of
hexadecimal digits 96 to 100 %, except for keys of 40 and 64 digits, which are taken for Git's ids. False alarms in 87
real transcripts: 0.3 in 1,000 lines of messages and commands, 0.1 in 1,000 of all lines, most of them MD5 sums and
names of temporary folders.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache

from memctl.text.lazy_regex import lazy_regex

MOST_FAMILIAR = 0.5  # a word with a smaller share of familiar pairs is taken for random
_FEWEST_PAIRS = 7  # pairs that count, at least, for a word to be judged
_FEWEST_CHARACTERS = 8  # different characters of a random word, at least
_LEAST_RANDOM_WORD, _MOST = 20, 200  # characters: shorter words are skipped, of longer ones the beginning is judged
_NAMED = 0.6  # share of familiar pairs, at least, in a component of a path that people have named
_SEPARATORS = lazy_regex(r"[^A-Za-z0-9]+")
_FAMILIAR = (
    "abacadagaialamanaparasatauavbabebjblbubycacechcickclcocrctcudadddedidodsdueaecedeeefegelemenepereset"
    "evexeyfafefffiflfofrfugegigsguhahehihoiaibicidieifigiliminioipirisitivizjekelaldlelflilllolsltlulyma"
    "mbmemimompmsnancndnenfngninonsntnuobocodofolomonoooporosotouowpapepiplpoppprptpupyqurarcrdrergrirmrn"
    "rorrrsrtrurysascseshsisospssstsusytatctethtitltotrtstttutyueulumunupurusutvavewawewhwiwrxcxtypysytze"
)


def familiarity(word: str) -> tuple[float, float]:
    """Return how many pairs of neighbouring characters in a word are familiar, and how many pairs count.

    A pair is familiar if it is frequent in ordinary words, such as "er". Pairs of two digits and pairs with a
    punctuation mark do not count. A lower-case letter with a capital after it is unfamiliar, and counts as half a pair.
    So the result for `getUserName2` is (8, 10): `tU` and `rN` count half, and `e2` is unfamiliar, too.
    """
    familiar = counted = 0.0
    known = _familiar()
    for part in _SEPARATORS.split(word):
        is_loud = not any(map(str.islower, part))
        for first, second in zip(part, part[1:], strict=False):  # noqa: RUF007
            if first.isdigit() and second.isdigit():
                continue
            if first.islower() and second.isupper():
                counted += 0.5
                continue
            counted += 1
            familiar += (is_loud or not second.isupper()) and (first + second).lower() in known
    return familiar, counted


def is_random(word: str, fewest: int = _FEWEST_PAIRS) -> bool:
    """Return whether a word looks like a random key.

    It does if less than half of the pairs of neighbouring letters and digits in it are frequent in ordinary words. A
    word with fewer than `fewest` pairs is too short to be judged, and gives False.
    """
    if len(set(word)) < _FEWEST_CHARACTERS or "EXAMPLE" in word:
        return False
    familiar, counted = familiarity(word)
    return counted >= fewest and familiar < MOST_FAMILIAR * counted


@cache
def _familiar() -> frozenset[str]:
    return frozenset(_FAMILIAR[place : place + 2] for place in range(0, len(_FAMILIAR), 2))


_START, _END = r"(?<![A-Za-z0-9_+/-])", r"(?![A-Za-z0-9])"
_KNOWN_SHAPES = (
    r"[0-9a-fA-F]{8}(?:[-_][0-9a-fA-F]{4}){3}[-_][0-9a-fA-F]{12}",  # UUID
    # Git's object ids, whole or abbreviated; packs, images and files in caches are named by such hashes, too
    rf"(?<![A-Za-z0-9])(?:[0-9a-f]{{7,19}}|[0-9a-f]{{40}}|[0-9a-f]{{64}}){_END}",
    r"(?:sha(?:1|256|384|512)|md5|blake2b|h1|SHA256)[-:=/][A-Za-z0-9+/_-]{16,128}={0,2}",  # in lock files
    r"[A-Z]{3}-\d{4}-\d\d-\d\d-(?:\d{3,}|[a-z][0-9a-z]{3}-\d+)",  # records
    # What models' APIs and GitHub's give out
    rf"{_START}(?:toolu|msg|req|resp|call|chatcmpl|thread|run|item|rs|fc)[_-][A-Za-z0-9]{{16,64}}{_END}",
    rf"{_START}(?:[A-Z]{{1,5}}_k[wg][A-Za-z0-9_-]{{6,40}}|MD[EIMQUY][A-Za-z0-9][A-Za-z0-9+/]{{8,60}}={{0,2}}){_END}",
    rf"{_START}AAAA[BCE][23]NzaC[A-Za-z0-9+/=]+",  # SSH's public keys
    r"data:[\w/+.-]{3,60};base64,[A-Za-z0-9+/=]+",  # images
    r"/var/folders/\w\w/\w{20,40}/",  # temporary files of macOS
)
_KNOWN = lazy_regex("|".join(_KNOWN_SHAPES), re.ASCII)  # ids, hashes and images
_KEY_WORD = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9_+/-]{19,}={0,2}", re.ASCII)  # a word that may be a key
# Words in small letters, capitals or camel case, joined by dashes and the like.
_CASES = r"(?:[A-Z]+|[A-Za-z][a-z]*(?:[A-Z][a-z]+)*)"
_WORDS_WRITTEN = lazy_regex(rf"[-_/+=]*{_CASES}(?:[-_/+]+{_CASES})*[-_/+=]*")
_LEAST_OF_WORD = 0.3  # share of familiar pairs in a word of another language, at least
_PATH_NAME = lazy_regex(r"[A-Za-z][A-Za-z_-]{2,30}", re.ASCII)  # a name in a path


def random_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end offsets of words of 20 or more characters that look like random keys.

    Ids of Git, of memctl and of models' APIs, UUIDs and integrity hashes are left out. A path or a URL is not one word:
    each of its components is judged by itself.
    """
    text = _KNOWN.sub(lambda match: "." * len(match[0]), text)
    for match in _KEY_WORD.finditer(text):
        start, word = match.start(), match[0]
        if "/" not in word or not _is_path_word(text, start, word):
            if is_random(word[:_MOST], _FEWEST_PAIRS) and not _is_of_words(word) and not _is_sample_login(word):
                yield match.span()
            continue
        for part in word.split("/"):
            if len(part) >= _LEAST_RANDOM_WORD and is_random(part[:_MOST]) and not _is_of_words(part):
                yield start, start + len(part)
            start += len(part) + 1


def _is_of_words(word: str) -> bool:
    """Return whether a word is made of words, in any language: letters alone, in the cases in which people write them.

    Of random keys of 20 letters and digits, one in 30 has no digit, and one in a million such cases. A key of small
    letters alone is told from one word by fewer familiar pairs, and can't be told from several words.
    """
    if _WORDS_WRITTEN.fullmatch(word) is None:
        return False
    familiar, counted = familiarity(word)
    return not word.isalpha() or familiar >= _LEAST_OF_WORD * counted


def _is_path_word(text: str, start: int, word: str) -> bool:
    """Return whether a word with slashes is a path or a part of a URL: it begins as one, or has a part of words."""
    if text[start - 1 : start] in ("/", ".", "~", "@"):
        return True
    parts = (part for part in word.split("/") if _PATH_NAME.fullmatch(part))
    return any(familiar >= _NAMED * counted for familiar, counted in map(familiarity, parts))


_LEAST_PASSWORD, _LEAST_KEY, _LEAST_RANDOM, _LEAST_HEADER, _LEAST_PROSE = 6, 10, 16, 8, 8  # characters
_LEAST_WORD = 4  # characters of a password that is a single word
_LONGEST_PLACEHOLDER = 64
_LONG_PHRASE, _FEWEST_WORDS = 15, 3  # characters and words of a passphrase of words joined by dashes, at least
_FEWEST_CHANGES = 3  # changes from letters to digits or back in a key, at least
_LONGEST_PARTICLE = 3  # letters of words such as the, and, for, which names contain and passphrases do not
_FEWEST_SIGNS = 3  # signs in a key of letters, digits and signs, at least
_SIGNS = frozenset("!@#%^&*+~$=")  # signs that words do not contain; `?` stands for letters beyond ASCII
_COUNTING = "0123456789012345678901234567890"  # sample values end with digits in this order
_SENTENCE_END = ".,;:!?)"
_WORDS = (
    "my the a an some new old this is it in of for to no non none not null nil undefined true false yes required"
    " optional missing invalid empty secret passwd password pass passphrase passcode pwd pw token key api auth access"
    " bearer basic test tests testing demo sample mock fake stub user username name login admin root client server"
    " db database app prod dev staging local localhost default value string str text here super private public id hash"
    " file path env var config field type list count length max min size foo bar baz abc qwerty"
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns by which values are judged, by name; they are compiled for the first value."""
    shapes = {
        # Empty, <x>, {x}, $X, ${{ x }}, %s, @X@, xxxx, one character again and again; and words that say so themselves.
        # Variables with blanks or signs of a path around them, YAML's tags, Symfony's %env(X)%.
        "placeholder": r"[\W_]*|[<\[({].*|.*[>}]|\$[\w{(].*|[\s/.:-]*\${1,2}[a-z_]\w*[\s/.:-]*"
        r"|%\w+%?|%\w+[(\[].*[)\]]\w*%|@\w+@|!\w+|[x*._-]+|(.)\1*",
        "hint": r"os\.environ|process\.env|\$\{|\{\{|\{[\w.:]*(?:\}|$)|x{4}|(?:^|[-_])x{3,}(?:$|[-_])|\*{3}|\.{3}|\0"
        r"|test[-_](?:key|token|secret)|example|change[-_ ]?(?:me|this|it)|placeholder"
        r"|redact|blanked|dummy|replace|fill[-_ ]?in|insert"
        r"|your[-_ ]|\byour|not[-_]?(?:a[-_])?real|lorem|foobar|todo|tbd|fixme|goes[-_ ]?here",
        # Without these nothing is left of a value that only says what it is: `my_secret_key`, `test-token`.
        "word": "|".join(sorted(_WORDS.split(), key=len, reverse=True)),  # or of `api` an `a` would be taken
        "format": r"(?:0x)?%[-+#0-9.]*(?:hh?|ll?|[jzt])?[diouxcsp]",  # of printf
        # Attributes, calls and items, negated or behind a pointer, too; constants.
        "expression": r"!?[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+[\[(]?.*|[*&]+(?:\(.*|[a-z_]+)"
        r"|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){2,})"
        r"|\w+[\[(].*|\w+=[^=].*|[&|;\\].*",
        # Paths, URLs and files, versions and dates, options, names of algorithms and formats.
        "name": r"(?:\.{0,2}|~|[A-Za-z]:\\?|[\w-]{1,30})/.*/.*|\.{0,2}/\w.*|~.*|[a-z+]{2,10}://.*"
        r"|[\w./-]+\.(?:py|js|ts|go|rs|rb|java|json|ya?ml|toml|txt|md|env|pem|key|sh|cfg|ini|html|css|xml|lock)\b.*"
        r"|[\w.-]+(?:/[\w.-]+)+\.[a-z]\w{0,3}|0x[0-9a-f]{1,16}|(?-i:[A-Z]{3,6}#\d{1,3})|\w{1,12}-hmac-[a-z]{2,3}\d+"
        r"|[A-Z]{3}-\d{4}-\d\d-\d\d-(?:\d{3,}|[a-z]\w{3}-\d+)\W?"  # records
        r"|v?\d+(?:\.\d+)+.*|\d{4}-\d\d-\d\d.*|-{1,2}[a-z].*"
        r"|(?:sha|md|[hr]s|es|aes|rsa|base|utf|oauth|https?|tls|ssl|ed|argon|pbkdf|u?int|float|ipv|ec|web\w{0,4}|log|\w)"
        r"[-_]?\d{1,5}(?:[-_]?[a-z]{0,6}\d{0,3})?",
        # In prose: digits with a unit, hashes and ids, snake case, terms with a digit at their end, calls and options.
        "code": r"[\d.,]+[a-z%]{0,6}|[0-9a-f]{7,64}=?|[a-z0-9]+(?:_[a-z0-9]+)+"
        r"|(?:[a-z]{4,}\d{1,4})+[a-z]*|[a-z]+\d{1,4}|[A-Z]{2,4}-[\d-]+(?:[a-z]\w{3}-\d+)?|.*[(\[{=<>].*"
        r"|[@#$%&?+].*|\w+@[\w.-]+|.*://.*",
        # What is said of passwords, and types, labels and names of variables that hold one.
        "description": r"\w*(?:ed|ing|able|ible|less|ful|ent|ant|ory)|(?:in)?(?:correct|valid|complete|secure)"
        r"|bcrypt|scrypt|argon2\w{0,2}|pbkdf2|sha-?\d*|md5|\w*-?(?:sensitive|text|case)|entropy|vault|keychain|keyring"
        r"|unset|unknown|wrong|right|good|bad|weak|strong|safe|long|short|(?:long|short|weak|strong|old|new|saf|lat)er|same|okay|fine|set"
        r"|gone|known|lost|sent|given|taken|kept|hidden|shown|written|built|read|empty|blank|plain|unique|random|static"
        r"|ignor\w+|always|never|also|only|there|here|what|that|both|used|reset|change|forgot(?:ten)?|confirm|show|hide|update"
        r"|enter|submit|repeat|verify|validate|check|bool(?:ean)?|bytes?|number|integer|object|array|buffer|char|var\w*|secret\w*"
        r"|hash\w*|cipher\w*|encrypt\w*|pass\w*|\w*pass(?:word|wd|phrase|code|wort)s?|kennwort|contrase.*|senha|wachtwoord"
        r"|mot|getpass|prompt|falsch|richtig|leer|ge\w+t|abgelaufen|bekannt|nil|n/a|any|varchar.*|\w+\(.*",
        # Identifiers of words with a number at their end, types, constants, amounts with a unit.
        "identifier": r".*::.*|(?:[a-z]+\d{0,2}|\d{1,2})(?:[_-](?:[a-z]+\d{0,2}|\d{1,2}))+|\d+[a-z]{1,7}|[0-9a-f]{7,64}"
        r"|(?-i:[A-Z]{2,}\d{1,2}|(?:[A-Z][a-z]{2,}\d?){1,8}(?:V\d)?)|[a-z]*(?:bytes|uint|int|float|char|str|string"
        r"|array|vec|utf|base|oauth|erc|ipv|version|bits?|level|step|line|page)[-_]?\d+\w*"
        r"|(?:[a-z]+-)?(?:sha|x?chacha|aes|rsa|uuidv?|nanoid|tier|cl|o)\d+\w*|k8s.*",
        "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "change": r"[a-z](?=[0-9])|[0-9](?=[a-z])",
    }
    return {name: re.compile(shape, re.IGNORECASE | re.ASCII | re.DOTALL) for name, shape in shapes.items()}


def is_mixed(value: str) -> bool:
    """Return whether a value has both letters and digits."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def is_placeholder(value: str) -> bool:
    """Return whether a value only stands for a secret: `<token>`, `$TOKEN`, `${{ secrets.X }}`, `xxxx`, `changeme`."""
    if _patterns()["placeholder"].fullmatch(value) or _patterns()["hint"].search(value):
        return True
    if len(value) > _LONGEST_PLACEHOLDER:
        return False
    value = _patterns()["format"].sub("", value)
    rest = _patterns()["word"].sub("", value)
    return sum(map(str.isalnum, rest)) <= 1 and not any(sign in _SIGNS for sign in value)


def is_named_like_user(user: str, password: str) -> bool:
    """Return whether a user and a password are only samples, such as `proxyuser:proxypassword`.

    They are if both contain words such as "user" and "password", and are equal without these words.
    """
    word = _patterns()["word"]
    rest = word.sub("", user.lower())
    is_sample = rest != user.lower() and sum(map(str.isdigit, rest)) <= 1
    return is_sample and word.search(password) is not None and rest == word.sub("", password.lower())


def is_literal(value: str, quoted: bool) -> bool:
    """Return whether a value is written out: it is no placeholder, call or path, and no code that joins two texts.

    `quoted` is not used; the parameter is there because all these checks are called in one way.
    """
    if value != value.strip() or is_placeholder(value):
        return False
    if len(value) < _LEAST_PASSWORD and value.isdigit():
        return False
    return re.match(r"[\w.]+[\[(]|(?:\.{0,2}|~)/|[+&|;,)]|.*\.(?:json|pem|key|ya?ml|txt)$", value, re.ASCII) is None


def is_word(value: str, quoted: bool) -> bool:
    """Return whether a value may be a password that is a single word, such as `sommer`, and not a description or code.

    `quoted` says that the value was in quotation marks.
    """
    value = _stripped(value, quoted).strip("*")
    if len(value) < _LEAST_WORD or value.isdigit() or not _may_be_secret(value, quoted):
        return False
    return value[0].isalnum() and _patterns()["description"].fullmatch(value) is None


def is_password(value: str, quoted: bool) -> bool:
    """Return whether a value may be a password.

    It may be one if it has at least six characters with digits or signs among them, if it is several words joined by
    dashes, or if it looks random. `quoted` says that the value was in quotation marks.
    """
    value = _stripped(value, quoted)
    if len(value) < _LEAST_PASSWORD or not _may_be_secret(value, quoted):
        return False
    if any(map(str.isalpha, value)):
        if any(map(str.isdigit, value)) or any(sign in _SIGNS for sign in value[:-1]):
            return True
        words = value.split("-")
        is_phrase = len(words) >= _FEWEST_WORDS and len(value) >= _LONG_PHRASE and all(map(str.isalpha, words))
        return is_phrase or is_random(value)
    return any(map(str.isdigit, value))


def is_setting(value: str, quoted: bool) -> bool:
    """Return whether a value may be a weak secret of letters and digits, such as `kitten42`.

    It may not if it looks like a type, an identifier or a UUID. `quoted` says that the value was in quotation marks.
    """
    value = _stripped(value, quoted)
    if len(value) < _LEAST_PASSWORD or not is_mixed(value) or not _may_be_secret(value, quoted):
        return False
    if not quoted and sum(map(str.isdigit, value)) == 1 and value[-1].isdigit():
        return False  # a numbered name, such as `token2`
    if any(_patterns()[what].fullmatch(value) for what in ("identifier", "expression", "uuid")):
        return False
    return _patterns()["word"].sub("", value).strip("-_.") not in _COUNTING and not _is_sample_login(value)


def is_in_prose(value: str, quoted: bool) -> bool:
    """Return whether a value in a sentence is clearly a password, and not a word, a name or a version.

    It is one if its letters and digits alternate at least three times (four times without capitals), if it has letters,
    digits and a sign such as `!`, or if it is at least four words of four or more letters joined by dashes. `quoted`
    says that the value was in quotation marks.
    """
    value = _stripped(value, quoted).strip("*")
    if (
        len(value) < _LEAST_PROSE
        or value.isalpha()
        or not is_password(value, quoted)
        or any(_patterns()[what].fullmatch(value) for what in ("code", "uuid"))
    ):
        return False
    if not is_mixed(value):
        words = value.split("-")
        return len(words) > _FEWEST_WORDS and all(len(word) > _LONGEST_PARTICLE and word.islower() for word in words)
    if any(sign in _SIGNS for sign in value):
        return True
    changes = sum(1 for _ in _patterns()["change"].finditer(value))
    return changes >= _FEWEST_CHANGES + value.islower()


def is_key(value: str, quoted: bool) -> bool:
    """Return whether a value may be a key.

    It may be one if it has at least 10 characters, and letters and digits alternate in it at least three times or it
    looks random. With three signs such as `!` it may be one from 16 characters on. A UUID may be a key, too. `quoted`
    says that the value was in quotation marks.
    """
    value = _stripped(value, quoted)
    if len(value) < _LEAST_KEY or not _may_be_secret(value, quoted):
        return False
    changes = sum(1 for _ in _patterns()["change"].finditer(value))
    signs = sum(sign in _SIGNS for sign in value)
    return changes >= _FEWEST_CHANGES or (signs >= _FEWEST_SIGNS and len(value) >= _LEAST_RANDOM) or is_random(value)


def is_random_value(value: str, quoted: bool) -> bool:
    """Return whether a value looks as random as a key.

    A UUID does not count, since it is more often an id than a token. `quoted` says that the value was in quotation
    marks.
    """
    value = _stripped(value, quoted)
    if len(value) < _LEAST_RANDOM or not _may_be_secret(value, quoted):
        return False
    return is_random(value) and _patterns()["uuid"].fullmatch(value) is None


def is_in_header(value: str, quoted: bool) -> bool:
    """Return whether the value of an `Authorization` header may be a secret.

    It may if it has digits, or capitals after the first letter; a plain word such as "Bearer" is no secret. `quoted`
    says that the value was in quotation marks.
    """
    value = _stripped(value, quoted)
    if len(value) < _LEAST_HEADER or not _may_be_secret(value, quoted) or _is_sample_login(value):
        return False
    return any(map(str.isdigit, value)) or not (value[1:].islower() or value.isupper())


def _stripped(value: str, quoted: bool) -> str:
    if value.endswith("..."):
        return ""  # an abbreviated value, such as `ghp_abc...`
    return value.strip() if quoted else value.rstrip(_SENTENCE_END)


def _may_be_secret(value: str, quoted: bool) -> bool:
    """Return whether a value is not a placeholder, code, a sentence, or the name of a file or an algorithm."""
    if " " in value or is_placeholder(value) or _patterns()["name"].fullmatch(value):
        return False
    if quoted:
        return True
    if "/" in value and "?" in value:
        return False  # a path with letters beyond ASCII, for which `?` stands
    return _patterns()["expression"].fullmatch(value) is None and ("/" not in value or is_random(value))


def _is_sample_login(value: str) -> bool:
    """Return whether a value is base64 of a user and a placeholder, as in an example of basic authentication."""
    try:
        user, colon, password = b64decode(value, validate=True).decode("ascii").partition(":")
    except ValueError:
        return False
    return bool(colon) and (is_placeholder(password) or is_named_like_user(user, password))
