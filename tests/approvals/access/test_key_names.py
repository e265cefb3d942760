"""Acts of a key are recorded and shown as "API key NAME of USER"."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.management import call_command

from approvals.administration.keys.actions import create_key
from approvals.api.rest.record import Entries
from approvals.models import ApprovalRequest, AuditEntry, Decision, Workflow
from approvals.models.actors import KeyActor
from approvals.models.comments import RequestComment
from approvals.record import audit
from tests.support.desk.carrying import carry, make_endpoint
from tests.support.desk.pressing import browser
from tests.support.machine import APPROVAL, Machine
from tests.support.markup import inline_code, parse
from tests.support.people import alice, bob, make_person
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db

ALICES, BOBS = "API key a machine of alice", "API key a machine of bob"


@pytest.fixture
def decided() -> ApprovalRequest:
    """A request of Alice's key that Bob's key claimed, commented on and approved; Alice's reported its result."""
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask(tool_call_id="call-1", workflow_id="run-1")
    path = f"/requests/{asked['id']}"
    for machine, action, body in (
        (decider, "claim", {}),
        (decider, "comments", {"text": "Looks fine."}),
        (decider, "decision", {"verdict": "approve", "comment": "Go."}),
        (agent, "result", {"input_digest": asked["input_digest"], "output": 1}),
    ):
        assert machine.post(f"{path}/{action}", body).status in {200, 201}
    return ApprovalRequest.objects.get()


def test_the_record_has_the_name_of_the_key_and_the_id_of_the_user(decided):
    people = {"alice": ALICES, "bob": BOBS}
    rows = entries().values_list("event", "actor_name", "actor_id")
    numbers = {people[user.username]: user.pk for user in (decided.requested_by, bob_of(decided))}
    assert list(rows) == [
        (event, name, numbers[name])
        for event, name in (
            ("request.created", ALICES),
            ("request.claimed", BOBS),
            ("request.commented", BOBS),
            ("request.decided", BOBS),
            ("tool.result", ALICES),
        )
    ]
    assert [json.loads(entry.body)["actor_name"] for entry in entries()] == [name for _, name, _ in rows]


def entries():
    """The audit entries, without those of new keys."""
    return AuditEntry.objects.exclude(event="key.created").order_by("pk")


def bob_of(request: ApprovalRequest):
    return type(request.requested_by).objects.get(username="bob")


def test_pages_name_the_key(decided):
    reader = browser(make_person("carol", "view_approvalrequest"))
    page = parse(reader.get(decided.get_absolute_url()).text)
    assert page.find("div", class_="outcome")[0].find("b")[1].words == BOBS
    assert [one.words for one in page.find("li", class_="internal-note")[0].find("b")] == [BOBS]
    workflow = parse(reader.get(Workflow.objects.get().get_absolute_url()).text)
    trail = [row.find("td")[3].words for row in workflow.find("table", class_="list")[0].find("tbody")[0].find("tr")]
    assert trail == [ALICES, BOBS, BOBS, BOBS, ALICES]
    (row,) = parse(reader.get(f"/requests/?by={BOBS}").text).find("span", class_="row-values")
    assert BOBS in row.words


def test_documents_and_refusals_name_the_key(decided):
    reader = Machine(make_person("dora", "decide_approvalrequest"))
    path = f"/requests/{decided.pk}"
    assert reader.get(path).body["decision"]["by"] == BOBS
    assert [one["by"] for one in reader.get(f"{path}/comments").body["items"]] == [BOBS]
    late = reader.decide({"id": decided.pk}, "reject")
    assert (late.refusal, late.body["decision"]["by"]) == ((409, "already_decided"), BOBS)
    assert late.body["detail"] == f"This request was approved just now by {BOBS}."


def test_exports_name_the_key(decided):
    assert [json.loads(audit.jsonl_line(entry))["person"] for entry in entries()] == [ALICES, BOBS, BOBS, BOBS, ALICES]
    text = io.StringIO()
    csv.writer(text).writerows(audit.csv_cells(entry) for entry in entries())
    rows = csv.DictReader(io.StringIO(text.getvalue()), fieldnames=audit.COLUMNS)
    assert [row["person"] for row in rows] == [ALICES, BOBS, BOBS, BOBS, ALICES]


@pytest.mark.django_db(transaction=True)
def test_webhooks_and_events_name_the_key(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Receiver() as there:
        _, secret = make_endpoint(there.url("/all"), include_payload=True)
        asked = Machine(alice()).ask()
        Machine(bob()).decide(asked, "reject")
        carry()
        told = {got.told(secret)["type"]: got.told(secret)["data"] for got in there.got}
    assert (told["request.created"]["by"], told["request.decided"]["by"]) == (ALICES, BOBS)
    assert told["request.decided"]["decision"]["by"] == BOBS


def test_a_repeat_by_the_same_key_is_a_replay_and_one_by_its_user_is_not():
    by = bob()
    machine, asked = Machine(by), Machine(alice()).ask()
    first, again = (machine.decide(asked, "reject") for _ in range(2))
    assert (first.replayed, again.replayed) == (False, True)
    assert Machine(by, scopes=("decide",)).decide(asked, "reject").replayed  # another key of the same name
    found = ApprovalRequest.objects.get()
    page = browser(by).post(f"{found.get_absolute_url()}decide/", {"verdict": "reject", "digest": found.input_digest})
    assert page.status_code == 409
    assert f"This request was rejected just now by {BOBS}" in page.text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("deploy\n  bot", "API key deploy bot of bob"),
        ("<script>alert(1)</script>", "API key <script>alert(1)</script> of bob"),
        ("pay\u202eyap", "API key pay⟨U+202E⟩yap of bob"),
        ("\u200b" * 100, f"API key {('⟨U+200B⟩' * 100)[:100]} of bob"),
    ],
)
def test_an_odd_name_of_a_key_is_shown_as_one_readable_line(name, shown):
    by = bob()
    actor = KeyActor(by, create_key(by, name=name)[0])
    assert actor.get_username() == shown
    asked = Machine(alice()).ask()
    machine = Machine(by)
    type(machine.key).objects.filter(pk=machine.key.pk).update(name=name)
    machine.decide(asked, "reject")
    assert Decision.objects.get().by_name == shown
    page = browser(by).get(ApprovalRequest.objects.get().get_absolute_url()).text
    assert inline_code(page) == []
    assert parse(page).find("div", class_="outcome")[0].find("b")[1].words == shown


def test_the_longest_names_are_recorded_whole():
    by, owner = make_person("b" * 150, "decide_approvalrequest"), alice()
    machine = Machine(by)
    type(machine.key).objects.filter(pk=machine.key.pk).update(name="k" * 100)
    name = f"API key {'k' * 100} of {'b' * 150}"
    asked = Machine(owner).ask()
    assert machine.post(f"/requests/{asked['id']}/claim", {}).body["claimed_by"] == name
    other = Machine(make_person("dora", "decide_approvalrequest"))
    assert other.post(f"/requests/{asked['id']}/claim", {"over": name}).status == 200
    assert machine.post(f"/requests/{asked['id']}/comments", {"text": "Hm."}).status == 201
    assert machine.decide(asked, "reject").body["decision"]["by"] == name
    assert RequestComment.objects.get().by_name == name
    assert Entries(person=name).person == name
    assert browser(by).get(f"/requests/?by={name}").status_code == 200


def test_a_key_made_by_the_command_is_recorded_under_its_name(capsys):
    bob()
    call_command("createkey", user="bob", name="nightly job", scopes="decide")
    machine = Machine(**{"authorization": f"Bearer {capsys.readouterr().out.strip()}"})
    decided = machine.decide(Machine(alice()).ask(APPROVAL), "reject")
    assert decided.body["decision"]["by"] == "API key nightly job of bob"
