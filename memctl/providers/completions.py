"""A provider that uses OpenAI's chat completions, which many servers offer: `POST BASE/chat/completions`.

The request has a model, one user message and the maximum length of the answer in tokens; the answer is in
`choices[0].message.content`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.providers import http_post
from memctl.providers.provider import LONGEST_ANSWER, ProviderFailed, one_line_message
from memctl.providers.settings import OPENAI_BASE, OPENAI_KEY, Settings

_ATTEMPTS = 4
_FIRST_WAIT = 1.0  # seconds; doubled each time
_LONGEST_REFUSAL = 65_536  # bytes


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]


class Completions:
    """A provider that sends each prompt to one language model on a server with OpenAI's chat completions."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take the settings, and the key from `environ`; raises MemctlError if a setting is missing or wrong."""
        if not settings.model:
            raise MemctlError(
                "memctl.llm.model is not set", "`git config --global memctl.llm.model NAME` sets it", USAGE
            )
        base = http_post.address(settings.base_url, "memctl.llm.baseUrl")
        key_name = settings.api_key_env or (OPENAI_KEY if base == OPENAI_BASE else "")
        hint = "set this environment variable to your key, or name another one: `git config memctl.llm.apiKeyEnv NAME`"
        self._key = http_post.key(environ.get(key_name, ""), key_name, hint) if key_name else ""
        self._host = urlsplit(base).netloc
        self._url = f"{base}/chat/completions"
        self._settings = settings
        self._sleep = sleep
        self.name = f"{one_line_message(settings.model, 100)} at {self._host}"

    def answer(self, prompt: str) -> str:
        """Return the model's answer to a prompt; raises ProviderFailed if there is none.

        If the server is overloaded or fails, the request is sent again, up to 4 times in total and within the time
        limit of the settings.
        """
        until = time.monotonic() + self._settings.timeout_seconds
        limit = "max_tokens"
        for attempt in range(_ATTEMPTS):
            try:
                return self._read(self._post(prompt, limit, until - time.monotonic()))
            except HTTPError as error:
                with error:
                    code, refusal, after = error.code, _body_of(error), error.headers.get("retry-after")
            if code == 400 and limit == "max_tokens" and b"max_completion_tokens" in refusal:
                limit = "max_completion_tokens"  # the only name that newer models of OpenAI accept
                continue
            wait = _wait(after, attempt)
            is_passing = code in (408, 429) or code >= 500
            if not is_passing or attempt + 1 == _ATTEMPTS or time.monotonic() + wait > until:
                raise self._refused(code, refusal)
            self._sleep(wait)
        raise self._refused(code, refusal)

    def _post(self, prompt: str, limit: str, seconds: float) -> bytes:
        if seconds <= 0:
            raise self._late()
        body = {
            "model": self._settings.model,
            "messages": [{"role": "user", "content": prompt}],
            limit: self._settings.max_tokens,
        }
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            return http_post.post(self._url, msgspec.json.encode(body), headers, seconds, LONGEST_ANSWER)
        except HTTPError:
            raise
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise self._late() from None
            raise ProviderFailed(http_post.describe_failure(self._host, error, self._key)) from None

    def _read(self, body: bytes) -> str:
        try:
            choices = msgspec.json.decode(body, type=_Answer).choices
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise ProviderFailed(f"the answer of {self._host} is not a chat completion") from None
        if not choices or not (text := (choices[0].message.content or "").strip()):
            raise ProviderFailed(f"{self.name} gave no answer")
        if choices[0].finish_reason == "length":
            most = self._settings.max_tokens
            raise ProviderFailed(
                f"the answer of {self.name} was cut off at {most:,} tokens",
                "allow more: `git config memctl.llm.maxTokens NUMBER`",
            )
        return text

    def _refused(self, code: int, body: bytes) -> ProviderFailed:
        hint = "set the right address: `git config memctl.llm.baseUrl ADDRESS`" if http_post.is_redirect(code) else None
        return ProviderFailed(http_post.describe_refusal(self._host, code, body, self._key), hint)

    def _late(self) -> ProviderFailed:
        seconds = f"{self._settings.timeout_seconds:g}"
        return ProviderFailed(
            f"{self._host} gave no answer within {seconds} s",
            "`git config memctl.llm.timeoutSeconds SECONDS` allows more",
        )


def _body_of(error: HTTPError) -> bytes:
    try:
        return error.read(_LONGEST_REFUSAL)
    except (HTTPException, OSError):
        return b""


def _wait(after: str | None, attempt: int) -> float:
    """The server's header `after` has seconds or a date (RFC 9110 10.2.3); without it, each wait is twice as long."""
    usual = _FIRST_WAIT * (1 << attempt)
    if not after:
        return usual
    if after.strip().isdecimal():
        return float(after.strip()[:9])
    try:
        return max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError, OverflowError):
        return usual
