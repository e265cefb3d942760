"""Files that agents send with a request: accepted files, their approval, and the right to read them."""

from __future__ import annotations

import hashlib
from uuid import uuid4

import pytest
from django.core.files.storage import storages
from django.test import Client
from django.urls import reverse

from approvals.asking.attachments import storage_failed, storage_outage
from approvals.asking.digests import input_digest
from approvals.models import ApprovalRequest, AuditEntry, RequestAttachment
from tests.support.desk.files import CSV, GIF, JPEG, PDF, PNG, TEXT, WEBP, attachment, folder, giant_png, stored_names
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob, mallory

__all__ = ["folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


def read(machine: Machine, document: dict, **headers: str):
    """The response with the content of the only file of a request."""
    path = document["attachments"][0]["url"].removeprefix("http://127.0.0.1:8000")
    return machine.client.get(path, headers=machine.headers | headers)


def refused(*files: dict) -> dict[str, str]:
    """Return the errors of these files."""
    reply = Machine(alice()).post("/requests", APPROVAL | {"attachments": list(files)})
    assert reply.refusal == (422, "invalid")
    assert ApprovalRequest.objects.count() == 0
    return reply.body["errors"]


def test_a_request_lists_its_files_with_the_type_that_was_found_in_them():
    files = {"a.png": PNG, "b.jpg": JPEG, "c.gif": GIF, "d.webp": WEBP, "e.pdf": PDF, "f.txt": TEXT, "g.csv": CSV}
    machine = Machine(alice())
    document = machine.ask(attachments=[attachment(content, name) for name, content in files.items()])
    assert [(file["name"], file["media_type"], file["size"], file["sha256"]) for file in document["attachments"]] == [
        (name, media_type, len(content), hashlib.sha256(content).hexdigest())
        for (name, content), media_type in zip(
            files.items(),
            ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain", "text/csv"),
            strict=True,
        )
    ]
    assert machine.get(f"/requests/{document['id']}").body["attachments"] == document["attachments"]
    sizes = [(file.get("width"), file.get("height")) for file in ApprovalRequest.objects.get().attachments]
    assert sizes == [(1, 1), (4, 3), (5, 2), (7, 2), (None, None), (None, None), (None, None)]


def test_the_digest_of_a_request_without_files_is_that_of_its_input():
    machine = Machine(alice())
    document = machine.ask()
    assert (document["input_digest"], document["attachments"]) == (input_digest(APPROVAL["input"]), [])
    assert "attachments" not in AuditEntry.objects.get(event="request.created").data


def test_the_digest_of_a_request_with_files_covers_them_too():
    document = Machine(alice()).ask(attachments=[attachment(TEXT, "note.txt")])
    file = {"name": "note.txt", "media_type": "text/plain", "size": len(TEXT)}
    file["sha256"] = hashlib.sha256(TEXT).hexdigest()
    assert document["input_digest"] == input_digest(APPROVAL["input"], [file])
    assert AuditEntry.objects.get(event="request.created").data["attachments"] == [file]


def test_a_decision_about_other_files_than_those_of_the_request_is_refused():
    document = Machine(alice()).ask(attachments=[attachment()])
    decider = Machine(bob())
    without = input_digest(APPROVAL["input"])
    assert decider.decide(document, "approve", input_digest=without).refusal == (409, "changed")
    assert decider.decide(document, "approve", input_digest=document["input_digest"]).status == 200


def test_a_changed_input_is_approved_together_with_the_files():
    machine = Machine(alice())
    document = machine.ask(attachments=[attachment(TEXT, "note.txt")])
    edited = Machine(bob()).decide(document, "edit", edited_input={"amount": 100}).body
    files = [{name: value for name, value in file.items() if name != "url"} for file in document["attachments"]]
    approved = edited["decision"]["approved_digest"]
    assert approved == input_digest({"amount": 100}, files)
    result = {"input_digest": approved, "output": "done"}
    assert machine.post(f"/requests/{document['id']}/result", result).status == 201


def test_the_same_call_with_the_same_files_is_the_same_request(folder):
    machine, body = Machine(alice()), APPROVAL | {"attachments": [attachment()]}
    first = machine.post("/requests", body, idempotency_key="refund-1")
    again = machine.post("/requests", body, idempotency_key="refund-1")
    assert (first.status, again.status, again.replayed) == (201, 200, True)
    assert again.body == first.body
    assert len(stored_names(folder)) == 1


@pytest.mark.parametrize(
    "files", [[attachment(JPEG)], [attachment(PNG, "other.png")], [attachment(), attachment()], []]
)
def test_the_same_key_with_other_files_is_a_conflict(folder, files):
    machine = Machine(alice())
    machine.post("/requests", APPROVAL | {"attachments": [attachment()]}, idempotency_key="refund-1")
    again = machine.post("/requests", APPROVAL | {"attachments": files}, idempotency_key="refund-1")
    assert again.refusal == (409, "conflict")
    assert len(stored_names(folder)) == 1


def test_a_file_is_served_with_its_checked_type_and_nothing_in_it_may_act():
    machine = Machine(alice())
    response = read(machine, machine.ask(attachments=[attachment()]))
    names = ("Content-Type", "X-Content-Type-Options", "Content-Security-Policy", "Cross-Origin-Resource-Policy",
             "Cache-Control", "Content-Disposition")  # fmt: skip
    assert (response.status_code, response.content) == (200, PNG)
    assert [response.headers[name] for name in names] == [
        "image/png",
        "nosniff",
        "default-src 'none'; sandbox; frame-ancestors 'none'",
        "same-origin",
        "private, no-cache",
        'inline; filename="receipt.png"',
    ]
    again = read(machine, {"attachments": [{"url": response.request["PATH_INFO"]}]}, if_none_match=response["ETag"])
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("content", "name", "served"),
    [
        (PDF, "invoice.pdf", ("application/pdf", 'attachment; filename="invoice.pdf"')),
        (TEXT, "note.txt", ("text/plain; charset=utf-8", 'inline; filename="note.txt"')),
        (CSV, "payouts.CSV", ("text/csv; charset=utf-8", 'attachment; filename="payouts.CSV"')),
        # Saved files open in the program that their name asks for.
        (GIF + b"<script>alert(1)</script>", "page.html", ("image/gif", 'inline; filename="page.html.gif"')),
        (b"echo hello", "run.bat", ("text/plain; charset=utf-8", 'inline; filename="run.bat.txt"')),
    ],
)
def test_a_file_is_saved_under_a_name_that_fits_its_type(content, name, served):
    machine = Machine(alice())
    response = read(machine, machine.ask(attachments=[attachment(content, name)]))
    assert (response.headers["Content-Type"], response.headers["Content-Disposition"]) == served
    assert response.content == content


def test_only_people_who_may_see_the_request_may_read_its_files():
    asker, decider = alice(), bob()
    document = Machine(asker).ask(attachments=[attachment()])
    callers = Machine(asker), Machine(decider), Machine(mallory()), Machine(asker, scopes=("ask",)), Machine()
    assert [read(caller, document).status_code for caller in callers] == [200, 200, 404, 403, 401]
    browser = Client()
    browser.force_login(decider)
    assert browser.get(document["attachments"][0]["url"].removeprefix("http://127.0.0.1:8000")).status_code == 200


def test_a_file_of_another_request_or_of_none_is_not_found():
    machine = Machine(alice())
    document, other = machine.ask(attachments=[attachment()]), machine.ask()
    file_id = document["attachments"][0]["url"].rpartition("/")[2]
    for request_id, attachment_id in ((other["id"], file_id), (document["id"], uuid4()), (uuid4(), file_id)):
        assert machine.get(f"/requests/{request_id}/attachments/{attachment_id}").refusal == (404, "not_found")


def test_a_file_that_is_not_the_one_that_was_sent_is_not_served(folder):
    machine = Machine(alice())
    document = machine.ask(attachments=[attachment()])
    (path,) = [path for path in folder.rglob("*") if path.is_file()]
    for content in (JPEG, PNG + b"x", b""):
        path.write_bytes(content)
        assert read(machine, document).status_code == 410
    path.unlink()
    assert read(machine, document).json()["code"] == "file_removed"


def test_a_storage_that_fails_makes_no_request_and_is_said(folder, caplog, monkeypatch):
    monkeypatch.setattr(storage_outage, "_failures", 0)
    folder.mkdir(mode=0o700)
    # A file is where its folders would be.
    for first in "0123456789abcdef":
        for second in "0123456789abcdef":
            (folder / f"{first}{second}").write_text("")
    reply = Machine(alice()).post("/requests", APPROVAL | {"attachments": [attachment()]})
    assert reply.refusal == (503, "storage_failed")
    assert (ApprovalRequest.objects.count(), RequestAttachment.objects.exclude(erase_at=None).count()) == (0, 1)
    (line,) = [record.getMessage() for record in caplog.records if record.name == storage_failed.__module__]
    assert line.startswith("The storage of files fails (FileExistsError: ")


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"", "empty.txt", "is empty"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "drawing.svg", None),
        (b"\xef\xbb\xbf\n <!DOCTYPE html><script>alert(1)</script>", "picture.png", None),
        (b"<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY lol 'lol'>]>", "lol.txt", None),
        (b"PK\x03\x04" + bytes(40), "report.docx", None),
        (b"MZ\x90\x00", "invoice.pdf", None),
        (b"caf\xe9", "latin.txt", None),
        (b"plain\x00text", "nul.txt", None),
        (b"\x1b[2J", "escape.txt", None),
        (b"\x89PNG\r\n\x1a\n", "broken.png", "is a broken image: its width and height cannot be read"),
        (giant_png(0, 10), "flat.png", "is a broken image: its width and height cannot be read"),
        (b"\xff\xd8\xff" + b"\xff" * 50_000, "loop.jpg", "is a broken image: its width and height cannot be read"),
    ],
)
def test_other_files_are_refused(content, name, problem):
    if content:
        other = "is not a PNG, JPEG, GIF, WebP, PDF, text (UTF-8) or CSV file"
        assert refused(attachment(content, name)) == {"attachments.0": problem or other}
    else:
        assert refused({"name": name, "content": ""}) == {
            "attachments.0.content": "String should have at least 1 character"
        }


def test_a_type_that_is_declared_has_to_be_the_one_that_was_found():
    assert refused(attachment(TEXT, "picture.png", media_type="image/png")) == {
        "attachments.0": "is text/plain, not what `media_type` says"
    }
    Machine(bob()).ask(attachments=[attachment(PNG, media_type="image/png")])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\alice\\receipt.png", "receipt.png"),
        ("invoice\u202egnp.exe", "invoice gnp.exe"),
        ("a\u0007\u200b\u00ad\tb.png", "a b.png"),
        ("Rechnung für Müller.png", "Rechnung für Müller.png"),
    ],
)
def test_a_name_is_shown_without_directories_and_without_what_cannot_be_seen(name, shown):
    document = Machine(alice()).ask(attachments=[attachment(name=name)])
    assert document["attachments"][0]["name"] == shown


def test_names_that_are_missing_or_too_long_are_refused():
    assert refused(attachment(name="///"), attachment(name="\u202e\u200b"), attachment(name="x" * 201)) == {
        "attachments.0": "needs a name with letters or digits",
        "attachments.1": "needs a name with letters or digits",
        "attachments.2.name": "String should have at most 200 characters",
    }


def test_more_than_ten_files_are_refused_and_ten_thousand_too(folder):
    assert list(refused(*[attachment(TEXT, f"{number}.txt") for number in range(11)])) == ["attachments"]
    many = [attachment(b"x", f"{number}.txt") for number in range(10_000)]
    assert Machine(bob()).post("/requests", APPROVAL | {"attachments": many}).refusal == (400, "bad_body")
    assert stored_names(folder) == []


def test_files_may_have_five_million_bytes_together_and_no_more(folder):
    half = b"x" * 2_500_000
    machine = Machine(alice())
    machine.ask(attachments=[attachment(half, "a.txt"), attachment(half, "b.txt")])
    assert len(stored_names(folder)) == 2
    over = [attachment(half, "a.txt"), attachment(half + b"x", "b.txt")]
    reply = machine.post("/requests", APPROVAL | {"attachments": over})
    assert (reply.refusal, reply.body["errors"]) == (
        (422, "invalid"),
        {"attachments": "has more than 5,000,000 bytes in all files together"},
    )
    assert len(stored_names(folder)) == 2


def test_what_is_not_a_file_has_the_bound_of_every_body():
    body = APPROVAL | {"attachments": [attachment(b"x" * 1_000_000, "a.txt")], "message": "x" * 1_000_001}
    assert Machine(alice()).post("/requests", body).refusal == (413, "too_large")
    assert Machine(bob()).post("/requests", APPROVAL | {"context": "x" * 1_000_001}).refusal == (413, "too_large")


@pytest.mark.parametrize("content", ["not base64!", "YQ", 5, None, "\u0000"])
def test_content_that_is_not_base64_is_refused(content):
    assert len(refused({"name": "a.txt", "content": content})) == 1


def test_a_picture_that_would_fill_the_memory_is_taken_by_its_header_alone():
    document = Machine(alice()).ask(attachments=[attachment(giant_png(60_000, 60_000), "bomb.png")])
    (file,) = ApprovalRequest.objects.get().attachments
    assert (document["attachments"][0]["media_type"], file["width"], file["height"]) == ("image/png", 60_000, 60_000)


def test_the_storage_can_be_any_of_django(settings):
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "attachments": memory}
    machine = Machine(alice())
    document = machine.ask(attachments=[attachment()])
    assert read(machine, document).content == PNG
    (name,) = storages["attachments"].listdir("")[0]
    assert document["attachments"][0]["url"].rpartition("/")[2].startswith(name)


def test_the_addresses_of_files_are_those_of_the_api():
    document = Machine(alice()).ask(attachments=[attachment()])
    (row,) = RequestAttachment.objects.all()
    path = reverse("api:read_attachment", args=[document["id"], row.pk])
    assert document["attachments"][0]["url"] == f"http://127.0.0.1:8000{path}"
    assert (str(row.request_id), row.erase_at) == (document["id"], None)
