"""Chat completions, spoken by a server in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from memctl.errors import USAGE, MemctlError
from memctl.providers.completions import Completions
from memctl.providers.provider import LONGEST_ANSWER, ProviderFailed
from memctl.providers.settings import Settings
from tests.serving import Answer, Server, serving

KEY = "key-of-a-test"


def said(text: str | None, reason: str = "stop") -> Answer:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return 200, msgspec.json.encode({"choices": [choice]}), {}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(said("yes")) as running:
        yield running


def asking(server: Server, waited: list[float] | None = None, **settings: Any) -> Completions:
    values: dict[str, Any] = {"base_url": server.address + "/v1/", "model": "m-1", "api_key_env": "MY_KEY", **settings}
    sleep = time.sleep if waited is None else waited.append
    return Completions(Settings(provider="openai", **values), {"MY_KEY": KEY, "OPENAI_API_KEY": "other"}, sleep)


def test_request_follows_the_protocol(server: Server) -> None:
    assert asking(server, max_tokens=77).answer("hello") == "yes"
    ((path, headers, body),) = server.asked
    assert path == "/v1/chat/completions"
    assert body == {"model": "m-1", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 77}
    assert (headers["authorization"], headers["content-type"]) == (f"Bearer {KEY}", "application/json")


def test_a_key_is_sent_only_to_its_own_address(server: Server) -> None:
    assert asking(server, api_key_env="").answer("hello") == "yes"
    assert "authorization" not in server.asked[0][1]


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 529])
def test_transient_failure_is_retried_with_growing_delays(server: Server, code: int) -> None:
    server.answers = [(code, b"", {}), (code, b"", {}), said("at last")]
    waited: list[float] = []
    assert asking(server, waited).answer("hello") == "at last"
    assert waited == [1, 2]


def test_retry_waits_as_long_as_the_server_asks(server: Server) -> None:
    later = formatdate(time.time() + 30, usegmt=True)
    server.answers = [
        (429, b"", {"retry-after": "7"}),
        (429, b"", {"retry-after": later}),
        (503, b"", {"retry-after": "whenever"}),
        said("at last"),
    ]
    waited: list[float] = []
    assert asking(server, waited).answer("hello") == "at last"
    assert waited[0] == 7
    assert 20 < waited[1] <= 30
    assert waited[2] == 4


def test_retry_after_beyond_the_time_limit_fails_without_waiting(server: Server) -> None:
    server.answers = [(429, b'{"error": {"message": "slow down"}}', {"retry-after": "3600"})]
    waited: list[float] = []
    with pytest.raises(ProviderFailed, match=r"refused the request \(429\): slow down"):
        asking(server, waited).answer("hello")
    assert (waited, len(server.asked)) == ([], 1)


def test_request_is_given_up_after_four_attempts(server: Server) -> None:
    server.answers = [(500, b"<html>", {})]
    with pytest.raises(ProviderFailed, match=r"refused the request \(500\): it gave no reason"):
        asking(server, []).answer("hello")
    assert len(server.asked) == 4


@pytest.mark.parametrize("code", [400, 401, 403, 404])
def test_a_refusal_is_final_and_shown_without_the_key(server: Server, code: int) -> None:
    server.answers = [(code, f'{{"error": {{"message": "bad key {KEY}\\nsee there"}}}}'.encode(), {})]
    with pytest.raises(ProviderFailed) as caught:
        asking(server).answer("hello")
    assert f"refused the request ({code}): bad key (the key) see there" in caught.value.message
    assert len(server.asked) == 1


def test_request_is_repeated_with_the_newer_name_of_the_token_limit(server: Server) -> None:
    refusal = b'{"error": {"message": "Unsupported parameter. Use \'max_completion_tokens\' instead."}}'
    server.answers = [(400, refusal, {}), said("yes")]
    assert asking(server, max_tokens=5).answer("hello") == "yes"
    assert server.asked[1][2]["max_completion_tokens"] == 5
    assert "max_tokens" not in server.asked[1][2]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: Server, code: int) -> None:
    other = Server()
    server.answers = [(code, b"", {"location": f"{other.address}/v1/chat/completions"})]
    with pytest.raises(ProviderFailed, match="redirects to another address"):
        asking(server).answer("hello")
    other.server_close()
    assert other.asked == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"choices": 1}', b'{"choices": [{"message": 1}]}', b"\xff"])
def test_answer_without_a_completion_is_an_error(server: Server, body: bytes) -> None:
    server.answers = [(200, body, {})]
    with pytest.raises(ProviderFailed, match="is not a chat completion"):
        asking(server).answer("hello")


def test_empty_or_cut_answer_is_an_error(server: Server) -> None:
    server.answers = [said(None), (200, b'{"choices": []}', {}), said("and so", "length")]
    for why in ("gave no answer", "gave no answer", "was cut off at 4,096 tokens"):
        with pytest.raises(ProviderFailed, match=why):
            asking(server).answer("hello")


def test_too_large_answer_is_an_error(server: Server) -> None:
    server.answers = [said("x" * LONGEST_ANSWER)]
    with pytest.raises(ProviderFailed, match="more than"):
        asking(server).answer("hello")


def test_slow_answer_is_an_error_after_the_time_limit(server: Server) -> None:
    server.slowly = 0.05
    with pytest.raises(ProviderFailed, match=r"gave no answer within 0\.3 s"):
        asking(server, timeout_seconds=0.3).answer("hello")


def test_unreachable_server_is_an_error(server: Server) -> None:
    with pytest.raises(ProviderFailed, match=r"127\.0\.0\.1:9 can't be reached"):
        asking(server, base_url="http://127.0.0.1:9").answer("hello")


def test_requests_to_this_machine_bypass_the_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert asking(server).answer("hello") == "yes"


@pytest.mark.parametrize(
    ("wrong", "environ"),
    [
        ({"model": ""}, {"K": KEY}),
        ({"api_key_env": "K"}, {}),
        ({"api_key_env": "K"}, {"K": "a\nb"}),
        ({"base_url": "https://api.openai.com/v1", "api_key_env": ""}, {}),
        ({"base_url": "http://example.com/v1"}, {"K": KEY}),
        ({"base_url": "https://me:x@example.com"}, {"K": KEY}),
        ({"base_url": "ftp://localhost"}, {"K": KEY}),
    ],
)
def test_unusable_settings_of_the_provider_are_refused(wrong: dict[str, str], environ: dict[str, str]) -> None:
    values: dict[str, Any] = {"model": "m", "base_url": "https://x.example/v1", "api_key_env": "K", **wrong}
    with pytest.raises(MemctlError) as caught:
        Completions(Settings(provider="openai", **values), environ)
    assert caught.value.exit_code == USAGE
