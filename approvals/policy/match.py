"""Test whether a request matches, and why: the one matcher of grants, scopes and hook tool lists.

A `Match` lists agents, tools, kinds, sources, MCP servers, requesters, priorities, subjects of issuers' tokens (`on_behalf_of`),
and conditions on the input. Each list must match in at least one item; omitted lists match anything, so an empty match matches
every request.

- Names of agents, tools, servers and subjects are patterns (`globs`) over the canonical name: case and Unicode are folded once.
  A request without an agent, a tool, a server or a subject matches no pattern for it, not even `*`.
- Input values are located by JSON pointer and compared strictly: `true` is not 1, and 1 is not "1". But 1 and 1.0 are the same
  number, as in the digest of an input. Texts are compared exactly, because paths and identifiers are case-sensitive. Texts are
  not treated as paths: `/data/../etc` starts with `/data/`.
- A missing value never matches. Null is a value.
- A value of another type than the test does not match, but `matches_input` reports that it could. Rules use this, so that no
  client bypasses a rule by sending another type.
- A condition can require a type (`value_types`), such as one address, or an amount without a sign. Other types never match.

There are no regular expressions, and matching an input takes time linear in the values that its pointers reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from approvals.policy.globs import Glob
from approvals.policy.input_conditions import (
    InputCondition,
    MatchReason,
    listed,
    shortened,
)
from approvals.text.names import fold
from approvals.text.translatable import Sentence, gettext_noop

#: The lists of a match, with the fact that each tests; those in `NAMES` hold patterns.
FACTS = {
    "tools": "tool",
    "agents": "agent",
    "servers": "server",
    "kinds": "kind",
    "priorities": "priority",
    "sources": "source",
    "requesters": "requester",
    "on_behalf_of": "on_behalf_of",
}
NAMES = ("tools", "agents", "servers", "on_behalf_of")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts of a request, or of a call that would become one. `requester` is the id of a user."""

    agent: str = ""
    tool: str = ""
    kind: str = ""
    source: str = ""
    server: str = ""
    requester: int | None = None
    on_behalf_of: str = ""
    priority: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The canonical names, by the list of a match that tests them."""
        return {name: fold(vars(self)[FACTS[name]]) for name in NAMES}


def server_of(tool: str) -> str:
    """Return the MCP server in a tool name of the form `mcp__SERVER__TOOL`, as used by coding agents; else empty."""
    prefix, _, rest = tool.partition("__")
    server, separator, _name = rest.partition("__")
    return server if fold(prefix) == "mcp" and separator else ""


@dataclass(frozen=True, kw_only=True)
class Match:
    """A set of requests; empty lists match any. `approvals.policy.documents` has its stored form."""

    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    requesters: tuple[int, ...] = ()
    on_behalf_of: tuple[str, ...] = ()
    conditions: tuple[InputCondition, ...] = ()

    def fits(self, facts: Facts) -> bool:
        """Return whether a request matches."""
        return self.fits_lists(facts) and self.fits_input(facts)

    def fits_lists(self, facts: Facts) -> bool:
        """Return whether a request matches, apart from the conditions."""
        # Loops take half the time of generators here.
        for name, items in self._named.items():
            if not (
                _fits_one(items, facts.names[name])
                if name in NAMES
                else vars(facts)[FACTS[name]] in items
            ):
                return False
        return True

    def fits_input(self, facts: Facts) -> bool:
        """Return whether a request's input matches the conditions."""
        for condition in self.conditions:  # noqa: SIM110 - as above
            if not condition.fits(facts.input):
                return False
        return True

    def matches_input(self, facts: Facts) -> bool | None:
        """Return whether the input matches the conditions; None if it could, and no condition is clearly false."""
        answer: bool | None = True
        for condition in self.conditions:
            if condition.fits(facts.input):
                continue
            if not condition.could_fit(facts.input):
                return False
            answer = None
        return answer

    def covers_lists(self, other: Match) -> bool:
        """Return whether every request that matches the lists of `other` matches these lists, apart from the kinds."""
        for name, items in self._named.items():
            narrow = vars(other)[name]
            if name == "kinds":
                continue
            # A star is matched only by a star, so a pattern that matches another one matches all of its names.
            if not narrow or not all(
                _fits_one(items, fold(item)) if name in NAMES else item in items
                for item in narrow
            ):
                return False
        return True

    def reasons(self, facts: Facts) -> list[MatchReason]:
        """Return the result of each part of the match; the request matches if all of them do, or there are none."""
        lists = [
            _reason(
                name,
                vars(facts)[FACTS[name]],
                self._fitting(name, facts),
                vars(self)[name],
            )
            for name in self._named
        ]
        return [
            *lists,
            *(condition.reason(facts.input) for condition in self.conditions),
        ]

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Any]]:
        """The non-empty lists, with compiled patterns in place of names."""
        lists = {name: vars(self)[name] for name in FACTS if vars(self)[name]}
        return {
            name: [Glob(fold(text)) for text in items] if name in NAMES else items
            for name, items in lists.items()
        }

    def _fitting(self, name: str, facts: Facts) -> list[Any]:
        """Return the items of a list that match."""
        if name not in NAMES:
            return [
                item for item in self._named[name] if item == vars(facts)[FACTS[name]]
            ]
        pairs = zip(vars(self)[name], self._named[name], strict=True)
        return [text for text, glob in pairs if _fits_one([glob], facts.names[name])]


def _fits_one(globs: Sequence[Glob], folded: str) -> bool:
    """Return whether a canonical name matches one of these patterns; an empty name matches none."""
    for glob in globs:  # noqa: SIM110 - as above
        if folded and glob.fits(folded):
            return True
    return False


def _reason(
    about: str, value: Any, fitting: Sequence[Any], wanted: Sequence[Any]
) -> MatchReason:
    """Return the result of a list for a fact."""
    values = {
        "value": shortened(str(value)),
        "wanted": listed([f"“{shortened(str(item))}”" for item in fitting or wanted]),
    }
    if fitting:
        return MatchReason(
            about,
            True,
            Sentence(gettext_noop("“%(value)s” matches %(wanted)s"), values),
        )
    if value in {"", None}:
        return MatchReason(
            about,
            False,
            Sentence(gettext_noop("there is none, but it must be %(wanted)s"), values),
        )
    return MatchReason(
        about, False, Sentence(gettext_noop("“%(value)s” is not %(wanted)s"), values)
    )
