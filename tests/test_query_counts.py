"""Each page and each push costs the same number of queries, however much it shows: at two rows, and at forty."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import actions as desk
from approvals.consumers import DeskConsumer
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Kind, Verdict, WorkflowState
from chats.models import Chat, TurnCheckpoint
from chats.rendering import render_push
from tests.approvals.helpers import decide, make_request, make_workflow
from tests.chats.helpers import make_chat
from tests.chats.scenes import REFUND, SHIPPING, completed, paused, text, use
from tests.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

FEW, MANY = 2, 40
#: The session, the user, and what the user may do, of their own and through groups.
SIGNED_IN = 4


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
    """Workflows of different people that wait, each for two things, one of them assigned to somebody."""
    for number in range(how_many):
        owner = someone(number)
        workflow = make_workflow(owner, title=f"Run {number}")
        make_request(owner, workflow=workflow, assigned_to=owner)
        make_request(owner, Kind.QUESTION, workflow=workflow, options=[{"label": "a"}, {"label": "b"}])


def ended(how_many: int) -> None:
    for number in range(how_many):
        owner = someone(number)
        workflow = make_workflow(owner)
        decide(make_request(owner, workflow=workflow), owner, Verdict.REJECT)
        desk.end_workflow(workflow, state=WorkflowState.COMPLETED)


def steps(how_many: int) -> str:
    """One workflow with so many steps, every other one decided; its address."""
    owner = someone(0)
    workflow = make_workflow(owner)
    for number in range(how_many):
        request = make_request(owner, workflow=workflow, assigned_to=owner)
        if number % 2:
            decide(request, owner, Verdict.APPROVE)
    return workflow.get_absolute_url()


def talk(how_many: int) -> Chat:
    """A chat of so many turns, the last of which waits for as many answers; each assistant's message has a tool in it."""
    chat = make_chat(make_person("talker"))
    for _ in range(how_many):
        completed(chat, "weather", text("A moment."), use("getWeather", {"city": "Rome"}))
    calls = [use("issueRefund", REFUND) if number % 2 else use("askUser", SHIPPING) for number in range(how_many)]
    paused(chat, *calls)
    for request in ApprovalRequest.objects.filter(kind=Kind.APPROVAL)[: how_many // 4]:
        decide(request, bob_once(), Verdict.APPROVE)
    return chat


def bob_once():
    return desk.User.objects.filter(username="bob").first() or bob()


def dashboard(rows: int) -> int:
    waiting(rows)
    return of_page(bob(), "/")


def dashboard_of_ended(rows: int) -> int:
    ended(rows)
    return of_page(bob(), "/")


def dashboard_of_alice(rows: int) -> int:
    owner = alice()
    for _ in range(rows):
        make_request(owner)
    return of_page(owner, "/")


def workflow(rows: int) -> int:
    return of_page(bob(), steps(rows))


def request(rows: int) -> int:
    waiting(rows)
    return of_page(bob(), ApprovalRequest.objects.filter(kind=Kind.APPROVAL).first().get_absolute_url())


def workflows(rows: int) -> int:
    ended(rows)
    return of_page(bob(), "/workflows/")


def chats(rows: int) -> int:
    for number in range(rows):
        make_chat(someone(number))
    return of_page(bob(), "/chats/")


def chat(rows: int) -> int:
    found = talk(rows)
    return of_page(bob_once(), found.get_absolute_url())


def checkpoints(rows: int) -> int:
    found = talk(rows)
    return of_page(bob_once(), f"{found.get_absolute_url()}checkpoints/")


def checkpoint(rows: int) -> int:
    talk(rows)
    return of_page(bob_once(), f"/chats/checkpoints/{TurnCheckpoint.objects.last().pk}/")


def push_of_a_new_request(rows: int) -> int:
    waiting(rows)
    owner = someone(99)
    many = make_workflow(owner)
    for _ in range(rows):
        last = make_request(owner, workflow=many, assigned_to=owner)
    return of_push(many, str(last.pk))


def push_of_a_decision(rows: int) -> int:
    waiting(rows)
    made = ApprovalRequest.objects.filter(kind=Kind.APPROVAL).first()
    decide(made, made.requested_by, Verdict.APPROVE)
    return of_push(made.workflow, str(made.pk))


def push_of_an_end(rows: int) -> int:
    waiting(rows)
    owner = someone(99)
    over = make_workflow(owner)
    desk.end_workflow(over, state=WorkflowState.COMPLETED)
    return of_push(over, "")


def of_push(of: Workflow, request_id: str) -> int:
    """What Bob's desk costs when this is rung."""
    found: list[int] = []
    client = Client()
    client.force_login(bob_once())
    consumer = DeskConsumer()
    consumer.session_key = client.session.session_key

    async def push(render, *args) -> None:
        found.append(len(queries(lambda: consumer._as_user(render, args))))

    consumer.push = push
    coroutine = consumer.workflow_changed({"workflow": of.pk, "request": request_id})
    with pytest.raises(StopIteration):
        coroutine.send(None)
    (cost,) = found
    return cost


def catch_up(rows: int) -> int:
    """What it costs to come back to a page that has missed so many changes."""
    waiting(rows // 2)
    user = bob()
    consumer = DeskConsumer()
    consumer.scope = {"query_string": b"since=0"}
    return len(queries(lambda: consumer.catch_up(user)))


def push_of_a_chat(rows: int) -> int:
    found, user = talk(rows), bob_once()
    return len(queries(lambda: render_push(user, found)))


COSTS = {
    dashboard: SIGNED_IN + 5,
    dashboard_of_ended: SIGNED_IN + 4,
    dashboard_of_alice: SIGNED_IN + 5,
    workflow: SIGNED_IN + 3,
    request: SIGNED_IN + 2,
    workflows: SIGNED_IN + 1,
    chats: SIGNED_IN + 1,
    chat: SIGNED_IN + 6,
    checkpoints: SIGNED_IN + 2,
    checkpoint: SIGNED_IN + 3,
    push_of_a_new_request: SIGNED_IN + 5,
    push_of_a_decision: SIGNED_IN + 3,
    push_of_an_end: SIGNED_IN + 3,
    catch_up: 8,
    push_of_a_chat: 7,
}


@pytest.mark.parametrize("rows", [FEW, MANY])
@pytest.mark.parametrize("page", COSTS, ids=lambda page: page.__name__)
def test_it_costs_the_same_however_much_there_is(page, rows):
    assert page(rows) == COSTS[page]
