"""A hidden value of few possibilities is not found by trying all of them against other people's data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.urls import reverse

from approvals.asking.digests import input_digest, input_text
from approvals.db.canonical_json import canonical
from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant, OutboxEvent, ToolSettings
from approvals.outbound import webhooks
from approvals.record import export
from approvals.record.audit import shown_body
from approvals.text.secrets import MARK
from chats.models import Chat, ToolCall, TurnCheckpoint
from chats.queries import parts_at
from chats.queries.export import pieces
from tests.support.chats.scenes import answer, text, use
from tests.support.chats.turns import make_chat, say
from tests.support.desk.carrying import make_endpoint
from tests.support.desk.files import attachment
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db(transaction=True)

PIN = "7316"
INPUT = {"door": "north", "pin": PIN}
EDITED = {"door": "south", "pin": PIN}
#: An input in which nothing is hidden until a person adds it.
PLAIN = {"door": "east"}
ADDED = {"door": "west", "pin": PIN}
#: The PIN as a value: four digits may also be part of a random id.
WRITTEN = re.compile(rf"""(["'>\s]|&quot;){PIN}(["'<\s]|&quot;)""")
#: Stands for the PIN in the text a guesser hashes.
HOLE = "~~~~"
TOOL = {"kind": "approval", "title": "Open the door?", "tool_name": "open_door", "input": INPUT}
FILE = attachment(b"North, please.\n", "note.txt")


@dataclass(frozen=True)
class Planted:
    """Requesters and their requests: pending, approved, changed and reported ones, and a chat."""

    agent: Machine
    approver: Machine
    viewer: Machine
    requests: list[ApprovalRequest]
    chat: Chat


@pytest.fixture
def planted() -> Planted:
    make_endpoint("https://hooks.example.org/", include_payload=True)
    ToolSettings.objects.create(tool_name="open_door", key_fields=["/pin"])
    agent, approver, viewer = Machine(alice()), Machine(bob()), Machine(carol())
    granted = agent.ask(TOOL)
    assert approver.decide(granted, "approve", grant={"covers": "fields", "audience": "key", "uses": 1}).status == 200
    edited = agent.ask(TOOL, tool_name="open_gate")
    assert approver.decide(edited, "edit", edited_input=EDITED).status == 200
    added = agent.ask(TOOL, tool_name="open_gate", input=PLAIN)
    assert approver.decide(added, "edit", edited_input=ADDED).status == 200
    for document in (granted, edited, added):
        approved = agent.get(f"/requests/{document['id']}").body["decision"]["approved_digest"]
        result = {"input_digest": approved, "output": {"opened_with": {"pin": PIN}}}
        assert agent.post(f"/requests/{document['id']}/result", result).status == 201
    agent.ask(TOOL, tool_name="open_gate", attachments=[FILE])
    assert approver.decide(agent.ask(TOOL, tool_name="open_gate"), "reject", comment="Not that one.").status == 200
    chat = make_chat(User.objects.get(username="alice"))
    answer(
        say(chat, "Is it open?"), text("I look."), use("getWeather", {"city": "Paris", "pin": PIN}), output={"pin": PIN}
    )
    answer(say(chat, "Pay it."), text("I ask."), use("issueRefund", {"amount": 200, "orderId": "4711", "pin": PIN}))
    return Planted(agent, approver, viewer, list(ApprovalRequest.objects.order_by("created_at")), chat)


def all_of(pages: AsyncIterator[Any]) -> str:
    async def joined() -> str:
        return "".join([piece if isinstance(piece, str) else piece.decode() async for piece in pages])

    return async_to_sync(joined)()


def pages_of(planted: Planted) -> str:
    """Return the data that people read: of each request, its page, its record and the admin; the audit log, and the chat."""
    see = browser(User.objects.create_superuser("root"))
    ids = [request.pk for request in planted.requests]
    addresses = [
        *(reverse(f"approvals:{name}", args=[pk]) for pk in ids for name in ("request", "record")),
        *(f"/admin/approvals/approvalrequest/{pk}/change/" for pk in ids),
        *(f"/admin/approvals/decision/{pk}/change/" for pk in Decision.objects.values_list("pk", flat=True)),
        *(f"/admin/approvals/auditentry/{pk}/change/" for pk in AuditEntry.objects.values_list("pk", flat=True)),
        *(f"/admin/chats/toolcall/{pk}/change/" for pk in ToolCall.objects.values_list("pk", flat=True)),
        *(f"/admin/chats/turncheckpoint/{pk}/change/" for pk in TurnCheckpoint.objects.values_list("pk", flat=True)),
        *(f"/chats/checkpoints/{pk}/" for pk in TurnCheckpoint.objects.values_list("pk", flat=True)),
        *("/?status=any", "/audit/", f"/chats/{planted.chat.pk}/", f"/chats/{planted.chat.pk}/timeline/"),
    ]
    shown = [see.get(address) for address in addresses]
    assert {page.status_code for page in shown} == {200}
    bulk = {"pick": [f"{request.pk}:{request.input_digest}" for request in planted.requests], "verdict": "reject"}
    return "".join(page.text for page in [*shown, see.post("/requests/bulk/", bulk)])


def documents_of(planted: Planted) -> str:
    """Return the data that programs of other people read over REST, and that endpoints and events are sent."""
    replies = [
        reader.get(f"/requests/{request.pk}")
        for reader in (planted.approver, planted.viewer)
        for request in planted.requests
    ]
    replies += [reader.get("/grants?state=all") for reader in (planted.approver, planted.viewer)]
    assert {reply.status for reply in replies} == {200}
    events = [webhooks.body_of(row, webhooks._details(row)) for row in OutboxEvent.objects.all()]
    return json.dumps([reply.body for reply in replies]) + "".join(events)


def exports_of(planted: Planted) -> str:
    """Return the audit log and the chat as other people export them."""
    return audit_log() + all_of(export.lines(AuditEntry.objects.all(), "ocsf")) + all_of(pieces(planted.chat))


def audit_log() -> str:
    return all_of(export.lines(AuditEntry.objects.all(), "jsonl"))


READ = {"pages": pages_of, "documents and events": documents_of, "exports": exports_of}


def hashed_texts(shown: str, planted: Planted) -> Iterator[bytes]:
    """Yield the texts to hash for a guesser who reads everything, with a hole in place of the PIN."""
    salts = ["", *sorted(set(re.findall(r"\b[0-9a-f]{32}\b", shown)))]
    for request in planted.requests:
        files = [
            {name: each[name] for name in ("name", "media_type", "size", "sha256")}
            for each in request.attachments or []
        ]
        for value in (INPUT, EDITED, ADDED):
            guessed = {**value, "pin": HOLE}
            yield canonical({"input": guessed, "attachments": files} if files else guessed)
            yield from (input_text(guessed, files, salt) for salt in salts)
    yield canonical(["key fields", [{"pointer": "/pin", "value": HOLE}]])
    for call in ToolCall.objects.all():
        yield canonical({**call.input, "pin": HOLE})
        yield input_text({**call.input, "pin": HOLE})
    for checkpoint in TurnCheckpoint.objects.all():
        yield canonical(with_holes(parts_at(checkpoint)))
    names = {"chat": "thread_id", "tool": "tool_name", "person": "actor_name"}
    for line in audit_log().splitlines():
        entry = {names.get(name, name): value for name, value in json.loads(line).items()}
        covered = {name: entry[name] for name in entry.keys() - {"id", "digest", "retry_count", "last_seen_at"}}
        if covered["salt"] is None:
            del covered["salt"]
        if covered["amount"] is None:
            del covered["amount"]
        yield canonical(with_holes(covered))


def with_holes(value: Any) -> Any:
    """Return JSON with a hole in the place of everything that is, or was, hidden."""
    match value:
        case dict():
            return {name: with_holes(item) for name, item in value.items()}
        case list():
            return [with_holes(item) for item in value]
        case str() if value == PIN or value.startswith(MARK):
            return HOLE
    return value


def pins_in(shown: str, texts: Iterable[bytes]) -> set[str]:
    """Return the PINs with which one of these texts has a digest that is shown."""
    digests = set(re.findall(r"[0-9a-f]{64}", shown))
    holed = [text.split(HOLE.encode()) for text in set(texts) if HOLE.encode() in text]
    assert holed
    assert digests
    found = set()
    for pin in (f"{number:04}" for number in range(10_000)):
        made = (hashlib.sha256(pin.encode().join(parts)).hexdigest() for parts in holed)
        found |= {pin} if not digests.isdisjoint(made) else set()
    return found


@pytest.mark.parametrize("what", READ)
def test_no_pin_of_four_digits_is_found_from_what_others_read(planted, what):
    shown = READ[what](planted)
    assert WRITTEN.search(shown) is None
    assert pins_in(shown, hashed_texts(shown, planted)) == set()


@pytest.mark.parametrize("what", READ)
def test_nothing_by_which_the_desk_knows_equal_inputs_is_shown_and_no_salt(planted, what):
    shown = READ[what](planted)
    rows = [*ApprovalRequest.objects.values_list("input_fingerprint", "ask_digest", "digest_salt")]
    rows += [*Decision.objects.values_list("digest_salt"), *Grant.objects.values_list("target")]
    rows += [*TurnCheckpoint.objects.values_list("digest_salt")]
    hiding = [entry for entry in AuditEntry.objects.all() if "salt" not in shown_body(entry)]
    rows += [(json.loads(entry.body)["salt"],) for entry in hiding]
    kept = {value.removeprefix("sha256:") for row in rows for value in row if value}
    assert len(kept) > 20
    assert [value for value in kept if value in shown] == []


def test_the_program_that_asked_checks_the_digests_with_the_salt(planted):
    documents = [planted.agent.get(f"/requests/{request.pk}").body for request in planted.requests[:3]]
    for document in documents:
        made = document["decision"]
        assert document["input_digest"] == input_digest(document["input"], salt=document["digest_salt"] or "")
        assert made["approved_digest"] == input_digest(made["approved_input"], salt=made["digest_salt"] or "")
    salts = [(document["digest_salt"] is None, document["decision"]["digest_salt"] is None) for document in documents]
    assert salts == [(False, False), (False, False), (True, False)]
    # With the salt, the PIN would be found from the displayed data.
    shown = json.dumps(documents)
    assert pins_in(shown, hashed_texts(shown, planted)) == {PIN}
