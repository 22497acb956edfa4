"""Anthropic's endpoint, spoken by a server in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.store.cache import Cache
from memctl.tokens.endpoint import Endpoint
from tests.serving import Server, serving

KEY = "key-of-a-test"
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving((200, b'{"input_tokens": 14}', {})) as running:
        yield running


def endpoint(server: Server, cache: Cache | None = None, model: str = MODEL) -> Endpoint:
    return Endpoint(model, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.address + "/"}, cache)


def test_endpoint_returns_the_count_and_follows_the_protocol(server: Server) -> None:
    count = endpoint(server).count("hello")
    assert (count.tokens, count.error) == (14, 0.0)
    assert MODEL in count.source
    ((path, headers, body),) = server.asked
    assert path == "/v1/messages/count_tokens"
    assert body == {"model": MODEL, "messages": [{"role": "user", "content": "hello"}]}
    wanted = {"x-api-key": KEY, "anthropic-version": "2023-06-01", "content-type": "application/json"}
    assert {name: headers[name] for name in wanted} == wanted


def test_a_text_is_asked_about_once(server: Server) -> None:
    cache = Cache.open(None)
    assert [endpoint(server, cache).count("hello").tokens for _ in range(3)] == [14, 14, 14]
    assert len(server.asked) == 1
    endpoint(server, cache).count("other")
    endpoint(server, cache, "claude-opus-4-5").count("hello")
    assert len(server.asked) == 3


def test_an_empty_text_is_not_sent(server: Server) -> None:
    assert endpoint(server).count(" \n").tokens == 0
    assert server.asked == []


def test_a_refusal_is_shown_without_the_key(server: Server) -> None:
    server.answers[:] = [(401, f'{{"error": {{"message": "bad key {KEY}\\nsee there"}}}}'.encode(), {})]
    with pytest.raises(MemctlError) as caught:
        endpoint(server).count("hello")
    assert "refused the request (401): bad key (the key) see there" in caught.value.message
    assert KEY not in caught.value.message


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: Server, code: int) -> None:
    other = Server()
    server.answers[:] = [(code, b"", {"location": f"{other.address}/v1/messages/count_tokens"})]
    with pytest.raises(MemctlError, match="redirects to another address"):
        endpoint(server).count("hello")
    other.server_close()
    assert other.asked == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"input_tokens": "x"}', b'{"tokens": 3}', b"\xff"])
def test_answer_without_a_count_is_an_error(server: Server, body: bytes) -> None:
    server.answers[:] = [(200, body, {})]
    with pytest.raises(MemctlError, match="not a token count"):
        endpoint(server).count("hello")
    server.answers[:] = [(500, body, {})]
    with pytest.raises(MemctlError, match=r"refused the request \(500\): it gave no reason"):
        endpoint(server).count("hello")


def test_unreachable_server_is_an_error(server: Server) -> None:
    asking = Endpoint(MODEL, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    with pytest.raises(MemctlError, match=r"127\.0\.0\.1:9 can't be reached"):
        asking.count("hello")


def test_a_text_with_a_credential_is_not_sent_unless_allowed(server: Server) -> None:
    text = "fine\nkey: sk-ant-" + "a1" * 20
    with pytest.raises(MemctlError, match=r"line 2 looks like a credential \(Anthropic key, sk-a…\)"):
        endpoint(server).count(text)
    assert server.asked == []
    assert endpoint(server).count(text, allow_secret=True).tokens == 14


@pytest.mark.parametrize("environ", [{}, {"ANTHROPIC_API_KEY": " "}, {"ANTHROPIC_API_KEY": "a\nb"}])
def test_without_a_key_nothing_is_asked(environ: dict[str, str]) -> None:
    with pytest.raises(MemctlError, match="ANTHROPIC_API_KEY") as caught:
        Endpoint(MODEL, environ)
    assert caught.value.exit_code == USAGE


@pytest.mark.parametrize(
    "base", ["http://example.com", "ftp://localhost", "https://", "nonsense", "https://me:x@example.com", "http://[::1"]
)
def test_the_key_goes_only_over_an_encrypted_way_or_to_this_machine(base: str) -> None:
    with pytest.raises(MemctlError, match="ANTHROPIC_BASE_URL"):
        Endpoint(MODEL, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": base})


@pytest.mark.parametrize("model", ["claude", "claude-4.5", "gpt", "gpt-5"])
def test_the_endpoint_counts_for_claude_models_only(model: str) -> None:
    with pytest.raises(MemctlError, match="not the name of a Claude model") as caught:
        Endpoint(model, {"ANTHROPIC_API_KEY": KEY})
    assert caught.value.exit_code == USAGE
