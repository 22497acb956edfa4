"""The settings of a window, from a YAML file or from `window:` in `.memory/config.yaml`.

All keys are optional; the defaults are those of rules.md#window-manager. An unknown key is an error, because the
setting that a misspelt key was meant for would otherwise keep its default unnoticed; the error's hint names the nearest
known key. A file in the project (for notes, the manager's decisions, or the state of the task) is written only if a
setting names it.
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
from memctl.window.eviction.scores import Fractions, HybridWeights, TypeTtl
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
    parts = PurePosixPath(path.replace("\\", "/"))
    if path and (not path.strip() or parts.is_absolute() or ".." in parts.parts or path[1:2] == ":"):
        raise ValueError(f"{path!r} is not a path inside the project")


class Pressure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the pressure monitor: where zones begin (`thresholds`), and how the window's growth is measured.

    `velocity_window` is how many of the last turns are averaged to get the velocity (tokens a turn). `usual_growth` is
    how many tokens a turn usually adds, which the forecast of the turns until the red zone takes into account; 0 if it
    is not known.
    """

    thresholds: Thresholds = Thresholds()
    velocity_window: Turns = VELOCITY_WINDOW
    usual_growth: Annotated[int, msgspec.Meta(ge=0)] = 0


class Eviction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of eviction: the policy with its numbers, and what must stay.

    `weights` are the weights of the policy `hybrid`. `type_ttl` has the life of blocks, in turns, by their type;
    afterwards a block may be evicted. Three kinds of blocks are never evicted or compressed: those of the types
    `protected_types`, the results of the tools `exclude_tools`, and the last `keep_last` results. If fewer than
    `clear_at_least` tokens would be freed, the messages stay as they are, because a change of earlier messages makes
    the model's prompt cache useless.
    """

    policy: EvictionPolicy = EvictionPolicy.HYBRID
    weights: HybridWeights = HybridWeights()
    type_ttl: TypeTtl = TypeTtl()
    protected_types: tuple[ContentType, ...] = (ContentType.SYSTEM_PROMPT,)
    exclude_tools: tuple[str, ...] = ()
    keep_last: Number = 0
    clear_at_least: Number = 0


class Compression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of compression: at which utilisation each step may run, and what instructions a model gets.

    Tools' results of up to `summarization_threshold_tokens` are not summed up. `cascade` has the names of steps by the
    utilisation (above 0, up to 1) from which each may run, such as `{0.75: "tool_result_summarization"}`. The
    conversation is never compacted below `compaction_utilization_threshold`, even if `cascade` has a lower number for
    this step. `notes_file` is the path of the file with the agent's notes, "" for none. `system_prompt` replaces the
    instructions that a model gets by default, and the rules in `preserve` are added to its instructions.
    """

    summarization_threshold_tokens: Tokens = 500
    compaction_utilization_threshold: Fraction = COMPACTION_FROM
    cascade: dict[float, StepName] = msgspec.field(default_factory=lambda: dict(STEPS))
    notes_file: str = ""
    system_prompt: str = ""
    preserve: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _inside(self.notes_file)
        if not all(0 < key <= 1 for key in self.cascade):
            raise ValueError("the keys of the cascade must be shares of the window, above 0 and up to 1")


_DEFAULT = profile(DEFAULT).allocations


class Shares(Fractions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fraction of the window that each component of a request gets; the fractions sum to 1."""

    system_prompt: Fraction = _DEFAULT[BudgetComponent.SYSTEM_PROMPT]
    tool_definitions: Fraction = _DEFAULT[BudgetComponent.TOOL_DEFINITIONS]
    message_history: Fraction = _DEFAULT[BudgetComponent.MESSAGE_HISTORY]
    tool_results: Fraction = _DEFAULT[BudgetComponent.TOOL_RESULTS]
    memory_injection: Fraction = _DEFAULT[BudgetComponent.MEMORY_INJECTION]
    output_reserved: Fraction = _DEFAULT[BudgetComponent.OUTPUT_RESERVED]

    def by_component(self) -> Allocations:
        """Return the fraction of the window that each component gets, in the form that TokenBudgetManager takes."""
        return {BudgetComponent(name): share for name, share in msgspec.structs.asdict(self).items()}


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the budget, which divides a window among the components of a request.

    `profile` is the name of a ready division. `allocations` has a fraction for each component; if it is set, it
    replaces the profile. A component warns once it uses the fraction `soft_limit_pct` of its limit.
    """

    profile: str = DEFAULT
    allocations: Shares = Shares()
    soft_limit_pct: Fraction = 0.80

    def __post_init__(self) -> None:
        try:
            _ = profile(self.profile).allocations
        except MemctlError as error:
            raise ValueError(error.with_hint) from None

    def by_component(self) -> Allocations:
        """Return the fraction of the window that each component gets.

        They are the `allocations` if these are set, else the fractions of the profile.
        """
        return profile(self.profile).allocations if self.allocations == Shares() else self.allocations.by_component()


class CrossWindow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings for saving the state of a task, with which the next window continues the task.

    The state is stored as JSON in `state_file` and as Markdown in `progress_file`; "" stands for no file. In a project
    with a memory, the state is stored in the memory's checkpoints instead, and these two settings have no effect. The
    state is saved when the window's utilisation (0 to 1) reaches `auto_save_threshold`.
    """

    state_file: str = ""
    progress_file: str = ""
    auto_save_threshold: Fraction = 0.85

    def __post_init__(self) -> None:
        _inside(self.state_file)
        _inside(self.progress_file)
        if self.state_file and self.state_file == self.progress_file:
            raise ValueError(f"state_file and progress_file must be different files, but both are {self.state_file!r}")


class HealthMonitoring(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of alarms about a window's health.

    `metrics` are the names of the metrics that may raise an alarm, and `alerts` are the limits from which they do.
    """

    metrics: tuple[str, ...] = tuple(METRICS)
    alerts: AlertThresholds = AlertThresholds()

    def __post_init__(self) -> None:
        for name in self.metrics:
            if name not in METRICS:
                raise ValueError(f"there is no health metric {name!r}; the metrics are {', '.join(METRICS)}")


class WindowConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a window.

    `max_context_tokens` is the number of tokens at which the host compacts the conversation by itself. `audit_file` is
    the path of the log of the manager's decisions, "" for no log. Each other field has the settings of one part of the
    manager.
    """

    max_context_tokens: Tokens = DEFAULT_WINDOW
    audit_file: str = ""
    pressure: Pressure = Pressure()
    eviction: Eviction = Eviction()
    compression: Compression = Compression()
    budget: Budget = Budget()
    cross_window: CrossWindow = CrossWindow()
    health_monitoring: HealthMonitoring = HealthMonitoring()

    def __post_init__(self) -> None:
        _inside(self.audit_file)


def parse(text: str, name: str) -> WindowConfig:
    """Return a window's settings from a YAML file; `text` is its content, and `name` its name for error messages.

    Raises a MemctlError that names the file, and the line or the key.
    """
    return from_values(read_yaml(text, name), name)


def from_values(values: Mapping[Any, Any], name: str) -> WindowConfig:
    """Return a window's settings from a mapping, such as `window:` of `.memory/config.yaml`.

    `name` is what errors call the place of the mapping. Raises a MemctlError that names the wrong key.
    """
    _refuse_unknown(values, WindowConfig, name, "")
    try:
        return msgspec.convert(_without_empty(values), WindowConfig)
    except msgspec.ValidationError as error:
        raise MemctlError(f"{name}: {describe(error)}", _choices(str(error))) from None


def _choices(complaint: str) -> str | None:
    if not complaint.startswith("Invalid enum value"):
        return None
    return next((f"the values are {', '.join(values)}" for key, values in _VALUES.items() if key in complaint), None)


def _without_empty(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    return {key: _without_empty(value) for key, value in values.items() if value is not None}


def _refuse_unknown(values: Mapping[Any, Any], section: type[msgspec.Struct], name: str, above: str) -> None:
    fields = get_type_hints(section)
    for key, value in values.items():
        if key not in fields:
            near = nearest(str(key), fields)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(fields)}"
            raise MemctlError(f"{name}: there is no setting `{above}{key}`", hint)
        below = fields[key]
        if isinstance(below, type) and issubclass(below, msgspec.Struct) and isinstance(value, Mapping):
            _refuse_unknown(value, below, name, f"{above}{key}.")
