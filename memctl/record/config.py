"""`.memory/config.yaml`: the settings of a project, shared by everybody who works on it."""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

from typing import Annotated, Any, Literal

import msgspec

from memctl.errors import MemctlError
from memctl.record.errors import describe, field_and_message
from memctl.record.frontmatter import read_yaml

FORMAT = 2  # of new memories; format 1 is read and written as before, until `memctl upgrade`
DEFAULT_BRANCH = "default-branch"  # a value of `docs`
EACH, LATER, BATCH = "each", "later", "batch"  # the values of `commits`; `batch`, of older versions, means `later`
COMMITS_HINT = """write one of these lines:
  commits: each                        (config.yaml: every change is a commit of the branch)
  commits: later                       (config.yaml: you commit changes with the code, or `memctl commit` does)
  git config memctl.commits each       (or later; for this clone alone, and it overrides config.yaml)"""
_HINTS = {  # by the name of the setting with the wrong value
    "llm": "only `use: false` is allowed in config.yaml; each user chooses a model: "
    "`git config --global memctl.llm.provider`",
    "commits": COMMITS_HINT,
    "docs": """write one of these lines:
  docs: true                           (rendered documents are in Git, on every branch)
  docs: false                          (documents are rendered, but not in Git)
  docs: default-branch                 (documents are in Git on the default branch alone)""",
}
Weight = Annotated[float, msgspec.Meta(ge=0, le=1000)]
Days = Annotated[int, msgspec.Meta(ge=0, le=100_000)]
Importance = Annotated[int, msgspec.Meta(ge=0, le=10)]  # 0: of no record


class SearchWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much each part counts in a search result's score; the weights are relative to each other.

    rules.md#search-ranking says where the default values come from.
    """

    title: Weight = 15
    content: Weight = 25
    importance: Weight = 25
    recency: Weight = 20
    access: Weight = 15

    def __post_init__(self) -> None:
        if not sum(msgspec.structs.astuple(self)):
            raise ValueError("at least one weight must be more than 0")


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """An agent of the project: its role, with which the agent's system prompt begins, and its skills."""

    role: str = ""
    skills: list[str] = []


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits at which `memctl maintain` archives and deletes records and checkpoints that are no longer needed.

    - `archive_decision_importance`, `delete_decision_importance`: only decisions up to this importance are archived or
      deleted.
    - `archive_…_days`: the age in days from which a record of the type may be archived.
    - `delete_…_days`: how many days a record of the type has been archived when it may be deleted; of a learning it is
      the age, of which it must have been archived since `archive_learning_days`.
    - `keep_importance`: a record of this importance or more is never deleted (rules.md#importance).
    - `delete`: whether anything is deleted.
    - `keep_checkpoints`: how many of the latest checkpoints of each workflow are kept. Others are deleted when they are
      more than `delete_checkpoint_days` days old.

    rules.md#lifecycle says where the default values come from.
    """

    keep_importance: Annotated[int, msgspec.Meta(ge=1, le=8)] = 8
    archive_decision_importance: Importance = 5
    archive_decision_days: Days = 90
    archive_issue_days: Days = 30
    archive_learning_days: Days = 180
    delete: bool = True
    delete_decision_importance: Importance = 3
    delete_decision_days: Days = 365
    delete_issue_days: Days = 180
    delete_state_days: Days = 90
    delete_learning_days: Days = 365
    keep_checkpoints: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 10
    delete_checkpoint_days: Days = 30


class Llm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether sessions of this project may be sent to the language model that a user has set up.

    The model itself is in the user's own settings (`git config memctl.llm.provider`): a repository must not name a
    program to run, or an address that a key is sent to.
    """

    use: bool = True


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a memory: each field is a key of `config.yaml`, which docs/configuration.md explains.

    The file may have other keys, which are left alone: a newer memctl may know them.
    """

    format: int
    project: Annotated[str, msgspec.Meta(min_length=1)]
    description: str = ""
    model: str = "claude"  # the model whose tokens budgets count
    # The branches on which rendered documents are in Git: all (True), none (False), or the default branch.
    docs: bool | Literal["default-branch"] = True
    # Whether memctl commits each change to the branch at once, or leaves that to the user.
    commits: Literal["each", "later", "batch"] = "each"
    default_branch: str = ""  # for `docs: default-branch`; "": the branch that origin/HEAD names
    check_ignore: list[str] = []  # findings to leave out: "MEM303 sections/2.4-*: it grows next quarter"
    search_weights: SearchWeights = SearchWeights()
    lifecycle: Lifecycle = Lifecycle()
    llm: Llm = Llm()
    agents: dict[str, AgentConfig] = {}  # by the names that records have as `agent_id`
    # The most tokens of the context that several agents share; rules.md#shared-context.
    scs_threshold: Annotated[int, msgspec.Meta(ge=1)] = 2_000
    # Hours without an event after which a session counts as ended; rules.md#session-summary.
    session_pause_hours: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    rehydrate_budget: Annotated[int, msgspec.Meta(ge=50)] = 20_000  # tokens; rules.md#rehydration
    window: dict[Any, Any] = {}  # settings of the context window; memctl.window.config reads them

    @property
    def session_pause(self) -> float:
        """The seconds without an event after which an agent's session counts as ended."""
        return self.session_pause_hours * 3_600


def parse(text: str, path: str) -> Config:
    """Return the settings in the text of `config.yaml`.

    Raises MemctlError, with file and line, for invalid values and for a format newer than this memctl knows.
    """
    values = read_yaml(text, path)
    if isinstance(values.get("format"), int) and values["format"] > FORMAT:
        raise MemctlError(
            f"{path}: this memory has format {values['format']}; this memctl reads formats up to {FORMAT}",
            "install a newer version of memctl",
        )
    try:
        return msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        key = field_and_message(error)[0].partition(".")[0]
        hint = _HINTS.get(key, "docs/configuration.md explains each setting")
        raise MemctlError(f"{path}: {describe(error)}", hint) from None
