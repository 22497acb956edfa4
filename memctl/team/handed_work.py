"""What agents took over with handoffs, and when they are no longer at work on it: from one state to the next."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from memctl.team.state import Agent, State, Work


def begun(state: State, agent: str, handoff: str, work: Work) -> State:
    """An agent is at work at what it took over with a handoff, be it at other things or not."""
    before = state.active_agents.get(agent) or Agent(joined_at=work.since)
    now = msgspec.structs.replace(before, task=work.task or before.task, handoffs={**before.handoffs, handoff: work})
    return state.with_(active_agents={**state.active_agents, agent: now})


def only(state: State, sections: Collection[str], agent: str = "") -> State:
    """Nobody but `agent` is at work on some sections by a handoff; who has none of those left is done with it."""
    found: dict[str, Agent] = {}
    for name, one in state.active_agents.items():
        left = {handoff: _without(work, sections) for handoff, work in one.handoffs.items()}
        kept = one if name == agent else _with(one, {key: work for key, work in left.items() if work is not None})
        found |= {name: kept} if kept is not None else {}
    return state.with_(active_agents=found)


def ended(state: State, agent: str, handoffs: Collection[str]) -> State:
    """An agent is not at work by any of some handoffs."""
    one = state.active_agents.get(agent)
    if one is None or not any(handoff in one.handoffs for handoff in handoffs):
        return state
    others = {name: value for name, value in state.active_agents.items() if name != agent}
    kept = _with(one, {key: work for key, work in one.handoffs.items() if key not in handoffs})
    return state.with_(active_agents={**others, **({agent: kept} if kept else {})})


def renamed(state: State, agent: str, old: str, new: str) -> State:
    """The same, where a handoff that an agent took over has got another id."""
    one = state.active_agents.get(agent)
    if one is None or old not in one.handoffs:
        return state
    named = {new if handoff == old else handoff: work for handoff, work in one.handoffs.items()}
    kept = msgspec.structs.replace(one, handoffs=named)
    return state.with_(active_agents={**state.active_agents, agent: kept})


def _without(work: Work, sections: Collection[str]) -> Work | None:
    """Work without some sections, None if they were all of it; a handoff of no section goes on."""
    left = tuple(section for section in work.sections if section not in sections)
    return msgspec.structs.replace(work, sections=left) if left or not work.sections else None


def _with(one: Agent, handoffs: Mapping[str, Work]) -> Agent | None:
    """An agent at work by some handoffs, and no others; None if only others had brought it to work."""
    gone = [work for key, work in one.handoffs.items() if key not in handoffs]
    task = one.task
    if any(work.task == task for work in gone):
        task = next((work.task for work in reversed([*handoffs.values()]) if work.task), "")
    came_by_one = any(work.since == one.joined_at for work in gone)
    if gone and not (handoffs or task) and came_by_one:
        return None
    return msgspec.structs.replace(one, task=task, handoffs=dict(handoffs))
