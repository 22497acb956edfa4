"""`python -m bench`: print how memctl compares with its baselines."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import (
    breakdown,
    comparisons,
    credentials,
    dialogues,
    file_ranking,
    file_recall,
    first_week,
    hierarchy,
    hooks,
    house,
    meter,
    near,
    next_session,
    policies,
    prompts,
    repositories,
    resume,
    retrieval,
    sources,
    statements,
    window_loop,
    windows,
    world,
    writers,
)
from bench.hierarchy import Repetitions
from bench.world import World


def main() -> int:
    options = _options()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memctl-bench-") as name:
        here = world.make(Path(name).resolve())
        print(f"{here.run([world.MEMCTL, '--version']).strip()}, {here.run(['git', '--version']).strip()}", end=", ")
        print(f"Python {sys.version.split()[0]}; medians, each command and its baseline turn by turn", flush=True)
        wanted = [options.only] if options.only else [name for name in _TABLES if name not in ("house", "ablation")]
        results = [_TABLES[table](here, options) for table in wanted]
    print(f"\ntook {time.monotonic() - started:.0f} s")
    return 0 if all(results) else 1


def _starting(here: World, options: argparse.Namespace) -> bool:
    comparisons.starting(here, 9 if options.quick else 25)
    return True


def _deciding(here: World, options: argparse.Namespace) -> bool:
    comparisons.deciding(here, 7 if options.quick else 21)
    if options.profile:
        given = ("decide", "A decision", "--rationale", "It has to be.")
        breakdown.explain(here, repositories.with_code(here, "decide"), "decide", given)
    return True


def _reading(here: World, options: argparse.Namespace) -> bool:
    comparisons.reading(here, 1_000, warm=5 if options.quick else 11, cold=2 if options.quick else 3)
    if not options.quick:
        comparisons.reading(here, 10_000, warm=7, cold=2)
        comparisons.searching(here, 7)
    if options.large:
        comparisons.reading(here, 100_000, warm=3, cold=1)
    for command in ("list", "rehydrate") if options.profile else ():
        breakdown.explain(here, repositories.with_memory(here, 1_000), command, (command,))
    return True


def _writers(here: World, options: argparse.Namespace) -> bool:
    return writers.at_once(here, repositories.with_code(here, "decide"), 1 if options.quick else 3)


def _hierarchy(here: World, options: argparse.Namespace) -> bool:
    few = {100: Repetitions(5, 2), 1_000: Repetitions(5, 2)}
    many = {100: Repetitions(5, 3), 1_000: Repetitions(5, 3), 10_000: Repetitions(5, 2)}
    hierarchy.tables(here, few if options.quick else many)
    if options.profile:
        breakdown.explain(here, repositories.with_memory(here, 1_000), "check", ("check",))
    return True


def _files(here: World, options: argparse.Namespace) -> bool:
    sources.tables(here, 1_000 if options.quick else sources.FILES, warm=3 if options.quick else 5, cold=1)
    return True


def _file_ranking(here: World, options: argparse.Namespace) -> bool:
    return file_ranking.tables(here, options.data, options.against, options.half)


def _hooks(here: World, options: argparse.Namespace) -> bool:
    hooks.live(here, 1_000 if options.quick else 10_000, 5 if options.quick else 15, options.data)
    hooks.tables(here, 5 if options.quick else 15, 20 if options.quick else 100)
    return True


def _policies(here: World, options: argparse.Namespace) -> bool:
    policies.table(1 if options.quick else 7)
    return True


def _meter(here: World, options: argparse.Namespace) -> bool:
    return meter.tables(options.data)


def _credentials(here: World, options: argparse.Namespace) -> bool:
    return credentials.tables(options.data)


def _retrieval(here: World, options: argparse.Namespace) -> bool:
    return retrieval.tables(here, options.data)


def _windows(here: World, options: argparse.Namespace) -> bool:
    return windows.tables(options.data, (200,) if options.quick else (200, 600, 2_000))


def _window_loop(here: World, options: argparse.Namespace) -> bool:
    return window_loop.table(here)


def _statements(here: World, options: argparse.Namespace) -> bool:
    return statements.tables(options.data)


def _file_recall(here: World, options: argparse.Namespace) -> bool:
    return file_recall.table(here, options.data)


def _near(here: World, options: argparse.Namespace) -> bool:
    return near.table(here, options.data)


def _resume(here: World, options: argparse.Namespace) -> bool:
    return resume.tables(options.data)


def _next_session(here: World, options: argparse.Namespace) -> bool:
    return next_session.table(here, options.data)


def _ablation(here: World, options: argparse.Namespace) -> bool:
    return next_session.ablation(here, options.data)


def _house(here: World, options: argparse.Namespace) -> bool:
    house.table(here, options.against, 3 if options.quick else 9, is_installed=options.install)
    return True


_TABLES: dict[str, Callable[[World, argparse.Namespace], bool]] = {
    "starting": _starting,
    "deciding": _deciding,
    "reading": _reading,
    "writers": _writers,
    "first-week": lambda here, options: first_week.measure(here, here.folder / "first-week"),
    "hierarchy": _hierarchy,
    "files": _files,
    "file_ranking": _file_ranking,
    "hooks": _hooks,
    "policies": _policies,
    "meter": _meter,
    "credentials": _credentials,
    "retrieval": _retrieval,
    "dialogues": lambda here, options: dialogues.table(here, options.data),
    "prompts": lambda here, options: prompts.table(here, options.data),
    "statements": _statements,
    "windows": _windows,
    "window-loop": _window_loop,
    "file-recall": _file_recall,
    "near": _near,
    "resume": _resume,
    "next-session": _next_session,
    "ablation": _ablation,  # only if asked for
    "house": _house,  # only if asked for: its ratios are those of other tables
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", choices=_TABLES, help="only this table")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and up to 1,000 records")
    parser.add_argument("--large", action="store_true", help="100,000 records too; takes several minutes")
    parser.add_argument(
        "--data", default=os.environ.get("DATA", ""), help="folder with real transcripts or histories, if any"
    )
    parser.add_argument(
        "--against", default="", metavar="DIR", help="house, file_ranking: another checkout to compare with"
    )
    parser.add_argument("--half", type=int, choices=(0, 1), default=1, help="file_ranking: 0 for that used to choose")
    parser.add_argument("--install", action="store_true", help="house: what a plain install brings, too")
    parser.add_argument("--profile", action="store_true", help="say where the time of some commands goes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
