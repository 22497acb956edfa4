"""Operations on the coordination state about agents at work, their tasks, blockers and shared resources.

They change the fields `active_agents`, `agent_task_assignments`, `global_blockers` and `shared_resources` of the state
(rules.md#coordination). Most functions return a Step: the next state, and the operation and title for its commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import blake2b

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.team.ref_state import Step
from memctl.team.state import Agent, Blocker, State, Work, agent_name

_TEXT = 500  # characters of a task, a blocker or a resource; what is longer belongs into a record
_ID = 4  # bytes of a blocker's id: the same words are the same blocker, whoever says them


def join(state: State, agent: str, now: str, task: str = "") -> Step:
    """Return the step that records that an agent is at work, from the time `now` on, and its `task`.

    If the agent is at work already, the time when it began stays, and the new task replaces its task. With "" as `task`
    the agent's task stays as it is. Raises MemctlError for an invalid name, and for a task that is not one line.
    """
    name = agent_name(agent)
    before = state.active_agents.get(name)
    joined = before or Agent(joined_at=now)
    if task:
        joined = msgspec.structs.replace(joined, task=_line(task))
    return Step(state.put("active_agents", name, joined), "join", name)


def leave(state: State, agent: str, *, release: bool = False) -> Step:
    """Return the step that removes an agent from the agents at work.

    With `release` the agent's ownerships of sections end, too. Raises MemctlError if the agent is not at work.
    """
    name = agent_name(agent)
    if name not in state.active_agents:
        hint = "`memctl team show` lists the agents at work"
        raise MemctlError(f"the agent {name} is not listed as at work on this project", hint)
    owned = state.section_ownership_map
    remaining = {section: held for section, held in owned.items() if not (release and held.owner_agent_id == name)}
    released = ", ".join(section for section in owned if section not in remaining)
    title = f"{name}, and release {released}" if released else name
    left = state.put("active_agents", name, None).with_(section_ownership_map=remaining)
    return Step(left, "leave", title)


def assign(state: State, agent: str, task: str, *, remove: bool = False) -> Step:
    """Return the step that adds a task to the tasks assigned to an agent, or with `remove` removes it from these tasks.

    The agent need not be at work. Raises MemctlError if the task to remove is not assigned to the agent.
    """
    # What was assigned to an odd name by an earlier memctl can be removed.
    name = agent if remove and agent in state.agent_task_assignments else agent_name(agent)
    line = _line(task)
    tasks = state.agent_task_assignments.get(name, [])
    if remove and line not in tasks:
        hint = f"its tasks are: {'; '.join(tasks)}" if tasks else f"{name} has no tasks"
        raise MemctlError(f"the agent {name} has no task {line!r}", hint)
    after = [other for other in tasks if other != line] if remove else list(dict.fromkeys([*tasks, line]))
    title = f"{name}: remove {line}" if remove else f"{name}: {line}"
    return Step(state.put("agent_task_assignments", name, after or None), "assign", title)


def block(state: State, text: str, agent: str, now: str) -> Step:
    """Return the step that records a blocker, which keeps all agents from going on with their work.

    `text` says what blocks them, `agent` who reported it, and `now` when. The blocker's id is a hash of the text. If
    the state has this blocker already, its agent and time stay.
    """
    line = _line(text)
    blocker_id = f"B-{blake2b(line.encode(), digest_size=_ID).hexdigest()}"
    blocker = state.global_blockers.get(blocker_id) or Blocker(text=line, agent_id=agent_name(agent), since=now)
    return Step(state.put("global_blockers", blocker_id, blocker), "block", f"{blocker_id} {line}")


def unblock(state: State, reference: str) -> Step:
    """Return the step that removes a blocker, named by its id, the beginning of its id, or its whole text.

    Raises MemctlError if no blocker or several match.
    """
    known = state.global_blockers
    wanted = reference.strip()
    keys = [key for key, item in known.items() if wanted and (key.startswith(wanted) or item.text == wanted)]
    if len(keys) != 1:
        text = "; ".join(f"{key} {item.text}" for key, item in sorted(known.items()))
        several = f"{reference!r} matches several blockers: {', '.join(keys)}"
        hint = f"the blockers are: {text}" if text else "no blocker is recorded"
        raise MemctlError(several if keys else f"there is no blocker {reference!r}", hint)
    return Step(state.put("global_blockers", keys[0], None), "unblock", f"{keys[0]} {known[keys[0]].text}")


def share(state: State, name: str, value: str) -> Step:
    """Return the step that sets the value of a shared resource, such as a staging server.

    `name` is the name of the resource. `value` is a line of text that says where the resource is, or in what condition;
    "" removes the resource. Raises MemctlError if there is no resource to remove.
    """
    key, text = _line(name), _line(value) if value.strip() else ""
    if not text and key not in state.shared_resources:
        raise MemctlError(f"there is no shared resource {key!r}", "`memctl team show` lists them")
    title = f"{key} = {text}" if text else f"no longer {key}"
    return Step(state.put("shared_resources", key, text or None), "share", title)


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line or len(line) > _TEXT or not line.isprintable():
        hint = f"give one line of at most {_TEXT} printable characters"
        raise MemctlError(f"{text[:60]!r} can't be stored in the coordination state", hint, USAGE)
    return line


def set_work(state: State, agent: str, handoffs: Mapping[str, Work]) -> State:
    """Return a coordination state in which the work that an agent has taken over is that in `handoffs`.

    `handoffs` maps the id of each handoff to the work taken over by it. It takes the place of the agent's handoffs in
    `state`, so those that it lacks are removed. If the agent's task came from a removed handoff, the agent gets the
    task of the last handoff in `handoffs` instead. An agent that began to work with a removed handoff is no longer at
    work if it now has neither a task nor a handoff. For an agent that is not at work, the state is returned unchanged.
    """
    entry = state.active_agents.get(agent)
    if entry is None:
        return state
    gone = [work for key, work in entry.handoffs.items() if key not in handoffs]
    task = entry.task
    if any(work.task == task for work in gone):
        task = next((work.task for work in reversed([*handoffs.values()]) if work.task), "")
    if not (handoffs or task) and any(work.since == entry.joined_at for work in gone):
        return state.put("active_agents", agent, None)
    return state.put("active_agents", agent, msgspec.structs.replace(entry, task=task, handoffs=dict(handoffs)))


def only_working(state: State, sections: Collection[str], agent: str = "") -> State:
    """Return a coordination state in which `sections` are removed from the work of all agents except `agent`.

    It is used when sections get another owner, `agent`, or none (""). An agent's work names sections only where the
    agent took them over by a handoff. When all sections of a handoff are removed from an agent's work, the handoff is
    removed, too. A handoff that names no sections stays.
    """
    for name, entry in state.active_agents.items():
        if name != agent:
            handoffs: dict[str, Work] = {}
            for key, work in entry.handoffs.items():
                left = tuple(section for section in work.sections if section not in sections)
                handoffs |= {key: msgspec.structs.replace(work, sections=left)} if left or not work.sections else {}
            state = set_work(state, name, handoffs)
    return state
