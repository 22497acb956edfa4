"""Operations on the coordination state about agents at work, their tasks, blockers and shared resources.

These are `active_agents`, `agent_task_assignments`, `global_blockers` and `shared_resources` (rules.md#coordination).
Each function returns a Plan, which makes the next state from one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import blake2b

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.team.ref_state import Plan, Step
from memctl.team.state import Agent, Blocker, State, Work, agent_name

_TEXT = 500  # characters of a task, a blocker or a resource; what is longer belongs into a record
_ID = 4  # bytes of a blocker's id: the same words are the same blocker, whoever says them


def join(agent: str, now: str, task: str = "") -> Plan:
    """Return the plan that notes an agent as at work since `now`, on `task` if one is given.

    An agent that is at work already keeps its time and gets the new task. Raises MemctlError for an invalid name, and
    the plan for a task that is not one line.
    """
    name = agent_name(agent)

    def plan(state: State) -> Step:
        before = state.active_agents.get(name)
        joined = before or Agent(joined_at=now)
        if task:
            joined = msgspec.structs.replace(joined, task=_line(task))
        return Step(state.with_(active_agents={**state.active_agents, name: joined}), "join", name)

    return plan


def leave(agent: str, *, release: bool = False) -> Plan:
    """Return the plan that removes an agent from those at work; with `release` its ownerships of sections are removed.

    The plan raises MemctlError if the agent is not at work.
    """
    name = agent_name(agent)

    def plan(state: State) -> Step:
        if name not in state.active_agents:
            raise MemctlError(f"{name} is not at work here", "`memctl coordination show` says who is")
        active = {other: value for other, value in state.active_agents.items() if other != name}
        owned = state.section_ownership_map
        kept = {section: held for section, held in owned.items() if not (release and held.owner_agent_id == name)}
        given = ", ".join(section for section in owned if section not in kept)
        title = f"{name}, and release {given}" if given else name
        return Step(state.with_(active_agents=active, section_ownership_map=kept), "leave", title)

    return plan


def assign(agent: str, task: str, *, remove: bool = False) -> Plan:
    """Return the plan that adds a task to the tasks assigned to an agent, or with `remove` removes it from these tasks.

    The agent need not be at work. With `remove` the plan raises MemctlError if the agent does not have the task.
    """
    name, line = agent_name(agent), _line(task)

    def plan(state: State) -> Step:
        tasks = state.agent_task_assignments.get(name, [])
        if remove and line not in tasks:
            known = "; ".join(tasks)
            raise MemctlError(f"{name} has no task {line!r}", f"it has: {known}" if known else "it has none")
        after = [other for other in tasks if other != line] if remove else list(dict.fromkeys([*tasks, line]))
        others = {other: value for other, value in state.agent_task_assignments.items() if other != name}
        assignments = {**others, **({name: after} if after else {})}
        title = f"{name}, no longer: {line}" if remove else f"{name}: {line}"
        return Step(state.with_(agent_task_assignments=assignments), "assign", title)

    return plan


def block(text: str, agent: str, now: str) -> Plan:
    """Return the plan that adds a blocker of all work, noted by `agent` at the time `now`.

    The blocker's id is made from the text; a blocker that is noted already stays as it is.
    """
    line = _line(text)
    blocker_id = f"B-{blake2b(line.encode(), digest_size=_ID).hexdigest()}"
    blocker = Blocker(text=line, agent_id=agent_name(agent), since=now)

    def plan(state: State) -> Step:
        return Step(
            state.with_(global_blockers={blocker_id: blocker, **state.global_blockers}),
            "block",
            f"{blocker_id} {line}",
        )

    return plan


def unblock(reference: str) -> Plan:
    """Return the plan that removes a blocker, named by its id, the beginning of its id, or its whole text.

    The plan raises MemctlError if no blocker or several match.
    """

    def plan(state: State) -> Step:
        known = state.global_blockers
        wanted = reference.strip()
        found = [key for key, item in known.items() if wanted and (key.startswith(wanted) or item.text == wanted)]
        if len(found) != 1:
            there = "; ".join(f"{key} {item.text}" for key, item in sorted(known.items()))
            raise MemctlError(
                f"{reference!r} may be any of {', '.join(found)}" if found else f"there is no blocker {reference!r}",
                f"there are: {there}" if there else "there is none",
            )
        rest = {key: item for key, item in known.items() if key != found[0]}
        return Step(state.with_(global_blockers=rest), "unblock", f"{found[0]} {known[found[0]].text}")

    return plan


def share(name: str, value: str) -> Plan:
    """Return the plan that sets the value of a shared resource: where it is, or its status; "" removes the resource.

    The plan raises MemctlError if there is no resource to remove.
    """
    key, text = _line(name), _line(value) if value.strip() else ""

    def plan(state: State) -> Step:
        others = {other: said for other, said in state.shared_resources.items() if other != key}
        if not text and key not in state.shared_resources:
            raise MemctlError(f"there is no resource {key!r}", "`memctl coordination show` lists them")
        resources = {**others, **({key: text} if text else {})}
        return Step(state.with_(shared_resources=resources), "share", f"{key} = {text}" if text else f"no longer {key}")

    return plan


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line or len(line) > _TEXT or not line.isprintable():
        raise MemctlError(
            f"{text[:60]!r} can't be recorded", f"give one line of at most {_TEXT} printable characters", USAGE
        )
    return line


def set_work(state: State, agent: str, handoffs: Mapping[str, Work]) -> State:
    """Return the state in which an agent's work by handoffs is exactly `handoffs`: work by the handoff's id.

    If the agent's task came from a handoff that is removed, the agent gets the task of the latest handoff left. An
    agent that joined only through a removed handoff is no longer at work. A state in which the agent is not at work is
    unchanged.
    """
    one = state.active_agents.get(agent)
    if one is None:
        return state
    gone = [work for key, work in one.handoffs.items() if key not in handoffs]
    task = one.task
    if any(work.task == task for work in gone):
        task = next((work.task for work in reversed([*handoffs.values()]) if work.task), "")
    if not (handoffs or task) and any(work.since == one.joined_at for work in gone):
        return state.with_(active_agents={name: one for name, one in state.active_agents.items() if name != agent})
    now = msgspec.structs.replace(one, task=task, handoffs=dict(handoffs))
    return state.with_(active_agents={**state.active_agents, agent: now})


def only_working(state: State, sections: Collection[str], agent: str = "") -> State:
    """Return the state after all agents but `agent` lost the work on `sections` that handoffs had given them.

    A handoff is removed from an agent's work with the last of its sections; a handoff without sections stays.
    """
    for name, one in state.active_agents.items():
        if name != agent:
            left = {key: [s for s in work.sections if s not in sections] for key, work in one.handoffs.items()}
            state = set_work(state, name, {
                key: msgspec.structs.replace(work, sections=tuple(left[key]))
                for key, work in one.handoffs.items() if left[key] or not work.sections
            })  # fmt: skip
    return state
