"""One finder of credentials: what it finds, what it lets be, and that no text keeps it long."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.record.change import Change, Write
from memctl.text.characters import redacted_line
from memctl.text.credentials import describe, find, lines, redact, rules
from memctl.write.credentials import refuse
from tests.conftest import Memctl, every
from tests.text.examples import expand
from tests.text.secrets import ALL, BODY, JWT, PASSWORD, SHAPES, digits, h, lower, pem, x

_FOLDER = Path(__file__).parent
# A text on a line, `\n` in it is a line's end; of plain secrets, each stands in «».
HARMLESS, PLAIN = (
    [line.replace("\\n", "\n") for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines()]
    for name in ("harmless.txt", "plain_secrets.txt")
)


def test_samples_cover_enough_credential_shapes() -> None:
    assert len(ALL) >= 120
    assert len(SHAPES) >= 60
    assert len(rules.table()) >= 220


@pytest.mark.parametrize("family", SHAPES)
def test_a_write_of_a_credential_is_refused_without_repeating_it(family: str) -> None:
    for text, secret in SHAPES[family]:
        body = f"---\nid: DEC-2025-11-04-001\ntitle: It\n---\n\n## Rationale\n\nbefore\n{text}\nafter\n"
        with pytest.raises(MemctlError) as caught:
            refuse(Change(op="decide", title="", writes=(Write("x.md", body),)))
        assert caught.value.message.startswith("Rationale: line "), text
        assert secret[:5] not in caught.value.message
        assert caught.value.hint == "remove the credential"  # how to let it pass, a command says that can


@pytest.mark.parametrize("family", SHAPES)
def test_redacted_transcript_contains_no_part_of_a_credential(family: str) -> None:
    for text, secret in SHAPES[family]:
        for made in (redact(f"I ran this:\n{text}\nand it failed"), redacted_line(f"I ran {text} and it failed")):
            pieces = [secret] if "\n" not in secret else secret.split("\n")
            assert not [piece for piece in pieces if piece in made or secret[-4:] in made], made
            assert "and it failed" in made
            assert "[redacted: " in made


@pytest.mark.parametrize("number", range(0, len(ALL), 13))
def test_learn_refuses_every_found_credential_with_the_option_named(memctl: Memctl, number: int) -> None:
    family, text, _ = ALL[number]
    result = memctl("learn", f"Of {family}", "--lesson", f"We use\n{text}", code=1)
    assert "looks like a credential" in result.err
    assert "give --allow-secret to accept this text" in result.err


def test_command_without_allow_secret_does_not_suggest_the_option(memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--overview", "Has code.")
    for command in (["coordination", "join", "--task"], ["own", "acquire", "2.1", "--reason"]):
        result = memctl(*command, ALL[0][1], code=1)
        assert "looks like a credential" in result.err
        assert "--allow-secret" not in result.err


def test_placeholders_ids_types_and_code_are_no_credentials() -> None:
    alarms = {line: spans for line in HARMLESS if (spans := find(line, strict=True))}
    assert alarms == {}


def test_secret_of_plain_words_is_found_by_its_syntax() -> None:
    missed = []
    for line in PLAIN:
        for one in ("", "summer2024beach", "0tterPond77"):
            marked = re.sub("«[a-z]+42»", f"«{one}»", line) if one else line
            secrets = re.findall("«(.*?)»", marked)
            text = f"before\n{re.sub('[«»]', '', marked)}\nafter"
            found = [text[span.start : span.end] for span in find(text)]
            missed += [(marked, found)] * (secrets != found)
    assert missed == []


@pytest.mark.parametrize("rule", rules.table(), ids=lambda rule: f"{rule.place}-{rule.name}")
def test_example_of_each_rule_is_found_and_the_rule_itself_is_not(rule: rules.CredentialRule) -> None:
    for seed in "abc":
        text = f"before\n{expand(rule.example, seed)}\nafter"
        assert find(text), text
        assert find(redact(text)) == []
    assert find(rule.example) == []


def test_base64_text_is_not_taken_for_a_key() -> None:
    assert find("ACACIAASIAFBAWohASAEIABBAWoiAEcNAAsgAiAHNgIADPkCCyACQQA2AgAgACEBDIQCCyABIARHBEADQCABLQAA") == []


def test_private_key_of_many_lines_is_redacted_as_one() -> None:
    text = f"before\n{pem('RSA ')}\nafter"
    assert redact(text) == "before\n[redacted: private key]\nafter"
    cut = f"> {pem('')[: -len('-----END PRIVATE KEY-----') - 30]}".replace("\n", "\n> ")
    assert not any(line in redact(cut) for line in BODY.split("\n")[:4])


def test_offsets_count_characters_of_any_script() -> None:
    text = f"größe 鍵 🔑: password: {PASSWORD} ü"
    (span,) = find(text)
    assert text[span.start : span.end] == PASSWORD
    assert describe(text, span) == "looks like a credential (password, Tr…)"


def test_random_word_is_redacted_but_not_reported() -> None:
    text = f"it answered {x(32)} at once"
    assert find(text) == []
    assert redact(text) == "it answered [redacted: random word] at once"


def test_current_and_earlier_redaction_marks_are_no_credentials() -> None:
    text = "password: [redacted: password], token=[blanked: aws access key] \\[redacted: JSON Web Token\\]"
    assert find(text, strict=True) == []
    assert find(f"[redacted: {'ghp' + '_' + x(36)}]") != []  # what only looks like a mark hides nothing
    assert PASSWORD not in redact(f"password={PASSWORD} [redacted: password]")


_BARE = "Xq7kd92" + "lsPz"
_PHRASE = "correct-horse-battery-" + "hdksrt"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Log in as root with password {} on staging", "Tr0ub" + "4dor&3"),
        *((line, _BARE) for line in ("with the password {}", "password {} works", "I set the password to {}")),
        *((line, _BARE) for line in ("Password changed to: {}", "password for the wifi: {}", "**Password:** `{}`")),
        *((line, _BARE) for line in ("| password | {} |", "Password\n{}", "## Password\n\n`{}`\nmore")),
        ("**Password**: {}", _BARE),
        ("use the passphrase {} for the vault", _PHRASE),
        *((line, _BARE) for line in ("credentials: admin / {}", "The DB login is app / {}", "Kennwort: {}")),
        *((line, _BARE) for line in ("Das Passwort ist {}", "Das Passwort für das WLAN lautet {}", "contraseña: {}")),
        ("postgres://app:{}@db.internal/shop", "p@ss" + "X7kd92"),
        ("https://{}@git.example.com/a.git", x(40)),
        *((line, _BARE) for line in ("root:{}@10.0.0.5", "net use Z: \\\\h\\s {} /user:jo")),
        ('os.getenv("SECRET_X", "{}")', _BARE),
        ("~/.pgpass has db.internal:5432:shop:app:{}", _BARE),
        ("jo:{}", "$apr1" + f"${x(8)}${x(22)}"),
        *((line, _BARE) for line in ('Now password: "password": "{}"', "password: pwd={}")),  # a name behind a name
        ("    client-key-data: {}", base64.b64encode(pem("RSA ").encode()).decode()),
        ("Set-Cookie: session={}; Path=/", "eyJ" + f"{x(14)}.{x(6)}.{x(27)}"),
    ],
)
def test_password_in_prose_or_settings_is_found_whole(text: str, secret: str) -> None:
    whole = f"before\n{text.format(secret)}\nafter"
    assert [whole[span.start : span.end] for span in find(whole)] == [secret]


@pytest.mark.parametrize(
    "text",
    """
    PGPASSWORD={} psql
    export DB_PASSWORD='{}'
    MYSQL_PWD={} mysqldump shop
    SSHPASS={} sshpass -e ssh ada@host
    REDISCLI_AUTH={} redis-cli
    datasource.password={}
    password: {}
    "password": "{}",
    login(user='ada', password='{}')
    host=db user=ada password={} dbname=shop
    Server=db;User Id=ada;Password={};
    https://example.org/login?user=ada&password={}
    mysqldump --password={} shop
    wget --user=ada --password={} https://example.org
    tool --user ada --password {}
    java -Djavax.net.ssl.keyStorePassword={} -jar shop.jar
    keytool -list -storepass {}
    sshpass -p {} ssh ada@host
    mysql -u root -p{} shop
    curl -u ada:{} https://example.org
    7z x -p{} a.7z
    htpasswd -bc users ada {}
    sqlplus ada/{}@db
    CREATE USER ada IDENTIFIED BY {};
    password is {}
    The password is {}.
    the password of the wifi is "{}", he said
    Das Passwort lautet `{}`
    """.strip().split("\n"),
)
def test_password_that_is_a_word_is_found_where_it_is_assigned(text: str) -> None:
    for word in ("sommer", "Winterreise", "blue-whale"):
        whole = f"before\n{text.strip().format(word)}\nafter"
        spans = find(whole)
        assert len(spans) == 1
        assert whole[spans[0].start : spans[0].end].rstrip(";") == word


@pytest.mark.parametrize(
    "before",
    ["%20", "token%3D", "=3D", "\\u0020", "\\n", "\\x0a", "\x1b[32m", "\\x1b[1;31m", "\\033[0m", "token", "abc"],
)
def test_a_token_behind_an_escape_a_colour_or_a_letter_is_found(before: str) -> None:
    for token in ("ghp" + "_" + x(36), "glsa" + f"_{x(32)}_{h(8)}", "sk_live" + "_" + x(24)):
        whole = f"go to {before}{token} now"
        assert [whole[span.start : span.end] for span in find(whole)] == [token]
    if before not in ("token", "abc"):
        assert JWT not in redact(f"{before}{JWT}", strict=False)


@pytest.mark.parametrize(
    "text",
    [
        "SSWS 00" + x(40),
        "AKID" + x(32),
        f"1/{digits(16)}:{h(32)}",
        "dG9rOj" + x(54) + "=",
        "ApiKey " + base64.b64encode(f"{x(20)}:{x(22)}".encode()).decode(),
        f"ngrok config add-authtoken 2{x(26)}_{lower(21)}",
        f"mailgun {h(32)}-{h(8)}-{h(8)}",
        f"the key is {h(32)}-{h(8)}-{h(8)}",
        "AZURE_DEVOPS_PAT " + lower(52),
        "mix hex key " + h(32),
        "algolia admin key " + h(32),
        "its private key is K" + x(51).replace("0", "2").replace("O", "P").replace("I", "J").replace("l", "m"),
        "ETH_PRIVATE_KEY 0x" + h(64),
    ],
)
def test_vendor_keys_are_found_without_an_assignment(text: str) -> None:
    assert find(f"before {text} after")


def test_cut_off_key_is_found_but_its_first_line_alone_is_not() -> None:
    first, body = pem("RSA ").split("\n")[:2]
    assert find(f"{first}\n{body}") != []
    assert find(f"3: {first}\n4: {body}\n5: -----END RSA PRIVATE" + " KEY-----") != []
    assert find(f"{first}\nand so on\n{first}") == []


def test_many_credentials_are_described_and_redacted_quickly() -> None:
    text = ("ghp" + f"_{x(36)} ") * 9_000
    started = time.process_time()
    spans = find(text)
    assert list(lines(text, spans)) == [1] * 9_000
    assert {describe(text, span) for span in spans} == {"looks like a credential (GitHub token, ghp_…)"}
    with pytest.raises(MemctlError):
        refuse(Change(op="learn", title="", writes=(Write("x.md", text, "old"),)))
    assert "ghp" not in redact(text)
    assert time.process_time() - started < 10  # it takes 1 s; with a look at all of the text for each, minutes


PIECES = st.sampled_from([text for _, text, _ in ALL] + HARMLESS + ["[redacted: password]", "=", ": ", "'"])


@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=6), st.sampled_from(["", " ", "\n", ": ", "="]))
def test_second_redaction_changes_nothing_and_finds_nothing(parts: list[str], joint: str) -> None:
    made = redact(joint.join(parts))
    assert find(made, strict=True) == []
    assert redact(made) == made


_PIECES = (
    *(
        "eyJ",
        "a.",
        "://",
        "://a:",
        "-----BEGIN ",
        "password=",
        "password= ",
        "password=a1b2c3! ",
        "key: ",
        "curl -u ",
    ),
    *(
        "mysql -p",
        "ghp_",
        "0123456789abcdef",
        "a/",
        "A",
        "eyJaaaaaaaa.",
        "cookie: sess ",
        "[redacted: ",
        "\\n",
        "$2a$",
    ),
    *("-----BEGIN ", "-----BEGIN " + "PRIVATE KEY-----"),
    *("password ", "Password\n", "| password ", "password a:", "a:b@", "root:a1b2c3@", "@", "login: a / ", "pass"),
    *(
        "token ",
        "secret:\n",
        "A_TOKEN=x1 ",
        "name: token\n",
        'variable "token" {\n',
        "| token | a1b2c3 ",
        "vault write ",
    ),
    *("https://" + "a" * 20, "key ", "net use ", 'getenv("key', "LS0tLS1CRUdJTiBSU0EgUF" + "a" * 16_000),
)


@pytest.mark.parametrize("piece", every(6, _PIECES))
def test_any_text_is_searched_quickly(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    started = time.process_time()
    find(text, strict=True)
    assert time.process_time() - started < 2.5  # it takes a twentieth of that; what is quadratic takes minutes
