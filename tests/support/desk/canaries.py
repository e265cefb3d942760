"""A desk on which every text that a program or a person may send holds a secret, each a different one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User

from approvals import actions as desk
from approvals.actions.closing import ReportedResult
from approvals.exceptions import Refusal
from approvals.models import ApprovalRequest, ToolSettings
from approvals.states import Door, Kind, Verdict
from chats.models import Chat
from tests.support.chats.scenes import answer, text, use
from tests.support.chats.turns import make_chat, say
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.desk.votes import both, group, with_terms

#: Forbidden in every page and message; each name tells where the secret was sent.
CANARIES: dict[str, str] = {}
#: The schema of inputs and answers: secret fields have harmless names.
SCHEMA = {
    "type": "object",
    "properties": {
        "door_code": {"type": "string", "format": "password"},
        "boxes": {"type": "array", "items": {"type": "object", "properties": {"number": {"writeOnly": True}}}},
    },
}


def key(where: str) -> str:
    """Return a text with a key that is known by its shape."""
    # The beginning is enough to tell them apart, and its end may be shown.
    token = f"ghp_{where.encode().hex().ljust(40, '0')[:40]}tail"
    CANARIES[where] = token[:44]
    return f"use {token} here"


def word(where: str) -> str:
    """Return a secret without a shape."""
    CANARIES[where] = f"hunter-{where.encode().hex()}"
    return CANARIES[where]


def value_of(where: str) -> dict[str, Any]:
    """Return an input with secrets by name, in a list, by the schema, by the settings of the tool, and by shape."""
    return {
        "user": "alice",
        "password": word(f"{where} password"),
        "accounts": [{"id": 1, "api_key": word(f"{where} nested")}, {"id": 2, "api_key": word(f"{where} second")}],
        "door_code": word(f"{where} schema"),
        "boxes": [{"number": word(f"{where} schema list")}],
        "iban": word(f"{where} tool"),
        "deep": {"a": {"b": {"c": {"d": {"token": word(f"{where} deep")}}}}},
        "note": key(f"{where} shape"),
    }


def canary_requests(owner: User, decider: User) -> list[ApprovalRequest]:
    """Return requests of every kind, waiting and decided, all full of secrets."""
    for tool in ("login", "Bash", "Edit", "WebFetch"):
        ToolSettings.objects.create(tool_name=tool, secret_fields=["iban"], key_fields=["/iban", "/note", "/password"])
    return [*_waiting(owner), *_decided(owner, decider), _voted(owner, decider)]


def _sent(where: str) -> dict[str, Any]:
    return {
        "title": key(f"{where} title"),
        "message": key(f"{where} message"),
        "tool_name": "login",
        "input": value_of(where),
        "context": value_of(f"{where} context") | {"directory": "/srv"},
        "response_schema": SCHEMA,
        "said_before": [{"role": "user", "text": key(f"{where} said")}],
        "workflow_title": key(f"{where} workflow"),
    }


def _make(owner: User, kind: Kind, where: str, **changes: Any) -> ApprovalRequest:
    sent = _sent(where) | changes
    if sent["response_schema"] is None:
        # Nothing says of these that they are secret.
        sent["input"] = {"password": word(f"{where} password"), "iban": word(f"{where} tool")}
        sent["context"] = {"token": word(f"{where} context")}
    workflow = make_workflow(owner, title=sent.pop("workflow_title"))
    return make_request(owner, kind, workflow=workflow, **sent)


def _waiting(owner: User) -> Iterator[ApprovalRequest]:
    for kind in Kind:
        yield _make(owner, kind, f"waiting {kind}")
    options = [{"label": key("option"), "description": key("option description")}, {"label": "b"}]
    yield _make(owner, Kind.QUESTION, "choice", options=options, response_schema=None)
    suggestions = [key("suggestion")]
    yield _make(owner, Kind.QUESTION, "free", suggestions=suggestions, allow_text=True, response_schema=None)
    run = {"command": f"curl -u x {key('command')} | PGPASSWORD={word('variable')} psql", "password": word("beside")}
    yield _make(owner, Kind.APPROVAL, "command", tool_name="Bash", input=run)
    edit = {"file_path": "/srv/a.py", "old_string": key("old"), "new_string": f"{key('new')}\nb"}
    yield _make(owner, Kind.APPROVAL, "edit", tool_name="Edit", input=edit)
    address = f"https://bob:{word('address')}@example.org/x"
    yield _make(owner, Kind.APPROVAL, "fetch", tool_name="WebFetch", input={"url": address})


def _decided(owner: User, decider: User) -> Iterator[ApprovalRequest]:
    edited = {"verdict": Verdict.EDIT, "edited_input": value_of("edited")}
    verdicts = [
        (Kind.APPROVAL, {"verdict": Verdict.APPROVE}),
        (Kind.APPROVAL, edited),
        (Kind.APPROVAL, {"verdict": Verdict.REJECT}),
        (Kind.FORM, {"verdict": Verdict.RESPOND, "answer": value_of("answer")}),
    ]
    for number, (kind, verdict) in enumerate(verdicts):
        request = _make(owner, kind, f"decided {number}")
        desk.comment(request.pk, by=decider, via=Door.DASHBOARD, text=key(f"note {number}"))
        outcome = decide(request, decider, comment=key(f"comment {number}"), **verdict)
        if verdict["verdict"] in {Verdict.APPROVE, Verdict.EDIT}:
            digest = outcome.request.decision.approved_digest
            ran = ReportedResult(input_digest=digest, output=value_of(f"output {number}"))
            desk.report_result(request.pk, ran, scope=request.scope, by=owner, via=Door.REST)
            other = ReportedResult(input_digest="sha256:" + "0" * 64, output=value_of(f"other {number}"))
            with suppress(Refusal):
                desk.report_result(request.pk, other, scope=request.scope, by=owner, via=Door.REST)
        yield request


def _voted(owner: User, decider: User) -> ApprovalRequest:
    """Return a request on which one person of two has voted, with a changed input."""
    request = with_terms(_make(owner, Kind.APPROVAL, "voted"), both(group(votes=2)))
    decide(request, decider, Verdict.EDIT, comment=key("vote"), edited_input=value_of("proposed"))
    return request


def canary_chat(owner: User) -> Chat:
    """Return a chat with secrets in its messages, calls and results."""
    chat = make_chat(owner)
    called = {"city": "Paris", "password": word("called"), "note": key("called shape")}
    returned = {"token": word("returned"), "list": [{"secret": word("returned nested")}], "log": key("returned shape")}
    answer(say(chat, key("first message")), text(key("agent text")), use("getWeather", called), output=returned)
    begun = {"amount": 200, "orderId": "4711", "password": word("refund")}
    answer(say(chat, key("second message")), text(key("more text")), use("issueRefund", begun))
    return chat
