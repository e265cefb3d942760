"""Each page and each push costs the same number of queries at two rows and at twenty."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, Workflow
from approvals.pages import consumers
from approvals.pages.consumers import DeskConsumer
from approvals.states import Kind, Verdict
from chats.models import Chat, TurnCheckpoint
from chats.pages.context import render_push
from tests.support.chats.scenes import REFUND, SHIPPING, completed, paused, text, use
from tests.support.chats.turns import make_chat
from tests.support.desk.requests import decide, end_workflow, make_request, make_workflow
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

FEW, MANY = 2, 20
#: The session, the user, their preferences, and their permissions, own and through groups.
SIGNED_IN = 5
#: A push reads of the preferences the language and the time zone.
PUSHED = SIGNED_IN


def queries(work) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as found:
        work()
    return [query["sql"] for query in found.captured_queries]


def of_page(user, address: str) -> int:
    client = Client()
    client.force_login(user)

    def visit() -> None:
        assert client.get(address).status_code == 200

    return len(queries(visit))


def someone(number: int):
    return make_person(f"person-{number}", "decide_approvalrequest")


def waiting(how_many: int) -> None:
    """Create suspended workflows of different people, each with two requests, one of them assigned."""
    for number in range(how_many):
        owner = someone(number)
        workflow = make_workflow(owner, title=f"Run {number}")
        make_request(owner, workflow=workflow, assigned_to=owner)
        make_request(owner, Kind.QUESTION, workflow=workflow, options=[{"label": "a"}, {"label": "b"}])


def ended(how_many: int) -> None:
    for number in range(how_many):
        owner = someone(1000 + number)
        workflow = make_workflow(owner)
        decide(make_request(owner, workflow=workflow), owner, Verdict.REJECT)
        end_workflow(workflow)


def steps(how_many: int) -> Workflow:
    """Create a workflow with this many requests, every other one decided."""
    owner = someone(0)
    workflow = make_workflow(owner)
    for number in range(how_many):
        request = make_request(owner, workflow=workflow, assigned_to=owner)
        if number % 2:
            decide(request, owner, Verdict.APPROVE)
    return workflow


def talk(how_many: int) -> Chat:
    """Create a chat of this many turns with tools; the last one waits for as many answers."""
    chat = make_chat(make_person("talker"))
    for _ in range(how_many):
        completed(chat, "weather", text("A moment."), use("getWeather", {"city": "Rome"}))
    calls = [use("issueRefund", REFUND) if number % 2 else use("askUser", SHIPPING) for number in range(how_many)]
    paused(chat, *calls)
    for request in ApprovalRequest.objects.filter(kind=Kind.APPROVAL)[: how_many // 4]:
        decide(request, bob_once(), Verdict.APPROVE)
    return chat


def bob_once():
    return User.objects.filter(username="bob").first() or bob()


def of_push(of: Workflow, request_id: str = "") -> int:
    """Count the queries of a push to Bob's dashboard: his session and the rendering."""
    found: list[int] = []
    client = Client()
    client.force_login(bob_once())
    consumer = DeskConsumer()
    consumer.session_key = client.session.session_key

    async def push(render, *args) -> None:
        found.append(len(queries(lambda: consumers._rendered((render, args), [consumer.session_key]))))

    consumer.push = push
    coroutine = consumer.workflow_changed({"workflow": of.pk, "request": request_id})
    with pytest.raises(StopIteration):
        coroutine.send(None)
    (cost,) = found
    return cost


def of_catching_up() -> int:
    """Count the queries of a page that reconnects after missing everything."""
    consumer, viewer = DeskConsumer(), standing_of(bob())
    consumer.scope = {"query_string": b"since=0"}
    return len(queries(lambda: consumer.catch_up(viewer, BatchCache())))


@pytest.mark.parametrize("people", [FEW, MANY])
def test_a_push_costs_the_same_for_any_number_of_open_pages(people):
    made = make_request(alice())
    keys = []
    for number in range(people):
        client = Client()
        client.force_login(someone(number) if number % 2 else make_person(f"looks-{number}", "view_approvalrequest"))
        keys.append(client.session.session_key)
    wanted = (consumers._workflow_changed, (made.workflow_id, str(made.pk)))
    html: list[object] = []
    assert len(queries(lambda: html.extend(consumers._rendered(wanted, keys)))) <= PUSHED + 3
    assert {(page.count(">Approve</button>"), str(made.pk) in page) for page in html} == {(0, True), (1, True)}


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_the_desk_costs_the_same_for_any_number_of_pending_requests(rows):
    waiting(rows)
    made = ApprovalRequest.objects.filter(kind=Kind.APPROVAL).first()
    assert of_page(bob_once(), "/") <= SIGNED_IN + 9
    assert of_page(bob_once(), "/workflows/") <= SIGNED_IN + 5
    assert of_page(bob_once(), made.get_absolute_url()) <= SIGNED_IN + 5
    assert of_push(made.workflow, str(made.pk)) <= PUSHED + 3
    decide(made, made.requested_by, Verdict.APPROVE)
    # One of them is for its result.
    assert of_push(made.workflow, str(made.pk)) <= PUSHED + 4
    assert of_push(made.workflow) <= PUSHED + 3


@pytest.mark.parametrize("rows", [10, MANY])
def test_a_request_costs_the_same_for_any_number_of_earlier_decisions(rows):
    owner, decider = alice(), bob_once()
    for _ in range(rows):
        decide(make_request(owner, tool_name="refund"), decider, Verdict.APPROVE)
    said = [{"role": "user", "text": "Please."}]
    made = make_request(owner, tool_name="refund", said_before=said)
    # One reads the few that are shown, of those that are counted.
    assert of_page(decider, made.get_absolute_url()) <= SIGNED_IN + 10
    assert of_page(owner, made.get_absolute_url()) <= SIGNED_IN + 7


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_the_desk_costs_the_same_for_any_number_of_ended_workflows(rows):
    ended(rows)
    assert of_page(bob_once(), "/workflows/") <= SIGNED_IN + 5


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_a_requesters_desk_costs_the_same_for_any_number_of_requests(rows):
    owner = alice()
    for _ in range(rows):
        make_request(owner)
    assert of_page(owner, "/") <= SIGNED_IN + 15


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_a_workflow_costs_the_same_for_any_number_of_steps(rows):
    made = steps(rows)
    assert of_page(bob_once(), made.get_absolute_url()) <= SIGNED_IN + 3
    last = made.requests.last()
    assert of_push(made, str(last.pk)) <= PUSHED + (4 if last.status != "pending" else 3)


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_catching_up_costs_the_same_for_any_number_of_changes(rows):
    waiting(rows // 2)
    ended(rows // 4)
    assert of_catching_up() <= 8


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_a_chat_costs_the_same_for_any_length(rows):
    found = talk(rows)
    user, page = bob_once(), found.get_absolute_url()
    # One reads the results of all approved calls on the page; with few messages there are none.
    results = 1 if rows == MANY else 0
    # Two of them are the steps and calls of its unfinished turn, of which no message is stored yet; two are for its usage.
    assert of_page(user, page) <= SIGNED_IN + 12 + results
    assert of_page(user, f"{page}timeline/") <= SIGNED_IN + 14
    assert of_page(user, f"{page}compare/") <= SIGNED_IN + 5
    assert of_page(user, f"{page}checkpoints/") <= SIGNED_IN + 3
    assert of_page(user, f"/chats/checkpoints/{TurnCheckpoint.objects.last().pk}/") <= SIGNED_IN + 3
    user = User.objects.get(pk=user.pk)
    assert len(queries(lambda: render_push(standing_of(user), found))) <= 13 + results


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_the_list_of_chats_costs_the_same_for_any_number_of_chats(rows):
    for number in range(rows):
        make_chat(someone(number))
    assert of_page(bob_once(), "/chats/") <= SIGNED_IN + 1
