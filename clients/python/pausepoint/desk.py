"""Ask people from an agent: the client of the package `pausepoint`, in one file that you can copy.

It needs Python 3.11 and httpx.

    desk = Desk("https://desk.example.com", key)
    outcome = desk.await_human(
        "Refund order 4711?", tool_name="refund", tool_call_id="call-4711", input={"amount": 120}
    )
    if outcome.approved:
        desk.report(outcome, output=refund(**outcome.input))

`AsyncDesk` is the same with `await`. Every call is retried while Pausepoint cannot be reached. Retries do nothing twice:
Pausepoint recognizes a repeat by its `tool_call_id` or `idempotency_key`. If you give one of them, a program that is
restarted after a crash finds its request and the answer, instead of asking a second time.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack
from urllib.parse import quote, urlencode

import httpx

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

__all__ = [
    "Asked",
    "AsyncDesk",
    "Desk",
    "DeskError",
    "LeaseLost",
    "Outcome",
    "Refused",
    "Resume",
    "StillWaiting",
    "Unreachable",
]

#: Seconds that one call waits for the decision, and seconds that any call may take in addition to waiting.
WAIT, GRACE = 50, 20
#: Statuses that may pass: a server that restarts, a proxy without a server, too many calls.
PASSING = {408, 425, 429, 500, 502, 503, 504}
#: Seconds between two attempts: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 15.0
#: Seconds for which a resume lease is claimed, unless it is renewed.
LEASE = 60
#: No limit: a call that waits for a free connection would look like a server that cannot be reached.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)

T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., Any]")


class DeskError(Exception):
    """Base class of all errors in this module."""


class Unreachable(DeskError):
    """The server could not be reached for `patience` seconds. The call may have arrived: send the same again."""


class Refused(DeskError):
    """The server refused the call. `code` is stable, `problem` the problem document (RFC 9457), `detail` its sentence."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.code, self.detail = str(problem.get("code", "")), str(problem.get("detail", ""))
        errors = problem.get("errors") or {}
        fields = "".join(f" {name}: {error}." for name, error in errors.items()) if isinstance(errors, dict) else ""
        super().__init__(f"{status} {self.code}: {self.detail}{fields}")


class StillWaiting(DeskError):
    """No one decided within `give_up_after`. The request is still waiting, and you may wait for it again."""

    def __init__(self, request_id: str, url: str) -> None:
        self.request_id, self.url = request_id, url
        super().__init__(f"No one has decided yet: {url}")


class LeaseLost(DeskError):
    """The resume lease expired before the run ended, and another process has claimed it: the run may happen twice."""

    def __init__(self, request_id: str, by: str) -> None:
        self.request_id, self.by = request_id, by
        super().__init__(f"The lease of request {request_id} expired, and {by or 'someone'} has claimed it since.")


#: Fields that only questions have.
QUESTION_FIELDS = frozenset({"options", "multiple", "allow_text", "field_name", "suggestions"})


class Asked(TypedDict, total=False):
    """The fields of `POST /api/v1/requests` except the title; the page /api/v1/ describes each.

    `options` may be plain texts, `timeout` is a timedelta or milliseconds, `deadline` a datetime with a time zone.
    `attachments` are paths of files, or `{"name", "content"}` with bytes. Without a `kind`, a request with a field that only
    questions have is a question, and any other an approval.
    """

    kind: Literal["approval", "question", "form"]
    message: str
    tool_name: str
    tool_call_id: str
    input: Mapping[str, Any]
    response_schema: Mapping[str, Any]
    options: Sequence[str | Mapping[str, Any]]
    multiple: bool
    allow_text: bool
    field_name: str
    suggestions: Sequence[str]
    context: Any
    messages: Sequence[Mapping[str, str]]
    priority: Literal["low", "normal", "high", "critical"]
    timeout: timedelta | int
    deadline: datetime
    default_response: Any
    workflow_id: str
    workflow_title: str
    step_path: Sequence[str]
    thread_id: str
    agent: str
    callback_url: str
    assigned_to: str
    resume_state: str
    attachments: Sequence[str | os.PathLike[str] | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. `document` is the whole response."""

    request_id: str
    #: `approved`, `rejected`, `answered`, `expired` or `cancelled`; of a vote that others have to follow, `pending`.
    status: str
    #: None if the deadline passed.
    by: str | None
    comment: str
    #: The answer to a question or form; the default if the deadline passed.
    answer: Any
    #: The input to run, as requested or as changed by a person. None unless approved.
    input: Mapping[str, Any] | None
    #: The digest of `input`, which the result is reported with.
    digest: str | None
    document: Mapping[str, Any] = field(repr=False)

    @property
    def approved(self) -> bool:
        return self.status == "approved"

    @property
    def edited(self) -> bool:
        """Whether it was approved with changes."""
        return bool((self.document["decision"] or {}).get("verdict") == "edit")

    @property
    def votes(self) -> Mapping[str, Any] | None:
        """The votes if several people decide it: `progress` in words, `stages`, `cast` and `proposal`."""
        votes: Mapping[str, Any] | None = self.document.get("votes")
        return votes

    @property
    def timed_out(self) -> bool:
        return self.status == "expired"

    @property
    def halted(self) -> bool:
        """Whether the run has to stop: no one decided in time, and the policy says that it stops then."""
        return bool((self.document.get("decision") or {}).get("halted"))

    @property
    def result(self) -> Mapping[str, Any] | None:
        """What was reported for the approved call: `state`, `output`, `error`. A call with a result must not run again."""
        result: Mapping[str, Any] | None = self.document.get("result")
        return result


@dataclass(frozen=True, slots=True)
class Taken:
    """The resume of one request. `document` is the whole response."""

    request_id: str
    token: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    @property
    def outcome(self) -> Outcome:
        return _outcome(self.document["request"])


@dataclass(slots=True)
class Resume:
    """The right to resume a run, which no other process has at the same time: from `desk.resume(...)`."""

    #: One for each request, in the order in which they were named.
    taken: Sequence[Taken]
    #: Seconds; it is renewed three times in that time.
    lease: int
    #: When the lease ends unless it is renewed, by `time.monotonic()`.
    until: float
    #: Why it is given back in the end, in place of a completion.
    returned: str | None = None

    @property
    def state(self) -> str | None:
        """The `resume_state` of the first request that has one."""
        return next((lease.document["state"] for lease in self.taken if lease.document["state"] is not None), None)

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """How the requests ended, by their ids."""
        return {lease.request_id: lease.outcome for lease in self.taken}

    @property
    def attempt(self) -> int:
        """1, or more if another process has had it before and did not complete: it may have run something."""
        return max(int(lease.document["attempt"]) for lease in self.taken)

    @property
    def lost(self) -> bool:
        """Whether the lease has ended, so that another process may run the same: stop as soon as you can."""
        return time.monotonic() >= self.until

    def give_back(self, reason: str = "") -> None:
        """At the end of the `with` block, release the resume lease in place of completing it."""
        self.returned = reason


# A `Flow` is independent of the transport: it yields calls and pauses, and receives the result of each. `Desk` and
# `AsyncDesk` differ only in how they execute these.


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Seconds that the response may take.
    seconds: float = GRACE

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    content: bytes
    #: Seconds before the next attempt, as requested by the server.
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The call or its response was lost."""

    reason: str


Reply = Response | ConnectionLost | None
Flow = Generator[Call | Pause, Reply, T]


def _sure(call: Call, patience: float) -> Flow[dict[str, Any]]:
    """Return the JSON response of a call, retried until there is a final one. Raise Refused or Unreachable."""
    pause, until = FIRST_PAUSE, math.inf
    while True:
        reply = yield call
        if isinstance(reply, Response) and reply.status not in PASSING:
            return _read(reply)
        # Patience counts from the first failure: a call may wait for long before it fails.
        until = min(until, time.monotonic() + patience)
        left = until - time.monotonic()
        if left <= 0:
            status = getattr(reply, "status", None)
            reason = reply.reason if isinstance(reply, ConnectionLost) else f"it answered {status}"
            raise Unreachable(f"Pausepoint cannot be reached: {reason}. Check the address, and that the server runs.")
        asked_for = reply.retry_after if isinstance(reply, Response) else 0.0
        # Random, because many agents may be waiting for the same server to come back.
        yield Pause(min(max(asked_for, pause * random.uniform(0.5, 1.5)), left))  # noqa: S311
        pause = min(2 * pause, LONGEST_PAUSE)


def _read(response: Response) -> dict[str, Any]:
    try:
        document = json.loads(response.content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Refused(response.status, {"detail": "The response is not from Pausepoint. Check the address."})
    if not 200 <= response.status < 300:
        raise Refused(response.status, document)
    return document


def _ask(patience: float, title: str, key: str, fields: Asked) -> Flow[dict[str, Any]]:
    kind = "approval" if QUESTION_FIELDS.isdisjoint(fields) else "question"
    body = {"kind": kind, **fields, "title": title}
    if "options" in body:
        body["options"] = [{"label": option} if isinstance(option, str) else option for option in fields["options"]]
    if "attachments" in body:
        body["attachments"] = [_attachment(file) for file in fields["attachments"]]
    if isinstance(timeout := body.get("timeout"), timedelta):
        body["timeout"] = math.ceil(timeout / timedelta(milliseconds=1))
    if isinstance(deadline := body.get("deadline"), datetime):
        body["deadline"] = deadline.isoformat()
    if not body.get("tool_call_id"):
        body.pop("tool_call_id", None)
    # A request without a name gets one here, so that a lost response does not create a second request.
    name = _sendable("idempotency_key", key) or ("" if fields.get("tool_call_id") else str(uuid.uuid4()))
    return (yield from _sure(Call("POST", "/requests", body, {"Idempotency-Key": name} if name else {}), patience))


def _attachment(file: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a file as it is sent: its content in base64."""
    if not isinstance(file, Mapping):
        path = Path(file)
        file = {"name": path.name, "content": path.read_bytes()}
    content = file["content"]
    return file if isinstance(content, str) else {**file, "content": base64.b64encode(content).decode()}


def _is_file(value: Any) -> bool:
    return isinstance(value, os.PathLike) or (isinstance(value, Mapping) and isinstance(value.get("content"), bytes))


def _sendable(name: str, value: str) -> str:
    """Return `value` if it can be sent in a header, or raise ValueError."""
    if not value.isascii() or not value.isprintable():
        raise ValueError(f"{name} may contain only printable ASCII: {value!r}")
    return value


def _place(kind: str, known_by: str, then: str = "") -> str:
    return f"/{kind}/{quote(known_by, safe='')}{then}"


def _wait(patience: float, request_id: str, give_up_after: float | None) -> Flow[Outcome]:
    until = math.inf if give_up_after is None else time.monotonic() + give_up_after
    while True:
        seconds = max(0, math.ceil(min(WAIT, until - time.monotonic())))
        call = Call("GET", _place("requests", request_id, f"?wait={seconds}"), seconds=seconds + GRACE)
        request = yield from _sure(call, patience)
        if request["status"] != "pending":
            return _outcome(request)
        if time.monotonic() >= until:
            raise StillWaiting(request_id, request["url"])


def _await_human(patience: float, title: str, key: str, give_up_after: float | None, fields: Asked) -> Flow[Outcome]:
    request = yield from _ask(patience, title, key, fields)
    if request["status"] != "pending":
        return _outcome(request)
    return (yield from _wait(patience, request["id"], give_up_after))


def _cancel(patience: float, request_id: str, comment: str) -> Flow[Outcome]:
    try:
        request = yield from _sure(
            Call("POST", _place("requests", request_id, "/cancel"), {"comment": comment}), patience
        )
    except Refused as refused:
        # Already cancelled: by an earlier attempt whose response was lost, or by someone else.
        if (refused.problem.get("decision") or {}).get("verdict") != "cancel":
            raise
        request = yield from _sure(Call("GET", _place("requests", request_id)), patience)
    return _outcome(request)


def _report(patience: float, outcome: Outcome, result: Mapping[str, Any]) -> Flow[None]:
    if outcome.digest is None:
        raise ValueError(f"Request {outcome.request_id} was not approved, so it has no result to report.")
    body = {"input_digest": outcome.digest, **result}
    yield from _sure(Call("POST", _place("requests", outcome.request_id, "/result"), body), patience)


def _get(patience: float, request_id: str) -> Flow[dict[str, Any]]:
    return (yield from _sure(Call("GET", _place("requests", request_id)), patience))


def _pages(patience: float, what: str, filters: Mapping[str, Any]) -> Flow[list[dict[str, Any]]]:
    items: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = yield from _sure(Call("GET", f"/{what}?{urlencode({**filters, **cursor})}"), patience)
        items += page["items"]
        if not page["next"]:
            return items
        cursor = {"cursor": page["next"]}


def _decide(patience: float, request_id: str, verdict: str, comment: str, fields: Mapping[str, Any]) -> Flow[Outcome]:
    body = {"verdict": verdict, "comment": comment, **fields}
    if isinstance(answer := body.get("answer"), Mapping):
        body["answer"] = {name: _attachment(value) if _is_file(value) else value for name, value in answer.items()}
    return _outcome((yield from _sure(Call("POST", _place("requests", request_id, "/decision"), body), patience)))


def _advise(
    patience: float, request_id: str, hint: str, text: str, raise_priority: str | None, more_votes: int | None
) -> Flow[dict[str, Any]]:
    body: dict[str, Any] = {"hint": hint, "text": text}
    body |= {"raise_priority": raise_priority} if raise_priority else {}
    body |= {} if more_votes is None else {"more_votes": more_votes}
    return (yield from _sure(Call("POST", _place("requests", request_id, "/advice"), body), patience))


def _revoke(patience: float, grant_id: str, reason: str) -> Flow[dict[str, Any]]:
    body = {"reason": reason} if reason else {}
    return (yield from _sure(Call("POST", _place("grants", grant_id, "/revoke"), body), patience))


def _end(patience: float, workflow_id: str, outcome: str) -> Flow[dict[str, Any]]:
    return (yield from _sure(Call("POST", _place("workflows", workflow_id, "/end"), {"outcome": outcome}), patience))


def _take(patience: float, request_ids: Sequence[str], by: str, lease: int) -> Flow[Resume]:
    """Claim the resume leases of all requests or of none."""
    taken: dict[str, Taken] = {}
    until = time.monotonic() + lease
    try:
        # In the same order everywhere, so that two processes never take each other's rest.
        for request_id in sorted(set(request_ids)):
            body = {"by": by or f"{socket.gethostname()}:{os.getpid()}", "lease_seconds": lease}
            headers = {"Idempotency-Key": str(uuid.uuid4())}
            claim = yield from _sure(Call("POST", _place("requests", request_id, "/resume"), body, headers), patience)
            taken[request_id] = Taken(request_id, claim["token"], claim)
    except DeskError:
        yield from _give_back(list(taken.values()), "Another request of the same run is not free.")
        raise
    return Resume([taken[request_id] for request_id in dict.fromkeys(request_ids)], lease, until)


def _renew(resume: Resume) -> Flow[None]:
    """Renew the lease of all requests. If one is lost, all are."""
    until = time.monotonic() + resume.lease
    try:
        for lease in resume.taken:
            body = {"token": lease.token, "lease_seconds": resume.lease}
            path = _place("requests", lease.request_id, "/resume/renew")
            yield from _sure(Call("POST", path, body, seconds=resume.lease / 3), resume.lease / 3)
        resume.until = until
    except Refused:
        resume.until = -math.inf
    except Unreachable:
        # The lease ends by itself, unless a later attempt is in time.
        return


def _give_back(taken: Sequence[Taken], reason: str) -> Flow[None]:
    """Give back what was taken; what cannot be given back ends with its lease."""
    for lease in taken:
        body = {"token": lease.token, "reason": reason[:2000]}
        with contextlib.suppress(DeskError):
            yield from _sure(Call("POST", _place("requests", lease.request_id, "/resume/release"), body), GRACE)


def _complete(patience: float, resume: Resume) -> Flow[None]:
    for lease in resume.taken:
        path = _place("requests", lease.request_id, "/resume/complete")
        try:
            yield from _sure(Call("POST", path, {"token": lease.token}), patience)
        except Refused as refused:
            if refused.code not in {"resume_lost", "already_resumed"}:
                raise
            raise LeaseLost(lease.request_id, (refused.problem.get("resume") or {}).get("by") or "") from refused


def _leave(patience: float, resume: Resume) -> Flow[None]:
    """Complete a resume, or give it back if that was asked for."""
    if resume.returned is None:
        yield from _complete(patience, resume)
    else:
        yield from _give_back(resume.taken, resume.returned)


def _outcome(document: Mapping[str, Any]) -> Outcome:
    made = document["decision"] or {}
    return Outcome(
        request_id=document["id"],
        status=document["status"],
        by=made.get("by"),
        comment=made.get("comment", ""),
        answer=made.get("answer"),
        input=made.get("approved_input"),
        digest=made.get("approved_digest"),
        document=document,
    )


def retry_after(response: httpx.Response) -> float:
    """Return after how many seconds the server wants the next attempt; 0 if it does not say."""
    asked_for = response.headers.get("retry-after", "")
    return float(asked_for) if asked_for.isdecimal() else 0.0


def _response(response: httpx.Response) -> Response:
    return Response(response.status_code, response.content, retry_after(response))


def _check_address(address: str) -> None:
    """Raise ValueError for an address that httpx would refuse or misread at the first call."""
    reason = ""
    try:
        url = httpx.URL(address)
        if url.host and (url.port is None or 1 <= url.port <= 65_535) and not url.query and not url.fragment:
            return
    except (httpx.InvalidURL, ValueError) as error:
        reason = f" ({error})"
    raise ValueError(
        f"This is not the address of a server: {address!r}{reason}. Give one like https://desk.example.com:8443."
    )


class _Settings:
    """The address and the key, by default from the environment."""

    def __init__(self, address: str = "", key: str = "", *, patience: float = 300.0) -> None:
        """Retry for `patience` seconds if the server cannot be reached."""
        address, key = address or os.environ.get("PAUSEPOINT_URL", ""), key or os.environ.get("PAUSEPOINT_KEY", "")
        if not address or not key:
            raise ValueError("Give the address and a key of Pausepoint, or set PAUSEPOINT_URL and PAUSEPOINT_KEY.")
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"The address must begin with https:// or http://: {address!r}")
        _check_address(address)
        self.patience = patience
        self.base = address.rstrip("/") + "/api/v1"
        self.headers = {"Authorization": f"Bearer {_sendable('key', key)}", "User-Agent": "pausepoint-python"}

    def _connection_lost(self, error: httpx.TransportError) -> ConnectionLost:
        return ConnectionLost(f"no response from {self.base} ({f'{type(error).__name__} {error}'.strip()})")

    def _request(self, call: Call) -> dict[str, Any]:
        headers = {**self.headers, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        # A server that lets no one connect is away; one that answers slowly is not.
        timeout = httpx.Timeout(GRACE, connect=min(GRACE, max(1.0, self.patience)), read=call.seconds)
        url = self.base + call.path
        return {"method": call.method, "url": url, "content": call.content, "headers": headers, "timeout": timeout}


class Desk(_Settings):
    """A client that blocks while it waits. Safe to share between threads."""

    def __init__(self, address: str = "", key: str = "", *, patience: float = 300.0) -> None:
        super().__init__(address, key, patience=patience)
        self._http = httpx.Client(limits=LIMITS)

    def await_human(
        self, title: str, *, idempotency_key: str = "", give_up_after: float | None = None, **fields: Unpack[Asked]
    ) -> Outcome:
        """Ask a person and wait for the outcome, however long that takes. Raise Refused or Unreachable.

        `give_up_after` (seconds) raises StillWaiting; `timeout` is the deadline of the request itself.
        """
        return self._run(_await_human(self.patience, title, idempotency_key, give_up_after, fields))

    def ask(self, title: str, *, idempotency_key: str = "", **fields: Unpack[Asked]) -> dict[str, Any]:
        """Ask without waiting; return the request (`id`, `url`, `status`, ...). Raise Refused or Unreachable."""
        return self._run(_ask(self.patience, title, idempotency_key, fields))

    def wait(self, request_id: str, *, give_up_after: float | None = None) -> Outcome:
        """Wait for the outcome of a request. Raise StillWaiting, Refused or Unreachable."""
        return self._run(_wait(self.patience, request_id, give_up_after))

    def cancel(self, request_id: str, comment: str = "") -> Outcome:
        """Cancel a request. Raise Refused (`already_decided`: someone decided it first) or Unreachable."""
        return self._run(_cancel(self.patience, request_id, comment))

    def report(self, outcome: Outcome, *, output: Any = None, error: str = "") -> None:
        """Record the output or the error of the approved call. Raise Refused or Unreachable."""
        self._run(_report(self.patience, outcome, {"error": error} if error else {"output": output}))

    def get(self, request_id: str) -> dict[str, Any]:
        """Return a request. Raise Refused or Unreachable."""
        return self._run(_get(self.patience, request_id))

    def list(self, **filters: str) -> list[dict[str, Any]]:
        """Return the requests that the key's user may see, newest first: `status="pending"`, `tool="refund"`, ...

        Raise Refused or Unreachable.
        """
        return self._run(_pages(self.patience, "requests", filters))

    def grants(self, **filters: str) -> Sequence[dict[str, Any]]:
        """Return what runs without asking, newest first, of what the key's user may see: `tool="refund"`, `state="all"`, ...

        Raise Refused or Unreachable.
        """
        return self._run(_pages(self.patience, "grants", filters))

    def revoke(self, grant_id: str, *, reason: str = "") -> dict[str, Any]:
        """End a grant: its calls wait for a person again. It needs a key with the scope `grant`.

        Raise Refused or Unreachable.
        """
        return self._run(_revoke(self.patience, grant_id, reason))

    def scopes(self) -> Sequence[dict[str, Any]]:
        """Return the approver scopes, oldest first: who may see, answer and decide which requests.

        It needs a key with the scope `audit`, of an administrator or of someone who may read the whole audit log. Raise
        Refused or Unreachable.
        """
        return self._run(_pages(self.patience, "scopes", {}))

    def decide(self, request_id: str, verdict: str, *, comment: str = "", **fields: Any) -> Outcome:
        """Decide a request: `approve`, `reject`, `edit` (with `edited_input`) or `respond` (with `answer`).

        A file in the answer is a `Path`, or `{"name", "content"}` with bytes. It needs a key with the scope `decide`, of
        another user than the one that asked. If several people decide it, this is a vote, and the status may still be
        `pending`. Raise Refused (`already_decided`: someone was first) or Unreachable.
        """
        return self._run(_decide(self.patience, request_id, verdict, comment, fields))

    def advise(
        self,
        request_id: str,
        hint: str,
        text: str,
        *,
        raise_priority: str | None = None,
        more_votes: int | None = None,
    ) -> dict[str, Any]:
        """Advise people on a request: `looks_fine`, `look_closer` or `looks_wrong`, and why. It decides nothing.

        `raise_priority` is the priority that the request gets if its own is lower; `more_votes` (1 to 3) is how many more
        people have to approve. It needs another key than the one that asked, with the scope `advise`. Raise Refused
        (`already_decided`: someone decided before; `conflict`: the request cannot need so many votes) or Unreachable.
        """
        return self._run(_advise(self.patience, request_id, hint, text, raise_priority, more_votes))

    def end_workflow(self, workflow_id: str, outcome: str = "completed") -> dict[str, Any]:
        """End a workflow as `completed`, `failed` or `cancelled`, and cancel its waiting requests.

        Raise Refused or Unreachable.
        """
        return self._run(_end(self.patience, workflow_id, outcome))

    @contextlib.contextmanager
    def resume(self, *request_ids: str, by: str = "", lease: int = LEASE) -> Iterator[Resume]:
        """Resume the run that waits for these requests, in no other process at the same time.

            with desk.resume(request_id) as resume:
                continue_run(resume.state, resume.outcomes[request_id])

        The end of the block completes the resume for ever, and an error gives it back. The lease (seconds) is renewed
        meanwhile; if that fails, `resume.lost` says so. Raise Refused (`resume_taken`, `already_resumed`: another process
        was first; `not_decided`), LeaseLost at the end if another process has taken it meanwhile, or Unreachable.
        """
        resume = self._run(_take(self.patience, request_ids, by, lease))
        over = threading.Event()
        renewing = threading.Thread(target=self._keep, args=(resume, over), daemon=True)
        renewing.start()
        try:
            yield resume
        except BaseException as error:
            resume.give_back(resume.returned or f"It failed: {type(error).__name__}.")
            raise
        finally:
            over.set()
            renewing.join()
            self._run(_leave(self.patience, resume))

    def _keep(self, resume: Resume, over: threading.Event) -> None:
        while not over.wait(resume.lease / 3):
            self._run(_renew(resume))

    def approve(
        self, tool: str, *, key: str | Callable[..., str] = "", thread_id: str | Callable[..., str] = "", **fields: Any
    ) -> Callable[[F], F]:
        """Decorate a function, so that a person decides about each of its calls. Needs the package `pausepoint`.

            @desk.approve("refund", key=lambda order, amount: f"refund-{order}")
            def refund(order: str, amount: int) -> str: ...

        The function runs with the arguments that were approved, and its result is reported. If the call was not approved,
        NotApproved is raised. `key` names a call: one with the same key is never asked about twice and never runs twice, also in
        another process; its reported result is returned, or HasFailed is raised. Without a key, a call is known by `thread_id`,
        its arguments, and how often it was made; without either, each call asks. The `fields` go into each request.
        """
        from pausepoint.approve import approved  # noqa: PLC0415 - not needed by those who copy this file

        return approved(self, tool, key, thread_id, fields)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                value: T = done.value
                return value
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                reply = None
            else:
                reply = self._call(step)

    def _call(self, call: Call) -> Reply:
        try:
            return _response(self._http.request(**self._request(call)))
        except httpx.TransportError as error:
            return self._connection_lost(error)


class AsyncDesk(_Settings):
    """A client for asyncio: hundreds of calls can wait at once."""

    def __init__(self, address: str = "", key: str = "", *, patience: float = 300.0) -> None:
        super().__init__(address, key, patience=patience)
        self._http = httpx.AsyncClient(limits=LIMITS)

    async def await_human(
        self, title: str, *, idempotency_key: str = "", give_up_after: float | None = None, **fields: Unpack[Asked]
    ) -> Outcome:
        """Like `Desk.await_human`."""
        return await self._run(_await_human(self.patience, title, idempotency_key, give_up_after, fields))

    async def ask(self, title: str, *, idempotency_key: str = "", **fields: Unpack[Asked]) -> dict[str, Any]:
        """Like `Desk.ask`."""
        return await self._run(_ask(self.patience, title, idempotency_key, fields))

    async def wait(self, request_id: str, *, give_up_after: float | None = None) -> Outcome:
        """Like `Desk.wait`."""
        return await self._run(_wait(self.patience, request_id, give_up_after))

    async def cancel(self, request_id: str, comment: str = "") -> Outcome:
        """Like `Desk.cancel`."""
        return await self._run(_cancel(self.patience, request_id, comment))

    async def report(self, outcome: Outcome, *, output: Any = None, error: str = "") -> None:
        """Like `Desk.report`."""
        await self._run(_report(self.patience, outcome, {"error": error} if error else {"output": output}))

    async def get(self, request_id: str) -> dict[str, Any]:
        """Like `Desk.get`."""
        return await self._run(_get(self.patience, request_id))

    async def list(self, **filters: str) -> list[dict[str, Any]]:
        """Like `Desk.list`."""
        return await self._run(_pages(self.patience, "requests", filters))

    async def grants(self, **filters: str) -> Sequence[dict[str, Any]]:
        """Like `Desk.grants`."""
        return await self._run(_pages(self.patience, "grants", filters))

    async def revoke(self, grant_id: str, *, reason: str = "") -> dict[str, Any]:
        """Like `Desk.revoke`."""
        return await self._run(_revoke(self.patience, grant_id, reason))

    async def scopes(self) -> Sequence[dict[str, Any]]:
        """Like `Desk.scopes`."""
        return await self._run(_pages(self.patience, "scopes", {}))

    async def decide(self, request_id: str, verdict: str, *, comment: str = "", **fields: Any) -> Outcome:
        """Like `Desk.decide`."""
        return await self._run(_decide(self.patience, request_id, verdict, comment, fields))

    async def advise(
        self,
        request_id: str,
        hint: str,
        text: str,
        *,
        raise_priority: str | None = None,
        more_votes: int | None = None,
    ) -> dict[str, Any]:
        """Like `Desk.advise`."""
        return await self._run(_advise(self.patience, request_id, hint, text, raise_priority, more_votes))

    async def end_workflow(self, workflow_id: str, outcome: str = "completed") -> dict[str, Any]:
        """Like `Desk.end_workflow`."""
        return await self._run(_end(self.patience, workflow_id, outcome))

    @contextlib.asynccontextmanager
    async def resume(self, *request_ids: str, by: str = "", lease: int = LEASE) -> AsyncIterator[Resume]:
        """Like `Desk.resume`, with `async with`."""
        resume = await self._run(_take(self.patience, request_ids, by, lease))
        renewing = asyncio.create_task(self._keep(resume))
        try:
            yield resume
        except BaseException as error:
            resume.give_back(resume.returned or f"It failed: {type(error).__name__}.")
            raise
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._run(_leave(self.patience, resume))

    async def _keep(self, resume: Resume) -> None:
        while True:
            await asyncio.sleep(resume.lease / 3)
            await self._run(_renew(resume))

    def approve(
        self, tool: str, *, key: str | Callable[..., str] = "", thread_id: str | Callable[..., str] = "", **fields: Any
    ) -> Callable[[F], F]:
        """Like `Desk.approve`, for coroutine functions."""
        from pausepoint.approve import approved  # noqa: PLC0415 - not needed by those who copy this file

        return approved(self, tool, key, thread_id, fields)

    async def can_use_tool(
        self, name: str, input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Answer the Claude Agent SDK, as its `can_use_tool`. Needs `pip install "pausepoint[claude]"`."""
        from pausepoint.claude import can_use_tool  # noqa: PLC0415 - an extra of the package

        return await can_use_tool(self, name, input, context)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncDesk:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                value: T = done.value
                return value
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                reply = None
            else:
                reply = await self._call(step)

    async def _call(self, call: Call) -> Reply:
        try:
            return _response(await self._http.request(**self._request(call)))
        except httpx.TransportError as error:
            return self._connection_lost(error)
