"""Describe the edits of a file by the names that they add, change and remove, and by their number of lines.

Names are definitions in code or headings in text. In a file that has no such names, an edit is described by the first
line that it adds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memctl.pages import code_lines
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.transcript.events import Event

_MOST = 4  # names of each sort
_LONGEST = 80  # characters of a line that is quoted
_LOOKED_AT = 200_000  # characters of a text that are compared
_LONGEST_WORD = 120  # characters of a call's own description
_HEAD = re.compile(r"(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ )([^\t\n]+)")
_TITLE = re.compile(r"#{1,6} +\S")
_SIZE = re.compile(r"(?:(?P<whole>\d[\d,]*)|(?:\+(?P<added>\d+))? ?(?:-(?P<removed>\d+))?) lines?")
_NAMED = re.compile(r"(?:^|, )(defines|adds|changes|removes) (.+?)(?: and \d+ more)?(?=$|, (?:adds|changes|removes) )")
_OPEN_QUOTE = "\N{LEFT DOUBLE QUOTATION MARK}"
_WHOLE = ("content", "file_text")  # names of arguments
_TEXTS = ("md", "mdx", "rst", "txt")


def of_call(call: Event, path: str) -> str:
    """Describe what a tool call did to the file `path`, such as "adds retry, changes send; +12 -3 lines".

    If one of the call's arguments is a description that the agent wrote, this description is returned. The result is ""
    if the arguments do not say what the call did.
    """
    arguments = call.arguments
    for key in ("description", "instructions", "explanation"):
        if isinstance(arguments.get(key), str) and "command" not in arguments:
            return cut(one_line(str(arguments[key])), _LONGEST_WORD)
    if pairs := list(_edits(arguments)):
        return of_edit(path, "\n".join(old for old, _ in pairs), "\n".join(new for _, new in pairs))
    if (text := _text_of(arguments, _WHOLE)) is not None:
        return of_file(path, text)
    patch = next(
        (text for text in arguments.values() if isinstance(text, str) and ("*** " in text or "+++ " in text)), ""
    )
    return of_patch(path, _part(patch, path)) if patch else ""


def texts_written(call: Event) -> list[str]:
    """Return the new texts that a call writes to files, whole files and replacements; patches are left out."""
    whole = _text_of(call.arguments, _WHOLE)
    return [*(new for _, new in _edits(call.arguments)), *([whole] if whole is not None else [])]


def _edits(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the replacements that a call makes, as pairs of old and new text."""
    edits = arguments.get("edits")
    for edit in edits if isinstance(edits, list) and edits else [arguments]:
        if (new := _text_of(edit, ("new_string", "new_str", "new_source"))) is not None:
            yield _text_of(edit, ("old_string", "old_str")) or "", new


def _text_of(value: Any, names: Sequence[str]) -> str | None:
    if not isinstance(value, dict):
        return None
    return next((value[name] for name in names if isinstance(value.get(name), str)), None)


def _part(patch: str, path: str) -> list[str]:
    """Return the lines of a patch that belong to one file."""
    part: list[str] = []
    is_own = False
    for line in patch.split("\n"):
        if match := _HEAD.match(line):
            is_own = match[1].strip() in (path, f"b/{path}")
        elif is_own:
            part.append(line)
    return part


def of_edit(path: str, old: str, new: str) -> str:
    """Describe the replacement of the text `old` by `new` in the file `path`; "" if nothing changes.

    The description is such as "adds retry, changes send; +12 -3 lines".
    """
    before, after = _blocks(path, old), _blocks(path, new)
    changes = [
        ("adds", [name for name in after if name not in before]),
        ("changes", [name for name in after if name in before and before[name] != after[name]]),
        ("removes", [name for name in before if name not in after]),
    ]
    words = ", ".join(f"{verb} {_join_names(names)}" for verb, names in changes if names)
    added, removed = _difference(old, new)
    if not words and added and path.rpartition(".")[2].lower() not in (*code_lines.OUTLINED, *_TEXTS):
        words = _quoted(cut(added[0].strip(), _LONGEST))
    sizes = [f"{sign}{len(lines)}" for sign, lines in (("+", added), ("-", removed)) if lines]
    size = f"{' '.join(sizes)} line{'s' if len(added) + len(removed) != 1 else ''}" if sizes else ""
    return "; ".join(filter(None, (words, size)))


def of_file(path: str, text: str) -> str:
    """Describe a file that was written as a whole: "defines Pool, send; 120 lines", or only "120 lines"."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    size = f"{lines:,} line{'s' if lines != 1 else ''}"
    names = list(_blocks(path, text))
    return f"defines {_join_names(names)}; {size}" if names else size


def of_patch(path: str, lines: Sequence[str]) -> str:
    """Describe what a patch does to the file `path`, such as "adds retry, changes send; +12 -3 lines".

    `lines` are the lines of the patch about this file. The result is "" if they change nothing.
    """
    old = "\n".join(line[1:] for line in lines if line[:1] in ("-", " ") and not line.startswith("---"))
    new = "\n".join(line[1:] for line in lines if line[:1] in ("+", " ") and not line.startswith("+++"))
    return of_edit(path, old, new)


def join(descriptions: Sequence[str]) -> str:
    """Describe several edits of one file at once, from the descriptions of each.

    "adds retry; +5 lines" and "changes retry, changes send; -2 lines" give "adds retry, changes send; +5 -2 lines".
    """
    if len(descriptions) < 2:
        return "".join(descriptions)
    verbs: dict[str, str] = {}  # by names
    words: dict[str, None] = {}
    size = Counter[str]()
    for part in "; ".join(descriptions).split("; "):
        if match := _SIZE.fullmatch(part):
            size = size if match["whole"] is None else Counter()
            size.update({key: int(number.replace(",", "")) for key, number in match.groupdict().items() if number})
        elif _NAMED.match(part):
            for verb, names in _NAMED.findall(part):
                for name in names.split(", "):
                    known = verbs.get(name, verb)
                    verbs[name] = verb if "removes" in (verb, known) else known
        elif not part.startswith(_OPEN_QUOTE):
            words[part] = None
    if "defines" in verbs.values():  # the whole file was written: it is described as it is now
        verbs = {name: "defines" for name, verb in verbs.items() if verb in ("defines", "adds")}
    named = {verb: [name for name, own in verbs.items() if own == verb] for verb in dict.fromkeys(verbs.values())}
    what = ", ".join(f"{verb} {_join_names(names)}" for verb, names in sorted(named.items()))
    if size["whole"]:
        size = Counter(whole=max(size["whole"] + size["added"] - size["removed"], 0))
    sizes = [f"{sign}{size[key]}" for key, sign in (("whole", ""), ("added", "+"), ("removed", "-")) if size[key]]
    lines = f"{' '.join(sizes)} line{'s' if size.total() != 1 else ''}" if sizes else ""
    return "; ".join(filter(None, (what, *words, lines))) or descriptions[0]


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _blocks(path: str, text: str) -> Mapping[str, str]:
    """Return the definitions or headings of a text by name, each with its lines up to the next one."""
    text = text[:_LOOKED_AT]
    suffix = path.rpartition(".")[2].lower()
    if suffix in code_lines.OUTLINED:
        starts = [(line, title) for line, _, title in code_lines.definitions(suffix, text)]
    elif suffix in _TEXTS:
        starts = list(_titles(text))
    else:
        return {}
    all_lines = text.split("\n")
    ends = [line for line, _ in [*starts, (len(all_lines) + 1, "")]][1:]
    return {title: "\n".join(all_lines[line - 1 : end - 1]) for (line, title), end in zip(starts, ends, strict=True)}


def _titles(text: str) -> Iterator[tuple[int, str]]:
    """Yield the headings of a text with their line numbers, line by line: loading a Markdown parser takes 30 ms."""
    is_code = False
    for number, line in enumerate(text.split("\n"), start=1):
        is_code = is_code != line.lstrip().startswith(("```", "~~~"))
        if not is_code and _TITLE.match(line):
            yield number, _quoted(line.strip("# "))


def _quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"


def _difference(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the added and the removed lines, wherever they are in the text."""
    before, after = (Counter(filter(str.strip, text[:_LOOKED_AT].split("\n"))) for text in (old, new))
    return list((after - before).elements()), list((before - after).elements())
