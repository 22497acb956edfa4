"""Find commands that were called wrongly and worked in another form, and learn those that recur.

In one project the form `rtk bun` cost 20 of 60 sessions a call, since no session knew what the one before had found.
Such a pair is kept on the page of its session. It counts as learned if two sessions have it, or one has it three times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from memctl.record import session_page
from memctl.record.session_page import OTHER_FORM, SessionPage
from memctl.session import failures, shell, tool_calls
from memctl.session.shell import ShellCommand
from memctl.text.characters import redacted_line
from memctl.text.fit import cut
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import inline
from memctl.transcript.events import CALL, RESULT, Event

_NEAR = 6  # calls after a failure among which the form that works is looked for
_LONGEST = 60  # characters of a form
_SESSIONS, _TIMES = 2, 3  # in which, or how often in one, a pair occurs before it counts as learned
_MISUSED = lazy_regex(
    r"(?i)command not found|(?:unknown|unrecognized|invalid|no such) (?:\w+ )?(?:flag|option|argument|(?:sub)?command)"
    r"|not recognized as|script not found|missing script"
)
_LINE = lazy_regex(rf"{OTHER_FORM}(`+)(?P<fails>.+?)\1 fails: (?P<message>.*) \u2014 (`+)(?P<works>.+?)\4 works"
                   r"(?: \((?P<times>\d+) times\))?")  # fmt: skip


class WorkingForm(msgspec.Struct, frozen=True):
    """A form of a command that fails here, what it says, and the form that works, such as "rtk bun" and "bun".

    `times` counts how often it failed, and `sessions` in how many sessions.
    """

    fails: str
    works: str
    message: str
    times: int = 1
    sessions: int = 1

    @property
    def line(self) -> str:
        """The pair as a line of a session's page, which `on_page` reads."""
        times = f" ({self.times} times)" if self.times > 1 else ""
        said = inline(redacted_line(self.message))
        return f"{OTHER_FORM}`{self.fails}` fails: {said} \u2014 `{self.works}` works{times}"


def of_events(events: Sequence[Event]) -> list[WorkingForm]:
    """Return the commands of a session that were called wrongly and worked in another form soon after."""
    called = {event.call: event for event in events if event.kind == CALL and event.call}
    results = [(called[event.call], event) for event in events if event.kind == RESULT and event.call in called]
    found: dict[tuple[str, str], WorkingForm] = {}
    for place, (call, result) in enumerate(results):
        words, message = _words(call), failures.message(result.text)
        if not words or not failures.is_failure(result, call) or not _MISUSED.search(message):
            continue
        if _is_of_another(message, words, call):
            continue
        near = results[place + 1 : place + 1 + _NEAR]
        worked = [_words(other) for other, ended in near if not failures.is_failure(ended, other)]
        pair = next(filter(None, (_pair(words, other) for other in worked)), None)
        if pair is not None:
            known = found.get(pair)
            times = known.times + 1 if known else 1
            found[pair] = WorkingForm(*pair, cut(message, 2 * _LONGEST), times)
    return list(found.values())


def _is_of_another(message: str, words: tuple[str, ...], call: Event) -> bool:
    """Return whether a message names another command of the call, such as "grep: unrecognized option"."""
    named = message.partition(":")[0]
    return named not in words and any(named in one.words[:1] for one in _commands(call))


def _commands(call: Event) -> list[ShellCommand]:
    return list(shell.all_commands(tool_calls.command_of(call.arguments)))


def _words(call: Event) -> tuple[str, ...]:
    """Return the words of the last command of a call that does something, () without one."""
    commands = [
        one
        for one in _commands(call)
        if one.words and one.words[0] not in ("cd", "echo", "tail", "head", "grep", "sleep")
    ]
    return commands[-1].words if commands else ()


def _pair(fails: tuple[str, ...], works: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the parts in which two forms of a command differ, None if they are equal or different commands.

    They are forms of one command if one only has more words than the other, or if only the program differs.
    """
    is_longer = set(fails) < set(works) or set(works) < set(fails)
    if not (is_longer or (len(fails) > 1 and fails[1:] == works[1:] and fails[0] != works[0])):
        return None
    end = 0
    while end < min(len(fails), len(works)) and fails[-1 - end] == works[-1 - end]:
        end += 1
    one, other = fails[: len(fails) - end], works[: len(works) - end]
    if end and (one == other[: len(one)] or other == one[: len(other)]):  # a word that both have says what of
        one, other = fails[: len(one) + 1], works[: len(other) + 1]
    texts = " ".join(one), " ".join(other)
    is_plain = all(texts) and not any("`" in text or "\n" in text or len(text) > _LONGEST for text in texts)
    return texts if is_plain else None


def on_page(page: SessionPage) -> list[WorkingForm]:
    """Return the pairs that a session's page has."""
    matches = (_LINE.fullmatch(line) for line in page.lines.get(session_page.ERRORS, ()))
    return [
        WorkingForm(match["fails"], match["works"], match["message"], int(match["times"] or 1))
        for match in matches
        if match
    ]


def learned(pages: Iterable[SessionPage]) -> list[WorkingForm]:
    """Return the pairs that recur on the pages of sessions, the one that most sessions have first."""
    known: dict[tuple[str, str], WorkingForm] = {}
    for form in (form for page in pages for form in on_page(page)):
        old = known.get((form.fails, form.works), msgspec.structs.replace(form, times=0, sessions=0))
        times, sessions = old.times + form.times, old.sessions + 1
        known[form.fails, form.works] = msgspec.structs.replace(old, times=times, sessions=sessions)
    recurring = [form for form in known.values() if form.sessions >= _SESSIONS or form.times >= _TIMES]
    return sorted(recurring, key=lambda form: (-form.sessions, -form.times))


def advice(command: str, forms: Iterable[WorkingForm]) -> str:
    """Return what is known of a command that begins with a failing form, "" if nothing is."""
    for simple in shell.all_commands(command):
        text = " ".join(simple.words)
        for form in forms:
            if f"{text} ".startswith(f"{form.fails} ") and not f"{text} ".startswith(f"{form.works} "):
                return f"`{form.fails}` has failed here before ({form.message}); `{form.works}` works. (memctl)\n"
    return ""
