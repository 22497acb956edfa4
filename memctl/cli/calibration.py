"""`tokens --calibrate` and `--forget`: learning how a model counts, in this clone."""

from __future__ import annotations

from collections import Counter as Tally
from pathlib import Path
from typing import Any

from memctl.cli import output
from memctl.cli.source import read
from memctl.errors import MemctlError
from memctl.store import observations
from memctl.store.memory import Memory
from memctl.tokens.calibration import GOAL, Learnt, learn, name_of
from memctl.tokens.families import family_of
from memctl.tokens.reports import Aside, observe


def calibrate_from(memory: Memory, source: str, dry_run: bool, as_json: bool) -> None:
    """Learn from a file of observations, and say what came of it; raises MemctlError if it has none."""
    observed = observe(read(source), lambda name: _read_beside(source, name))
    if not observed.by_model:
        reasons = "; ".join(f"line {aside.line}: {aside.reason}" for aside in observed.asides[:3])
        raise MemctlError(f"{source} has no observation to learn from", reasons or "it has no lines")
    folder = memory.repository.shared
    rows = []
    for model, found in sorted(observed.by_model.items()):
        known = observations.of(folder, model)
        seen = {one.digest for one in known}
        new = list({one.digest: one for one in found if one.digest not in seen}.values())
        if not dry_run:
            observations.add(folder, model, new)
        learnt = learn(model, [*known, *new][-observations.MOST_KEPT :], family_of(model))
        if learnt is not None:
            rows.append((model, len(new), learnt))
    if as_json:
        output.json("calibration", _data(rows, observed.asides, dry_run))
        return
    output.columns([_row(*row) for row in rows])
    _tell(rows, observed.asides)


def forget_learnt(memory: Memory, model: str | None, dry_run: bool) -> None:
    """Let go of what was learnt of a model, or of all."""
    folder = memory.repository.shared
    kept = observations.models(folder)
    names = kept if model is None else [name for name in kept if name == name_of(model)]
    if not names:
        raise MemctlError(
            "nothing was learnt" + (f" of {model}" if model else ""), f"known: {', '.join(kept)}" if kept else None
        )
    for name in names:
        if not dry_run:
            observations.forget(folder, name)
        output.text(f"{'would forget' if dry_run else 'forgot'} {name}")


def _read_beside(source: str, name: str) -> str:
    """A file that an observation names: below the folder of the observations, and nowhere else."""
    folder = Path("." if source == "-" else source).resolve()
    folder = folder if folder.is_dir() else folder.parent
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        raise MemctlError(f"{name} is not below the folder of the observations")
    return read(str(file))


def _row(model: str, new: int, learnt: Learnt) -> tuple[str, ...]:
    total = f"{learnt.observations} observations" + (f" ({new} new)" if new != learnt.observations else "")
    return model, f"x {learnt.ratio:.2f}", total, f"error {learnt.before:.1%} before, {learnt.after:.1%} now"


def _tell(rows: list[tuple[str, int, Learnt]], asides: list[Aside]) -> None:
    for model, _, learnt in rows:
        if learnt.after > GOAL:
            output.note(f"warning: {model} is still off by {learnt.after:.0%} (median); the goal is {GOAL:.0%}")
    if asides:
        reasons = Tally(aside.reason for aside in asides).most_common()
        output.note(f"left aside: {len(asides)}")
        for reason, number in reasons:
            output.note(f"    {number}: {reason}")


def _data(rows: list[tuple[str, int, Learnt]], asides: list[Aside], dry_run: bool) -> dict[str, Any]:
    models = [
        {
            "model": model,
            "family": family_of(model).name,
            "factor": learnt.ratio,
            "observations": learnt.observations,
            "new": new,
            "error": learnt.error,
            "median_error_before": learnt.before,
            "median_error_after": learnt.after,
            "within_goal": learnt.after <= GOAL,
        }
        for model, new, learnt in rows
    ]
    left_aside = [{"line": aside.line, "reason": aside.reason} for aside in asides]
    return {"dry_run": dry_run, "models": models, "left_aside": left_aside}
