"""Find the request of a call or ask, and wait for the decision, with either kind of desk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pausepoint import calls
from pausepoint.desk import AsyncDesk, Desk, Outcome, Refused
from pausepoint.gate.rulings import Ruling, Wanted

AnyDesk = Desk | AsyncDesk


def decided(desk: Desk, wanted: Wanted) -> Ruling:
    """Ask a person about a call, or find the request of an earlier run, and wait for the decision."""
    fields: dict[str, Any] = {**wanted.fields}
    give_up_after = fields.pop("give_up_after", None)
    request = ask(desk, wanted.title, fields)
    return Ruling(
        desk.wait(request["id"], give_up_after=give_up_after), wanted.question
    )


async def adecided(desk: AnyDesk, wanted: Wanted) -> Ruling:
    """Like `decided`, without blocking the event loop, with either kind of desk."""
    if isinstance(desk, Desk):
        return await asyncio.to_thread(decided, desk, wanted)
    fields: dict[str, Any] = {**wanted.fields}
    give_up_after = fields.pop("give_up_after", None)
    request = await aask(desk, wanted.title, fields)
    return Ruling(
        await desk.wait(request["id"], give_up_after=give_up_after), wanted.question
    )


def ask(desk: Desk, title: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Ask without waiting. A tool's schema only helps people: if it is rejected, the call is asked about without it, and a
    request of an earlier run is the same if only the schema has changed since.
    """
    try:
        return desk.ask(title, **fields)
    except Refused as refused:
        if (known := _known_id(fields, refused)) and _same_call(
            request := desk.get(known), fields
        ):
            return request
        return desk.ask(title, **_without_schema(fields, refused))


async def aask(
    desk: AsyncDesk, title: str, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Like `ask`."""
    try:
        return await desk.ask(title, **fields)
    except Refused as refused:
        if (known := _known_id(fields, refused)) and _same_call(
            request := await desk.get(known), fields
        ):
            return request
        return await desk.ask(title, **_without_schema(fields, refused))


def _known_id(fields: Mapping[str, Any], refused: Refused) -> str:
    """Return the id of the request with the name of this one and other content; empty for any other refusal."""
    return (
        str(refused.problem.get("request_id") or "")
        if refused.code == "conflict" and "response_schema" in fields
        else ""
    )


def _same_call(request: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Return whether a request asks about the same call with another schema. One that stores a run is never the same."""
    if (
        request.get("kind") != "approval"
        or "resume_state" in fields
        or request.get("response_schema") == fields["response_schema"]
    ):
        return False
    names = ("tool_name", "tool_call_id", "input")
    return calls.same_input(
        [request.get(name) for name in names], [fields.get(name) for name in names]
    )


def _without_schema(fields: Mapping[str, Any], refused: Refused) -> dict[str, Any]:
    """Return the fields without the tool's schema, if Pausepoint rejected that; raise any other refusal again."""
    if fields.get("kind") == "form" or not any(
        name.startswith("response_schema") for name in refused.errors
    ):
        raise refused
    return {name: value for name, value in fields.items() if name != "response_schema"}


async def await_human(desk: AnyDesk, title: str, **fields: Any) -> Outcome:
    """Ask and wait without blocking the event loop, with either kind of desk."""
    if isinstance(desk, AsyncDesk):
        return await desk.await_human(title, **fields)
    return await asyncio.to_thread(desk.await_human, title, **fields)


def blocking(desk: AnyDesk) -> Desk:
    """Return a desk that may be called without an event loop, or raise TypeError."""
    if isinstance(desk, AsyncDesk):
        raise TypeError(
            "This runs without an event loop: give a Desk instead of an AsyncDesk."
        )
    return desk
