"""A hierarchy to put records into: a small source tree, and pages of levels 1 to 3 that refer to it and to records."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.vocabulary import Vocabulary
from memctl.record import frontmatter

_SECTIONS = 10
_DETAILS = 2  # pages for each section
_PARTS = 4  # headings on a page of details
_MODULES = 8  # files of each section
_FUNCTIONS = (3, 12)  # in a file
_LARGE = 150  # functions in the one file that is so large that level 4 lists what it contains

SECTIONS = tuple(f"§2.{number}" for number in range(1, _SECTIONS + 1))
DETAILS = tuple(f"§3.{number}" for number in range(1, _SECTIONS * _DETAILS + 1))


def code() -> dict[str, str]:
    """Source files by path, `_MODULES` below a folder for each section: always the same."""
    chance = random.Random(2)
    vocabulary = Vocabulary(chance)
    found = {}
    for section in range(1, _SECTIONS + 1):
        for number in range(1, _MODULES + 1):
            functions = _LARGE if (section, number) == (1, 1) else chance.randint(*_FUNCTIONS)
            found[f"src/part{section:02d}/module{number:02d}.py"] = _module(vocabulary, functions)
    return found


def _module(vocabulary: Vocabulary, functions: int) -> str:
    parts = [f'"""{vocabulary.prose(10)}"""\n']
    for number in range(functions):
        name = "_".join([*vocabulary.take(2), str(number)])
        parts.append(
            f'\n\ndef {name}(value: int) -> int:\n    """{vocabulary.prose(8)}"""\n    return value + {number}\n'
        )
    return "".join(parts)


def pages(identifiers: Sequence[str]) -> dict[str, str]:
    """The text of `project.md`, all sections and all details by path below `.memory/`; records are named among it."""
    chance = random.Random(3)
    vocabulary = Vocabulary(chance)
    found = {"project.md": _project(vocabulary, identifiers)}
    for number, marker in enumerate(SECTIONS, 1):
        found[f"sections/{marker[1:]}-part-{number}.md"] = _section(chance, vocabulary, number, identifiers)
    for number, marker in enumerate(DETAILS, 1):
        found[f"details/{marker[1:]}-details-{number}.md"] = _details(chance, vocabulary, number, identifiers)
    return found


def long_details(count: int, headings: int) -> dict[str, str]:
    """The text of more pages of details, each of so many headings, by path below `.memory/`: each is an entry."""
    chance = random.Random(4)
    vocabulary = Vocabulary(chance)
    found = {}
    for number in range(len(DETAILS) + 1, len(DETAILS) + count + 1):
        parts = [f"\n## {vocabulary.prose(4)[:-1]}\n\n{vocabulary.prose(30)}\n" for _ in range(headings)]
        values = {"id": f"§3.{number}", "title": f"Long details {number}", "section": chance.choice(SECTIONS)}
        found[f"details/3.{number}-long-details-{number}.md"] = frontmatter.compose(values, "".join(parts))
    return found


def _project(vocabulary: Vocabulary, identifiers: Sequence[str]) -> str:
    priorities = "".join(f"- {vocabulary.prose(6)[:-1]}: {place}\n" for place in (*SECTIONS[:2], identifiers[0]))
    body = f"## Goal\n\n{vocabulary.prose(15)}\n\n## Status\n\n{vocabulary.prose(20)}\n\n## Priorities\n\n{priorities}"
    return frontmatter.compose({"title": "bench", "completion_percentage": 60}, body)


def _section(chance: random.Random, vocabulary: Vocabulary, number: int, identifiers: Sequence[str]) -> str:
    details = DETAILS[(number - 1) * _DETAILS]
    values = {
        "id": SECTIONS[number - 1],
        "title": f"Part {number}",
        "completion_percentage": 60,
        "paths": [f"src/part{number:02d}/**"],
    }
    overview = f"{vocabulary.prose(20)} More in {details}.1, decided in {chance.choice(identifiers)}."
    actions = f"- {vocabulary.prose(5)}\n- {vocabulary.prose(5)}\n"
    body = f"## Overview\n\n{overview}\n\n## Status\n\n{vocabulary.prose(10)}\n\n## Next actions\n\n{actions}"
    return frontmatter.compose(values, body)


def _details(chance: random.Random, vocabulary: Vocabulary, number: int, identifiers: Sequence[str]) -> str:
    section = (number - 1) // _DETAILS
    folder = f"part{section + 1:02d}"
    values = {
        "id": DETAILS[number - 1],
        "title": f"Details {number}",
        "section": SECTIONS[section],
        "code_refs": [f"src/{folder}/module{_MODULES:02d}.py"],
    }
    parts = [f"{vocabulary.prose(30)}\n"]
    for part in range(1, _PARTS + 1):
        file = f"module{chance.randint(1, _MODULES):02d}"
        references = f"See §4.src/{folder}/{file}.py, §4.{folder}.{file} and {chance.choice(DETAILS)}.{part}."
        parts.append(
            f"\n## {vocabulary.prose(4)[:-1]}\n\n{vocabulary.prose(60)} {references}\n\n"
            f"{vocabulary.prose(30)} It follows from {chance.choice(identifiers)}.\n"
        )
    return frontmatter.compose(values, "".join(parts))
