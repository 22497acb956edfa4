"""A conversation as a host keeps it, taken apart into blocks and put together again.

Understood are bodies of requests and bare lists of messages, in the shapes of Anthropic's messages, OpenAI's chat
completions and the items of OpenAI's responses. What is given back has the shape of what was given: everything unknown
(images, `cache_control`, signatures, fields that hosts add) is carried through untouched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.record import argument_checks
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.transcript.messages import body_key, elements, is_answer, messages_of
from memctl.window.messages import editing, parsing
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter
from memctl.window.messages.parsing import BlockPlace

Lines = Sequence[Sequence[int]]


class Keep(msgspec.Struct, frozen=True):
    """What a host wants left as it is: blocks of some types, results of some tools, and the last so many results."""

    types: frozenset[ContentType] = frozenset()
    tools: frozenset[str] = frozenset()
    last: int = 0

    def mark(self, blocks: tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
        """The blocks, those that are to stay marked."""
        results = [block.block_id for block in blocks if block.content_type is ContentType.TOOL_RESULT]
        last = set(results[len(results) - self.last :]) if self.last else ()
        return tuple(
            msgspec.structs.replace(block, do_not_evict=True)
            if block.content_type in self.types
            or block.block_id in last
            or (block.content_type is ContentType.TOOL_RESULT and block.tool_name in self.tools)
            else block
            for block in blocks
        )


class Conversation(msgspec.Struct, frozen=True):
    """A conversation: what was given, its blocks in their order, and where each of them stands in it.

    `lines` and `keep` are those of `parse`.
    """

    given: Any
    blocks: tuple[ContentBlock, ...]
    places: Mapping[str, BlockPlace]
    lines: Lines = ()
    keep: Keep | None = None

    @classmethod
    def parse(cls, given: Any, counter: TokenCounter, *, lines: Lines = (), keep: Keep | None = None) -> Conversation:
        """Take a request's body or a list of messages apart; `counter` says whose tokens are counted.

        `lines` are for messages out of a transcript: for each message the line of each of its blocks, 0 for one that no
        line has. `keep` says what is to stay as it is. Raises MemctlError for what is no conversation.
        """
        key = body_key(given)
        argument_checks.instance(counter, TokenCounter, "counter", "something with a method `tokens`")
        reader = parsing.BlockReader(counter, lines)
        if key is not None:
            reader.read_frame(given)
        for index, message in enumerate(messages_of(given)):
            reader.read_message(index, message)
        blocks, places = reader.finished()
        return cls(given, blocks if keep is None else keep.mark(blocks), places, lines, keep)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, or items, as they were given."""
        return messages_of(self.given)

    @property
    def overhead(self) -> int:
        """Tokens of the request beside those of its blocks."""
        return PER_REQUEST + PER_MESSAGE * len(self.messages)

    @property
    def tokens(self) -> int:
        """Tokens of the whole. Content that no text stands for, such as images, is not in it: see `uncounted`."""
        return self.overhead + sum(block.token_count for block in self.blocks)

    @property
    def uncounted(self) -> dict[str, int]:
        """How often each type of content stands in the messages that no text stands for."""
        found: dict[str, int] = {}
        for name in parsing.uncounted(self.messages):
            found[name] = found.get(name, 0) + 1
        return found

    @property
    def current_turn(self) -> int:
        """The turn of the request that is to be made next."""
        answers = [is_answer(message) for message in self.messages]
        return 1 + sum(now and not before for before, now in pairwise([False, *answers]))

    def replace(self, texts: Mapping[str, str | None]) -> Any:
        """The conversation with other texts for some blocks, by id, in the shape in which it was given.

        Messages stay as many as they were, so that roles alternate as before, and no tool call parts from its result:

        - A result keeps its place and its `call_id`, and gets the text for its content; None leaves a word there.
        - A call keeps its name and its id; the text is its new arguments as JSON, None are none.
        - A block of thinking, or the definition of a tool, can only go (None): it is whole or gone.
        - Any other block gets the text. None takes it away; a message that would be left empty, or with nothing but
          thinking, gets a word in its place.

        Nothing that was given is changed. Raises MemctlError for an id that is not there, for new text in thinking, and
        for arguments that are no JSON object.
        """
        edits = []
        argument_checks.instance(texts, Mapping, "texts", "texts by the ids of blocks")
        known = {block.block_id: block for block in self.blocks}
        for block_id, text in texts.items():
            argument_checks.instance(text, (str, type(None)), f"the text for {block_id}", "a text or None")
            block = known.get(block_id)
            if block is None:
                raise MemctlError(f"the conversation has no block {block_id!r}")
            if block.content_type in (ContentType.THINKING, ContentType.TOOL_DEFINITION) and text is not None:
                raise MemctlError(f"{block_id} is a {block.content_type.value}, which is whole or gone", "give None")
            edits.append((self.places[block_id], text))
        return editing.rewritten(self.given, body_key(self.given), edits)

    def changed(self, texts: Mapping[str, str | None], counter: TokenCounter) -> Conversation:
        """The conversation that `replace` gives, counted, with the lines of the transcript that its blocks are from."""
        if not texts:
            return self
        gone = {
            (place.message, place.path)
            for place in (self.places[block_id] for block_id, text in texts.items() if text is None)
            if editing.is_taken_out(place)
        }
        messages = self.messages
        lines = [
            [line for element, line in zip(elements(messages[index]), own, strict=False)
             if (index, element.path) not in gone]
            for index, own in enumerate(self.lines)
        ]  # fmt: skip
        return Conversation.parse(self.replace(texts), counter, lines=lines, keep=self.keep)

    def with_text(self, text: str, counter: TokenCounter) -> Conversation:
        """The conversation with a text of the host's behind its last message, in what the user says."""
        key = body_key(self.given)
        new = editing.with_text(self.messages, text)
        return Conversation.parse(new if key is None else {**self.given, key: new}, counter, keep=self.keep)


def check(given: object) -> None:
    """Raise MemctlError for what is given in the place of a conversation, such as its messages."""
    hint = "Conversation.parse(messages, counter) makes one of messages"
    argument_checks.instance(given, Conversation, "conversation", "a Conversation", hint)
