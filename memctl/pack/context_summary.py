"""Shorten a sub-agent's text to a summary of at most 500 tokens for the next phase of work, such as planning.

The summary begins with the decision that the text states: PROCEED, STOP or CLARIFY. Then it has sentences of the text,
unchanged, the most important first. Each sentence that is left out is reported with the reason. A text that meets the
rules already (rules.md#phase-summaries) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import names_in_text
from memctl.pack import summary_rules as rules
from memctl.pack.budget_fill import CountTokens
from memctl.statements.units import CODE, HEADING, SENTENCE, TABLE, Unit, units
from memctl.text import headings

_MOST = 20_000  # sentences and blocks of a text; each takes 0.1 ms to judge, and about 20 fit into a summary
_MISSES = 500  # units that do not fit, after which no further one is tried; counting one takes 0.1 ms
BUDGET = 500  # tokens, about 400 words
DECISIONS = ("PROCEED", "STOP", "CLARIFY")
REPEATED = "a repetition"
OVERRULED = "another decision than that of the summary"


_ANY = "|".join(DECISIONS)
_MARKS = r"[ \t>*#_-]*"
_LABEL = r"(?:decision|recommendation|verdict|outcome|status|result)[*_ \t]*[:=-]+[*_ \t`\"]*"
_DASHES = "\N{EN DASH}\N{EM DASH}-"
_LABELLED = re.compile(rf"^{_MARKS}{_LABEL}({_ANY})\b", re.IGNORECASE | re.MULTILINE)
_LEADING = re.compile(rf"^{_MARKS}({_ANY})[*_`]*[ \t]*(?:[.:!,;{_DASHES}]|$)", re.MULTILINE)
_ANYWHERE = re.compile(rf"\b({_ANY})\b")
_CLAUSE_END = re.compile("[.;:]")
_LONGEST_CLAUSE = 500  # characters before a decision in which a negation is looked for
_DENIAL = re.compile(r"\b(?:not|never|cannot|can'?t|don'?t|shouldn'?t|without|instead of|before we)\b", re.IGNORECASE)
# A line with nothing but a decision, and the beginning of a text that states the decision first.
_WHOLE_LINE = re.compile(rf"^{_MARKS}(?i:{_LABEL}(?:{_ANY})|(?-i:{_ANY}))[*_`\".!]*[ \t]*$")
_BEGINNING = re.compile(rf"\A(\s*)[*_]*(?:{_ANY})[*_]*[ \t]*[.:!,;{_DASHES}]+[*_]*[ \t]+")
# Reasons for leaving out a sentence that may still name files which need attention.


class SummaryLine(msgspec.Struct, frozen=True):
    """A sentence or block of the original text that the summary has.

    - `line` is the number of its first line in the original text, counted from 1.
    - `keeps` is its class: "decision", "constraint", "problem", "action", "pattern", "path" or "finding".
    - `warning` is the rule of rules.md#phase-summaries that it breaks, "" if it breaks none.
    """

    line: int
    text: str
    keeps: str
    warning: str = ""


class DroppedUnit(msgspec.Struct, frozen=True):
    """A sentence or block of the original text that the summary leaves out, and the reason.

    `line` is the number of its first line in the original text, counted from 1. A path that has no room at the end of
    the summary is a DroppedUnit, too, with the line 0.
    """

    line: int
    text: str
    reason: str


class ContextSummary(msgspec.Struct, frozen=True):
    """A finished summary: its text, and its size and budget in tokens.

    `decision` is the word with which the text begins: PROCEED, STOP or CLARIFY. `kept` are the sentences and blocks of
    the original text that the summary has, and `dropped` those that it leaves out. `paths` are the paths of files that
    were added at the end of the summary.
    """

    decision: str
    text: str
    tokens: int
    budget: int
    kept: list[SummaryLine]
    dropped: list[DroppedUnit]
    paths: list[str]

    @property
    def files(self) -> list[str]:
        """All paths that the summary names."""
        return list(dict.fromkeys([*names_in_text.paths(self.text), *self.paths]))

    @property
    def is_actionable(self) -> bool:
        """Whether the summary has something to act on, such as a decision or a path, and not only findings."""
        return any(unit.keeps in rules.ACTIONABLE for unit in self.kept) or bool(self.paths)


class Violation(msgspec.Struct, frozen=True):
    """A place where a text breaks a rule for summaries: the line, and a message on what is wrong.

    `line` counts from 1; it is 0 if the text as a whole breaks the rule, for example because it is too long.
    """

    line: int
    message: str


def find_decision(text: str) -> str:
    """Return the decision that a text states: PROCEED, STOP or CLARIFY, or "" for none.

    The text is searched for three forms, in this order: a line such as `Decision: PROCEED`, a line that begins with one
    of the three words, and one of the words in capitals anywhere. Only the first form that occurs counts. Raises
    MemctlError if different decisions are stated in this form.
    """
    for words in (_LABELLED, _LEADING, _ANYWHERE):
        places_by_name: dict[str, int] = {}
        for name, place in _find_decisions(text, words):
            places_by_name.setdefault(name, place)
        if len(places_by_name) > 1:
            places = [f"{name} in line {text.count(chr(10), 0, at) + 1}" for name, at in places_by_name.items()]
            message = f"the text states more than one decision: {', '.join(places)}"
            raise MemctlError(message, "say which one is valid with --decision")
        if places_by_name:
            return next(iter(places_by_name))
    return ""


def _find_decisions(text: str, words: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """Yield the decisions that match a pattern, each with its offset in the text; negated and quoted ones are skipped.

    In a line with a match all decisions count.
    """
    looked_at = begun = quotes = done = 0
    for match in words.finditer(text):
        start = match.start(1)
        if start < done:  # the line's decisions were yielded already
            continue
        if line := text.rfind("\n", looked_at, start) + 1:
            begun, quotes, looked_at = line, 0, line
        quotes += text.count('"', looked_at, start)
        looked_at = start
        clause = _CLAUSE_END.split(text[max(begun, start - _LONGEST_CLAUSE) : start])[-1]
        if quotes % 2 or _DENIAL.search(clause):
            continue
        done = text.find("\n", start)
        done = len(text) if done < 0 else done
        names = _ANYWHERE.findall(text, start, done) or [match[1].upper()]
        yield from ((name, start) for name in dict.fromkeys([*_ANYWHERE.findall(text, begun, start), *names]))


def summarize(text: str, decision: str, budget: int, count: CountTokens, paths: Sequence[str] = ()) -> ContextSummary:
    """Summarize a text in at most `budget` tokens, as `count` counts them.

    The summary begins with `decision`, which is PROCEED, STOP or CLARIFY. `paths` are files known to need attention,
    which the summary names at its end. Raises MemctlError if the budget is too small even for the decision.
    """
    if count(f"{decision}\n") > budget:
        raise MemctlError(f"the decision does not fit into {budget} tokens", "give a larger --budget", USAGE)
    body, stated = _without_decision(text)
    kept_units, dropped = _judge_units(_units(body), decision)
    named_paths = [*paths, *(path for unit in dropped if _may_name(unit) for path in names_in_text.paths(unit.text))]
    draft = f"{decision}\n\n{body.strip()}\n"
    if any(unit.reason != rules.HEADLINE for unit in dropped) or not kept_units or count(draft) > budget:
        kept_units, omitted = _select(kept_units, decision, budget, count)
        dropped, draft = [*dropped, *omitted], _compose(decision, kept_units)
        named_paths += [path for unit in omitted for path in names_in_text.paths(unit.text)]
    else:
        dropped = []
    draft, added, omitted = _with_paths(draft, list(dict.fromkeys(named_paths)), budget, count)
    other = [DroppedUnit(line, words, OVERRULED) for line, words in stated if decision not in words.upper()]
    dropped = sorted([*dropped, *omitted, *other], key=lambda unit: unit.line)
    lines = [SummaryLine(unit.line, unit.text, verdict.keeps, verdict.warning) for unit, verdict in kept_units]
    return ContextSummary(decision, draft, count(draft), budget, lines, dropped, added)


def violations(text: str, decision: str, budget: int, count: CountTokens) -> list[Violation]:
    """Return the places where a text breaks the rules for summaries (rules.md#phase-summaries).

    Those in single lines come first, in order, then those of the whole text. `decision` is the decision that the text
    states: PROCEED, STOP or CLARIFY. It is "" for a text without a decision, which breaks a rule, too. `budget` is the
    largest number of tokens, as `count` counts them.
    """
    body, _ = _without_decision(text)
    kept_units, dropped = _judge_units(_units(body), decision)
    faults = [(unit.line, unit.reason, unit.text) for unit in dropped if unit.reason != rules.HEADLINE]
    faults += [(unit.line, verdict.warning, unit.text) for unit, verdict in kept_units if verdict.warning]
    problems = [Violation(line, f"{why}: {words}") for line, why, words in sorted(faults, key=lambda fault: fault[0])]
    if not decision:
        problems.append(Violation(0, f"the text states none of the decisions {', '.join(DECISIONS)}"))
    if not any(verdict.keeps in rules.ACTIONABLE for _, verdict in kept_units):
        problems.append(Violation(0, "the text has nothing that the next phase can act on"))
    tokens = count(f"{decision}\n\n{body.strip()}\n")
    if tokens > budget:
        problems.append(Violation(0, f"the text has {tokens:,} tokens, but at most {budget:,} are allowed"))
    return problems


_JudgedUnit = tuple[Unit, rules.UnitVerdict]


def _units(text: str) -> list[Unit]:
    """Return the sentences and blocks of a text; raises MemctlError if there are more than 20,000."""
    cut = list(islice(units(text), _MOST + 1))
    if len(cut) > _MOST:
        hint = "ask the sub-agent for a shorter text, or give only a part of the text"
        raise MemctlError(f"the text has more than {_MOST:,} sentences and blocks", hint)
    return cut


def _without_decision(text: str) -> tuple[str, list[tuple[int, str]]]:
    """Return a text without the lines that only state the decision, and pairs of line number and text of these.

    The other lines keep their numbers. An open code block is closed.
    """
    lines = headings.close_fence(text).split("\n")
    blocks = [range(unit.line, unit.line + unit.text.count("\n") + 1) for unit in _units(text) if unit.form == CODE]
    code = set(chain.from_iterable(blocks))
    stated = []
    for number, line in enumerate(lines, start=1):
        if number not in code and _WHOLE_LINE.match(line):
            stated.append((number, line.strip()))
            lines[number - 1] = ""
    body = "\n".join(lines)
    if match := _BEGINNING.match(body):
        stated.append((body.count("\n", 0, match.end(1)) + 1, match[0].strip()))
        body = match[1] + body[match.end() :]
    return body, stated


def _judge_units(parts: Sequence[Unit], decision: str) -> tuple[list[_JudgedUnit], list[DroppedUnit]]:
    """Return the units that the rules keep with their verdicts, and the dropped ones; repetitions are dropped."""
    judged: list[_JudgedUnit] = []
    dropped: list[DroppedUnit] = []
    seen: set[str] = set()
    for unit in parts:
        verdict = rules.judge(unit)
        key = re.sub(r"[\W_]+", " ", unit.text.casefold()).strip()
        if _WHOLE_LINE.match(unit.text):
            verdict = rules.UnitVerdict(drops=REPEATED if decision in unit.text.upper() else OVERRULED)
        elif verdict.keeps and key in seen:
            verdict = rules.UnitVerdict(drops=REPEATED)
        if verdict.keeps:
            seen.add(key)
            judged.append((unit, verdict))
        else:
            dropped.append(DroppedUnit(unit.line, unit.text, verdict.drops))
    return judged, dropped


def _select(
    judged: list[_JudgedUnit], decision: str, budget: int, count: CountTokens
) -> tuple[list[_JudgedUnit], list[DroppedUnit]]:
    """Return the units that fit into the budget, the most important first, and those that do not."""
    groups = _by_importance(judged)
    ordered = [unit for group in groups for unit in group]
    if count(_compose(decision, ordered)) <= budget:
        return ordered, []
    chosen: list[_JudgedUnit] = []
    spent = misses = 0
    # A sentence whose group does not fit as a whole is taken alone only if no group fits.
    for candidates in (groups, [[unit] for unit in ordered]):
        for group in candidates:
            for unit in group:
                if spent + len(unit[0].text.split()) > budget or misses > _MISSES:  # a word has at least one token
                    break
                tokens = count(_compose(decision, [*chosen, unit]))
                if tokens > budget:
                    misses += 1
                    break
                chosen.append(unit)
                spent = tokens
        if chosen:
            break
    left = [unit for unit, verdict in ordered if (unit, verdict) not in chosen]
    return chosen, [DroppedUnit(unit.line, unit.text, _no_room(budget)) for unit in left]


def _by_importance(judged: Sequence[_JudgedUnit]) -> list[list[_JudgedUnit]]:
    """Group units, the most important first; a sentence that needs the one before it joins its group."""
    groups: list[list[_JudgedUnit]] = []
    for unit in judged:
        if groups and rules.needs_context(unit[0].text):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    groups.sort(key=lambda group: min(rules.ORDER.index(verdict.keeps) for _, verdict in group))
    return groups


def _compose(decision: str, judged: Sequence[_JudgedUnit]) -> str:
    """Return the text of a summary: the decision, then sentences as list items, and code and tables as blocks."""
    blocks, before = [decision], ""
    for unit, _ in judged:
        block = unit.form in (CODE, TABLE)
        text = unit.text if block else f"- {unit.text}"
        is_listed = before not in ("", CODE, TABLE, HEADING) and not block
        blocks.append(f"{blocks.pop()}\n{text}" if is_listed else text)
        before = unit.form
    return "\n\n".join(blocks) + "\n"


def _with_paths(
    draft: str, paths: Sequence[str], budget: int, count: CountTokens
) -> tuple[str, list[str], list[DroppedUnit]]:
    """Add a last line with the paths that a summary does not name yet, as many as fit.

    Returns the text, the added paths, and the dropped ones.
    """
    added: list[str] = []
    left = []
    spent, misses = count(draft), 0
    for path in paths:
        if names_in_text.place_of_path(path, draft) >= 0:
            continue
        tokens = count(_with_file_line(draft, [*added, path])) if spent < budget and misses <= _MISSES else budget + 1
        if tokens <= budget:
            added.append(path)
            spent = tokens
        else:
            misses += 1
            left.append(DroppedUnit(0, path, _no_room(budget)))
    return _with_file_line(draft, added), added, left


def _with_file_line(draft: str, paths: Sequence[str]) -> str:
    """Return a summary with a last line that names files; unchanged without files."""
    return f"{draft}\nFiles: {', '.join(paths)}\n" if paths else draft


def _may_name(unit: DroppedUnit) -> bool:
    """Return whether a dropped sentence may name files that need attention."""
    return unit.reason in (rules.STEP, rules.CONTENTS) and not unit.text.lstrip().startswith(("```", "~~~"))


def _no_room(budget: int) -> str:
    return f"no room in {budget:,} tokens"


_JSON_BLOCK = re.compile(r"^```(?:json)?[ \t]*\n(\{.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FILES = ("files_of_interest", "files_changed", "files_modified", "files")
_READ_KEYS = (*_FILES, "task_id", "phase", "status", "decision", "context_summary", "errors", "tokens_used")


class AgentResult(msgspec.Struct, frozen=True):
    """What a sub-agent returned: the text to summarize, and what other fields of its JSON object say, if it has one.

    - `decision` is PROCEED, STOP or CLARIFY, "" if no field has it.
    - `task_id` and `phase` name the task and the phase of work.
    - `paths` are the paths of files that fields name.
    - `discarded` are all other fields, by name and with their values as JSON. The summary does not use them.
    """

    text: str
    decision: str = ""
    task_id: str = ""
    phase: str = ""
    paths: list[str] = []
    discarded: dict[str, str] = {}


def parse(text: str) -> AgentResult:
    """Parse what a sub-agent returned: plain text, a JSON object, or text with a JSON block.

    Raises MemctlError for a JSON object that is broken or has neither a summary nor findings.
    """
    if text.lstrip().startswith("{"):
        try:
            return _of_object(msgspec.json.decode(text, type=dict[str, Any]))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise MemctlError(f"the text begins like a JSON object but is not one: {error}") from None
    for match in _JSON_BLOCK.finditer(text):
        try:
            data = msgspec.json.decode(match[1], type=dict[str, Any])
            summary = _of_object(data) if "context_summary" in data else None
        except (msgspec.MsgspecError, RecursionError):  # nested too deep
            continue
        if summary:
            around = (text[: match.start()] + text[match.end() :]).strip()
            return msgspec.structs.replace(summary, discarded={**summary.discarded, "text around": around})
    return AgentResult(text)


def _of_object(data: dict[str, Any]) -> AgentResult:
    """Return the result in a sub-agent's JSON object; raises MemctlError without a summary and findings."""
    findings = data.get("findings")
    summary = "\n".join(_texts(data.get("context_summary"))) or "\n".join(_texts(findings))
    open_errors = [f"- Error: {message}" for message in _open_errors(data.get("errors"))]
    text = "\n".join([summary, *(["", *open_errors] if open_errors else [])])
    if not text.strip():
        hint = 'add {"context_summary": "…"} to the object'
        raise MemctlError("the JSON object has no context_summary and no findings", hint)
    decision = str(data.get("decision") or "").strip().upper()
    paths = [path for name in _FILES for path in _paths(data.get(name), is_path=True)]
    raw = {f"findings.{name}": value for name, value in findings.items()} if isinstance(findings, dict) else {}
    raw |= {name: value for name, value in data.items() if name not in _READ_KEYS and not (name == "findings" and raw)}
    return AgentResult(
        text,
        decision if decision in DECISIONS else "",
        str(data.get("task_id") or ""),
        str(data.get("phase") or ""),
        list(dict.fromkeys([*paths, *_paths(findings)])),
        {name: msgspec.json.encode(value).decode() for name, value in raw.items() if value},
    )


def _texts(value: Any) -> list[str]:
    """Return a text unchanged as the only line, or each text in a list or object as a Markdown item."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    texts = [text for item in values for text in _texts(item)]
    return [text if text.startswith("- ") else f"- {' '.join(text.split())}" for text in texts]


def _open_errors(value: Any) -> Iterator[str]:
    """Yield the messages of the unresolved errors in a JSON list, each on one line."""
    for item in value if isinstance(value, list) else ():
        values = item if isinstance(item, dict) else {"message": item}
        is_resolved = values.get("resolved") is True or values.get("status") in ("resolved", "fixed")
        message = values.get("message") or values.get("error")
        if not isinstance(message, str) or not message.strip() or is_resolved:
            continue
        if rules.judge(Unit(0, SENTENCE, f"Error: {message}")).drops != rules.RESOLVED:
            yield " ".join(message.split())


def _paths(value: Any, *, is_path: bool = False) -> Iterator[str]:
    """Yield the paths in a JSON value: all texts with `is_path`, otherwise those in fields such as "path"."""
    if isinstance(value, str):
        if is_path and value.strip() and "\n" not in value:
            yield value.strip()
    elif isinstance(value, list):
        for item in value:
            yield from _paths(item, is_path=is_path)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _paths(item, is_path=name in ("path", "file", "file_path", "filename"))
