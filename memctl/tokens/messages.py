"""Take the texts out of requests to a model, so that their tokens can be counted.

The requests have the shapes of Anthropic's and OpenAI's interfaces.

In a request, the arguments of a tool call are JSON. But the model is given the plain value of each parameter, so the
backslashes that JSON needs before quotation marks and for line ends cost no tokens.
"""

from __future__ import annotations

import binascii
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.text.characters import encodable
from memctl.text.lazy_regex import lazy_regex
from memctl.tokens.families import kind_of_text
from memctl.transcript.line import text_in
from memctl.transcript.messages import (
    CALL,
    OTHER,
    RESULT,
    Block,
    blocks_of,
    decode_json,
    elements,
    encode_json,
    messages_of,
)

# What a call of a tool costs beside its name and the names and values of its parameters, and what each parameter does.
# Chosen in one half of 2,325 request-to-request figures of Claude models, with the exact count of the texts: the median
# error was 0.9 % in it and 0.9 % in the other; with o200k and factors 3.3 and 3.3 % (`make bench`, one project).
PER_TOOL_CALL, PER_PARAMETER = 36, 14
# An answer with several calls costs so much more, once; a result without a text is given as a sentence that says so.
# Both were seen in the same half: of 50 answers with two calls at the median, of 25 such results nearly always.
PER_SEVERAL_CALLS, PER_EMPTY_RESULT = 28, 14
# A request of one message has 7 tokens beside its text, with o200k models (3 for the answer to come, 4 a message) and
# with Claude's (7, or 6 from 4.8 on). That each further message adds 4 is OpenAI's rule; for Claude it is taken over.
PER_REQUEST, PER_MESSAGE = 3, 4
_PATHS = ("file_path", "path", "notebook_path")  # parameters that say of what kind the contents are
_CONTENTS = ("content", "new_string", "old_string", "new_source", "file_text", "old_str", "new_str")
_NUMBERED = lazy_regex(r" {0,8}\d{1,7}(?:→|\t|: )")
_MATCH = lazy_regex(r"[^\s:]{1,300}[:-]\d{1,7}[:-]")
_LOOKED_AT, _LISTED, _FEWEST = 8_000, 40, 3  # characters, and lines of them


class Part(msgspec.Struct, frozen=True):
    """A text of a request to a model, with the place in the request that it is from.

    `message` is the number of its message, from 1; 0 for a text before the first message. `role` is the role of the
    message. `what` says whether it is, for instance, a text, a tool call or a tool's result (a constant of
    `transcript.messages`, such as TEXT or CALL), or "tools" for the descriptions of tools. `kind` says what sort of
    text it is, such as "markdown" (one of `families.KINDS`).
    """

    message: int
    role: str
    what: str
    kind: str
    text: str


class Conversation(msgspec.Struct, frozen=True):
    """The texts of a request to a model, and the tokens that the request has apart from them.

    `model` is the name of the model in the request or in its last answer, "" if there is none. `messages` and
    `tool_calls` are the numbers of messages and tool calls. `overhead` is the number of tokens that are not of a text:
    those that every message and tool call has in addition, and those of images whose size is known. `uncounted` counts
    the content for which the number of tokens is unknown, by its type, such as {"document": 1}.
    """

    model: str
    parts: list[Part]
    messages: int
    tool_calls: int
    uncounted: dict[str, int]
    overhead: int


def parse(value: Any) -> Conversation | None:
    """Return the texts of a request to a model, and what else in the request costs tokens.

    `value` is the request's body or a list of messages; the result is None if it is neither.
    """
    try:
        held = messages_of(value)
    except MemctlError:
        return None
    body = value if isinstance(value, dict) else {}
    reader = PartReader()
    for name in ("system", "instructions"):
        reader.read(0, "system", body.get(name) or "")
    if body.get("tools"):
        reader.add(0, "system", "tools", "json", encode_json(body["tools"], "tools"))
    for number, message in enumerate(held, start=1):
        for element in elements(message):
            reader.take(number, element.blocks)
    answered = (text_in(message, "model") for message in reversed(held))  # a transcript's messages name it
    model = text_in(body, "model") or next((name for name in answered if name and not name.startswith("<")), "")
    overhead = PER_REQUEST + PER_MESSAGE * len(held) + reader.overhead
    return Conversation(model, reader.parts, len(held), reader.tool_calls, reader.uncounted, overhead)


class PartReader:
    """Collects the texts of messages as `parts`, and counts content that is not text but costs tokens.

    `images` is the number of tokens of all images. `uncounted` counts the content for which the number of tokens is
    unknown, by its type.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.uncounted: dict[str, int] = {}
        self.images = self._parameters = self._empty_results = 0
        self._calls: Counter[int] = Counter()  # by message

    @property
    def tool_calls(self) -> int:
        """The number of tool calls so far."""
        return self._calls.total()

    @property
    def overhead(self) -> int:
        """The number of tokens so far that belong to no text: those of images, and some of each call and empty result.

        The tokens that every message has besides its texts are not included.
        """
        several = sum(number > 1 for number in self._calls.values())
        beside = PER_TOOL_CALL * self.tool_calls + PER_PARAMETER * self._parameters + PER_SEVERAL_CALLS * several
        return beside + PER_EMPTY_RESULT * self._empty_results + self.images

    def add(self, number: int, role: str, what: str, kind: str, text: str) -> None:
        """Add a text unless it is empty; the arguments are the fields of the `Part` that is made of it."""
        if text:
            self.parts.append(Part(number, role, what, kind, text))

    def read(self, number: int, role: str, content: Any) -> None:
        """Collect the content of a message, which is a text or a list of blocks.

        `number` is the number of the message, from 1, and `role` its role.
        """
        self.take(number, blocks_of(role, content))

    def take(self, number: int, blocks: Iterable[Block]) -> None:
        """Collect the blocks of a message; `number` is the number of the message, from 1."""
        for block in blocks:
            if block.type == OTHER and (tokens := image_tokens(block.arguments)) is not None:
                self.images += tokens
            elif block.type == OTHER:
                self.uncounted[block.name] = self.uncounted.get(block.name, 0) + 1
            elif block.type == CALL:
                texts, parameters = call_texts(block.name, block.arguments)
                self._calls[number] += 1
                self._parameters += parameters
                for kind, text in texts:
                    self.add(number, block.role, block.type, kind, text)
            else:
                self._empty_results += block.type == RESULT and not block.text
                self.add(number, block.role, block.type, kind_in_messages(block.text, block.type), block.text)


def call_texts(name: str, arguments: Any) -> tuple[list[tuple[str, str]], int]:
    """Return the texts of a tool call as the model gets them, and the number of the call's parameters.

    The texts are pairs (kind, text), where the kind is a sort of text such as "json" (one of `families.KINDS`).
    `arguments` is an object, or a JSON text of one. Any other value gives one text and no parameters.
    """
    fields = decode_json(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(fields, dict):
        text = arguments if isinstance(arguments, str) else encode_json(arguments, f"the call of {name}")
        return [("chat", name), ("json", text)], 0
    path = next((fields[key] for key in _PATHS if isinstance(fields.get(key), str)), "")
    texts = {"chat": [" ".join([name, *fields])]}
    for key, value in fields.items():
        if not isinstance(value, str):
            texts.setdefault("json", []).append(encode_json(value, f"{key} in a call of {name}"))
        else:
            kind = kind_of_text(path, value) if key in _CONTENTS else kind_in_messages(value, CALL)
            texts.setdefault(kind, []).append(encodable(value))
    return [(kind, "\n".join(texts_of_kind)) for kind, texts_of_kind in texts.items()], len(fields)


def count_call(name: str, arguments: Any, tokens: Callable[[str, str], int]) -> int:
    """Return the number of tokens of a whole tool call.

    `tokens` is a function that returns the number of tokens of a text; it is called with the text and its kind, such as
    "json" (one of `families.KINDS`).
    """
    texts, parameters = call_texts(name, arguments)
    return sum(tokens(text, kind) for kind, text in texts if text) + PER_TOOL_CALL + PER_PARAMETER * parameters


def kind_in_messages(text: str, what: str) -> str:
    """Return what sort of text is in a message, such as "markdown" (one of `families.KINDS`).

    `what` is TEXT, CALL or RESULT. Prose is "log" in the result of a tool, and else "chat". There are two kinds for
    results with a number before each line: "numbered" for a file that a tool read, "matches" for what a search found.
    """
    if what == RESULT and (kind := _listing(text)):
        return kind
    kind = kind_of_text("", text)
    if kind != "prose":
        return kind
    return "log" if what == RESULT else "chat"


def _listing(text: str) -> str:
    lines = text[:_LOOKED_AT].split("\n")[:_LISTED]
    for kind, pattern in (("numbered", _NUMBERED), ("matches", _MATCH)):
        if len(lines) >= _FEWEST and sum(1 for line in lines if pattern.match(line)) * 2 > len(lines):
            return kind
    return ""


# What an image costs, by its size, where the request has it. Anthropic says width x height / 750 after an
# image is scaled down to 1,568 pixels a side, and about 1,600 tokens at most; two screenshots of real sessions had
# 1,700 and 2,000 with what stood beside them. OpenAI says 85 and 170 for each tile of 512 pixels, after it is scaled
# into 2,048 x 2,048 and to 768 on its shorter side, and 85 for `detail: low`.
_LONGEST, _A_TOKEN, _MOST = 1_568, 750, 1_600
_BASE, _TILE, _TILE_SIDE, _SQUARE, _SHORTER = 85, 170, 512, 2_048, 768
_ENCODED = 256 * 1024  # characters of base64 that have the size; what a camera adds comes before it
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # the segments of a JPEG that have its size


def image_tokens(value: Any) -> int | None:
    """Return the number of tokens of an image in a request, in the shape of Anthropic's or OpenAI's interface.

    The result is None if `value` is not an image, or if the image's size is not known, for instance because the request
    has only its URL.
    """
    if not isinstance(value, Mapping):
        return None
    source, url = value.get("source"), value.get("image_url")
    if value.get("type") == "image" and isinstance(source, Mapping):
        size = image_size(source.get("data"))
        return None if size is None else _of_anthropic(*size)
    if value.get("type") not in ("image_url", "input_image"):
        return None
    outer: Mapping[str, Any] = url if isinstance(url, Mapping) else {"url": url}
    url = outer.get("url")
    if outer.get("detail", value.get("detail")) == "low":
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
    """Return the width and height in pixels of an image, which is a base64 text of a PNG, GIF, WebP or JPEG.

    The result is None for any other value.
    """
    if not isinstance(encoded, str):
        return None
    head = encoded[:_ENCODED]
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
