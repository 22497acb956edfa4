"""Ask Anthropic's endpoint to count tokens.

The endpoint gives the model's own count, but the text leaves this machine, so the endpoint is asked only if the user
requests it.

The request is `POST BASE/v1/messages/count_tokens` with a model and one message of the user. The `input_tokens` of the
answer are those of the whole request: 6 to 11 more than the text has.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.providers import http_post
from memctl.store.cache import Cache, digest
from memctl.text.credentials import describe, find, lines
from memctl.tokens.count import Count, cached_count
from memctl.tokens.families import FAMILIES, family_of

_TIMEOUT = 30.0  # seconds
_LONGEST_ANSWER = 65_536  # bytes; a count has about twenty
_HINT = "without --source anthropic, tokens are counted on this machine, with an error band"


class _CountAnswer(msgspec.Struct):
    input_tokens: int


class Endpoint:
    """Counts the tokens of texts for one Claude model by asking Anthropic's endpoint.

    `environ` has the environment variable ANTHROPIC_API_KEY, and perhaps ANTHROPIC_BASE_URL. Answers are kept in the
    `cache`, if there is one.
    """

    def __init__(self, model: str, environ: Mapping[str, str], cache: Cache | None = None) -> None:
        """Read the key, and perhaps another base address, from `environ`; raises MemctlError if they can't be used."""
        if model.strip().lower() in FAMILIES or not family_of(model).name.startswith("claude"):
            hint = "give the name of a Claude model, such as --model claude-sonnet-4-5"
            raise MemctlError(f"{model!r} is not the name of a Claude model", hint, USAGE)
        self.model = model.strip()
        hint = f"set the environment variable to your key; {_HINT}"
        self._key = http_post.key(environ.get("ANTHROPIC_API_KEY", ""), "ANTHROPIC_API_KEY", hint)
        base = environ.get("ANTHROPIC_BASE_URL", "").strip() or "https://api.anthropic.com"
        self._url = f"{http_post.address(base, 'ANTHROPIC_BASE_URL')}/v1/messages/count_tokens"
        self._cache = cache

    def count(self, text: str, *, allow_secret: bool = False) -> Count:
        """Return the number of tokens of a request to the model with this text as its only message.

        Raises MemctlError if the endpoint gives no answer. A text with a credential raises it, too, and is not sent,
        unless `allow_secret` is True.
        """
        key = digest(text, f"{self._url} {self.model}")
        tokens = cached_count(self._cache, key, lambda: self._ask(text, allow_secret=allow_secret))
        return Count(tokens, f"Anthropic's count for {self.model}", 0.0)

    def _ask(self, text: str, *, allow_secret: bool) -> int:
        if not allow_secret:
            _refuse_secrets(text)
        if not text.strip():  # a message must not be empty
            return 0
        body = {"model": self.model, "messages": [{"role": "user", "content": text}]}
        headers = {"x-api-key": self._key, "anthropic-version": "2023-06-01"}
        host = urlsplit(self._url).netloc
        try:
            answer = http_post.post(self._url, msgspec.json.encode(body), headers, _TIMEOUT, _LONGEST_ANSWER)
            return msgspec.json.decode(answer, type=_CountAnswer).input_tokens
        except HTTPError as error:
            with error:
                hint = "correct ANTHROPIC_BASE_URL" if http_post.is_redirect(error.code) else _HINT
                answer = error.read(_LONGEST_ANSWER)
            raise MemctlError(http_post.describe_refusal(host, error.code, answer, self._key), hint) from None
        except msgspec.MsgspecError:
            raise MemctlError(f"{host} gave an answer that is not a token count", _HINT) from None
        except (URLError, HTTPException, OSError) as error:
            raise MemctlError(http_post.describe_failure(host, error, self._key), _HINT) from None


def _refuse_secrets(text: str) -> None:
    spans = find(text)
    for line in lines(text, spans):
        raise MemctlError(
            f"line {line} {describe(text, spans[0])}; the text would leave this machine",
            "remove the credential; if it is not a credential, send the text with --allow-secret",
        )
