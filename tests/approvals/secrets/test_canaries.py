"""No page, message, event or log contains a secret that was sent to the desk, and no template could reach one."""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, AuditEntry, Decision, OutboxEvent, Workflow
from approvals.models.search import SearchText
from approvals.outbound import messages, push
from chats.models import Chat, TurnCheckpoint
from chats.queries.export import pieces
from tests.approvals.api.mcp.agent import Agent
from tests.support.desk.canaries import CANARIES, canary_chat, canary_requests
from tests.support.desk.pressing import browser
from tests.support.desk.requests import stored
from tests.support.machine import Machine
from tests.support.people import alice, bob
from tests.support.reach import Reached

pytestmark = pytest.mark.django_db


@pytest.fixture
def planted() -> list[ApprovalRequest]:
    CANARIES.clear()
    return canary_requests(alice(), bob())


@pytest.fixture
def chat(planted) -> Chat:
    return canary_chat(User.objects.get(username="alice"))


def escaped(text: str) -> list[str]:
    return [where for where, secret in CANARIES.items() if secret in text]


def reached_by_templates(response: HttpResponseBase) -> dict[str, str]:
    """Return the ways on which a template of this page could reach a secret, by any attribute, item or row of its context."""
    reached = Reached()
    ways: dict[str, str] = {}
    # Most of hundreds of thousands of texts are too short to contain a secret.
    shortest = min(map(len, CANARIES.values()))
    # The client keeps the context of each template: one, or a list of them.
    for context in getattr(response, "context", None) or ():
        for layer in getattr(context, "dicts", [context]):
            for name, value in layer.items():
                texts = ((way, text) for way, text in reached.texts(value) if len(text) >= shortest)
                ways |= {f"{name}{way}": where for way, text in texts for where in escaped(text)}
    return ways


def words_of(secret: str) -> set[str]:
    """Return the words by which the secret would be found."""
    return {secret.lower(), secret.partition("-")[2] or secret.removeprefix("ghp_").lower()}


async def _joined(pieces) -> bytes:
    return b"".join([piece if isinstance(piece, bytes) else piece.encode() async for piece in pieces])


def text_of(response: HttpResponseBase) -> str:
    if not response.streaming:
        return response.content.decode(errors="replace")
    if response.is_async:
        return async_to_sync(_joined)(response.streaming_content).decode()
    return b"".join(response.streaming_content).decode(errors="replace")


def routes(resolver: URLResolver, prefix: str = "/") -> list[tuple[str, list[str]]]:
    """Return every route with the names of its parameters; regular expressions only without any."""
    known = []
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern).removeprefix("^").removesuffix(r"\Z").removesuffix("$")
        if isinstance(entry, URLPattern):
            known.append((route, re.findall(r"<(?:\w+:)?(\w+)>", route)))
        else:
            known += routes(entry, route)
    return known


def addresses(requests: list[ApprovalRequest], chat: Chat) -> list[str]:
    """Return every address of the URL table, with the ids of the planted objects."""
    decided = [request for request in requests if not ApprovalRequest.objects.get(pk=request.pk).pending]
    values = {
        "other": [decided[0].pk],
        "name": ["login"],
        "kind": ["people", "tools"],
        "request_id": [request.pk for request in requests],
        "public_id": [chat.public_id],
        "workflow_id": list(Workflow.objects.values_list("key", flat=True)),
        "object_id": AuditEntry.objects.order_by("pk").values_list("pk", flat=True)[:3],
    }
    numbers = {
        "/chats/checkpoints/": list(TurnCheckpoint.objects.values_list("pk", flat=True)),
        "/chats/": [chat.pk],
        "/api/v1/chats/": [chat.pk],
        "/workflows/": list(Workflow.objects.values_list("pk", flat=True)),
        "/requests/": [request.pk for request in requests],
    }
    every = []
    for route, parameters in routes(get_resolver()):
        if "(?P" in route or {"token", "uidb64", "attachment_id", "key"} & set(parameters):
            continue
        made = [route]
        for name in parameters:
            fitting = next((found for start, found in numbers.items() if route.startswith(start)), [1])
            found = values.get(name, fitting)
            if route.startswith("/admin/approvals/approvalrequest/"):
                found = [request.pk for request in requests[:5]]
            if route.startswith("/admin/approvals/auditentry/"):
                found = list(AuditEntry.objects.order_by("event").values_list("pk", flat=True))[::6]
            if route.startswith("/admin/approvals/decision/"):
                found = list(Decision.objects.values_list("pk", flat=True))
            made = [re.sub(rf"<(\w+:)?{name}>", quote(str(value)), each) for each in made for value in found]
        every += made
    return list(dict.fromkeys(every))


#: The beginnings of addresses, into how many tests their addresses are shared, and how many pages each of these shows at least.
AREAS = {
    r"/admin/": (5, 4),
    r"/chats/": (1, 5),
    r"/workflows/": (1, 10),
    r"/requests/": (5, 6),
    r"/(?!admin/|chats/|work|req)": (2, 6),
}


@pytest.mark.parametrize(
    ("area", "part"), [(area, part) for area, (parts, _) in AREAS.items() for part in range(parts)]
)
def test_no_page_of_the_url_table_contains_or_could_reach_a_secret(planted, chat, area, part):
    parts, least = AREAS[area]
    see = browser(User.objects.create_superuser("root"))
    lists = [
        "/?status=any",
        "/?status=decided",
        "/requests/?group=tool&status=any",
        "/audit/?q=alice",
        "/palette/?q=use",
    ]
    shown = 0
    leaked: dict[str, Any] = {}
    every = [
        address
        for address in [*addresses(planted, chat), *lists]
        if re.match(area, address) and not re.match(r"/(logout|api/|chats/\d+/export/)", address)
    ]
    for address in every[part::parts]:
        response = see.get(address)
        if where := escaped(text_of(response)):
            leaked[address] = where
        elif ways := reached_by_templates(response):
            leaked[address] = ways
        shown += response.status_code == 200
    assert leaked == {}
    assert shown >= least


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kept", [True, False])
def test_the_export_of_a_chat_holds_secrets_only_for_programs_of_its_owner(planted, chat, kept):
    text = async_to_sync(_joined)(pieces(chat, masks=not kept)).decode()
    assert ("called" in escaped(text)) == kept
    assert kept or escaped(text) == []


def test_no_bulk_confirmation_and_no_refused_edit_contains_a_secret(planted):
    see = browser(User.objects.get(username="bob"))
    picks = [f"{request.pk}:{request.input_digest}" for request in planted]
    for extra in ({}, {"confirmed": "yes"}):
        shown = see.post("/requests/bulk/", {"pick": picks, "verdict": "reject", **extra})
        assert escaped(shown.text) == []
    waiting = next(request for request in planted if request.kind == "approval")
    for sent in (
        {"verdict": "edit", "input.user": "eve"},
        {"verdict": "edit", "input.user": "eve", "switch": "yes"},
        {"verdict": "edit", "edit_as": "json", "input": "{"},
        {"verdict": "approve"},
    ):
        for view in ("decide", "review", "check"):
            address = reverse(f"approvals:{view}", args=[waiting.pk])
            refused = see.post(address, {"digest": waiting.input_digest, **sent}, headers={"HX-Request": "true"})
            assert escaped(refused.text) == []


def test_no_outgoing_message_and_no_event_contains_a_secret(planted, settings):
    settings.PUBLIC_URL = "https://desk.example.org"
    person = User.objects.get(username="bob")
    requests = list(ApprovalRequest.objects.select_related("workflow"))
    mentions = [messages.Mention(request, "alice") for request in requests]
    mails = [
        messages.mail(person, standing_of(person), requests, mentions),
        *(messages.mail(person, standing_of(person), [each]) for each in requests),
    ]
    texts = [f"{mail.subject}\n{mail.body}" for mail in mails] + [messages.slack(requests).decode()]
    texts += [
        str(push._message([each], [])) + str(push._message([], [messages.Mention(each, "alice")])) for each in requests
    ]
    texts += [str(payload) for payload in OutboxEvent.objects.values_list("payload", flat=True)]
    assert [escaped(text) for text in texts] == [[] for _ in texts]


def test_the_search_index_holds_no_secret(planted):
    words = " ".join(SearchText.objects.values_list("words", flat=True))
    assert [where for where, secret in CANARIES.items() if words_of(secret) & set(words.split())] == []


def test_a_program_of_another_user_reads_no_secret(planted, chat):
    # The first key is that of the program that asked.
    Machine(User.objects.get(username="alice"))
    other = Machine(User.objects.get(username="bob"))
    for address in addresses(planted, chat):
        if not address.startswith("/api/v1/") or address.endswith("/events"):
            continue
        response = other.client.get(address, headers=other.headers)
        assert escaped(text_of(response)) == [], address


@pytest.mark.django_db(transaction=True)
def test_an_agent_of_another_user_that_checks_a_request_reads_no_secret(planted):
    # The first key is that of the program that asked.
    Agent(User.objects.get(username="alice"))
    agent = Agent(User.objects.get(username="bob"))
    for request in planted:
        if not stored(request).pending:
            assert escaped(agent.call("check_request", {"request_id": str(request.pk)}).answer.text) == [], request.pk


@pytest.mark.parametrize("part", [0, 1, 2])
def test_the_log_of_the_server_holds_no_secret(planted, caplog, part):
    caplog.set_level(logging.DEBUG)
    see = browser(User.objects.get(username="bob"))
    for request in planted[part::3]:
        see.get(request.get_absolute_url())
        see.post(reverse("approvals:decide", args=[request.pk]), {"verdict": "nonsense"})
    assert escaped(caplog.text) == []
