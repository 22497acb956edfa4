"""Credentials as vendors' documentation describes them, put together at run time: none stands in this file.

They are written by hand, not taken from the rules: what is tested does not say what it is tested with.
"""

from __future__ import annotations

import base64
import json
import random
import string

_HEX = "0123456789abcdef"
_LOW = string.ascii_lowercase + string.digits
_UP = string.ascii_uppercase + string.digits
_MIX = string.ascii_letters + string.digits


def some(alphabet: str, length: int, seed: int = 1) -> str:
    """So many random characters, with a digit and a letter among them where the alphabet has both."""
    chance = random.Random(f"{alphabet}{length}{seed}")
    made = "".join(chance.choice(alphabet) for _ in range(length))
    if length > 4 and set(alphabet) & set(string.digits) and set(alphabet) & set(string.ascii_letters):
        made = made[:2] + "7" + made[3:-2] + next(c for c in alphabet if c.isalpha()) + made[-1]
    return made


def x(length: int) -> str:
    return some(_MIX, length)


def h(length: int) -> str:
    return some(_HEX, length)


def lower(length: int) -> str:
    return some(_LOW, length)


def upper(length: int) -> str:
    return some(_UP, length)


def digits(length: int) -> str:
    return some(string.digits, length)


def uuid() -> str:
    return "-".join(h(n) for n in (8, 4, 4, 4, 12))


def _part(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


JWT = ".".join([_part({"alg": "HS256", "typ": "JWT"}), _part({"sub": "1234567890", "name": "Ada"}), x(43)])
PASSWORD = "Tr0ub" + "4dor&3x"
BODY = "\n".join(some(_MIX + "+/", 64, seed) for seed in range(5)) + "\n" + some(_MIX, 22) + "=="


def pem(kind: str) -> str:
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{BODY}\n-----END {kind}PRIVATE KEY-----"


# Of each family some texts, each with the part that must not be left.
SHAPES: dict[str, list[tuple[str, str]]] = {}


def add(family: str, secret: str, text: str = "{}") -> None:
    SHAPES.setdefault(family, []).append((text.replace("{}", secret), secret))


for prefix in ("ghp", "gho", "ghu", "ghs", "ghr"):
    add("GitHub", f"{prefix}_" + x(36))
add("GitHub", "github" + "_pat_11" + upper(20) + "_" + x(59), "the token is {}")
for prefix in ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "GR" + "1348941"):
    add("GitLab", prefix + x(20))
add("OpenAI", "sk" + "-" + x(20) + "T3Blbk" + "FJ" + x(20))
add("OpenAI", "sk" + "-proj-" + x(48), "OPENAI_API_KEY={}")
add("OpenAI", "sk" + "-svcacct-" + x(60))
add("OpenAI", "sk" + "-admin-" + x(60))
add("Anthropic", "sk" + "-ant-api03-" + x(93) + "AA")
add("OpenRouter", "sk" + "-or-v1-" + h(64))
add("Groq", "gsk" + "_" + x(52))
add("xAI", "xai" + "-" + x(80))
add("Replicate", "r8" + "_" + x(37))
add("Perplexity", "pplx" + "-" + x(48))
add("Hugging Face", "hf" + "_" + some(string.ascii_letters, 34))
add("AWS", "AK" + "IA" + upper(16))
add("AWS", "AS" + "IA" + upper(16))
for form in ("AWS_SECRET_ACCESS_KEY={}", "aws_secret_access_key = {}", "aws_secret_access_key: {}",
             '"SecretAccessKey": "{}"', "aws configure set aws_secret_access_key {}"):  # fmt: skip
    add("AWS", some(_MIX + "/+", 40), form)
add("Google", "AI" + "za" + x(35))
add("Google", "ya29" + "." + x(120))
add("Google", "GOC" + "SPX-" + x(28))
for kind in ("b", "p"):
    add("Slack", f"xox{kind}-" + digits(12) + "-" + digits(13) + "-" + x(24))
add("Slack", "xapp" + "-1-" + upper(11) + "-" + digits(13) + "-" + h(64))
add("Slack", "xoxe" + "-1-" + x(146))
add("Slack webhook", "T" + upper(9) + "/B" + upper(9) + "/" + x(24), "https://hooks" + ".slack.com/services/{}")
add("Discord webhook", digits(18) + "/" + x(68), "https://discord" + ".com/api/webhooks/{}")
add("Discord bot", "M" + x(23) + "." + x(6) + "." + x(27))
add("npm", "npm" + "_" + x(36))
add("npm", x(36), "//registry.npmjs.org/:_auth" + "Token={}")
add("PyPI", "pypi" + "-AgEIcHlwaS5vcmc" + x(80))
add("Stripe", "sk" + "_live_" + x(24))
add("Stripe", "rk" + "_live_" + x(24))
add("Stripe", "wh" + "sec_" + x(32))
for letter in "por":
    add("DigitalOcean", f"do{letter}_v1_" + h(64))
add("Docker", "dckr" + "_pat_" + x(27))
add("Databricks", "da" + "pi" + h(32))
for kind in ("at", "ca", "pa", "ss"):
    add("Shopify", f"shp{kind}_" + h(32))
add("Linear", "lin" + "_api_" + x(40))
add("Vault", "hvs" + "." + x(90))
add("Vault", "s" + "." + x(24), "VAULT_TOKEN={}")
add("Grafana", "glsa" + "_" + x(32) + "_" + h(8))
add("Grafana", "glc" + "_" + x(80))
add("New Relic", "NR" + "AK-" + upper(27))
add("Azure storage", x(86) + "==", "DefaultEndpointsProtocol=https;AccountName=shop;Account" + "Key={}")
add("Azure SAS", x(43) + "%3D", "https://shop.blob.core.windows.net/a?sv=2024-11-04&s" + "ig={}")
add("Azure client secret", x(3) + "8Q" + "~" + x(34))
add("age", "AGE-SECRET" + "-KEY-1" + some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
add("hexadecimal private key", "0x" + h(64), "PRIVATE_KEY={}")
add("hexadecimal private key", h(64), "private key: {}")
for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
    add("PEM", BODY, pem(kind).replace(BODY, "{}"))
add("PEM", BODY, "-----BEGIN " + "RSA PRIVATE" + " KEY-----\n{}")
add("PEM", BODY.replace("\n", "\\n"), '{"private_key": "-----BEGIN ' + "PRIVATE" + ' KEY-----\\n{}\\n"}')
add("PGP", BODY, "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n{}\n-----END PGP " + "PRIVATE KEY BLOCK-----")
add("PuTTY", BODY, "PuTTY-User" + "-Key-File-3: ssh-ed25519\nPrivate-Lines: 6\n{}\nPrivate-MAC: " + h(64))
add("JSON Web Token", JWT)
add("JSON Web Token", JWT, "curl -H 'Authorization: Bearer {}'")
add("URL password", PASSWORD, "postgres://shop:{}@db.example.org:5432/shop")
add("URL password", PASSWORD, "redis://:{}@cache:6379/0")
add("URL password", PASSWORD, "https://ada:{}@git.example.org/a.git")
add("Authorization", x(32), "Authorization: Bearer {}")
add("Authorization", base64.b64encode(b"ada:hunter2hunter2").decode(), "Authorization: Basic {}")
add("Authorization", x(40), "'authorization': 'token {}'")
add("password", PASSWORD, "PGPASSWORD={} psql")
add("password", PASSWORD, "password: {}")
add("password", PASSWORD, "password = '{}'")
add("password", PASSWORD, '"password": "{}"')
add("password", PASSWORD, '{\\"password\\": \\"{}\\"}')
add("password", "correct-horse" + "-battery", "passphrase: {}")
add("password in words", "hunt" + "er2", "the password is {}.")
add("password in words", PASSWORD, "The passphrase was {}, rotate it")
add("Django", "k#9z(x_v&@" + x(30) + "!", "SECRET_KEY = '{}'")
add("API key", x(32), "api_key = {}")
add("API key", h(32), "X-Api-Key: {}")
add("token", x(40), "TOKEN={}")
add("token", x(40), "access_token: {}")
add("client secret", x(40), "client_secret: {}")
add("curl", PASSWORD, "curl -u ada:{} https://example.org")
add("sshpass", PASSWORD, "sshpass -p {} ssh host")
add("sshpass", PASSWORD, "sshpass -p '{}' ssh host")
add("mysql", PASSWORD, "mysql -u root -p{} shop")
add("docker login", PASSWORD, "docker login -u ada -p {} registry.example.org")
add("redis-cli", PASSWORD, "redis-cli -a {} ping")
add("command option", PASSWORD, "tool --password {}")
add("netrc", PASSWORD, "machine example.org login ada password {}")
add("XML", PASSWORD, "<password>{}</password>")
add("SQL", PASSWORD, "CREATE USER ada IDENTIFIED BY '{}'")
add("1Password", "ops" + "_eyJ" + x(300))
add("Airtable", "pat" + x(14) + "." + h(64))
add("Atlassian", "ATA" + "TT3xFfGF0" + x(180))
add("Asana", "1/1" + digits(15) + ":" + h(32))
add("Bitbucket", "AT" + "BB" + x(32))
add("Buildkite", "bkua" + "_" + lower(40))
add("CircleCI", "CCI" + "PAT_" + x(22) + "_" + h(40))
add("Clojars", "CLO" + "JARS_" + lower(60))
add("Cloudflare", x(40), "CLOUDFLARE_API_TOKEN={}")
add("Contentful", "CFP" + "AT-" + x(43))
add("crates.io", "ci" + "o" + x(32))
add("Datadog", h(40), "DD_APP_KEY={}")
add("Doppler", "dp" + ".pt." + x(43))
add("Dynatrace", "dt0" + "c01." + upper(24) + "." + upper(64))
add("EasyPost", "EZ" + "AK" + x(54))
add("Figma", "fig" + "d_" + x(40))
add("Fly.io", "fm2" + "_" + x(120))
add("Heroku", uuid(), "HEROKU_API_KEY={}")
add("HubSpot", "pat" + "-na1-" + uuid())
add("Infracost", "ico" + "-" + x(32))
add("LangSmith", "lsv2" + "_pt_" + h(32) + "_" + h(10))
add("Mailchimp", h(32) + "-us" + "12")
add("Mailgun", "key" + "-" + h(32))
add("MaxMind", x(6) + "_" + x(29) + "_mm" + "k")
add("Netlify", "nf" + "p_" + x(36))
add("Notion", "nt" + "n_" + x(46))
add("NuGet", "oy" + "2" + lower(43))
add("Okta", "00" + x(40), "OKTA_TOKEN={}")
add("PlanetScale", "pscale" + "_tkn_" + x(43))
add("Postman", "PM" + "AK-" + h(24) + "-" + h(34))
add("Pulumi", "pul" + "-" + h(40))
add("RubyGems", "ruby" + "gems_" + h(48))
add("SendGrid", "S" + "G." + x(22) + "." + x(43))
add("Sentry", "sntryu" + "_" + h(64))
add("SonarQube", "sq" + "u_" + h(40))
add("Square", "sq0" + "csp-" + x(43))
add("Supabase", "sb" + "p_" + h(40))
add("Tailscale", "ts" + "key-auth-" + x(12) + "CNTRL-" + x(32))
add("Telegram", digits(10) + ":AA" + x(33))
add("Terraform Cloud", x(14) + ".atlas" + "v1." + x(67))
add("Twilio", "S" + "K" + h(32))
add("Typeform", "tf" + "p_" + x(59))
add("Brevo", "xkey" + "sib-" + h(64) + "-" + x(16))
ALL = [(family, text, secret) for family, shapes in SHAPES.items() for text, secret in shapes]
