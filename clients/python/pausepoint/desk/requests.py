"""Read, report, decide and advise: calls that do not wait."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from .asking import attachment
from .errors import member
from .outcomes import NULL, Outcome, outcome_of
from .transport import Call, Flow, place, sure


def report(patience: float, outcome: Outcome, result: Mapping[str, Any]) -> Flow[None]:
    if outcome.digest is None:
        raise ValueError(
            f"Request {outcome.request_id} was not approved, so it has no result to report."
        )
    body = {"input_digest": outcome.digest, **result}
    yield from sure(
        Call("POST", place("requests", outcome.request_id, "/result"), body), patience
    )


def get(patience: float, request_id: str) -> Flow[dict[str, Any]]:
    return (yield from sure(Call("GET", place("requests", request_id)), patience))


def pages(
    patience: float, what: str, filters: Mapping[str, Any]
) -> Flow[list[dict[str, Any]]]:
    items: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = yield from sure(
            Call("GET", f"/{what}?{urlencode({**filters, **cursor})}"), patience
        )
        items += member(page, "items", list)
        if not (following := member(page, "next", str, NULL)):
            return items
        cursor = {"cursor": following}


def decide(
    patience: float,
    request_id: str,
    verdict: str,
    comment: str,
    fields: Mapping[str, Any],
) -> Flow[Outcome]:
    body = {"verdict": verdict, "comment": comment, **fields}
    if isinstance(answer := body.get("answer"), Mapping):
        body["answer"] = {
            name: attachment(value) if _is_file(value) else value
            for name, value in answer.items()
        }
    return outcome_of(
        (
            yield from sure(
                Call("POST", place("requests", request_id, "/decision"), body), patience
            )
        )
    )


def _is_file(value: Any) -> bool:
    return isinstance(value, os.PathLike) or (
        isinstance(value, Mapping) and isinstance(value.get("content"), bytes)
    )


def advise(
    patience: float,
    request_id: str,
    hint: str,
    text: str,
    raise_priority: str | None,
    more_votes: int | None,
) -> Flow[dict[str, Any]]:
    body: dict[str, Any] = {"hint": hint, "text": text}
    body |= {"raise_priority": raise_priority} if raise_priority else {}
    body |= {} if more_votes is None else {"more_votes": more_votes}
    return (
        yield from sure(
            Call("POST", place("requests", request_id, "/advice"), body), patience
        )
    )


def revoke(patience: float, grant_id: str, reason: str) -> Flow[dict[str, Any]]:
    body = {"reason": reason} if reason else {}
    return (
        yield from sure(
            Call("POST", place("grants", grant_id, "/revoke"), body), patience
        )
    )


def end_workflow(
    patience: float, workflow_id: str, outcome: str
) -> Flow[dict[str, Any]]:
    return (
        yield from sure(
            Call("POST", place("workflows", workflow_id, "/end"), {"outcome": outcome}),
            patience,
        )
    )
