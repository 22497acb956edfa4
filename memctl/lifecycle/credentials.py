"""Keeping credentials out of the history: text that looks like one is refused before it is written.

The detectors are those of detect-secrets for providers' tokens, private keys and JWTs; its entropy detectors flag
ordinary prose. Importing it takes 180 ms, so a cheap pattern that covers the same shapes decides whether to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from memctl.errors import MemctlError
from memctl.model import frontmatter, sections
from memctl.model.change import Change
from memctl.model.malformed import Malformed

# Anthropic's keys, which detect-secrets does not know.
_ANTHROPIC = re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}")
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
_SUSPICIOUS = re.compile(
    r"(?-i:\bAKC[a-zA-Z0-9]{10}|\bAP(?=\w*\d)[\dA-F][a-zA-Z0-9]{8}|(?:A3T|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16})"
    r"|aws.{0,48}[\"'][0-9a-z/+]{40}|AccountKey=|://[^:/\s]+:[^/\s]+@|[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}"
    r"|gh[pousr]_\w{36}|gl[a-z]{2,6}-[\w-]{20}|GR1348941|eyJ[\w-]{2,}|[0-9a-z]{32}-us\d|_authToken|sk-[\w-]{20}"
    r"|PRIVATE KEY|PuTTY-User-Key|pypi-Ag|SG\.[\w-]{22}\.|xox[abposr]-|hooks\.slack\.com|api\.softlayer\.com|sq0csp-"
    r"|[rs]k_live_|\d{8,10}:[\w-]{35}|(?:AC|SK)[a-z0-9]{32}"
    r"|(?:key|pwd|pw|password|pass|token)[\"'\]]{0,2}[:=> ]{1,8}[\"']?[\w-]{24}",
    re.IGNORECASE,
)


def refuse(change: Change) -> None:
    """Raise MemctlError, naming field and kind of secret, if a change adds what looks like a credential.

    What the commit says counts too. Lines that a file had before are not complained of again.
    """
    for field, line in _added(change):
        if _SUSPICIOUS.search(line) and (kind := kind_of_secret(line)):
            raise MemctlError(
                f"{field}: this looks like a credential ({kind}); it would stay in the history for ever",
                "take it out, or let this one write pass with --allow-secret",
            )


def _added(change: Change) -> Iterator[tuple[str, str]]:
    yield from (
        ("reason", change.reason),
        ("title", change.title),
        ("session", change.session),
        ("actor", change.actor),
    )
    for write in change.writes:
        old = set(write.old.split("\n")) if write.old else set()
        yield from ((field, line) for field, line in _lines(write.text) if line not in old)


def kind_of_secret(line: str) -> str:
    """What kind of credential a line contains, or ""."""
    if _ANTHROPIC.search(line):
        return "Anthropic key"
    return next((str(d.secret_type) for d in _detectors() if any(True for _ in d.analyze_string(line))), "")


@cache
def _detectors() -> tuple[Any, ...]:
    names = (name.split(".") for name in _DETECTORS)
    return tuple(getattr(import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in names)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a record file, each with the field it belongs to."""
    try:
        blocks = frontmatter.blocks(text)
        rest = frontmatter.split(text)[1]
    except Malformed:
        blocks, rest = (), text
    for block in blocks:
        yield from ((block.key, line) for line in block.text.split("\n"))
    for section in sections.split(rest):
        yield from ((section.heading or "body", line) for line in section.text.split("\n"))
