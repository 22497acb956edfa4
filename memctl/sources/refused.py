"""Files that never enter a model's context: binary ones, and those that hold, or by their names would hold, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memctl.model import credentials

BINARY, SECRET_NAME = "binary", "its name is one of files with secrets"
_LOOKED_AT = 8_000  # bytes in which a binary file shows itself, as Git looks
_LONG, _STEP = 4_000, 3_000  # characters of a line that are judged at once; pieces overlap by the longest credential
_MOST = 2_000  # suspicious lines that are judged: a file with more is taken to be what it looks like
_SECRET_NAMES = re.compile(
    r"\.env(?:\.(?!(?:dist|example|sample|template|defaults?)$).+|rc)?|.+\.env|.*id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|.+\.(?:pem|key|p12|pfx|pkcs12|jks|keystore|kdbx?|ppk|asc|gpg|tfstate|tfvars|ovpn|age)(?:\.backup)?"
    r"|\.(?:netrc|pgpass|pypirc|npmrc|htpasswd|git-credentials|dockercfg|s3cfg|boto|my\.cnf)|_netrc|shadow|passwd"
    r"|(?:.*[._-])?(?:credentials?|secrets?)(?:\.(?:ya?ml|json|toml|ini|txt|cfg|properties|xml|db))?"
    r"|(?:service[-_]account|client_secret).*\.json|.*\.secret",
    re.IGNORECASE,
)

# A name that says secret, and the value it is given: in quotes, or to the end of the line as settings have it.
_ASSIGNED = re.compile(
    r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?key)?|api[_-]?key|access[_-]?key|auth[_-]?token|\"auth\"|bearer)"
    r"[\"'\]]{0,2}[ \t]{0,4}(?:[:=]{1,2}>?[ \t]{0,4}|[ \t])"
    r"(?:(?P<q>[\"'])(?P<quoted>[^\"'\s]{8,200})(?P=q)|(?P<bare>[^\s\"'()\[\]{}<>$,;]{10,200})[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_REAL = re.compile(r"(?=.*\d)(?=.*[A-Za-z])(?!.*(?:\.\w+\(|::))")
_PLACEHOLDER = re.compile(
    r"\$|\{|<|\*{3}|\.{3}|x{4}|example|change|placeholder|dummy|your|test|sample|secret|password|redacted|localhost|_{3}",
    re.IGNORECASE,
)


def refusal(path: str, content: bytes, text: str) -> str:
    """Why a file never enters, by its name, its bytes and the text that they are; "" if it may."""
    if has_secret_name(path):
        return SECRET_NAME
    return BINARY if is_binary(content) else in_text(text)


def in_text(text: str) -> str:
    """Why a text never enters, "" if it may."""
    kind = secret_in(text)
    return f"it looks like it contains a credential ({kind})" if kind else ""


def has_secret_name(path: str) -> bool:
    """Whether a file is called as files with secrets are, such as `.env`, `server.pem`, `id_rsa`, `credentials.json`.

    `.env.example` and `id_rsa.pub` are not, and neither is code: `secrets.py`.
    """
    return _SECRET_NAMES.fullmatch(path.rpartition("/")[2]) is not None


def is_binary(content: bytes) -> bool:
    return b"\0" in content[:_LOOKED_AT]


def secret_in(text: str) -> str:
    """The kind of credential that a text contains, or ""."""
    for number, line in enumerate(credentials.suspicious_lines(_short_lines(text))):
        if number >= _MOST:
            return "too many lines with the shape of one"
        if kind := credentials.kind_of_secret(line):
            return kind
    return "a value given to a password, key or token" if _assigns_secret(text) else ""


def _assigns_secret(text: str) -> bool:
    """Whether something called a password, a key or a token is given a value that looks like a real one."""
    for match in _ASSIGNED.finditer(_short_lines(text)):
        value = match["quoted"] or match["bare"] or ""
        if _REAL.search(value) and not _PLACEHOLDER.search(value):
            return True
    return False


def _short_lines(text: str) -> str:
    """A text with long lines cut into pieces that overlap: what looks for credentials takes ever longer for a line."""
    lines = text.split("\n")
    if max(map(len, lines)) <= _LONG:
        return text
    return "\n".join(piece for line in lines for piece in _pieces(line))


def _pieces(line: str) -> Iterator[str]:
    yield line[:_LONG]
    yield from (line[start : start + _LONG] for start in range(_STEP, len(line) - _LONG + _STEP, _STEP))
