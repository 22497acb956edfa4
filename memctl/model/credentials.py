"""Text that looks like a credential.

The detectors are those of detect-secrets for providers' tokens, private keys and JWTs; its entropy detectors flag
ordinary prose. Importing it takes 180 ms, so a cheap pattern that covers the same shapes decides whether to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

# Anthropic's and Google's keys, which detect-secrets does not know.
_ANTHROPIC = re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}")
_GOOGLE = re.compile(r"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])")
_DETECTORS = (
    "artifactory.ArtifactoryDetector",
    "aws.AWSKeyDetector",
    "azure_storage_key.AzureStorageKeyDetector",
    "basic_auth.BasicAuthDetector",
    "cloudant.CloudantDetector",
    "discord.DiscordBotTokenDetector",
    "github_token.GitHubTokenDetector",
    "gitlab_token.GitLabTokenDetector",
    "ibm_cloud_iam.IbmCloudIamDetector",
    "ibm_cos_hmac.IbmCosHmacDetector",
    "jwt.JwtTokenDetector",
    "mailchimp.MailchimpDetector",
    "npm.NpmDetector",
    "openai.OpenAIDetector",
    "private_key.PrivateKeyDetector",
    "pypi_token.PypiTokenDetector",
    "sendgrid.SendGridDetector",
    "slack.SlackDetector",
    "softlayer.SoftlayerDetector",
    "square_oauth.SquareOAuthDetector",
    "stripe.StripeDetector",
    "telegram_token.TelegramBotTokenDetector",
    "twilio.TwilioKeyDetector",
)
# Every shape that these find, but for Artifactory's AP… without a digit (words look like that); a test compares them.
_SHAPES = (
    r"(?-i:\bAKC[a-zA-Z0-9]{10}|\bAP(?=\w*\d)[\dA-F][a-zA-Z0-9]{8}|(?:A3T|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16})"
    r"|aws.{0,48}[\"'][0-9a-z/+]{40}|AccountKey=|://[^:/\s]+:[^/\s]+@|[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}"
    r"|gh[pousr]_\w{36}|gl[a-z]{2,6}-[\w-]{20}|GR1348941|eyJ[\w-]{2,}|[0-9a-z]{32}-us\d|_authToken|sk-[\w-]{20}"
    r"|PRIVATE KEY|PuTTY-User-Key|pypi-Ag|SG\.[\w-]{22}\.|xox[abposr]-|hooks\.slack\.com|api\.softlayer\.com|sq0csp-"
    r"|[rs]k_live_|AIza[\w-]{35}|\d{8,10}:[\w-]{35}|(?:AC|SK)[a-z0-9]{32}"
    r"|(?:key|pwd|pw|password|pass|token)[\"'\]]{0,2}[:=> ]{1,8}[\"']?[\w-]{24}"
)

_LONG = b"w" * 20
# What tokens are made of becomes `w`, anything else a space: so `find` comes upon long words ten times as fast as `re`.
_MARKED = bytes(ord("w") if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "_+/=.:@-") else 32 for c in range(256))
_HARMLESS = re.compile(  # paths and names in small letters, numbered or not, ids, times, UUIDs
    rb"(?:[a-z]{0,19}\d{0,3}[/._:-])*[a-z]{0,19}\d{0,3}|(?:DEC|ISS|STA|LRN)-\d{4}-\d\d-\d\d-\d{3,}[.:]?|\d{4}-\d\d-\d\dT[\d:]+Z?"
    rb"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
# By a character without which they can't be there: it is found ten times as fast. A password in a URL ends with @.
_PHRASES = {b"K": (b"PRIVATE KEY", b"PuTTY-User-Key", b"AKC"), b"P": (b"AP",), b"@": (b"://",)}


def kind_of_secret(line: str) -> str:
    """What kind of credential a line contains, or ""."""
    return _kind_of(line) if is_suspicious(line) else ""


def is_suspicious(text: str) -> bool:
    """Whether a text of many lines may contain a credential: much faster than looking at each line.

    Every shape has a word of 20 characters or more that is not made of small letters alone, or one of some phrases.
    """
    return any(True for _ in suspicious_lines(text))


def suspicious_lines(text: str) -> Iterator[str]:
    """The lines of a text that may contain a credential; some are told more than once."""
    data = text.encode(errors="replace")
    seen = (0, 0)
    for position in _odd_places(data):
        if not seen[0] <= position < seen[1]:
            seen = _line_around(data, position)
            line = data[seen[0] : seen[1]].decode()
            if _suspicious().search(line):
                yield line


def _odd_places(data: bytes) -> Iterator[int]:
    """Where long words that are not harmless begin, and phrases."""
    marked = data.translate(_MARKED) + b" "
    start = marked.find(_LONG)
    while start >= 0:
        end = marked.index(b" ", start)
        if _HARMLESS.fullmatch(data, start, end) is None:
            yield start
        start = marked.find(_LONG, end)
    for phrase in chain.from_iterable(phrases for character, phrases in _PHRASES.items() if character in data):
        start = data.find(phrase)
        while start >= 0:
            yield start
            start = data.find(phrase, start + len(phrase))


@cache
def _suspicious() -> re.Pattern[str]:
    return re.compile(_SHAPES, re.IGNORECASE)  # 2 ms, and most text has nothing of the sort


def _line_around(data: bytes, position: int) -> tuple[int, int]:
    end = data.find(b"\n", position)
    return data.rfind(b"\n", 0, position) + 1, len(data) if end < 0 else end


def _kind_of(line: str) -> str:
    if _ANTHROPIC.search(line):
        return "Anthropic key"
    if _GOOGLE.search(line):
        return "Google API key"
    return next((str(d.secret_type) for d in _detectors() if any(True for _ in d.analyze_string(line))), "")


@cache
def _detectors() -> tuple[Any, ...]:
    names = (name.split(".") for name in _DETECTORS)
    return tuple(getattr(import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in names)
