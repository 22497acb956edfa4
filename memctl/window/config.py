"""The settings of a window: one YAML file, or `window:` in `.memory/config.yaml`.

All keys are optional; where the defaults come from: rules.md#window-manager. No file is written that nobody named. A
key that is not known is an error that names the nearest one: a weight misspelled would otherwise be left at its default
in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

from memctl.errors import MemctlError
from memctl.record.errors import describe
from memctl.record.frontmatter import read_yaml
from memctl.text.words import nearest
from memctl.window.budget.profiles import DEFAULT, Allocations, BudgetComponent, profile
from memctl.window.eviction.scores import HybridWeights, TypeTtl, check_sum
from memctl.window.health import METRICS, AlertThresholds, Fraction
from memctl.window.messages.content import ContentType
from memctl.window.pressure.monitor import DEFAULT_WINDOW, VELOCITY_WINDOW, Thresholds
from memctl.window.steps import COMPACTION_FROM, POLICIES, STEPS, EvictionPolicy, StepName

_VALUES: Mapping[str, Sequence[str]] = {
    "eviction.policy": POLICIES,
    "eviction.protected_types": tuple(kind.value for kind in ContentType),
    "compression.cascade": get_args(StepName),
}
Turns = Annotated[int, msgspec.Meta(ge=1)]
Tokens = Annotated[int, msgspec.Meta(ge=1)]
Number = Annotated[int, msgspec.Meta(ge=0)]


def _inside(path: str) -> None:
    """Files of the project only: a path that leads out of it is refused."""
    parts = PurePosixPath(path.replace("\\", "/"))
    if not path.strip() or parts.is_absolute() or ".." in parts.parts or path[1:2] == ":":
        raise ValueError(f"{path!r} is not a path inside the project")


class Pressure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When zones begin, of how many steps the velocity is the mean, and the tokens that a turn usually adds.

    The forecast of turns until red is shrunk to the last; 0 leaves it to what is known.
    """

    thresholds: Thresholds = Thresholds()
    velocity_window: Turns = VELOCITY_WINDOW
    usual_growth: Annotated[int, msgspec.Meta(ge=0)] = 0


class Eviction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes first, and what does not.

    Results of `exclude_tools` and the last `keep_last` results are left as they are by every step, and so is what is of
    a protected type; unless at least `clear_at_least` tokens go, nothing goes: each change of what was sent before
    costs a host's cache of prompts.
    """

    policy: EvictionPolicy = EvictionPolicy.HYBRID
    weights: HybridWeights = HybridWeights()
    type_ttl: TypeTtl = TypeTtl()
    protected_types: tuple[ContentType, ...] = (ContentType.SYSTEM_PROMPT,)
    exclude_tools: tuple[str, ...] = ()
    keep_last: Number = 0
    clear_at_least: Number = 0


class Compression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is made smaller, and from which utilisation on by which step of the cascade.

    A compaction is not made below `compaction_utilization_threshold`, whatever the cascade says. Notes are kept in
    `notes_file` if one is named. `system_prompt` takes the place of a model's default instructions, and the rules of
    `preserve` say what else it is to keep.
    """

    summarization_threshold_tokens: Tokens = 500
    compaction_utilization_threshold: Fraction = COMPACTION_FROM
    cascade: dict[float, StepName] = msgspec.field(default_factory=lambda: dict(STEPS))
    notes_file: str = ""
    system_prompt: str = ""
    preserve: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.notes_file:
            _inside(self.notes_file)
        if not all(0 < key <= 1 for key in self.cascade):
            raise ValueError("the keys of the cascade must be utilisations, above 0 and up to 1")


_DEFAULT = profile(DEFAULT).allocations


class Shares(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fraction of the window that each component gets; they sum to 1."""

    system_prompt: Fraction = _DEFAULT[BudgetComponent.SYSTEM_PROMPT]
    tool_definitions: Fraction = _DEFAULT[BudgetComponent.TOOL_DEFINITIONS]
    message_history: Fraction = _DEFAULT[BudgetComponent.MESSAGE_HISTORY]
    tool_results: Fraction = _DEFAULT[BudgetComponent.TOOL_RESULTS]
    memory_injection: Fraction = _DEFAULT[BudgetComponent.MEMORY_INJECTION]
    output_reserved: Fraction = _DEFAULT[BudgetComponent.OUTPUT_RESERVED]

    def __post_init__(self) -> None:
        check_sum(self)

    def by_component(self) -> Allocations:
        """As TokenBudgetManager takes them."""
        return {BudgetComponent(name): share for name, share in msgspec.structs.asdict(self).items()}


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the window is shared: by the name of a profile of components, or by `allocations`, which go before it."""

    profile: str = DEFAULT
    allocations: Shares = Shares()
    soft_limit_pct: Fraction = 0.80

    def __post_init__(self) -> None:
        try:
            _ = profile(self.profile).allocations
        except MemctlError as error:
            raise ValueError(error.with_hint) from None

    def by_component(self) -> Allocations:
        """As TokenBudgetManager takes them."""
        return profile(self.profile).allocations if self.allocations == Shares() else self.allocations.by_component()


class CrossWindow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the state is kept from one window to the next, and from which utilisation on it is saved.

    No file is written that is not named; with a memory the files are copies of its checkpoints.
    """

    state_file: str = ""
    progress_file: str = ""
    auto_save_threshold: Fraction = 0.85

    def __post_init__(self) -> None:
        for path in filter(None, (self.state_file, self.progress_file)):
            _inside(path)
        if self.state_file and self.state_file == self.progress_file:
            raise ValueError(f"state_file and progress_file are both {self.state_file!r}")


class HealthMonitoring(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which metrics may alarm, and from where on."""

    metrics: tuple[str, ...] = tuple(METRICS)
    alerts: AlertThresholds = AlertThresholds()

    def __post_init__(self) -> None:
        for name in self.metrics:
            if name not in METRICS:
                raise ValueError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")


class WindowConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a window; `max_context_tokens` is what can be filled, `audit_file` takes decisions."""

    max_context_tokens: Tokens = DEFAULT_WINDOW
    audit_file: str = ""
    pressure: Pressure = Pressure()
    eviction: Eviction = Eviction()
    compression: Compression = Compression()
    budget: Budget = Budget()
    cross_window: CrossWindow = CrossWindow()
    health_monitoring: HealthMonitoring = HealthMonitoring()

    def __post_init__(self) -> None:
        if self.audit_file:
            _inside(self.audit_file)


def parse(text: str, name: str) -> WindowConfig:
    """Read a file's settings; raises MemctlError with the file's name and the line or the key."""
    return from_values(read_yaml(text, name), name)


def from_values(values: Mapping[Any, Any], name: str) -> WindowConfig:
    """Settings out of a larger file, such as `window:` of `.memory/config.yaml`; raises MemctlError."""
    _refuse_unknown(values, WindowConfig, name, "")
    try:
        return msgspec.convert(_given(values), WindowConfig)
    except msgspec.ValidationError as error:
        raise MemctlError(f"{name}: {describe(error)}", _choices(str(error))) from None


def _choices(complaint: str) -> str | None:
    """Return the values of which one is wanted, where a complaint of msgspec is that it is none of them."""
    if not complaint.startswith("Invalid enum value"):
        return None
    return next((f"it takes {', '.join(values)}" for key, values in _VALUES.items() if key in complaint), None)


def _given(values: Any) -> Any:
    """Return the values without those that are empty, which mean the default."""
    if not isinstance(values, Mapping):
        return values
    return {key: _given(value) for key, value in values.items() if value is not None}


def _refuse_unknown(values: Mapping[Any, Any], section: type[msgspec.Struct], name: str, above: str) -> None:
    fields = get_type_hints(section)
    for key, value in values.items():
        if key not in fields:
            near = nearest(str(key), fields)
            hint = f"did you mean {near[0]}?" if near else f"keys there are {', '.join(fields)}"
            raise MemctlError(f"{name}: there is no key `{above}{key}`", hint)
        below = fields[key]
        if isinstance(below, type) and issubclass(below, msgspec.Struct) and isinstance(value, Mapping):
            _refuse_unknown(value, below, name, f"{above}{key}.")
