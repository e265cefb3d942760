"""Text from models, tools, clients and people is escaped on every page and in every push."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client

from approvals import actions as desk
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, Workflow
from approvals.pages.consumers import DeskConsumer
from approvals.pages.lists.inbox_consumer import render_push as render_push_of_inbox
from approvals.pages.lists.workflows_consumer import WorkflowsConsumer
from approvals.queries import request_list
from approvals.queries.filters import Filters
from approvals.states import Door, Kind, Priority, Verdict
from chats import actions
from chats.agent import demo
from chats.agent.agent import Agent
from chats.agent.tools import tool
from chats.models import Chat, TurnCheckpoint
from chats.pages.context import render_push
from tests.support.chats.scenes import answer, begin, say, text, use
from tests.support.desk.requests import FUTURE, end_workflow, make_request, make_workflow
from tests.support.markup import inline_code, parse
from tests.support.people import make_person

pytestmark = pytest.mark.django_db

#: Classes of the drawings on our pages.
OUR_SVG = {"icon", "gauge", "columns"}
#: Each tries to leave the place where it is put: an element, an attribute of either quote, a text area, a script, a comment.
BREAKERS = [
    "<script>alert('pwn')</script>",
    '"><img src=x onerror="alert(\'pwn\')"><!-- --><body onload=pwn()>',
    "' onmouseover='pwn()' x='\" autofocus onfocus=\"pwn()\" x=\"",
    "</textarea></pre></title></style><svg/onload=pwn()>{{ pwn }}{% pwn %}<style>pwn{}</style>",
    "[pwn](javascript:alert%28'pwn'%29) ![pwn](https://evil.example/pwn.png) <https://evil.example>",
]


def evil_tool(city: str) -> str:
    """Not shown."""
    return city


@pytest.fixture(params=BREAKERS, ids=lambda text: text[:14])
def evil(request):
    return request.param


@pytest.fixture
def bob(evil):
    """Return Bob with a hostile username."""
    return make_person(evil[:150], "decide_approvalrequest", "view_approvalrequest")


@pytest.fixture
def desk_of_evil(bob, evil) -> tuple[list[ApprovalRequest], list[Workflow]]:
    """Create waiting and decided requests of every kind, with the hostile text everywhere."""
    workflow = make_workflow(
        bob, title=evil, agent=evil[:100], thread_id=evil[:200], key=evil, thread_url="/chats/1/", source="api"
    )
    said = {
        "title": evil,
        "message": evil,
        "tool_name": evil[:100],
        "input": {evil: evil, "list": [evil], "flag": True, "number": 1},
        "context": {evil: {evil: evil}},
        "priority": Priority.HIGH,
        "deadline_at": FUTURE,
        "workflow": workflow,
    }
    question = {
        "options": [{"label": evil, "description": evil}, {"label": "b"}],
        "allow_text": True,
        "field_name": evil,
    }
    made = [
        make_request(bob, **said, step_path=[evil]),
        make_request(bob, Kind.QUESTION, **said, **question, default_response=evil),
        make_request(bob, Kind.QUESTION, **said, **question, multiple=True),
        make_request(bob, Kind.QUESTION, **said, suggestions=[evil], allow_text=True),
        make_request(bob, Kind.FORM, **said),
        make_request(bob, Kind.RECOVERY, **said),
    ]
    decided = make_workflow(bob, title=evil, agent=evil[:100])
    said["workflow"] = decided
    rulings = [
        (Kind.APPROVAL, {}, {"verdict": Verdict.EDIT, "edited_input": {evil: evil + "!", "new" + evil: evil}}),
        (Kind.APPROVAL, {}, {"verdict": Verdict.REJECT}),
        (Kind.QUESTION, question, {"verdict": Verdict.RESPOND, "answer": {"selected": [evil], "text": evil}}),
        (Kind.FORM, {}, {"verdict": Verdict.RESPOND, "answer": {evil: [evil]}}),
    ]
    for kind, fields, ruling in rulings:
        request = make_request(bob, kind, **said, **fields)
        desk.decide(request.pk, Answer(comment=evil, **ruling), by=bob, via=Door.DASHBOARD)
        made.append(request)
    end_workflow(decided)
    return made, [workflow, decided]


def assert_harmless(html: str, *, shown: bool = True) -> None:
    """Assert that the hostile text is escaped and that nothing runs, loads or links because of it."""
    assert inline_code(html) == []
    page = parse(html)
    icons = [use for svg in page.find("svg", class_="icon") for use in svg.inside if len(svg.inside) == 1]
    assert [one for one in page.find("svg") if not set(map(id, one.inside)) & set(map(id, icons))] == []
    assert {use.attributes["href"].partition("#")[0] for use in icons} <= {"/static/pausepoint/icons.svg"}
    assert [one.tag for one in page.all() if one.tag in {"style", "iframe", "object"}] == []
    assert [one.attributes for one in page.find("img") if "pausepoint/icon" not in one.attributes.get("src", "")] == []
    assert [
        one.attributes
        for one in page.find("script")
        if not one.attributes.get("src", "").startswith(("/static/", "/words.js"))
    ] == []
    links = [one.attributes.get("href", "") for one in page.find("a")]
    assert [link for link in links if not re.match(r"[/#?]|https://evil\.example(/pwn\.png)?$|$", link)] == []
    assert not shown or "pwn" in page.text


def pages(user: User, *addresses: str) -> list[str]:
    client = Client()
    client.force_login(user)
    answers = [client.get(address) for address in addresses]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.text for answer in answers]


def test_pages_of_the_desk_escape_it(bob, desk_of_evil):
    requests, workflows = desk_of_evil
    addresses = [
        "/",
        "/?status=any",
        "/?group=tool",
        "/workflows/",
        *(one.get_absolute_url() for one in [*requests, *workflows]),
    ]
    for html in pages(bob, *addresses):
        assert_harmless(html)


def listed_requests() -> list[ApprovalRequest]:
    return list(request_list.listed(ApprovalRequest.objects.all(), whole=True))


def test_pushes_of_the_desk_escape_it(bob, desk_of_evil, evil):
    requests, workflows = desk_of_evil
    consumer = DeskConsumer()
    consumer.scope = {"query_string": b"since=0"}
    html = consumer.catch_up(standing_of(bob), BatchCache())
    assert_harmless(html)
    shown = {card.attributes["id"] for card in parse(html).find("section", class_="request")}
    assert shown == {f"request-{request.pk}" for request in requests}
    html = render_push_of_inbox(standing_of(bob), BatchCache(), Filters(status="any"), listed_requests())
    assert_harmless(html)
    assert parse(html).find("a", class_="row-title")[0].text == evil
    live = WorkflowsConsumer()
    live.q, live.scope = "", {"query_string": b"since=0"}
    html = live.catch_up(standing_of(bob), BatchCache())
    assert_harmless(html)
    assert {one.text for one in parse(html).find("a", class_="row-title")} == {workflows[0].title}


def test_a_refused_card_escapes_the_input(bob, desk_of_evil, evil):
    requests, _ = desk_of_evil
    client = Client()
    client.force_login(bob)
    names = [f"input.{evil}", "input.number", "input.list", "text", "comment", "choice"]
    for request, verdict in zip(requests[:6], ["edit", "respond", "respond", evil, "respond", "respond"], strict=True):
        typed = dict.fromkeys(names, evil) | {"verdict": verdict, "digest": request.input_digest}
        refused = client.post(f"{request.get_absolute_url()}decide/", typed, headers={"HX-Request": "true"})
        assert refused.status_code == 422
        assert_harmless(refused.text)
        written = {one.text.removeprefix("\n") for one in parse(refused.text).find("textarea")}
        written |= {one.attributes.get("value") for one in parse(refused.text).find("input")}
        assert evil in written


@pytest.fixture
def evil_chat(bob, evil, settings) -> Chat:
    """Create a chat with the hostile text from the person, the model, the tool and an error."""
    echo = tool(name="echo", idempotent=True)(evil_tool)
    support = Agent(name="support", title=evil, tools=[*demo.support.tools, echo])
    chat = actions.open_chat(owner=bob, agent=support, public_id=evil)
    answer(say(chat, evil), text(evil), use("echo", {"city": evil}), agent=support, output={evil: evil})
    answer(
        say(chat, evil), use(evil[:90], {evil: evil}), text(f"# {evil}\n\n- {evil}\n\n```\n{evil}\n```"), agent=support
    )
    failing = begin(say(chat, evil))
    actions.fail_turn(failing, evil, 0, [], 1)
    options = [{"label": evil[:150], "description": evil, "id": evil[:90]}, {"label": "b"}]
    blocks = [
        text(evil),
        use("issueRefund", {"amount": 200, "orderId": evil[:50]}),
        use("askUser", {"question": evil, "options": options, "multiSelect": False, "fieldName": evil[:90]}),
        use("askHuman", {"question": evil, "suggestions": [evil], "context": {evil: evil}, "priority": "critical"}),
    ]
    answer(say(chat, evil), *blocks, agent=support)
    return chat


def test_pages_of_chats_escape_it(bob, evil_chat):
    addresses = ["/chats/", "/", evil_chat.get_absolute_url(), f"{evil_chat.get_absolute_url()}checkpoints/"]
    addresses += [f"/chats/checkpoints/{pk}/" for pk in TurnCheckpoint.objects.values_list("pk", flat=True)]
    assert len(addresses) == 8
    for html in pages(bob, *addresses):
        assert_harmless(html)


def test_pushes_of_chats_escape_it(bob, evil_chat, evil):
    assert_harmless(render_push(standing_of(bob), evil_chat))
    delta = render_to_string("chats/chat/_delta.html", {"turn_id": 1, "step": 0, "text": evil})
    assert_harmless(delta)
    (shown,) = parse(delta).find("div")
    assert shown.text == evil


def test_a_refused_message_is_escaped(bob, evil_chat, evil):
    client = Client()
    client.force_login(bob)
    for headers in ({}, {"HX-Request": "true"}):
        refused = client.post(f"{evil_chat.get_absolute_url()}messages/", {"text": evil}, headers=headers)
        assert refused.status_code == 409
        assert_harmless(refused.text)
        assert parse(refused.text).find("textarea", name="text")[-1].text == evil


def test_error_pages_escape_addresses(bob, evil):
    client = Client()
    client.force_login(bob)
    for address in ("/", "/workflows/", "/chats/", "/absent/"):
        shown = client.get(address, {"after": evil, "before": evil, "next": evil, evil: evil})
        assert_harmless(shown.text, shown=False)
    client.logout()
    assert_harmless(client.get("/login/", {"next": evil}).text, shown=False)
    # In the form of the password and in that of the passkey.
    hidden = parse(client.get("/login/", {"next": evil}).text).find("input", name="next")
    assert [field.attributes["value"] for field in hidden] == [evil, evil]
