"""What an image in a message takes in tokens, by its size, where the message has it.

Anthropic's pages give width x height / 750, for at most 1,568 pixels a side and about 1,600 tokens; OpenAI's 85 and 170
for each tile of 512 pixels, of an image scaled to 768 on its shorter side, 85 with `detail: low`. An image that is only
named, by a URL or a file's id, says nothing of its size.
"""

from __future__ import annotations

import binascii
import math
import struct
from collections.abc import Mapping
from typing import Any

_LONGEST, _MOST, _PIXELS = 1_568, 1_600, 750  # pixels a side, tokens, pixels a token
_LOW, _TILE, _SIDE, _SHORTER, _SQUARE = 85, 170, 512, 768, 2_048
_HEAD = 64 * 1024  # characters of base64 in which the size of an image stands
_JPEG_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def tokens_of(part: Any) -> int | None:
    """The tokens of a part of a message that is an image, None if its size is not known or it is none."""
    given = part if isinstance(part, Mapping) else {}
    source = given.get("source")
    if given.get("type") == "image" and isinstance(source, Mapping) and isinstance(source.get("data"), str):
        size = _size(source["data"])
        return _of_anthropic(*size) if size else None
    if given.get("type") not in ("image_url", "input_image"):
        return None
    named = given.get("image_url")
    url = named.get("url") if isinstance(named, Mapping) else named
    detail = named.get("detail") if isinstance(named, Mapping) else given.get("detail")
    if detail == "low":
        return _LOW
    size = _size(url.partition("base64,")[2]) if isinstance(url, str) and url.startswith("data:") else None
    return _of_openai(*size) if size else None


def _of_anthropic(width: int, height: int) -> int:
    scale = min(1.0, _LONGEST / max(width, height, 1))
    return min(math.ceil(width * scale * height * scale / _PIXELS), _MOST)


def _of_openai(width: int, height: int) -> int:
    scale = min(1.0, _SQUARE / max(width, height, 1))
    scale *= min(1.0, _SHORTER / max(min(width, height) * scale, 1))
    return _LOW + _TILE * math.ceil(width * scale / _SIDE) * math.ceil(height * scale / _SIDE)


def _size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels of an image in base64: PNG, GIF, WebP and JPEG say them at their beginning."""
    head = data[:_HEAD]
    try:
        raw = binascii.a2b_base64(head[: len(head) // 4 * 4])
        if raw.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", raw[16:24])
        elif raw.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack("<HH", raw[6:10])
        elif raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
            return _size_of_webp(raw)
        elif raw.startswith(b"\xff\xd8"):
            return _size_of_jpeg(raw)
        else:
            return None
    except (binascii.Error, struct.error, ValueError):
        return None
    return (width, height) if width and height else None


def _size_of_webp(raw: bytes) -> tuple[int, int] | None:
    if raw[12:16] == b"VP8X":
        return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(raw[27:30], "little")
    if raw[12:16] == b"VP8L":
        bits = int.from_bytes(raw[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", raw[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _size_of_jpeg(raw: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(raw) and raw[place] == 0xFF:
        if raw[place + 1] in _JPEG_SIZES:
            height, width = struct.unpack(">HH", raw[place + 5 : place + 9])
            return width, height
        place += 2 + int.from_bytes(raw[place + 2 : place + 4], "big")
    return None
