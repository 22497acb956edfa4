"""What an image costs, by its size, where the size stands in the request.

Anthropic says width x height / 750 after an image is scaled down to 1,568 pixels a side, and about 1,600 tokens at
most; two screenshots of real sessions had 1,700 and 2,000 with what stood beside them. OpenAI says 85 and 170 for each
tile of 512 pixels, after it is scaled into 2,048 x 2,048 and to 768 on its shorter side, and 85 for `detail: low`.
"""

from __future__ import annotations

import binascii
import math
import struct
from collections.abc import Mapping
from typing import Any

_LONGEST, _A_TOKEN, _MOST = 1_568, 750, 1_600
_BASE, _TILE, _TILE_SIDE, _SQUARE, _SHORTER = 85, 170, 512, 2_048, 768
_LOOKED_AT = 256 * 1024  # characters of base64 in which the size stands; what a camera adds stands before it
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # the segments of a JPEG that have its size


def image_tokens(given: Any) -> int | None:
    """Return the tokens of an image in the shape of Anthropic's or OpenAI's interface; None if its size is not there,
    as of one that a URL stands for, or if it is no image."""
    if not isinstance(given, Mapping):
        return None
    source, url = given.get("source"), given.get("image_url")
    if given.get("type") == "image" and isinstance(source, Mapping):
        size = image_size(source.get("data"))
        return None if size is None else _of_anthropic(*size)
    if given.get("type") not in ("image_url", "input_image"):
        return None
    outer: Mapping[str, Any] = url if isinstance(url, Mapping) else {"url": url}
    url = outer.get("url")
    if outer.get("detail", given.get("detail")) == "low":
        return _BASE
    head, _, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    size = image_size(data) if head.startswith("data:image/") else None
    return None if size is None else _of_openai(*size)


def _of_anthropic(width: int, height: int) -> int:
    scale = min(1.0, _LONGEST / max(width, height))
    return min(math.ceil(width * scale * height * scale / _A_TOKEN), _MOST)


def _of_openai(width: int, height: int) -> int:
    scale = min(1.0, _SQUARE / max(width, height))
    scale *= min(1.0, _SHORTER / (min(width, height) * scale))
    return _BASE + _TILE * math.ceil(width * scale / _TILE_SIDE) * math.ceil(height * scale / _TILE_SIDE)


def image_size(encoded: Any) -> tuple[int, int] | None:
    """Return the width and height in pixels of a PNG, GIF, WebP or JPEG in base64; None of anything else."""
    if not isinstance(encoded, str):
        return None
    head = encoded[:_LOOKED_AT]
    try:
        data = binascii.a2b_base64(head[: len(head) // 4 * 4])
        size = _size(data)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return None
    return size if size is not None and all(size) else None


def _size(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack(">II", data[16:24])
    if data.startswith((b"GIF87a", b"GIF89a")):
        return struct.unpack("<HH", data[6:10])
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _size_of_webp(data)
    return _size_of_jpeg(data) if data.startswith(b"\xff\xd8") else None


def _size_of_webp(data: bytes) -> tuple[int, int] | None:
    if data[12:16] == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while data[place] == 0xFF:
        kind, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if kind in _FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None
