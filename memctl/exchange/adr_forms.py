"""The two forms of architecture decision records, Nygard's and MADR's, and how their sections become a decision's.

Nygard's is the form that adr-tools writes, MADR's that of its templates, versions 2 to 4. Both name the sections that
a decision has otherwise; whatever else a file has keeps its heading and its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from memctl.record.kinds import DECISION, Field
from memctl.text import headings
from memctl.text.headings import HeadedPart

Form = Literal["madr", "nygard"]
FORMS: tuple[Form, ...] = ("madr", "nygard")
STATUS = "status"  # the heading of Nygard's section, as it is compared

# Content field -> the name of its section, in the order in which a form has them.
_NAMES: dict[Form, dict[str, str]] = {
    "madr": {
        "context": "Context and Problem Statement",
        "rationale": "Decision Drivers",
        "alternatives_considered": "Considered Options",
        "decision": "Decision Outcome",
        "expected_impact": "Consequences",
        "validation_criteria": "Confirmation",
    },
    "nygard": {
        "context": "Context",
        "decision": "Decision",
        "rationale": "Rationale",
        "alternatives_considered": "Alternatives considered",
        "expected_impact": "Consequences",
        "validation_criteria": "Validation criteria",
    },
}
_BELOW_OUTCOME = ("expected_impact", "validation_criteria")  # MADR has them as parts of the outcome
_OWN = {field.heading.casefold(): field for field in DECISION.fields}
_FIELDS = {field.name: field for field in DECISION.fields}
_MEANT = {
    **{name.casefold(): _FIELDS[field] for names in _NAMES.values() for field, name in names.items()},
    **_OWN,
    "validation": _FIELDS["validation_criteria"],  # MADR 3.0
}
_ONLY_MADR = {"context and problem statement", "decision drivers", "considered options", "decision outcome"}
_ONLY_NYGARD = {STATUS, "context", "decision", "consequences"}


def detect(parts: Iterable[HeadedPart]) -> Form:
    """The form of a file with these parts."""
    found = {name_of(part) for part in parts}
    return "nygard" if found & _ONLY_NYGARD and not found & _ONLY_MADR else "madr"


def for_record(parts: Iterable[HeadedPart], form: Form) -> tuple[str, dict[str, str]]:
    """The body that a file's parts make, and by content field the opening lines that are not the form's own."""
    texts: list[str] = []
    wording: dict[str, str] = {}
    taken: set[str] = set()
    for part in parts:
        field = _MEANT.get(name_of(part))
        if field is None or field.name in taken:  # content is what the first section of a name says
            texts.append(part.text)
            continue
        taken.add(field.name)
        if (line := part.opening.rstrip("\n")) != _opening(field, form):
            wording[field.name] = line
        texts.append(f"## {field.heading}{_line_end(part)}{part.body}")
    return "".join(texts), wording


def for_file(body: str, form: Form, wording: Mapping[str, str]) -> list[str]:
    """The texts of the parts that a body has in a file: `for_record` the other way round."""
    texts = []
    for part, field in _with_fields(body):
        opening = f"{wording.get(field.name, _opening(field, form))}{_line_end(part)}" if field else part.opening
        texts.append(opening + part.body)
    return texts


def arranged(body: str, form: Form) -> str:
    """A body in a form that it did not come in: sections in the form's order and under its names, others behind."""
    places = list(_NAMES[form])
    parts = _with_fields(body)
    has_outcome = form == "madr" and any(field and field.name == "decision" for _, field in parts)
    placed: list[tuple[int, str]] = []
    for part, field in parts:
        if field is None:
            placed.append((len(places) if part.is_headed else -1, part.text))
            continue
        level = "#" if has_outcome and field.name in _BELOW_OUTCOME else ""
        line = level + _opening(field, form)
        placed.append((places.index(field.name), f"{line}\n{part.body}"))
    texts = [headings.close_fence(text.rstrip("\n")) for _, text in sorted(placed, key=lambda item: item[0])]
    return "\n\n".join(texts) + "\n" if texts else ""


def name_of(part: HeadedPart) -> str:
    """What a section is called, for comparing: MADR 2 has comments such as `<!-- optional -->` behind the names."""
    return part.heading.partition("<!--")[0].strip().removesuffix(":").rstrip().casefold()


def _with_fields(body: str) -> Sequence[tuple[HeadedPart, Field | None]]:
    """The parts of a decision's body, each with the content field that it holds."""
    found: list[tuple[HeadedPart, Field | None]] = []
    taken: set[str] = set()
    for part in headings.split(body):
        field = _OWN.get(part.heading.casefold())
        if field is None or field.name in taken:
            found.append((part, None))
        else:
            taken.add(field.name)
            found.append((part, field))
    return found


def _line_end(part: HeadedPart) -> str:
    return "\n" * part.opening.endswith("\n")


def _opening(field: Field, form: Form) -> str:
    return f"## {_NAMES[form][field.name]}"
