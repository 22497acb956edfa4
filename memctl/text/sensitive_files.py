"""Find files that must not reach a model.

They are binary files, files with a credential in their text, and files with a name such as `.env`.
"""

from __future__ import annotations

import re

from memctl.text.credentials import find

BINARY, SECRET_NAME = "binary", "its name is typical of files with secrets"
_CREDENTIAL = "it looks like it contains a credential"
_LOOKED_AT = 8_000  # bytes at the beginning of a file in which a zero byte is searched, as Git does
_SECRET_NAMES = re.compile(
    r"\.env(?:\.(?!(?:dist|example|sample|template|defaults?)$).+|rc)?|.+\.env|.*id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|.+\.(?:pem|key|p12|pfx|pkcs12|jks|keystore|kdbx?|ppk|asc|gpg|tfstate|tfvars|ovpn|age)(?:\.backup)?"
    r"|\.(?:netrc|pgpass|pypirc|npmrc|htpasswd|git-credentials|dockercfg|s3cfg|boto|my\.cnf)|_netrc|shadow|passwd"
    r"|(?:.*[._-])?(?:credentials?|secrets?)(?:\.(?:ya?ml|json|toml|ini|txt|cfg|properties|xml|db))?"
    r"|(?:service[-_]account|client_secret).*\.json|.*\.secret",
    re.IGNORECASE,
)


def refusal(path: str, content: bytes, text: str) -> str:
    """Return the reason why a file must not be given to a model, such as its name or a credential in it; "" if it may.

    `content` is the file as bytes, and `text` is its text.
    """
    if has_secret_name(path):
        return SECRET_NAME
    return BINARY if is_binary(content) else refusal_of_text(text)


def refusal_of_text(text: str) -> str:
    """Return the reason why a text must not be given to a model, which is a credential in it; "" if there is none."""
    spans = find(text)
    return f"{_CREDENTIAL} ({spans[0].rule})" if spans else ""


def is_credential(reason: str) -> bool:
    """Return whether the reason, as `refusal` returned it, is that the file's text has a credential.

    If so, the name of the file itself gives nothing away and may be shown.
    """
    return reason.startswith(_CREDENTIAL)


def without_credentials(text: str) -> str:
    """Return a text with a space in place of each credential."""
    for span in reversed(find(text)):
        text = f"{text[: span.start]} {text[span.end :]}"
    return text


def has_secret_name(path: str) -> bool:
    """Return whether a file has a name that is typical of secrets: `.env`, `server.pem`, `id_rsa`, `credentials.json`.

    Examples, public keys and code do not count: `.env.example`, `id_rsa.pub` and `secrets.py` give False.
    """
    return _SECRET_NAMES.fullmatch(path.rpartition("/")[2]) is not None


def is_binary(content: bytes) -> bool:
    """Return whether a file's content has a zero byte near its beginning, as Git decides."""
    return b"\0" in content[:_LOOKED_AT]
