"""The examples of the rules as texts: what stands for random characters in them is drawn from a seed."""

from __future__ import annotations

import random
import re
import string

_ALPHABETS = {
    "": string.ascii_letters + string.digits,
    "hex": string.hexdigits[:16],
    "hexup": string.digits + "ABCDEF",
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "num": string.digits,
    "let": string.ascii_letters,
    "b32": string.ascii_uppercase + "234567",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "letlow": string.ascii_lowercase,
    "bechlow": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}


def expand(example: str, seed: str = "") -> str:
    """An example with random characters: `ghp_{36}` has 36 letters and digits behind its prefix."""
    chance = random.Random(example + seed)

    def characters(match: re.Match[str]) -> str:
        alphabet = _ALPHABETS[match[2] or ""]
        while True:
            made = "".join(chance.choice(alphabet) for _ in range(int(match[1])))
            is_mixed = re.search(r"\d", made) and re.search("[A-Za-z]", made)
            if is_mixed or len(made) < 8 or match[2] in ("num", "let"):
                return made

    return re.sub(r"\{(\d+)(?::(\w+))?\}", characters, example.replace("\\n", "\n"))
