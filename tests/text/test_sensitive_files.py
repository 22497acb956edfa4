"""What never enters. Samples of credentials are put together at run time: none stands in this file."""

from __future__ import annotations

import pytest

from memctl.text import sensitive_files

KEY = "AK" + "IA" + "QWERTYUIOPASDFGH"


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "app/.env.production", "prod.env", "certs/server.pem", "server.key", "id_rsa", ".ssh/id_ed25519"),
        *("deploy_id_rsa", "credentials.json", "config/secrets.yaml", "aws-credentials", ".netrc", ".npmrc", "x.p12"),
        *("terraform.tfstate", "terraform.tfstate.backup", "service-account-prod.json", ".git-credentials", ".ENV"),
    ],
)
def test_files_with_secrets_are_known_by_their_names(path: str) -> None:
    assert sensitive_files.has_secret_name(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", "id_rsa.pub", "secrets.py", "credentials.go", "environment.ts", "keys.py"),
        *("docs/secrets.md", "monkey.txt", "src/.env/app.py", "pem.py", "keyboard.json", "test_credentials.py"),
    ],
)
def test_harmless_names_similar_to_secret_ones_are_accepted(path: str) -> None:
    assert not sensitive_files.has_secret_name(path)


def test_credential_at_any_place_in_a_text_is_found() -> None:
    assert "AWS access key" in sensitive_files.refusal_of_text(f"a\nkey = '{KEY}'\nb\n")
    assert sensitive_files.refusal_of_text("a\n" * 1_000) == ""


@pytest.mark.parametrize("before", [0, 2_990, 3_000, 3_990, 4_000, 6_995, 50_000])
def test_credential_in_a_long_line_is_found(before: int) -> None:
    assert "AWS access key" in sensitive_files.refusal_of_text("x" * before + f" '{KEY}' " + "y" * 9_000)


@pytest.mark.parametrize(("content", "is_binary"), [(b"\x89PNG\0\0", True), (b"text \xff\xfe", False), (b"", False)])
def test_file_with_a_nul_byte_is_binary(content: bytes, is_binary: bool) -> None:
    assert sensitive_files.is_binary(content) == is_binary


@pytest.mark.parametrize(
    "text",
    [
        'k = "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"',
        '{"auths": {"x": {"auth": "dXNlcjpwYXNzd29yZA=="}}}',
        "spring.datasource.password=Tr0ub4dor3",
        'password = "hunter2!Xy9#"',
        'DATABASE_PASSWORD: "Zx9!kkQ2mmP"',
        "Authorization: Bearer abcdef0123456789abcdef",
        "SECRET_KEY=abc123def456ghi",
    ],
)
def test_value_assigned_to_a_password_is_a_secret(text: str) -> None:
    assert sensitive_files.refusal_of_text(f"a\n{text}\nb\n")


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password(request)",
        'api_key: str = ""',
        'secret = os.environ["SECRET"]',
        "password: str | None = None",
        "PASSWORD=${DB_PASSWORD}",
        'password = "changeme-123"',
        "The password is asked for. An api key 2 things need.",
        'if password == "":',
    ],
)
def test_code_that_handles_passwords_is_no_credential(text: str) -> None:
    assert not sensitive_files.refusal_of_text(text)
