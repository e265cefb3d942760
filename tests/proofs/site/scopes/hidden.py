"""Requests that a limited person must not see, with a secret in everything that people and programs read of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from approvals import actions
from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant, RequestComment, Snooze
from approvals.policy.grants import GrantTerms
from approvals.states import Audience, Door, Verdict, Width
from chats.models import Chat, Message, TurnCheckpoint
from tests.support.chats.scenes import completed, text
from tests.support.chats.turns import make_chat
from tests.support.desk.files import attachment
from tests.support.desk.requests import decide
from tests.support.machine import Machine

#: The searched word and the forbidden one. They differ, because pages repeat the search.
WORD, SECRET = "zanzibar", "qxmarkerxq"
TEXT = f"{WORD} {SECRET}"
#: The tool of the hidden requests; the names of tools are no secret.
TOOL = "payroll"


@dataclass(frozen=True)
class Hidden:
    """A waiting and an ended request, a question, and a chat, all of which mention the secret."""

    owner: User
    waiting: ApprovalRequest
    ended: ApprovalRequest
    question: ApprovalRequest
    chat: Chat

    @property
    def requests(self) -> tuple[ApprovalRequest, ...]:
        return self.waiting, self.ended, self.question

    def state(self) -> tuple[Any, ...]:
        """Everything that a call could have changed."""
        rows = ApprovalRequest.objects.filter(tool_name=TOOL).order_by("pk")
        names = ("pk", "status", "claimed_by", "assigned_to", "taker")
        return (
            list(rows.values_list(*names)),
            Decision.objects.filter(request__tool_name=TOOL).count(),
            RequestComment.objects.filter(request__tool_name=TOOL).count(),
            Snooze.objects.filter(request__tool_name=TOOL).count(),
            list(Grant.objects.values_list("pk", "ended_at")),
            AuditEntry.objects.filter(request_id__in=[request.pk for request in self.requests]).count(),
        )


def hide(owner: User, decider: User) -> Hidden:
    """Make them; `decider` may decide everything yet."""
    agent = Machine(owner)
    body = {
        "kind": "approval", "title": f"Pay {TEXT}", "tool_name": TOOL, "message": TEXT, "agent": "hr",
        "input": {"amount": 10, "to": TEXT}, "workflow_title": f"Payroll {TEXT}", "workflow": "payroll-run",
        "messages": [{"role": "user", "text": TEXT}], "context": {"why": TEXT},
        "attachments": [attachment(TEXT.encode(), f"{SECRET}.txt")],
    }  # fmt: skip
    known = [name for name in body if name not in {"workflow_title", "workflow", "messages", "context"}]
    waiting = agent.ask({name: body[name] for name in known})
    ended = agent.ask({name: body[name] for name in known})
    question = agent.ask({"kind": "question", "title": f"Which {TEXT}?", "tool_name": TOOL, "message": TEXT})
    requests = [ApprovalRequest.objects.get(pk=each["id"]) for each in (waiting, ended, question)]
    for request in requests:
        actions.comment(request.pk, by=decider, via=Door.DASHBOARD, text=f"Note {TEXT}")
    terms = GrantTerms(width=Width.INPUT, audience=Audience.AGENT, uses=10, reason=TEXT)
    decide(requests[1], decider, Verdict.APPROVE, comment=TEXT, grant=terms)
    agent.post(f"/requests/{ended['id']}/result", {"input_digest": ended["input_digest"], "output": {"paid": TEXT}})
    chat = make_chat(owner)
    completed(chat, TEXT, text(f"Answer {TEXT}"))
    return Hidden(owner, *requests, chat)


def addresses(hidden: Hidden) -> Iterator[str]:
    """Every address of the URL table, filled with each of the hidden requests, their workflows and the chat."""
    for request in hidden.requests:
        values = {
            "request_id": request.pk, "pk": request.pk, "other": hidden.ended.pk, "uuid": request.pk,
            "attachment_id": (request.attachments or [{"id": uuid4()}])[0]["id"], "workflow": request.workflow_id,
            "workflow_id": request.workflow.key, "name": TOOL, "token": "x", "uidb36": "1", "key": "x", "event": 1,
            "public_id": hidden.chat.public_id or "x", "file_id": uuid4(), "kind": "tools", "chat": hidden.chat.pk,
            "address": "/Users", "scope_id": 1, "number": 1, "absence_id": 1, "grant_id": Grant.objects.latest("given_at").pk,
            "checkpoint": TurnCheckpoint.objects.latest("pk").pk, "message": Message.objects.latest("pk").pk, "part": 1,
        }  # fmt: skip
        yield from _filled(get_resolver().url_patterns, "/", values)
    yield from (f"/suggestions/searches/?q={term}" for term in ("tool:", "agent:", "to:", "a"))


def _filled(patterns: Any, prefix: str, values: dict[str, Any]) -> Iterator[str]:
    for entry in patterns:
        if not isinstance(entry.pattern, RoutePattern) or prefix + str(entry.pattern) == "/admin/":
            continue
        route = str(entry.pattern)

        def value(found: re.Match[str], whole: str = prefix + route) -> str:
            name = found[2]
            if name == "pk" and found[1] == "int":
                name = next((n for n in ("checkpoint", "workflow", "chat") if f"/{n}s/" in whole), "event")
            return str(values[name])

        filled = prefix + re.sub(r"<(?:(\w+):)?(\w+)>", value, route)
        if isinstance(entry, URLPattern):
            yield filled
        else:
            yield from _filled(entry.url_patterns, filled, values)


def admin_addresses(hidden: Hidden) -> Iterator[str]:
    """The list of every model in the admin, its search, and the page of each of its rows."""
    yield "/admin/"
    for model in admin.site._registry:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        yield base
        yield f"{base}?q={WORD}"
        for pk in model._default_manager.values_list("pk", flat=True)[:20]:
            yield f"{base}{pk}/change/"
            yield f"{base}{pk}/history/"
    yield from (f"/admin/approvals/auditentry/export.{kind}" for kind in ("csv", "jsonl", "ocsf"))


#: Query strings with which lists are read, behind any address.
QUERIES = (f"?q={WORD}", f"?status=any&q={WORD}", "?status=decided&group=tool", "?sort=newest", f"?tool={TOOL}",
           "?by=root&status=decided", "?group=workflow", "?days=90", "?thread=", f"?text={WORD}", "?person=alice",
           "?tab=completed", f"?tab=completed&q={WORD}", "?limit=100", "?show=all")  # fmt: skip
#: Reports read their period alone.
REPORTS = {"/insights/", "/insights/csv/", "/chats/usage/"}


def shown(client: Client, address: str, **headers: Any) -> str:
    """Return the answer to a GET of this address, with its headers. An export counts as secret; events never end."""
    response = client.get(address, **headers)
    if response.streaming:
        return "" if "event-stream" in response["Content-Type"] else SECRET
    return f"{response.headers} {response.content.decode(errors='replace')}"


#: The lists among the addresses.
LISTS = re.compile(
    r"/(requests|workflows|chats|audit|palette|views|views/counts|requests/suggestions)/"
    r"|/api/v1/(requests|audit|workflows)|/chat/suspended|/audit/export.*"
)


def queries(address: str) -> tuple[str, ...]:
    """Return the query strings with which this address is read too."""
    if address in REPORTS:
        return ("?days=90",)
    return QUERIES if LISTS.fullmatch(address) else ()


def forms(hidden: Hidden, address: str) -> list[dict[str, Any]]:
    """The bodies of posts to this address: the fields of all forms at once, with the verdict that fits its request."""
    ids = [str(request.pk) for request in hidden.requests]
    shared = {
        "digest": hidden.waiting.input_digest, "shown_digest": hidden.waiting.input_digest, "comment": "I do", "text": "I do",
        "to": "mallory", "over": "", "instead_of": "", "until": "1h", "request": ids, "requests": ids, "ids": ids,
        "confirm": TOOL, "assign_to": "", "input_digest": hidden.waiting.input_digest, "output": 1,
        "answer": {"text": "x"}, "id": ids[0], "q": WORD, "name": TOOL, "message": WORD, "runId": ids[0], "resumeData": {},
    }  # fmt: skip
    verdicts = ["approve", "respond"]
    if str(hidden.question.pk) in address:
        verdicts = ["respond"]
    elif str(hidden.waiting.pk) in address or str(hidden.ended.pk) in address or address.startswith("/settings/"):
        # The settings have no verdicts.
        verdicts = ["approve"]
    return [shared | {"verdict": verdict} for verdict in verdicts]
