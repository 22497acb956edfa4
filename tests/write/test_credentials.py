"""Credentials are refused before they are written. Samples are put together at run time: none stands in this file."""

from __future__ import annotations

import base64
import json
import string

import pytest

from memctl.errors import MemctlError
from memctl.record.change import Change, Write
from memctl.write.credentials import refuse

HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
MIXED = string.ascii_letters + string.digits


def change(*writes: Write) -> Change:
    return Change(op="decide", title="", writes=writes)


def some(alphabet: str, length: int) -> str:
    """So many characters of an alphabet, in no order that the eye would see."""
    return "".join(alphabet[(place * place * 7 + place * 11 + 3) % len(alphabet)] for place in range(length))


def encoded(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def token_of_claims() -> str:
    return ".".join([encoded({"alg": "HS256", "typ": "JWT"}), encoded({"sub": "1234567890"}), some(MIXED, 43)])


SAMPLES = {
    "artifactory-token": ("Artifactory Credentials", "AK" + "C" + some(MIXED, 64)),
    "artifactory-password": ("Artifactory Credentials", "A" + "P5" + some(MIXED, 40)),
    "aws-access-key": ("AWS Access Key", "AK" + "IA" + some(string.ascii_uppercase + string.digits, 16)),
    "aws-temporary-key": ("AWS Access Key", "AS" + "IA" + some(string.ascii_uppercase + string.digits, 16)),
    "aws-old-key": ("AWS Access Key", "A3" + "TX" + some(string.ascii_uppercase + string.digits, 16)),
    "aws-secret": ("AWS Access Key", "aws_secret_access_" + f'key = "{some(MIXED, 40)}"'),
    "azure": ("Azure Storage Account access key", "Account" + "Key=" + some(MIXED + "+/", 86) + "=="),
    "basic-auth": ("Basic Auth Credentials", "postgres://shop:" + some(MIXED, 12) + "@db.example.org/shop"),
    "cloudant-password": ("Cloudant Credentials", "cloudant_" + "password=" + some(HEX, 64)),
    "discord": ("Discord Bot Token", "M" + some(MIXED, 23) + "." + some(MIXED, 6) + "." + some(MIXED, 27)),
    "github": ("GitHub Token", "gh" + "p_" + some(MIXED, 36)),
    "github-app": ("GitHub Token", "gh" + "s_" + some(MIXED, 36)),
    "gitlab": ("GitLab Token", "gl" + "pat-" + some(MIXED, 20)),
    "gitlab-runner": ("GitLab Token", "GR" + "1348941" + some(MIXED, 20)),
    "gitlab-ci": ("GitLab Token", "gl" + "cbt-" + some(MIXED, 20)),
    "gitlab-mail": ("GitLab Token", "gl" + "imt-" + some(LOWER, 25)),
    "gitlab-trigger": ("GitLab Token", "gl" + "ptt-" + some(HEX, 40)),
    "gitlab-agent": ("GitLab Token", "gl" + "agent-" + some(MIXED, 50)),
    "gitlab-oauth": ("GitLab Token", "gl" + "oas-" + some(HEX, 64)),
    "ibm-cloud": ("IBM Cloud IAM Key", "ibm_cloud_api_" + "key: " + some(MIXED + "_-", 44)),
    "ibm-cloud-json": ("IBM Cloud IAM Key", '"api' + 'key": "' + some(MIXED, 44) + '"'),
    "ibm-cloud-ruby": ("IBM Cloud IAM Key", "['cloud-iam-" + "password'] => '" + some(MIXED, 44) + "'"),
    "ibm-hmac": ("IBM COS HMAC Credentials", "secret_access_" + "key: " + some(HEX, 48)),
    "jwt": ("JSON Web Token", token_of_claims()),
    "mailchimp": ("Mailchimp Access Key", some(HEX, 32) + "-us" + "12"),
    "npm": ("NPM tokens", "//registry.npmjs.org/:_auth" + "Token=npm_" + some(MIXED, 36)),
    "npm-uuid": ("NPM tokens", "//registry.example.org/:_auth" + "Token=" + some(HEX, 36)),
    "openai": ("OpenAI Token", "sk" + "-" + some(MIXED, 20) + "T3Blbk" + "FJ" + some(MIXED, 20)),
    "openai-project": ("OpenAI Token", "sk" + "-proj-x-" + some(MIXED, 20) + "T3Blbk" + "FJ" + some(MIXED, 20)),
    "anthropic": ("Anthropic key", "sk" + "-ant-api03-" + some(MIXED + "_-", 90)),
    "private-key": ("Private Key", "-----BEGIN " + "RSA PRIVATE" + " KEY-----\n" + some(MIXED, 64)),
    "openssh-key": ("Private Key", "-----BEGIN " + "OPENSSH PRIVATE" + " KEY-----\n" + some(MIXED, 64)),
    "pgp-key": ("Private Key", "-----BEGIN " + "PGP PRIVATE" + " KEY BLOCK-----\n\n" + some(MIXED, 64)),
    "putty-key": ("Private Key", "PuTTY-User" + "-Key-File-2: ssh-rsa"),
    "pypi": ("PyPI Token", "pypi" + "-AgEIcHlwaS5vcmc" + some(MIXED, 80)),
    "pypi-test": ("PyPI Token", "pypi" + "-AgENdGVzdC5weXBpLm9yZw" + some(MIXED, 80)),
    "sendgrid": ("SendGrid API Key", "S" + "G." + some(MIXED, 22) + "." + some(MIXED, 43)),
    "slack": ("Slack Token", "xo" + "xb-123456789012-" + some(LOWER, 24)),
    "slack-url": ("Slack Token", "https://hooks" + ".slack.com/services/T" + some(MIXED, 8) + "/B0/" + some(MIXED, 24)),
    "softlayer": ("SoftLayer Credentials", "softlayer_api_" + "key = " + some(LOWER, 64)),
    "softlayer-url": ("SoftLayer Credentials", "https://api" + ".softlayer.com/soap/v3/" + some(LOWER, 64)),
    "square": ("Square OAuth Secret", "sq0" + "csp-" + some(MIXED, 43)),
    "stripe": ("Stripe Access Key", "sk" + "_live_" + some(MIXED, 24)),
    "stripe-restricted": ("Stripe Access Key", "rk" + "_live_" + some(MIXED, 24)),
    "telegram": ("Telegram Bot Token", "110201543" + ":" + some(MIXED, 35)),
    "twilio-account": ("Twilio API Key", "A" + "C" + some(HEX, 32)),
    "twilio-key": ("Twilio API Key", "S" + "K" + some(HEX, 32)),
}  # fmt: skip

PROSE = """
Adopt PostgreSQL 16 for orders: the password policy stays as it is, and the API key lives in the vault.
The token is read from the environment (`API_TOKEN`), never from a file; `password: ${DB_PASSWORD}` in compose.
Commit 9ce55f7d0c1b2a3948576c6d7e8f90123456789a broke it; bisected from 4b825dc642cb6eb9a060e54bf8d69288fbee4904.
memory_id: 019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90
key: 019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 token e3b0c44298fc1c149afbf4c8996fb924
checksum key = e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
See https://example.org:8443/guide?page=2#part, ssh://git@github.com:22/org/repo.git and git@github.com:org/repo.git
Ask ada@example.org; http://localhost:8080/ answers 404. postgres://db.example.org:5432/shop needs no login here.
postgres://user:${PASSWORD}@db/shop is filled in by the start script.
The primary key is (order_id, line_no); foreign_key: orders_customer_id_fk_2025_11_04_deferred
public key pinning, key rotation, passkeys, tokenizers, a pass over all tokens, and the key-value-store-of-the-team
src/tokens/families.py:10 memctl/write/credentials.py tests/write/test_credentials.py::test_prose
APACHE LICENSE APPLICATION AKC ACCOUNTKEY AWS ASIA-PACIFIC SKU-12345 task-force risk-assessment-of-the-new-design
eyJ is how a JSON Web Token begins; sk- begins a key; xox begins a Slack token; SG. is SendGrid's.
Run 20251104:143200 took 12345678 ms: see log-2025-11-04T14-32-00Z-worker-03-attempt-0001.txt
DEC-2025-11-04-003 supersedes DEC-2025-11-01-001; ISS-2025-11-04-012 blocks it. Version v1.2.3-rc.4+build.5678
[N]o[O]ther[M]eans.of.transport MNOabcdefghijklmnopqrstuv.wxyz.tooshort
- [ ] rotate the password every 90 days; `passwd --expire USER`; token: none; password: changeme
"""


def record(body: str, title: str = "Adopt it") -> str:
    return f"---\nid: DEC-2025-11-04-001\ntitle: {title}\n---\n\n{body}"


@pytest.mark.parametrize("name", SAMPLES)
def test_write_with_a_sample_credential_is_refused_without_printing_it(name: str) -> None:
    _, sample = SAMPLES[name]
    with pytest.raises(MemctlError) as caught:
        refuse(change(Write("x.md", record(f"## Rationale\n\nwe use {sample} now\n"))))
    assert caught.value.message.startswith("Rationale: line 1 ")
    assert sample[-5:] not in caught.value.message + (caught.value.hint or "")
    assert caught.value.hint == "remove the credential"  # how to let it pass, a command says that can


@pytest.mark.parametrize("line", [line for line in PROSE.split("\n") if line], ids=range(PROSE.strip().count("\n") + 1))
def test_ordinary_text_is_not_flagged(line: str) -> None:
    refuse(change(Write("x.md", record(line), None), Write("y.md", record("", line), None)))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (record("", SAMPLES["github"][1]), "title"),
        (record(SAMPLES["github"][1]), "body"),
        (record(f"## Context\n\n```\n## x\n{SAMPLES['github'][1]}\n"), "Context"),
        (f"no front matter: {SAMPLES['github'][1]}", "body"),
    ],
)
def test_refusal_names_the_field_with_the_credential(text: str, field: str) -> None:
    with pytest.raises(MemctlError, match=f"^{field}: "):
        refuse(change(Write("x.md", text)))


def test_unchanged_line_with_a_credential_is_accepted() -> None:
    old = record(f"## Context\n\n{SAMPLES['github'][1]}\n")
    refuse(change(Write("x.md", old.replace("Adopt", "Drop"), old)))


def test_a_secret_moved_into_another_line_is_refused() -> None:
    old = record(f"{SAMPLES['github'][1]}\n")
    with pytest.raises(MemctlError):
        refuse(change(Write("x.md", record(f"- {SAMPLES['github'][1]}\n"), old)))


def test_credential_in_one_of_several_writes_is_found() -> None:
    with pytest.raises(MemctlError, match="Stripe"):
        refuse(change(Write("x.md", record("fine\n")), Write("y.md", record(SAMPLES["stripe"][1]))))
