"""The agents of this installation, loaded once from their dotted paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module

from approvals.text.translatable import TranslatableError, gettext_noop
from chats.agent.agent import Agent


class UnknownAgent(TranslatableError, LookupError):
    """No listed agent has that name."""


@cache
def load(paths: tuple[str, ...]) -> Mapping[str, Agent]:
    """Return agents by name, in the order of their dotted paths. Raise ImportError or TypeError."""
    agents: dict[str, Agent] = {}
    for path in paths:
        agent = _import(path)
        if agent.name in agents:
            raise TypeError(f"{path}: another agent is also named {agent.name!r}")
        agents[agent.name] = agent
    _with_sub_agents(paths)
    return agents


@cache
def _with_sub_agents(paths: tuple[str, ...]) -> Mapping[str, Agent]:
    agents: dict[str, Agent] = {}
    for path in paths:
        for agent in _import(path).family:
            if agents.setdefault(agent.name, agent) is not agent:
                raise TypeError(
                    f"{path}: two different agents are named {agent.name!r}"
                )
    return agents


def get(paths: Sequence[str], name: str) -> Agent:
    """Return a listed agent, or a tool agent of one. Raise UnknownAgent."""
    agent = _with_sub_agents(tuple(paths)).get(name)
    if agent is None:
        raise UnknownAgent(gettext_noop("No agent is named %(name)r."), name=name)
    return agent


def _import(path: str) -> Agent:
    module_name, _, attribute = path.rpartition(".")
    if not module_name:
        raise ImportError(f"{path!r} is not a dotted path such as shop.agents.support")
    agent = getattr(import_module(module_name), attribute, None)
    if not isinstance(agent, Agent):
        raise TypeError(f"{path} is not an Agent")
    return agent
