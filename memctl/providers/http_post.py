"""Send a text with an API key: only encrypted or to this machine, and without following redirects."""

from __future__ import annotations

import time
from collections.abc import Mapping
from http.client import HTTPMessage
from ipaddress import ip_address
from typing import IO
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.providers.provider import one_line_message

_PIECE = 65_536  # bytes


class TooLong(OSError):
    """Raised for an answer with more bytes than the caller allows."""


class _ErrorMessage(msgspec.Struct):
    message: str


class _Refusal(msgspec.Struct):
    error: _ErrorMessage | str


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the key to the address in the answer."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def address(url: str, setting: str) -> str:
    """Return the base URL `url` without a final slash.

    Raises MemctlError unless it is https://, or http:// on this machine; `setting` is the name of the setting with the
    URL, for the message.
    """
    base = url.strip().rstrip("/")
    try:
        parts = urlsplit(base)
        host, is_safe = parts.hostname, parts.scheme == "https"
        is_safe = is_safe or (parts.scheme == "http" and _is_this_machine(host or ""))
        is_plain = parts.port is not None or not parts.netloc.endswith(":")
    except ValueError:
        host, is_safe, is_plain = None, False, False
    if not host or not is_safe or not is_plain or parts.username is not None or parts.query or parts.fragment:
        raise MemctlError(
            f"{setting} must be an https:// address",
            "http:// is allowed only for this machine, as in http://localhost:8080",
            USAGE,
        )
    return base


def key(text: str, setting: str, hint: str) -> str:
    """Return the API key `text` without white space around it.

    Raises MemctlError if there is no key, with `hint` on how to set it, or if an HTTP header can't have the key's
    characters. `setting` is the name of the setting that holds the key, for the message.
    """
    key_text = text.strip()
    if not key_text:
        raise MemctlError(f"{setting} is not set", hint, USAGE)
    if not (key_text.isascii() and key_text.isprintable()):
        hint = "give only the key: printable ASCII characters on one line"
        raise MemctlError(f"the key in {setting} has characters that a key can't have", hint, USAGE)
    return key_text


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float, longest: int) -> bytes:
    """POST a JSON `body` to an address, and return the body of the answer.

    The answer must arrive within `seconds` and have at most `longest` bytes. Raises HTTPError if the status of the
    answer is not a success, TooLong if the answer is longer, TimeoutError if it comes too late, and OSError if the
    address can't be reached.
    """
    request = Request(url, body, {"content-type": "application/json", **headers}, method="POST")
    until = time.monotonic() + seconds
    with _opener(url).open(request, timeout=seconds) as answer:
        received = b""
        while piece := answer.read1(_PIECE):
            received += piece
            if len(received) > longest:
                raise TooLong(f"the answer has more than {longest:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError("timed out")
        return received


def _opener(url: str) -> OpenerDirector:
    """For this machine the opener bypasses the environment's proxy, which would see the key."""
    direct = [ProxyHandler({})] if _is_this_machine(urlsplit(url).hostname or "") else []
    return build_opener(_NoRedirects, *direct)


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_redirect(code: int) -> bool:
    """Return whether an HTTP status is a redirect."""
    return 300 <= code < 400


def describe_refusal(host: str, code: int, answer: bytes, key: str) -> str:
    """Return a message that a service refused a request, with its status and reason, on one line without the key.

    `code` is the HTTP status, and `answer` the body of the service's answer, which may have the reason. If the reason
    contains the API `key`, the key is removed from the reason.
    """
    if is_redirect(code):
        return f"{host} redirects to another address ({code}), to which memctl does not send the key"
    try:
        error = msgspec.json.decode(answer, type=_Refusal).error
        reason = error if isinstance(error, str) else error.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        reason = "it gave no reason"
    return f"{host} refused the request ({code}): {_without_key(reason, key)}"


def describe_failure(host: str, error: Exception, key: str) -> str:
    """Return a message that a service can't be reached, with the reason, on one line without the key.

    If the text of `error` contains the API `key`, the key is removed from it.
    """
    return f"{host} can't be reached: {_without_key(str(getattr(error, 'reason', None) or error), key)}"


def _without_key(message: str, key: str) -> str:
    return one_line_message(message.replace(key, "(the key)") if key else message)
