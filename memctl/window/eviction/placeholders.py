"""The text that replaces an evicted block: what the block was, what it said, and how to get it back.

For example (rules.md#window-eviction):

    [Evicted: tool_result from turn 12 (grep "retry").
    Finding: 9 files name retry in src/payment/.
    Full result in result-12.txt if needed.]

A placeholder has at most 50 tokens, and fewer than the block. In the conversation, the placeholder of a tool's result
takes the result's place, and so belongs to the same call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from memctl.text.fit import cut
from memctl.tokens.families import is_pack
from memctl.window.eviction.references import DIGITS
from memctl.window.messages import content
from memctl.window.messages.content import EVICTED, SUMMED_UP, ContentBlock, ContentType, TokenCounter, recount
from memctl.window.results import rows
from memctl.window.results.rows import FOUND, Output, key_line, plain

_LONG = 200  # characters of an argument that are too many to keep
_LONGEST_NAME = 40
_FEWEST_WORDS = 5  # of a line that is cut: fewer say nothing
_MOST_LISTED = 3  # different contents of merged blocks that are listed
_LABELS = (60, 28, 12)  # characters of what a call was asked: as many as let what it found fit
_LOOKS = re.compile(r"read|view|cat|open|grep|glob|search|find|list|ls|fetch|get|query|show|status|log", re.IGNORECASE)
_WRITES = re.compile(r"write|edit|replace|create|insert|patch|save|update|append", re.IGNORECASE)


class Evicted(msgspec.Struct, frozen=True):
    """What a placeholder is made from: the evicted block, its call if it is a result, and where else its content is.

    `kept_at` is the place where the host keeps the content, "" for none.
    """

    block: ContentBlock
    call: ContentBlock | None = None
    kept_at: str = ""

    @property
    def output(self) -> Output:
        """The content of the block, with its form, such as a diff: what the tool printed."""
        tool, arguments = (self.call.tool_name, self.call.arguments) if self.call else (self.block.tool_name, {})
        return rows.output_of(tool, arguments, self.block.content)


def is_placeholder(block: ContentBlock, most: int) -> bool:
    """Return whether a block is a placeholder, and thus was evicted before.

    It is one if it has the form of a placeholder, and at most `most` tokens: a longer text with this form may be
    anything.
    """
    text = block.content
    return text.startswith(EVICTED) and text.endswith("]") and text.count("]") == 1 and block.token_count <= most


def placeholder(evicted: Evicted, most: int, counter: TokenCounter) -> str | None:
    """Return the placeholder of an evicted block, with fewer tokens than the block; None if it can't be short enough.

    `most` is the largest number of tokens that it may have.
    """
    block = evicted.block
    most = min(most, block.token_count - 1)
    middle = _content(evicted)
    what = f"{EVICTED}{block.content_type.value} from turn {block.turn_created}"
    back = _back(evicted)
    heads = [f"{what} ({label})." if label else f"{what}." for label in (_label(evicted.call, n) for n in _LABELS)]
    fitted = [_fit_middle(block, (head, middle, back), most, counter) for head in dict.fromkeys(heads)]
    if best := max(fitted, key=lambda fit: fit[0])[1]:
        return best
    bare_head = f"{what} ({_label(evicted.call, 0)})." if evicted.call else f"{what}."
    tried = [(bare_head, middle, back), (heads[1], middle, ""), (heads[1], "", back), (f"{what}.", "", "")]
    return next((text for parts in tried if (text := _fit_middle(block, parts, most, counter)[1])), None)


def merge_line(
    group: Sequence[ContentBlock], call: ContentBlock | None, most: int, counter: TokenCounter, answer: str = ""
) -> str | None:
    """Return one line of at most `most` tokens that replaces several similar blocks; None if it can't be that short.

    The line begins with the number of blocks. Then follows `answer`, a model's summary of the blocks. If it is "", the
    line instead says how often each content occurs, and what the last block says. `call` is the call of the tool if the
    last block is its result, else None.
    """
    last = group[-1]
    own = key_line(last.content)
    head = f"{EVICTED}{len(group)} of {last.content_type.value}, turns {group[0].turn_created} to {last.turn_created}"
    lines = [key_line(block.content) for block in group]
    times = Counter(DIGITS.sub("#", line) for line in lines)
    example = {DIGITS.sub("#", line): line for line in lines}
    counted = [f"{number} times {example[text]}" for text, number in times.most_common(_MOST_LISTED) if text]
    tried = [f"; {'; '.join(parts)}" if parts else "" for parts in (counted, counted[:1], [])]
    ends = [f"; {answer}]"] if answer else [f"{listed}; the last said: {own}]" for listed in tried]
    labels = dict.fromkeys((_label(call, _LABELS[1]), call.tool_name if call else "", ""))
    texts = [f"{head}{f' ({label})' if label else ''}{end}" for end in ends for label in labels]
    words = own.split()
    while not answer and len(words) > 3:
        words = words[: len(words) * 3 // 4]
        texts.append(f"{head}; the last said: {' '.join(words)}…]")
    return next((text for text in texts if recount(last, text, counter) <= most), None)


def shorten_arguments(call: ContentBlock) -> str | None:
    """Return the arguments of a tool's call as JSON, with each long text in them replaced by its length.

    The result is None for what is no JSON object, and for values that are nested too deep.
    """
    arguments = call.arguments
    try:
        return msgspec.json.encode(_short(arguments)).decode() if arguments else None
    except RecursionError:
        return None


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONG else f"{EVICTED}{len(value):,} characters]"
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _fit_middle(block: ContentBlock, parts: tuple[str, str, str], most: int, counter: TokenCounter) -> tuple[int, str]:
    """Return the three parts as one text, the one in the middle cut until it fits, and how many words of that are left.

    The text is "" if little of it would be left.
    """
    head, middle, back = parts
    words = middle.split()
    whole = len(words)
    while True:
        shown = " ".join(words) + ("…" if 0 < len(words) < whole else _stop(words))
        whole_part, separator, rest = shown.rpartition("; ")
        if separator and len(words) < whole and len(rest.split()) < _FEWEST_WORDS:
            shown = f"{whole_part}."
        text = " ".join(part for part in (head, shown, back) if part) + "]"
        over = recount(block, text, counter) - most
        if over <= 0:
            return len(words), text
        if len(words) <= 3:  # "Finding:" and a word or two say nothing
            return -1, ""
        del words[-max(1, min(over // 2, len(words) - 3)) :]


def _stop(words: list[str]) -> str:
    return "." if words and words[-1][-1] not in ".!?:;…" else ""


def _label(call: ContentBlock | None, most: int) -> str:
    if call is None:
        return ""
    argument = cut(plain(call.main_argument), most)
    name = plain(call.tool_name)[:_LONGEST_NAME]
    return f'{name} "{argument}"' if argument and most else name


def _content(evicted: Evicted) -> str:
    block = evicted.block
    others = block.metadata.get("uncounted", ())
    more = f" (and {len(others)} of {others[0]})" if others else ""
    is_result = block.content_type is ContentType.TOOL_RESULT
    if block.content.startswith(SUMMED_UP):
        lines = block.content.split("\n")
        first = next((line for line in lines if line.startswith(f"{FOUND}: ")), "")
        finding = plain(first.removeprefix(f"{FOUND}: ")) or key_line("\n".join(lines[1:]))
    elif is_result and not block.is_error and block.content.strip():
        output = evicted.output  # the file that was read is in the label already
        finding = plain(rows.finding(output).removesuffix(f" of {rows.line(output.path)}"))
    else:
        finding = key_line(block.content, is_error=block.is_error)
    return f"{FOUND if is_result else 'It said'}: {finding}{more}" if finding or more else ""


def _back(evicted: Evicted) -> str:
    block, call = evicted.block, evicted.call
    if evicted.kept_at:
        return f"Whole: {evicted.kept_at}"
    if place := content.place_of(block):
        return f"Whole: {place}."
    if block.content_type is ContentType.MEMORY_INJECTION and is_pack(block.content):
        return "`memctl rehydrate` prints it again."
    if call is None:
        return ""
    if _LOOKS.search(call.tool_name):
        return "Call it again if needed."
    if _WRITES.search(call.tool_name) and any(name in call.arguments for name in content.PATH_ARGUMENTS):
        return "The file has it."
    return "Rerun if harmless."
