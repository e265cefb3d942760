"""Select the calls of an agent that need approval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pausepoint.calls import ToolCall
from pausepoint.gate.asking import AnyDesk, adecided, blocking, decided
from pausepoint.gate.errors import NotGated
from pausepoint.gate.rulings import Ruling, Wanted
from pausepoint.gate.running import aclaimed, claimed


class Gate:
    """Calls that need approval: those of the named tools, or all if none is named. Tools named in `questions` never run: a person
    answers instead. `extra` are additional fields of each request.
    """

    def __init__(
        self,
        desk: AnyDesk,
        tools: Iterable[str],
        questions: Collection[str],
        extra: Mapping[str, Any],
    ) -> None:
        self.desk, self.names, self.questions, self.extra = (
            desk,
            frozenset(tools),
            frozenset(questions),
            dict(extra),
        )
        #: The names of the tools of agents that have passed `check`.
        self.known: frozenset[str] = frozenset()

    def concerns(self, name: str) -> bool:
        return not self.names or name in self.names or name in self.questions

    def check(self, tools: Iterable[str], elsewhere: Collection[str] = ()) -> None:
        """Raise NotGated if an agent lacks a tool that needs approval, or has it run `elsewhere`, by the provider of its model.
        An agent whose tools are all known from another one has already passed.
        """
        has = frozenset(tools)
        if at_provider := sorted(name for name in elsewhere if self.concerns(name)):
            raise NotGated(
                f"{_listed(at_provider)} runs at the provider of the model, where no one can be asked. "
                "Take it from the agent, or name the tools to ask about without it."
            )
        if has <= self.known:
            return
        if unknown := sorted((self.names | self.questions) - has):
            raise NotGated(
                f"The agent has no tool named {_listed(unknown)}, so no one would be asked. "
                f"{f'It has {_listed(sorted(has))}.' if has else 'It has no tools.'}"
            )
        self.known |= has

    def check_unasked(self, name: str) -> None:
        """Raise NotGated if a call without approval is of a tool that `check` has never seen."""
        if name not in self.known:
            raise NotGated(
                f"The call of {name!r} was not run: the tools of its agent were not checked, so perhaps it is one that people "
                "are to be asked about. Ask about all tools, or name this one."
            )

    def wanted(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Wanted:
        return Wanted(call, call.name in self.questions, self.extra, schema)

    def decided(
        self, call: ToolCall, schema: Mapping[str, Any] | None = None
    ) -> Ruling:
        """Ask a person about a call about to run, wait, and claim it; raise TypeError if the desk needs an event loop."""
        desk = blocking(self.desk)
        return claimed(desk, decided(desk, self.wanted(call, schema)), self.extra)

    async def adecided(
        self, call: ToolCall, schema: Mapping[str, Any] | None = None
    ) -> Ruling:
        return await aclaimed(
            self.desk, await adecided(self.desk, self.wanted(call, schema)), self.extra
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
