"""No key decides requests of its user's keys, and critical requests are decided on their page only, over every protocol."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from approvals.models import ApprovalRequest
from approvals.states import Kind, Priority
from tests.support.desk.pressing import browser, decision, press
from tests.support.desk.requests import make_request, stored
from tests.support.machine import API, APPROVAL, QUESTION, Machine
from tests.support.markup import forms, parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

DECIDES = "decide_approvalrequest"


def request_of(document: dict[str, object]) -> ApprovalRequest:
    return ApprovalRequest.objects.get(pk=document["id"])


def by_session(user: User, request: ApprovalRequest, verdict: str) -> tuple[int, dict[str, object]]:
    """A REST client with the session of this user's browser."""
    client = browser(user)
    client.get("/")
    head = {"X-CSRFToken": client.cookies["csrftoken"].value}
    body = json.dumps({"verdict": verdict})
    answer = client.post(f"{API}/requests/{request.pk}/decision", body, "application/json", headers=head)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("body", [APPROVAL, QUESTION])
def test_no_key_of_a_user_decides_what_another_of_their_keys_asked(body):
    by = bob()
    agent, other = Machine(by), Machine(by, ("decide",))
    asked = agent.ask(body)
    for key in (agent, other):
        refused = key.decide(asked, "reject")
        assert refused.refusal == (403, "asked_by_own_key")
        assert refused.body["url"] == asked["url"]
        assert refused.body["detail"].endswith(f"Decide it in a browser: {asked['url']}")
    assert stored(request_of(asked)).status == "pending"
    assert Machine(make_person("dora", DECIDES)).decide(asked, "reject").status == 200


def test_no_key_of_the_requester_answers_an_ask_human_question():
    by = bob()
    asked = Machine(by).post("/ask-human", {"question": "Which colour?"}).body
    refused = Machine(by).post(f"/requests/{asked['requestId']}/decision", {"verdict": "respond", "answer": "red"})
    assert (refused.refusal, refused.body["url"]) == ((403, "asked_by_own_key"), asked["url"])
    assert Machine(by).get(f"/ask-human/{asked['requestId']}").status == 202


def test_the_person_whose_key_asked_decides_in_a_browser():
    by = bob()
    asked, other = (request_of(Machine(by).ask()) for _ in range(2))
    client = browser(by)
    (form,) = forms(client.get(asked.get_absolute_url()).text, "decide/")
    assert press(client, form, "Approve").status_code == 302
    assert decision(asked)[:3] == ("approve", "bob", "dashboard")
    assert by_session(by, other, "approve")[0] == 200
    assert decision(other)[:3] == ("approve", "bob", "rest")


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_critical_requests_are_decided_on_their_page_only(verdict):
    by = bob()
    request = request_of(Machine(alice()).ask(priority="critical"))
    for status, told in (by_session(by, request, verdict), Machine(by).decide({"id": request.pk}, verdict)[:2]):
        assert (status, told["code"], told["url"]) == (403, "decide_on_page", request.public_url)
        assert told["detail"] == f"This request is critical. Decide it on its own page in Pausepoint: {told['url']}"
    bulk = {"pick": f"{request.pk}:{request.input_digest}", "verdict": verdict, "confirmed": "yes"}
    links = parse(browser(by).post("/requests/bulk/", bulk).text).find("td")[0].find("a")
    assert [link.attributes["href"] for link in links] == [request.get_absolute_url()]
    assert stored(request).status == "pending"
    client = browser(by)
    (form,) = forms(client.get(request.get_absolute_url()).text, "decide/")
    typed = {"typed_name": "refund"} if verdict == "approve" else {}
    assert press(client, form, verdict.capitalize(), **typed).status_code == 302
    assert decision(request)[0] == verdict


def test_the_admin_cancels_requests_except_critical_ones():
    root = User.objects.create_superuser("root")
    owner = alice()
    critical = make_request(owner, title="Wipe it?", priority=Priority.CRITICAL)
    recovery, plain = make_request(owner, Kind.RECOVERY, title="Done?"), make_request(owner, title="Mail it?")
    chosen = {"action": "cancel_selected", "_selected_action": [one.pk for one in (critical, recovery, plain)]}
    page = browser(root).post("/admin/approvals/approvalrequest/", chosen, follow=True).text
    assert [stored(one).status for one in (critical, recovery, plain)] == ["pending", "pending", "cancelled"]
    told = [one.words for one in parse(page).find("ul", class_="messagelist")[0].find("li")]
    assert told[0].endswith(critical.public_url)
    assert told[1].endswith(recovery.public_url)
    assert told[2] == "“Mail it?” was cancelled."


def unfit() -> dict[str, str]:
    """Names that a request cannot be assigned to, by reason."""
    names = {"nobody": "nobody-of-that-name", "empty as can be": " ", "may not decide": make_person("nina").username}
    gone = make_person("gone", DECIDES)
    User.objects.filter(pk=gone.pk).update(is_active=False)
    return names | {"not active": gone.username}


def test_asking_refuses_every_unfit_assignee_alike():
    owner = alice()
    agent, names = Machine(owner), unfit()
    for body in (APPROVAL, APPROVAL | {"timeout": 1, "deadline": "2099-01-01T00:00:00Z"}):
        told = {why: agent.post("/requests", body | {"assigned_to": name}) for why, name in names.items()}
        told["asks it"] = agent.post("/requests", body | {"assigned_to": owner.username})
        assert {reply.status for reply in told.values()} == {422}
        assert len({json.dumps(reply.body) for reply in told.values()}) == 1
    assert ApprovalRequest.objects.count() == 0
    assert agent.ask(QUESTION, assigned_to="nina")["assigned_to"] == "nina"
    assert agent.ask(assigned_to=bob().username)["assigned_to"] == "bob"


def test_assigning_refuses_every_unfit_assignee_alike():
    names, decider, stranger = unfit(), Machine(bob()), Machine(make_person("mallory"))
    agent = Machine(alice())
    asked, over = agent.ask(), agent.ask()
    decider.decide(over, "reject")
    for machine, request, status in ((decider, asked, 422), (decider, over, 409), (stranger, asked, 404)):
        told = [machine.post(f"/requests/{request['id']}/assign", {"to": name}) for name in names.values()]
        assert {reply.status for reply in told} == {status}
        assert len({json.dumps(reply.body) for reply in told}) == 1
    assert request_of(asked).assigned_to is None
