"""The table that a run prints."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Row(msgspec.Struct, frozen=True):
    """One figure: what was measured, its median and that of its baseline in ms, and the goal as a ratio or in ms."""

    what: str
    median: float
    baseline: float
    goal_ratio: float | None = None
    goal_ms: float | None = None

    @property
    def ratio(self) -> float:
        return self.median / self.baseline

    @property
    def goal(self) -> str:
        if self.goal_ratio is not None:
            return f"{self.goal_ratio:g}x"
        return f"{self.goal_ms:,.0f} ms" if self.goal_ms is not None else ""

    @property
    def verdict(self) -> str:
        if self.goal_ratio is not None:
            return "ok" if self.ratio < self.goal_ratio else "over"
        if self.goal_ms is not None:
            return "ok" if self.median < self.goal_ms else "over"
        return ""

    def cells(self) -> tuple[str, ...]:
        return (
            self.what,
            f"{self.median:,.1f}",
            f"{self.baseline:,.1f}",
            f"{self.ratio:.2f}x",
            self.goal,
            self.verdict,
        )


_HEAD = ("what", "median ms", "baseline ms", "ratio", "goal", "")


def show(title: str, baseline: str, rows: Sequence[Row]) -> None:
    """Print the rows of one comparison under the name of their baseline."""
    lines = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(28 if i == 0 else 9, *(len(line[i]) for line in lines)) for i in range(len(_HEAD))]
    print(f"\n{title}\n  baseline: {baseline}")
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(widths[i]) for i, cell in enumerate(line[1:-1], start=1))]
        print("  " + "  ".join([*cells, line[-1]]).rstrip(), flush=True)
