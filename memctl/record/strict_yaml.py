"""Read front matter that is not in memctl's canonical form, if it is YAML with only one possible meaning.

A YAML library accepts some texts whose meaning surprises people. This module refuses them: duplicate keys, aliases,
`no` (which would be false) and `010` (which would be 8).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from memctl.record.errors import DUPLICATE, MAX_DEPTH, FrontMatterError
from memctl.text.lazy_regex import lazy_regex

_INT = lazy_regex(r"[-+]?(?:0|[1-9][0-9]{0,999})")
_DECIMAL = lazy_regex(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:e[-+][0-9]{1,3})?")
_BREAKS = lazy_regex("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NO_LIST = "the front matter must be a list of `key: value` lines, each from the first column on and not in braces"
_PAIR = lazy_regex(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)  # as JSON writes an emoji
_QUOTES = dict.fromkeys(
    (
        "found character that cannot start any token",
        "did not find expected node content",
        "mapping values are not allowed in this context",
    ),
    ": put the value in quotes",
)
_CONSTANTS = {"true": True, "false": False}


class _StrictHandler(YAMLHandler):
    def __init__(self, number_keys: bool) -> None:
        super().__init__()
        self._number_keys = number_keys

    def split(self, text: str) -> tuple[str, str]:
        return text, ""

    def load(self, fm: str, **_: object) -> Any:
        return _load(fm, self._number_keys)


def read(head: str, *, number_keys: bool = False) -> dict[str, Any]:
    """Return the values of front matter; raises FrontMatterError with the line in the file.

    `head` is the front matter without the lines `---` around it. `number_keys` allows numbers as keys of nested values,
    as in `0.75: progressive`.
    """
    if match := _BREAKS.search(head):
        line = head.count("\n", 0, match.start()) + 2
        what = f"the unusual line break U+{ord(match[0]):04X}"
        raise FrontMatterError(line, "", f"the front matter contains {what}: replace it with a normal one")
    if head[:1] in (" ", "\t"):
        raise FrontMatterError(2, "", _NO_LIST)
    # The library strips blank lines at both ends, which would shift line numbers and shorten a block at the end.
    guarded = re.sub(r"\A\n+", lambda match: "#\n" * len(match[0]), head) + "#"
    values, _ = frontmatter.parse(guarded, handler=_StrictHandler(number_keys))
    return dict(values)


def key_lines(head: str) -> dict[int, str]:
    """Return the keys of front matter by the number of the line on which each key begins.

    `head` is the front matter without the lines `---` around it. Lines count from 1 at the beginning of the file, so
    the first line of `head` is line 2.
    """
    root = yaml.compose(head, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {} if root is None else {name.start_mark.line + 2: name.value for name, _ in root.value}


def _load(head: str, number_keys: bool) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_tricks(yaml.parse(head, Loader=loader))
        root = yaml.compose(head, Loader=loader)
    except yaml.MarkedYAMLError as error:
        if "escape code" in str(error.problem) and (whole := _PAIR.sub(_character, head)) != head:
            return _load(whole, number_keys)
        mark = error.problem_mark or error.context_mark
        line = min((mark.line if mark else 0) + 2, head.count("\n") + 1)  # at most the last line
        at_fault = head.split("\n")[line - 2]
        hint = (
            ": indent with blanks, not with tabs" if at_fault.startswith("\t") else _QUOTES.get(str(error.problem), "")
        )
        raise FrontMatterError(line, "", f"not valid YAML: {error.problem or error}{hint}") from None
    except yaml.YAMLError as error:
        raise FrontMatterError(1, "", f"not valid YAML: {error}") from None
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode) or root.flow_style or root.value[0][0].start_mark.column:
        raise FrontMatterError(2, "", _NO_LIST)
    return _value(root, "", (str,), (str, int, float) if number_keys else (str,))  # type: ignore[no-any-return]


def _character(pair: re.Match[str]) -> str:
    return f"\\U{ord(bytes.fromhex(pair[1] + pair[2]).decode('utf-16-be')):08x}"


def _refuse_tricks(events: Iterable[Any]) -> None:
    """Refuse aliases, which make a small file huge, and deep nesting, which exhausts the stack."""
    depth = 0
    for event in events:
        line = event.start_mark.line + 2 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise FrontMatterError(
                line, "", "YAML anchors and aliases are not allowed in front matter: write the value itself"
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise FrontMatterError(line, "", f"values must be nested at most {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _value(node: Any, key: str, keys: tuple[type, ...], below: tuple[type, ...]) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, key, below, below) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        values: dict[Any, Any] = {}
        for name_node, value_node in node.value:
            name = _value(name_node, key, below, below)
            if type(name) not in keys:
                message = f"the key `{name_node.value}` must be text: write it in quotes"
                raise FrontMatterError(name_node.start_mark.line + 2, key, message)
            if name in values:
                raise FrontMatterError(name_node.start_mark.line + 2, name, f"the key `{name}` occurs twice", DUPLICATE)
            values[name] = _value(value_node, key or str(name), below, below)
        return values
    return _scalar_value(node, key)


def _scalar_value(node: Any, key: str) -> Any:
    text = node.value
    kind = node.tag.rpartition(":")[2]
    if node.style or kind in ("str", "timestamp", "value"):
        return text
    if kind == "int" and _INT.fullmatch(text):
        return int(text)
    if kind == "float" and _DECIMAL.fullmatch(text):
        return float(text)
    if kind == "bool" and text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if kind == "null":
        return None
    if node.tag.startswith("!"):
        raise FrontMatterError(node.start_mark.line + 2, key, f"the tag {node.tag} means nothing to memctl: remove it")
    meaning = {"bool": "true or false", "int": "a number in another base", "float": "a number", "null": "nothing"}
    message = f"YAML reads {text} without quotes as {meaning.get(kind, kind)}: put it in quotes"
    raise FrontMatterError(node.start_mark.line + 2, key, message)
