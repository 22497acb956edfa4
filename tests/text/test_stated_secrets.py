"""Secrets that only a sentence shows to be one, and words by lot, which are none."""

from __future__ import annotations

import hashlib
import random
import re
import uuid
from pathlib import Path

import pytest

from memctl.text import credentials
from memctl.text.credentials import STATED

# The secret is within «».
SECRETS = """\
Always log in as ada with «Zx9!sW3MTQk4KmuN»
the wifi passphrase is «correct horse battery staple zebra»
Send the recovery code «4F7K-92QX-HH31-ZP8M» to ops
The key «9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08» is for encryption of backups
pay with «4539 1488 0343 6467»
the admin PIN is «48151623»
passphrase for the backup disk is «velvet cactus orbit thunder»
Its seed phrase is «witch collapse practice feed shame open despair creek road rice ice least»
The door code is «447192»
Use PIN «7391» on the terminal
the SIM's PUK is «83920174»
backup codes: «8f3k-22lq-9dks»
2FA code «482913» works
the one-time password is «ZK7Q29»
sign in as root with «hunter2222»
ssh as deploy with «tr0ub4dor&3»
the AES key is «2b7e151628aed2a6abf7158809cf4f3c»
Passwort ist «Sonnenblume Elefant Kaktus Bruecke»
the safe combination is «32-18-45»
rescue code is «R83920-38291-38210»
"""
HARMLESS = """\
The passphrase is never stored on disk in plain text
passphrase: asked for at the start and kept in memory
The password is hashed with argon2 before anything else happens
Pin bun2nix to revision 8
pin the version to 1.24
the exit code is 4004, and the status code 404
log in as root with OAuth2
sign in as an admin with the usual form
sha256 of the key file: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
the cache key 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 is shared by sessions
Stripe's test card is 4242 4242 4242 4242
the run took 1795876926839042069 ns, and order 4539148803436468 was lost
"""


@pytest.mark.parametrize("line", SECRETS.splitlines())
def test_stated_secret_is_redacted_in_a_strict_search(line: str) -> None:
    secret = re.findall("«(.+)»", line)[0]
    text = re.sub("[«»]", "", line)
    assert secret not in credentials.redact(text)
    assert secret not in credentials.redact(f"First a line.\n- {text}.\nThen another.\n")


@pytest.mark.parametrize("line", HARMLESS.splitlines())
def test_sentence_without_a_secret_is_kept(line: str) -> None:
    assert [span for span in credentials.find(line, strict=True) if span.rule == STATED] == []


def _words() -> list[str]:
    docs = " ".join(path.read_text() for path in Path(__file__).parents[2].joinpath("docs").glob("*.md"))
    syllables = (
        "ka",
        "bo",
        "zwi",
        "szcz",
        "nie",
        "rö",
        "ti",
        "öl",
        "ğı",
        "вы",
        "на",
        "日",
        "语",
        "uu",
        "pfl",
        "kn",
        "ř",
    )
    chance = random.Random(5)
    made = ["".join(chance.choice(syllables) for _ in range(chance.randint(2, 6))) for _ in range(2_000)]
    return sorted({*re.findall(r"[A-Za-z]{2,20}", docs), *made})


def _token(chance: random.Random, words: list[str]) -> str:
    number = chance.random()
    some = chance.choices(words, k=chance.randint(2, 5))
    if number < 0.75:
        return some[0]
    return chance.choice(
        (
            f"DEC-2026-11-{chance.randint(1, 28):02}-{chance.randint(1, 999):03}",
            f"ISS-2026-11-{chance.randint(1, 28):02}-k{chance.randint(100, 999)}-{chance.randint(1, 99)}",
            hashlib.sha1(str(number).encode()).hexdigest()[: chance.choice((7, 10, 40))],
            str(uuid.UUID(int=chance.getrandbits(128))),
            "/".join(some) + ".py",
            "-".join(some),
            "".join(map(str.capitalize, some)),
            f"v{chance.randint(0, 9)}.{chance.randint(0, 30)}.{chance.randint(0, 9)}-rc.1",
        )
    )


def test_words_by_lot_are_no_credential() -> None:
    chance, words = random.Random(43), _words()
    for _ in range(1_000):
        text = " ".join(_token(chance, words) for _ in range(60))
        assert credentials.find(text) == [], text


@pytest.mark.parametrize(
    "word",
    [
        "strekaj-niewczytanym-QUICKFIX",
        "oikeuksiaModyfikacjeKaoriya",
        "HZZ-oidhreachta-Afixo-MDI",
        "DVOECHELNOKRYZHEVAYA",
    ],
)
def test_words_of_other_languages_are_not_random(word: str) -> None:
    assert credentials.find(f"see {word} there", strict=True) == []
