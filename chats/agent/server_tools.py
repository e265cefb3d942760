"""Tools that the model's provider runs itself, inside an answer: search, fetch and code execution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chats.agent.tools import Tool

CODE = "code_execution"
#: Descriptions of the tools, for the people who are asked about them.
DOES = {
    "web_search": "searches the web",
    "web_fetch": "reads web pages and PDFs",
    CODE: "runs code in a container without access to the internet",
}
WEB = frozenset({"web_search", "web_fetch"})
#: A domain without a scheme or wildcard, perhaps with a path.
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(?P<path>/\S*)?", re.IGNORECASE)


class Need(BaseModel):
    """What a server tool is needed for."""

    model_config = ConfigDict(extra="forbid")
    reason: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2000,
            description="Why you need it, and what exactly you will do with it.",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool that the model's provider runs, as often as the model wants within an answer.

    `max_uses` limits its uses per answer of the model. A web tool reaches only the `allowed_domains`, or none of the
    `blocked_domains`. A tool that `needs_approval` is replaced for the model by the tool `asking`; approving a call of that
    offers the server tool for the rest of the turn. `priority` and `deadline` are those of the request.
    """

    name: Literal["web_search", "web_fetch", "code_execution"]
    max_uses: int | None = None
    allowed_domains: Sequence[str] = ()
    blocked_domains: Sequence[str] = ()
    needs_approval: bool = False
    priority: str = "normal"
    deadline: float | None = None

    def __post_init__(self) -> None:
        if self.name not in DOES:
            raise ValueError(
                f"server tool {self.name!r}: the name must be one of {', '.join(DOES)}"
            )
        domains = [*self.allowed_domains, *self.blocked_domains]
        if self.name not in WEB and (self.max_uses is not None or domains):
            raise ValueError(
                f"server tool {self.name}: it does not support max_uses and domains"
            )
        if self.max_uses is not None and self.max_uses < 1:
            raise ValueError(f"server tool {self.name}: max_uses must be at least 1")
        if self.allowed_domains and self.blocked_domains:
            raise ValueError(
                f"server tool {self.name}: set allowed_domains or blocked_domains, not both"
            )
        for domain in domains:
            match = _DOMAIN.fullmatch(domain)
            if match is None or (match["path"] and self.name == "web_fetch"):
                raise ValueError(
                    f"server tool {self.name}: {domain!r} is not a domain such as example.com"
                )

    @property
    def asking(self) -> Tool:
        """The tool with which the model asks a person for permission to use this one."""
        return asking_tool(
            self.name, DOES[self.name], priority=self.priority, deadline=self.deadline
        )


def asking_tool(name: str, does: str, *, priority: str, deadline: float | None) -> Tool:
    """Return a tool that asks a person for permission to use a provider feature; `does` describes it."""
    until = "until this message is answered"

    async def agree(**_: Any) -> str:
        return f"A person has agreed. You may use {name} {until}."

    return Tool(
        name=f"ask_to_use_{name}",
        description=(
            f"Ask a person whether you may use {name}, which {does}. It runs at the model's provider, "
            f"outside of Pausepoint. Their approval allows it as often as needed {until}."
        ),
        input_model=Need,
        run=agree,
        needs_approval=True,
        idempotent=True,
        priority=priority,
        deadline=deadline,
    )
