"""A conversation as a host keeps it, split into blocks, and put together again after they are edited.

A conversation is the body of a request or a list of messages, in the shape of Anthropic's messages, of OpenAI's chat
completions, or of the items of OpenAI's responses. An edited conversation has the same shape; parts that memctl does
not know (images, `cache_control`, signatures, fields of a host) stay untouched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.record import argument_checks
from memctl.text.characters import encodable
from memctl.text.phrases import indefinite
from memctl.tokens.families import is_pack
from memctl.tokens.messages import PER_EMPTY_RESULT, PER_MESSAGE, PER_REQUEST, PER_SEVERAL_CALLS, image_tokens
from memctl.transcript import messages as shapes
from memctl.transcript.user_words import user_words
from memctl.window.messages import replacement
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count, count_call

Lines = Sequence[Sequence[int]]
# What keeps a block from eviction (rules.md#window-eviction), if the user says it: a tool's output is untrusted.
_MARKER = re.compile(r"\b(?:DO_NOT_EVICT|IMPORTANT)\b")
_WHOLE = (ContentType.THINKING, ContentType.TOOL_DEFINITION)  # can only go, and not become another text


class Keep(msgspec.Struct, frozen=True):
    """The blocks that a host wants to stay as they are, named by three rules.

    They are the blocks of the types in `types`, the results of the tools in `tools`, and the last `last` results of any
    tools.
    """

    types: frozenset[ContentType] = frozenset()
    tools: frozenset[str] = frozenset()
    last: int = 0

    def mark(self, blocks: tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
        """Return `blocks`, with `do_not_evict` set for those that must stay."""
        results = [block for block in blocks if block.content_type is ContentType.TOOL_RESULT]
        last = {block.block_id for block in results[max(len(results) - self.last, 0) :]}
        of_tools = {block.block_id for block in results if block.tool_name in self.tools}
        return _marked(
            blocks, {block.block_id for block in blocks if block.content_type in self.types} | last | of_tools
        )


def _marked(blocks: Sequence[ContentBlock], ids: Collection[str]) -> tuple[ContentBlock, ...]:
    return tuple(msgspec.structs.replace(b, do_not_evict=True) if b.block_id in ids else b for b in blocks)


class Conversation(msgspec.Struct, frozen=True):
    """A conversation as the host gave it (`given`), with its blocks in order.

    A block is a piece of the conversation, such as a message or a tool's result. `lines` has the line numbers of the
    blocks in a transcript, message by message, and `source` is the transcript's name. `keep` says which
    blocks the host wants to stay.
    """

    given: Any
    blocks: tuple[ContentBlock, ...]
    lines: Lines = ()
    keep: Keep | None = None
    source: str = ""

    @classmethod
    def parse(
        cls, given: Any, counter: TokenCounter, *, lines: Lines = (), keep: Keep | None = None, source: str = ""
    ) -> Conversation:
        """Split a conversation, which is the body of a request or a list of messages, into blocks.

        `counter` counts the blocks' tokens. `lines` is for the messages of a transcript: for each message it has the
        line numbers of its blocks, 0 for a block without a line. `source` is the transcript's name. `keep` says which
        blocks must stay. Raises MemctlError if `given` is no conversation.
        """
        key = shapes.body_key(given)
        argument_checks.instance(counter, TokenCounter, "counter", "an object with a method `tokens`")
        reader = _BlockReader(counter, lines, source)
        if key is not None:
            reader.read_frame(given)
        for index, message in enumerate(shapes.messages_of(given)):
            reader.read_message(index, message)
        blocks = tuple(reader.blocks)
        return cls(given, blocks if keep is None else keep.mark(blocks), lines, keep, source)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the conversation, or the items of OpenAI's responses, as they were given."""
        return shapes.messages_of(self.given)

    @property
    def overhead(self) -> int:
        """The number of tokens that belong to no block, such as those that each message has besides its content."""
        calls = Counter(block.message for block in self.blocks if block.is_call)
        several = sum(number > 1 for number in calls.values())
        return PER_REQUEST + PER_MESSAGE * len(self.messages) + PER_SEVERAL_CALLS * several

    @property
    def tokens(self) -> int:
        """The number of tokens of the whole request.

        Parts whose size is not known, such as documents, are not included; `uncounted` names them.
        """
        return self.overhead + sum(block.token_count for block in self.blocks)

    @property
    def uncounted(self) -> dict[str, int]:
        """How many parts of the messages have no text and no known size, by their type, such as {"document": 1}."""
        parts = (part for message in self.messages for part in shapes.elements(message) if part.type != shapes.THINKING)
        blocks = (block for part in parts for block in part.blocks if block.type == shapes.OTHER)
        return dict(Counter(block.name for block in blocks if image_tokens(block.arguments) is None))

    @property
    def current_turn(self) -> int:
        """The number of the next turn, which is 1 more than the number of turns in the conversation."""
        answers = [shapes.is_answer(message) for message in self.messages]
        return 1 + sum(now and not before for before, now in pairwise([False, *answers]))

    def replace(self, texts: Mapping[str, str | None]) -> Any:
        """Return the conversation with new texts for some blocks, in the shape in which the host gave it.

        `texts` maps the ids of these blocks to the new texts. The number of messages does not change, so that roles
        alternate as before, and no tool call is separated from its result:

        - A tool's result keeps its place and its `call_id`, and gets the text as its content; None leaves `[Evicted]`.
        - A tool's call keeps its name and its id; the text is its new arguments as JSON, and None is no arguments.
        - A block of thinking, or the definition of a tool, can only be removed (None).
        - Any other block gets the text, and None removes it. A message that would then be empty, or have nothing but
          thinking, gets `[Evicted]` as its text.

        The input is not changed. Raises MemctlError for an unknown id, for new text in thinking, and for arguments that
        are not a JSON object.
        """
        edits = []
        argument_checks.instance(texts, Mapping, "texts", "a mapping from ids of blocks to texts")
        known = {block.block_id: block for block in self.blocks}
        for block_id, text in texts.items():
            argument_checks.instance(text, (str, type(None)), f"the text for {block_id}", "a text or None")
            block = known.get(block_id)
            if block is None:
                raise MemctlError(f"the conversation has no block {block_id!r}")
            if block.content_type in _WHOLE and text is not None:
                raise MemctlError(
                    f"the block {block_id} is {indefinite(block.content_type.value)}, which can't be shortened",
                    "give None as its text to remove the block",
                )
            edits.append((block, text))
        return replacement.rewrite(self.given, shapes.body_key(self.given), edits)

    def changed(self, texts: Mapping[str, str | None], counter: TokenCounter) -> Conversation:
        """Return the conversation with new texts for some blocks, as a Conversation with its tokens counted anew.

        `texts` maps the ids of these blocks to the new texts, as for `replace`. Blocks of a transcript keep their line
        numbers.
        """
        if not texts:
            return self
        cleared = (block for block in self.blocks if texts.get(block.block_id, "") is None)
        # A word takes the place of a call, of a result, and of the whole content of a message.
        gone = {(block.message, block.path) for block in cleared if len(block.path) > 1 and not block.is_paired}
        lines = []
        for index, own in enumerate(self.lines):
            pairs = zip(shapes.elements(self.messages[index]), own, strict=False)
            lines.append([line for element, line in pairs if (index, element.path) not in gone])
        return Conversation.parse(self.replace(texts), counter, lines=lines, keep=self.keep, source=self.source)

    def with_marks(self, block_ids: Collection[str]) -> Conversation:
        """Return the conversation with `do_not_evict` set for the blocks with the ids `block_ids`, so that they stay.

        These marks are not in the messages, so they are lost when the messages are parsed again.
        """
        return msgspec.structs.replace(self, blocks=_marked(self.blocks, block_ids))

    def with_text(self, text: str, counter: TokenCounter) -> Conversation:
        """Return the conversation with a text of the user added to the end, with its tokens counted by `counter`.

        The text is added to the last message if that is the user's, else as a new message; to items of OpenAI's
        responses it is always added as a new one.
        """
        key = shapes.body_key(self.given)
        new = replacement.with_text(self.messages, text)
        return Conversation.parse(new if key is None else {**self.given, key: new}, counter, keep=self.keep)


def check(given: object) -> None:
    """Raise MemctlError unless `given` is a Conversation."""
    hint = "make a Conversation from messages with Conversation.parse(messages, counter)"
    argument_checks.instance(given, Conversation, "conversation", "a Conversation", hint)


class _BlockReader:
    """Gathers the blocks of messages as they come, counted."""

    def __init__(self, counter: TokenCounter, lines: Lines, source: str) -> None:
        self.blocks: list[ContentBlock] = []
        self._counter = counter
        self._lines, self._source = lines, source
        self._calls: dict[str, ContentBlock] = {}
        self._answers, self._was_answer = 0, False

    def read_frame(self, body: Mapping[str, Any]) -> None:
        for name in ("system", "instructions"):
            value = body.get(name)
            shapes.check_json(value, name)
            if isinstance(value, str) and value:
                self._add(name, ContentType.SYSTEM_PROMPT, encodable(value), path=(name,))
            for index, part in enumerate(value if isinstance(value, list) else ()):
                texts = [
                    block.text for block in shapes.blocks_of("system", [part], where=f"{name} {index}") if block.text
                ]
                if text := "\n".join(texts):
                    self._add(f"{name}.{index}", ContentType.SYSTEM_PROMPT, text, path=(name, index))
        tools = body.get("tools")
        shapes.check_json(tools, "tools")
        known: set[str] = set()
        for index, tool in enumerate(tools if isinstance(tools, list) else ()):
            text, name = shapes.encode_json(tool, f"tools {index}"), _tool_name(tool)
            block_id = f"tools.{name}" if name and name not in known else f"tools.{index}"
            known.add(name)
            self._add(block_id, ContentType.TOOL_DEFINITION, text, path=("tools", index), tool_name=name)

    def read_message(self, index: int, message: Mapping[str, Any]) -> None:
        is_of_model = shapes.is_answer(message)
        self._answers += is_of_model and not self._was_answer
        self._was_answer = is_of_model
        own = self._lines[index] if index < len(self._lines) else ()
        thoughts = 0
        for number, element in enumerate(shapes.elements_at(index, message)):
            fields: dict[str, Any] = {"message": index, "path": element.path, "metadata": {}}
            if _is_marked(message) or _is_marked(element.given):
                fields["do_not_evict"] = True
            if line := own[number] if number < len(own) else 0:
                fields["metadata"] = {"line": line, "source": self._source}
            # Thinking has numbers of its own: when it goes, the ids behind it stay what they are.
            is_thought = element.type == shapes.THINKING
            block_id = f"{index}.t{thoughts}" if is_thought else f"{index}.{number - thoughts}"
            thoughts += is_thought
            self._take(block_id, str(message.get("role") or ""), element, fields)

    def _take(self, block_id: str, role: str, element: shapes.Element, fields: dict[str, Any]) -> None:
        if element.type == shapes.THINKING:
            if not element.path:  # an item of its own, to which the item behind it is bound
                fields["do_not_evict"] = True
            self._add(block_id, ContentType.THINKING, element.text, **fields)
        elif element.type == shapes.CALL:
            call = element.blocks[0]
            fields |= {"tool_name": call.name or "unknown", "call_id": call.call_id}
            tokens = count_call(fields["tool_name"], call.text, self._counter)
            self._add(block_id, ContentType.ASSISTANT_RESPONSE, call.text, tokens, **fields)
            if call.call_id:
                self._calls[call.call_id] = self.blocks[-1]
        elif element.type == shapes.RESULT:
            self._take_result(block_id, element, fields)
        elif element.type == shapes.OTHER and (image := image_tokens(element.given)):
            type_ = ContentType.ASSISTANT_RESPONSE if role == "assistant" else ContentType.USER_MESSAGE
            fields["metadata"]["uncounted"] = ["image"]
            self._add(block_id, type_, "", image, **{**fields, "do_not_evict": True})
        elif text := element.text:
            type_ = type_of(role, text)
            if type_ is ContentType.USER_MESSAGE and _MARKER.search(text):
                fields["do_not_evict"] = True
            self._add(block_id, type_, text, **fields)

    def _take_result(self, block_id: str, element: shapes.Element, fields: dict[str, Any]) -> None:
        first = element.blocks[0] if element.blocks else shapes.Block(shapes.RESULT, "user")
        call = self._calls.get(first.call_id)
        others = [block for block in element.blocks if block.type == shapes.OTHER]
        if others:
            fields["metadata"]["uncounted"] = [block.name for block in others]
        name = call.tool_name if call else encodable(str(element.given.get("name") or ""))
        fields |= {"tool_name": name, "call_id": first.call_id, "is_error": first.is_error}
        turn = call.turn_created if call else self._answers
        texts = [block.text for block in element.blocks if block.type == shapes.RESULT]
        counts = (count(text, ContentType.TOOL_RESULT, self._counter) if text else PER_EMPTY_RESULT for text in texts)
        tokens = sum(counts) + sum(image_tokens(block.arguments) or 0 for block in others)
        self._add(block_id, ContentType.TOOL_RESULT, element.text, tokens, turn, **fields)

    def _add(
        self, block_id: str, type_: ContentType, text: str,
        tokens: int | None = None, turn: int | None = None, **fields: Any,
    ) -> None:  # fmt: skip
        if turn is None:
            turn = 0 if fields.get("message", -1) < 0 else self._answers if self._was_answer else self._answers + 1
        tokens = count(text, type_, self._counter) if tokens is None else tokens
        self.blocks.append(ContentBlock(block_id, type_, text, tokens, turn, **fields))


def type_of(role: str, text: str) -> ContentType:
    """Return the type of content of a text in a message, by the message's role, such as "assistant".

    In a message of the user, text that the user did not write is a MEMORY_INJECTION: a pack of memctl, or text that is
    nothing but what the host added, such as a reminder.
    """
    if role in shapes.SYSTEM_ROLES:
        return ContentType.SYSTEM_PROMPT
    if role == "assistant":
        return ContentType.ASSISTANT_RESPONSE
    if is_pack(text) or not user_words(text):
        return ContentType.MEMORY_INJECTION
    return ContentType.USER_MESSAGE


def _is_marked(given: Any) -> bool:
    if not isinstance(given, Mapping):
        return False
    metadata = given.get("metadata")
    return given.get("do_not_evict") is True or (isinstance(metadata, dict) and metadata.get("do_not_evict") is True)


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    name = tool.get("name") or (function.get("name") if isinstance(function, dict) else "")
    return encodable(name) if isinstance(name, str) else ""
