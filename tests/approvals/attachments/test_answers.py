"""Forms that ask for a file: sent on the page or by a program, bounded, stored and read as the files of requests are."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided, Invalid
from approvals.models import ApprovalRequest, AuditEntry, Decision, RequestAttachment
from approvals.states import Door, Verdict
from tests.support.desk.files import PDF, PNG, TEXT, attachment, folder, stored_names
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

__all__ = ["folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]

A_FILE = {"type": "string", "format": "file"}
SCHEMA = {
    "type": "object",
    "properties": {
        "invoice": A_FILE | {"title": "Invoice"},
        "receipt": A_FILE,
        "note": {"type": "string", "maxLength": 9},
    },
    "required": ["invoice"],
}
FORM = {"kind": "form", "title": "Send the invoice", "response_schema": SCHEMA}


def ask(**changes: object) -> dict:
    return Machine(person(alice)).ask(FORM | changes)


def person(make=bob) -> User:
    """Bob, or the person that `make` makes, who may exist already."""
    return User.objects.filter(username=make.__name__).first() or make()


def answer(document: dict, value: object, user: User | None = None):
    return Machine(user or person()).decide(document, "respond", answer=value)


def errors(document: dict, value: object) -> dict:
    reply = answer(document, value)
    assert reply.status == 422, reply
    return reply.body["errors"]


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def send(document: dict, **fields: object):
    """Send the form of the page, without JavaScript."""
    body = {"verdict": "respond", "digest": document["input_digest"], **fields}
    return browser(person()).post(f"/requests/{document['id']}/decide/", body)


def upload(content: bytes = PDF, name: str = "R-2291.pdf") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def known(document: dict, name: str = "invoice") -> dict:
    return Decision.objects.get(request_id=document["id"]).answer[name]


def test_a_page_sends_a_file_and_the_program_that_asked_reads_it():
    asks = Machine(person(alice))
    document = asks.ask(FORM)
    assert send(document, **{"answer.invoice": upload()}).status_code == 302
    (file,) = asks.send("GET", f"/requests/{document['id']}").body["decision"]["answer"].values()
    address = f"/requests/{document['id']}/attachments/{file['id']}"
    sha256 = hashlib.sha256(PDF).hexdigest()
    assert file == {
        "id": str(RequestAttachment.objects.get().pk),
        "name": "R-2291.pdf",
        "media_type": "application/pdf",
        "size": len(PDF),
        "sha256": sha256,
        "url": f"{settings.PUBLIC_URL}/api/v1{address}",
    }
    response = asks.client.get(f"/api/v1{address}", headers=asks.headers)
    assert (response.content, response["content-type"]) == (PDF, "application/pdf")
    assert "sandbox" in response["content-security-policy"]


def test_only_those_who_may_see_the_request_read_the_file():
    document = ask()
    send(document, **{"answer.invoice": upload()})
    address = f"/api/v1/requests/{document['id']}/attachments/{known(document)['id']}"
    assert (browser(person()).get(address).status_code, browser(mallory()).get(address).status_code) == (200, 404)


def test_a_program_sends_a_file_in_base64():
    document = ask()
    reply = answer(document, {"invoice": attachment(PDF, "a/R-2291.pdf"), "note": "paid"})
    assert (reply.status, reply.body["decision"]["answer"]["invoice"]["name"]) == (200, "R-2291.pdf")


def test_the_audit_log_names_the_file_with_its_digest():
    document = ask()
    answer(document, {"invoice": attachment(TEXT, "note.txt")})
    entry = AuditEntry.objects.get(event="request.decided")
    assert entry.data["answer"]["invoice"]["sha256"] == hashlib.sha256(TEXT).hexdigest()


@pytest.mark.parametrize(
    "sent", ["R-2291.pdf", "", 3, None, [], {}, {"name": "a.pdf"}, {"id": "1", "name": "a", "url": "/"}]
)
def test_anything_but_a_file_is_refused_in_words(sent):
    words = "is not a file: choose one on the request page, or send its `name` and its `content` in base64"
    assert errors(ask(), {"invoice": sent}) == {"answer.invoice": words}
    assert Decision.objects.count() == 0


def test_what_an_answer_says_of_a_file_that_it_does_not_bring_is_refused():
    first = ask()
    answer(first, {"invoice": attachment(PDF, "a.pdf")})
    second = ask()
    assert list(errors(second, {"invoice": known(first)})) == ["answer.invoice"]


@pytest.mark.parametrize("content", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"MZ\x90\x00", b"<html>"])
def test_a_file_of_another_type_is_refused_on_the_page_and_for_programs(content, folder):
    document = ask()
    words = "is not a PNG, JPEG, GIF, WebP, PDF, text (UTF-8) or CSV file"
    assert errors(document, {"invoice": attachment(content, "a.pdf")}) == {"answer.invoice": words}
    response = send(document, **{"answer.invoice": upload(content)})
    assert (response.status_code, words[3:] in response.content.decode()) == (422, True)
    assert (stored_names(folder), Decision.objects.count()) == ([], 0)


def test_a_file_is_of_the_type_that_its_field_asks_for():
    document = ask(
        response_schema={"type": "object", "properties": {"scan": A_FILE | {"contentMediaType": "application/pdf"}}}
    )
    assert errors(document, {"scan": attachment()}) == {"answer.scan": "is image/png, and has to be application/pdf"}
    assert answer(document, {"scan": attachment(PDF, "scan.pdf")}).status == 200


def test_files_that_are_too_large_together_are_refused(folder):
    document, half = ask(), b"x" * 2_600_000
    both = {"invoice": attachment(half, "a.txt"), "receipt": attachment(half, "b.txt")}
    assert errors(document, both) == {"answer": "has more than 5,000,000 bytes in all files together"}
    response = send(document, **{"answer.invoice": upload(b"x" * 5_000_001, "a.txt")})
    assert (response.status_code, stored_names(folder)) == (422, [])


def test_a_large_answer_without_a_file_is_refused_as_ever():
    document = ask(response_schema={"type": "object", "properties": {"a": {"type": "object"}}})
    assert errors(document, {"a": {"content": "x" * 300_000}})["answer"] == "larger than 250,000 bytes"


def test_two_fields_have_a_file_each(folder):
    document = ask()
    send(document, **{"answer.invoice": upload(), "answer.receipt": upload(PNG, "receipt.png")})
    assert [known(document, name)["media_type"] for name in ("invoice", "receipt")] == ["application/pdf", "image/png"]
    assert len(stored_names(folder)) == 2


def test_a_required_file_is_missed_and_the_other_values_stay(folder):
    response = send(ask(), **{"answer.note": "paid"})
    page = parse(response.content.decode())
    (note,) = [each for each in page.find("input") if each.attributes.get("name") == "answer.note"]
    assert (response.status_code, note.attributes["value"], stored_names(folder)) == (422, "paid", [])


def test_nothing_is_stored_if_another_value_is_invalid(folder):
    document = ask()
    response = send(document, **{"answer.invoice": upload(), "answer.note": "far too long"})
    assert (response.status_code, "far too long" in response.content.decode()) == (422, True)
    assert (stored_names(folder), RequestAttachment.objects.count()) == ([], 0)


def test_an_answer_that_is_sent_twice_is_stored_once(folder):
    document = ask()
    decides = Machine(bob())
    first, again = (decides.decide(document, "respond", answer={"invoice": attachment(PDF, "a.pdf")}) for _ in range(2))
    assert (first.replayed, again.replayed, again.body["decision"]) == (False, True, first.body["decision"])
    other = decides.decide(document, "respond", answer={"invoice": attachment(TEXT, "a.txt")})
    assert (other.refusal, len(stored_names(folder))) == ((409, "already_decided"), 1)


def test_the_files_of_whoever_decides_second_are_removed(folder):
    document = ask()
    stale = ApprovalRequest.objects.select_related("workflow").get(pk=document["id"])
    send(document, **{"answer.invoice": upload()})
    late = Answer(Verdict.RESPOND, answer={"invoice": attachment(PNG, "b.png")})
    dora = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    with pytest.raises(AlreadyDecided):
        # Read before the first decision, so that its files are stored.
        actions.decide(
            stale.pk,
            late,
            by=dora,
            via=Door.DASHBOARD,
            seen=actions.EarlyFacts(stale, standing_of(dora)),
        )
    assert stored_names(folder) == [known(document)["id"]]
    assert RequestAttachment.objects.get().request_id == stale.pk


def test_who_may_not_answer_stores_nothing(folder):
    document = ask()
    assert answer(document, {"invoice": attachment()}, mallory()).status == 404
    assert (stored_names(folder), RequestAttachment.objects.count()) == ([], 0)


def test_the_files_of_someone_who_may_not_answer_are_not_looked_at(folder):
    document = ask()
    assert errors(document, {"invoice": {"name": "a.pdf", "content": "no base64"}}).keys() == {"answer.invoice"}
    refused = answer(document, {"invoice": {"name": "a.pdf", "content": "no base64"}}, carol())
    assert (refused.refusal, stored_names(folder)) == ((403, "not_allowed"), [])


@pytest.mark.parametrize("via", [Door.AI_SDK, Door.CEDAR])
def test_answers_within_the_transaction_of_a_chat_have_no_files(via, folder):
    document = ask()
    sent = Answer(Verdict.RESPOND, answer={"invoice": attachment()})
    with pytest.raises(Invalid) as refusal:
        actions.decide(document["id"], sent, by=bob(), via=via)
    assert (list(refusal.value.errors), stored_names(folder)) == (["answer.invoice"], [])


def test_retention_removes_the_file_and_keeps_what_is_known_of_it(folder):
    document = ask()
    send(document, **{"answer.invoice": upload()})
    ApprovalRequest.objects.update(changed_at=timezone.now() - timedelta(days=40))
    actions.prune_attachments(timezone.now() - timedelta(days=30))
    address = f"/api/v1/requests/{document['id']}/attachments/{known(document)['id']}"
    assert (browser(person()).get(address).status_code, stored_names(folder)) == (410, [])
    assert known(document)["sha256"] == hashlib.sha256(PDF).hexdigest()


def test_the_page_has_a_field_for_the_file_and_links_to_what_was_sent():
    document = ask()
    page = parse(browser(person()).get(f"/requests/{document['id']}/").content.decode())
    fields = {each.attributes["name"]: each for each in page.find("input") if each.attributes.get("type") == "file"}
    assert [(name, "required" in each.attributes) for name, each in fields.items()] == [
        ("answer.invoice", True),
        ("answer.receipt", False),
    ]
    assert [each.attributes["enctype"] for each in page.find("form") if "enctype" in each.attributes] == [
        "multipart/form-data"
    ]
    send(document, **{"answer.invoice": upload()})
    page = parse(browser(person()).get(f"/requests/{document['id']}/").content.decode())
    (line,) = page.find("p", class_="answer-file")
    assert line.words == "R-2291.pdf PDF, 49 bytes"


@pytest.mark.parametrize(
    "schema",
    [
        A_FILE,
        {"type": "object", "properties": {"files": {"type": "array", "items": A_FILE}}},
        {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": A_FILE}}}},
        {"type": "object", "properties": {"a": {"anyOf": [A_FILE, {"type": "null"}]}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/f"}}, "$defs": {"f": A_FILE}},
        {"type": "object", "properties": {"a": A_FILE | {"contentMediaType": "application/zip"}}},
    ],
)
def test_a_schema_with_a_file_where_none_can_be_chosen_is_refused(schema):
    reply = Machine(person(alice)).post("/requests", FORM | {"response_schema": schema})
    assert (reply.status, list(reply.body["errors"])) == (422, ["response_schema"])


def test_a_default_answer_cannot_have_a_file():
    reply = Machine(person(alice)).post(
        "/requests", FORM | {"default_response": {"invoice": "a.pdf"}, "timeout": 60_000}
    )
    assert reply.body["errors"] == {"default_response": "cannot have a file"}


def test_a_text_called_file_in_the_input_of_an_approval_is_still_a_text():
    document = Machine(person(alice)).ask(
        tool_name="read", input={"path": "a.txt"}, response_schema={"properties": {"path": A_FILE}}
    )
    reply = Machine(bob()).decide(document, "edit", edited_input={"path": "b.txt"})
    assert (reply.status, reply.body["decision"]["edited_input"]) == (200, {"path": "b.txt"})
