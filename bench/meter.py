"""The meter on real sessions: forecasts of turns until red, counts between two requests, and zones by counts.

What was chosen from data was chosen in one half of the sessions and is reported for both; a session's half follows from
the name of its file. All sessions are of one project and of models before 4.7.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from zlib import crc32

import msgspec

from memctl.tokens.count import Counter, tokenizer_of
from memctl.tokens.families import family_of
from memctl.tokens.reports import Growth, GrowthReader
from memctl.transcript.claude_code import LineReader
from memctl.transcript.window import Window, read
from memctl.window import Conversation, PressureZone, Thresholds, compaction_point, limit_of
from memctl.window.pressure import curve, monitor

_ARCHIVE = "transcripts-dev.tar.xz"
_USABLE = compaction_point(200_000, "claude-code")
_RED = monitor.Thresholds().red * _USABLE
_FROM, _TO = 0.5, 0.93  # of the way to red, where forecasts are asked for
_REQUESTS = 8  # since the last compaction before the first forecast
_RIGHT_BY_TEXTS = 0.85  # of the zones at least, by texts alone: a window near a zone's end is right by chance
_STEP = 60  # tokens; in shorter steps what a request costs beside its text weighs more than the text


class Session(msgspec.Struct, frozen=True):
    """A transcript with its window, what was added between its requests, and the half that it belongs to."""

    window: Window
    growths: list[Growth]
    half: int


def tables(data: str) -> bool:
    """Print the tables; `data` is the folder with the transcripts, "" if there is none."""
    archive = Path(data) / _ARCHIVE if data else None
    if archive is None or not archive.exists():
        print(f"\nThe meter: left out, there is no {_ARCHIVE} (make bench DATA=FOLDER)")
        return True
    sessions = list(_sessions(archive))
    halves = [[one for one in sessions if one.half == half] for half in (0, 1)]
    print(f"\nThe meter, {len(sessions)} sessions; chosen in the first half, reported for both")
    _forecasts(halves)
    _counts(halves)
    return _zones(sessions)


def _sessions(archive: Path) -> Iterator[Session]:
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
            if file is None:
                continue
            content = file.read()
            growths, lines = GrowthReader(), LineReader()
            read_lines = (lines.read(raw) for raw in content.decode(errors="replace").split("\n"))
            found = [growth for line in read_lines if line is not None and (growth := growths.take(line))]
            yield Session(read(content.splitlines(True)), found, crc32(Path(member.name).name.encode()) % 2)


def _forecasts(halves: Sequence[Sequence[Session]]) -> None:
    print("  turns until red, from half of the way on      cases  sessions  error  held by the range")
    curves = [[curve.of_transcript(one.window) for one in half] for half in halves]
    own = [curve.usual_growth(curves[1 - half]) for half in (0, 1)]
    for half, of_half in enumerate(curves):
        for name, usual in (("last 20 requests alone", 0.0), ("850 usually", 850.0), ("the other half's", own[half])):
            cases = [[*_cases(one, usual)] for one in of_half]
            found = [case for session in cases for case in session]
            error = median(abs(turns.likely / truth - 1) for turns, truth in found)
            held = sum(turns.least <= truth <= turns.most for turns, truth in found) / len(found)
            label = f"half {half + 1}, {name}{f' ({usual:,.0f})' if half + 1 and name.startswith('the') else ''}"
            print(f"    {label:<42} {len(found):>6} {sum(map(bool, cases)):>9} {error:>6.1%} {held:>10.0%}")


def _cases(of: curve.Curve, usual: float) -> Iterator[tuple[monitor.Turns, int]]:
    """Each forecast with the number of requests that it really took, where red was reached."""
    for part in of.segments:
        red = next((at for at, tokens in enumerate(part) if tokens >= _RED), 0)
        for at in range(_REQUESTS - 1, red):
            if _FROM * _RED <= part[at] < _TO * _RED:
                steps = [after - before for before, after in pairwise(part[: at + 1]) if after >= before]
                turns = monitor.turns_until(int(_RED - part[at]) + 1, steps, usual)
                if turns is not None:
                    yield turns, red - at


def _counts(halves: Sequence[Sequence[Session]]) -> None:
    print("  tokens between two requests                    steps  median     bias    p80")
    ways: dict[str, Callable[[str], Counter]] = {"o200k x factor": lambda model: Counter(family_of(model))}
    if tokenizer_of("claude-opus-4-5") is not None:
        ways["with the extra"] = lambda model: Counter(family_of(model), tokenizer=tokenizer_of(model))
    for half, sessions in enumerate(halves):
        growths = [one for session in sessions for one in session.growths if not one.fault and one.tokens >= _STEP]
        for name, counter_for in ways.items():
            for which, chosen in (("all", growths), ("of one call", [one for one in growths if one.tool_calls == 1])):
                errors = sorted(_counted(one, counter_for(one.model)) / one.tokens - 1 for one in chosen)
                sizes = sorted(map(abs, errors))
                figures = f"{median(sizes):>6.1%} {median(errors):>+8.1%} {sizes[len(sizes) * 8 // 10]:>6.1%}"
                print(f"    {f'half {half + 1}, {name}, {which}':<44} {len(chosen):>6} {figures}")


def _counted(growth: Growth, counter: Counter) -> int:
    return growth.overhead + sum(counter.tokens(part.text, part.kind) for part in growth.parts)


def _zones(sessions: Sequence[Session]) -> bool:
    """Print how often zones are right; return whether they are wherever tokens are reported, and nearly so by texts.

    A request of more than 200,000 tokens proves a large window, and no session without one had a large window. Of last
    windows without a compaction the messages are counted, and what stands beside them as the first request had it.
    """
    texts, errors = 0, []
    reporting = [one.window for one in sessions if one.window.reported]
    reported = sum(_zone(window.reported, window) is _true_zone(window.reported, window) for window in reporting)
    counted = [window for window in reporting if not window.compactions]
    for window in counted:
        counter = Counter(family_of(window.model))
        messages = Conversation.parse(window.messages, counter)
        tokens = max(window.requests[0] - counter.tokens(window.beginning, "chat"), 0) + messages.tokens
        texts += _zone(tokens, window) is _true_zone(window.reported, window)
        errors.append(abs(tokens / window.reported - 1))
    full = [(cut.before, one.window) for one in sessions for cut in one.window.compactions if cut.trigger == "auto"]
    red = sum(_true_zone(tokens, window) is PressureZone.RED for tokens, window in full if tokens)
    known = sum(bool(tokens) for tokens, _ in full)
    print(f"  zones where the host compacted by itself: red in {red} of {known} windows")
    print(f"  zones of sessions that report tokens: right in {reported} of {len(reporting)}")
    error = f"{median(errors):.1%}"
    print(f"  zones by texts alone: right in {texts} of {len(counted)}; the median error of their tokens is {error}")
    return red == known and reported == len(reporting) and texts >= _RIGHT_BY_TEXTS * len(counted)


def _zone(tokens: int, window: Window) -> PressureZone:
    """Return the zone of a window with some tokens, as `memctl context window status` finds the window's size."""
    automatic = [cut.before for cut in window.compactions if cut.trigger == "auto" and cut.before]
    seen, compacted = max(window.requests, default=0), automatic[-1] if automatic else 0
    limit = limit_of(window.model, "claude-code", seen=max(seen, tokens), compacted=compacted)
    return Thresholds().zone(tokens / limit.usable)


def _true_zone(tokens: int, window: Window) -> PressureZone:
    size = 1_000_000 if max(window.requests, default=0) > 200_000 else 200_000
    return Thresholds().zone(tokens / compaction_point(size, "claude-code"))
