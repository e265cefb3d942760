"""The errors of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class DeskError(Exception):
    """Base class of all errors of the client."""


class Unreachable(DeskError):
    """The server could not be reached for `patience` seconds. The call may have arrived: send the same again."""


class Refused(DeskError):
    """The server refused the call. `code` is stable, `problem` the problem document (RFC 9457), `detail` its sentence."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.code, self.detail = (
            str(problem.get("code", "")),
            str(problem.get("detail", "")),
        )
        #: The error of each rejected field.
        self.errors: Mapping[str, Any] = mapping(problem.get("errors"))
        fields = "".join(f" {name}: {error}." for name, error in self.errors.items())
        super().__init__(f"{status} {self.code}: {self.detail}{fields}")


class NotUnderstood(Refused):
    """This version of the client does not understand the response, so nothing may run because of it."""

    def __init__(self, detail: str, status: int = 200) -> None:
        super().__init__(status, {"code": "not_understood", "detail": detail})


class StillWaiting(DeskError):
    """No one decided within `give_up_after`. The request is still waiting, and you may wait for it again."""

    def __init__(self, request_id: str, url: str) -> None:
        self.request_id, self.url = request_id, url
        super().__init__(f"No one has decided yet: {url}")


class LeaseLost(DeskError):
    """The resume lease expired before the run ended, and another process has claimed it: the run may happen twice."""

    def __init__(self, request_id: str, by: str) -> None:
        self.request_id, self.by = request_id, by
        super().__init__(
            f"The lease of request {request_id} expired, and {by or 'someone'} has claimed it since."
        )


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a member of a document that is itself a document; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def member(document: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """Return a member of a response that must have one of these types. Raise NotUnderstood."""
    value = document.get(name)
    if not isinstance(value, kinds):
        raise NotUnderstood(
            f"In the response, `{name}` is missing or of another type. Check the address, and that the versions of the client "
            "and the server fit."
        )
    return value
