"""Pictures and PDFs in messages of AI SDK clients: taken, stored, served safely, sent to the model, removed with the chat."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from chats import actions, queries
from chats.actions import attachments
from chats.models import Attachment, Chat, Message, Turn
from tests.support import people
from tests.support.chats.branches import branch
from tests.support.chats.files import GIF, JPEG, PDF, PNG, SVG, WEBP, data_url, file_part, message
from tests.support.chats.turns import model_history
from tests.support.machines import Client, machine

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(machine(people.alice()))


def send(client, *parts, **given):
    client.messages = [message(*parts, **given)]
    return client.post()


def sent(client, *parts, **given):
    """Send a message that is taken; return the `file` parts as they are stored."""
    answer = send(client, *parts, **given)
    assert answer.status == 200, answer.text
    client.read()
    return [part for part in client.messages[0]["parts"] if part["type"] == "file"]


def test_a_file_is_stored_outside_of_the_message_and_read_back_from_its_address(client):
    (stored,) = sent(client, file_part())
    row = Attachment.objects.get()
    assert stored == {
        "type": "file",
        "mediaType": "image/png",
        "filename": "picture.png",
        "url": f"/api/chats/files/{row.file_id}",
    }
    assert (row.size, row.digest) == (len(PNG), f"sha256:{hashlib.sha256(PNG).hexdigest()}")
    served = client.machine.get(stored["url"])
    assert {name: served.headers[name] for name in HEADERS} == HEADERS
    assert (served.status, served.headers["content-type"]) == (200, "image/png")
    assert served.headers["content-disposition"] == 'inline; filename="picture.png"'
    again = client.machine.get(stored["url"], headers={"if-none-match": served.headers["etag"]})
    assert again.status == 304


HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
}


def test_the_type_is_found_in_the_content_and_a_document_is_only_downloaded(client):
    contents = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP, "application/pdf": PDF}
    parts = [file_part(content, "page.html", "text/html") for content in contents.values()]
    assert [part["mediaType"] for part in sent(client, *parts)] == list(contents)
    kinds = {}
    for row in Attachment.objects.all():
        served = client.machine.get(f"/api/chats/files/{row.file_id}")
        kinds[served.headers["content-type"]] = served.headers["content-disposition"].split(";")[0]
    assert kinds == {kind: "attachment" if kind == "application/pdf" else "inline" for kind in contents}


def test_a_name_cannot_add_a_header_and_is_cut(client):
    name = 'a"\r\nX-Evil: 1;\x01 ü' + "x" * 300
    (stored,) = sent(client, file_part(name=name))
    served = client.machine.get(stored["url"])
    assert ("x-evil" in served.headers, len(stored["filename"]), served.status) == (False, 200, 200)


NO_FILE = "is not a PNG, JPEG, GIF, WebP or PDF file"
REMOTE = "must have a data: URL with base64, because files are not loaded from elsewhere"
UNTAKEN = {
    "a drawing with a script": (file_part(SVG, "a.svg", "image/svg+xml"), NO_FILE),
    "a page named as a picture": (file_part(b"<html>", "a.png"), NO_FILE),
    "nothing": (file_part(b""), NO_FILE),
    "elsewhere": ({"type": "file", "mediaType": "image/png", "url": "https://example.org/a.png"}, REMOTE),
    "on this machine": ({"type": "file", "mediaType": "image/png", "url": "http://127.0.0.1/"}, REMOTE),
    "a file of the server": ({"type": "file", "mediaType": "image/png", "url": "file:///etc/passwd"}, REMOTE),
    "not base64": ({"type": "file", "mediaType": "image/png", "url": "data:image/png,abc"}, REMOTE),
    "wrong base64": (
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,a$$b"},
        "is not valid base64",
    ),
}


@pytest.mark.parametrize("case", UNTAKEN)
def test_what_is_no_file_is_refused_by_its_place(client, case):
    part, problem = UNTAKEN[case]
    answer = send(client, file_part(), part)
    assert (answer.status, answer.json["code"], answer.json["errors"]) == (422, "invalid", {"parts.1": problem})
    assert (Chat.objects.count(), Attachment.objects.count()) == (0, 0)


def test_a_file_part_of_another_shape_is_refused(client):
    for wrong in ({"url": 5}, {"url": None}, {}, {"url": data_url(PNG), "filename": 5}):
        answer = send(client, {"type": "file", "mediaType": "image/png", **wrong})
        problem = {"messages.0.parts.0": "has no url, or a filename that is not text"}
        assert (answer.status, answer.json["errors"]) == (422, problem)


def test_number_and_size_are_bounded(client, monkeypatch):
    assert send(client, *[file_part()] * 6).json["detail"] == "A message can have at most 5 files."
    monkeypatch.setattr(attachments, "MAX_BYTES", 2 * len(PNG))
    monkeypatch.setattr(attachments, "MAX_CHAT_BYTES", 3 * len(PNG))
    answer = send(client, *[file_part()] * 3)
    assert (answer.status, answer.json["code"]) == (400, "bad_file")
    assert answer.json["detail"] == (
        f"The files of a message can have at most {2 * len(PNG)} bytes together. These have {3 * len(PNG)}."
    )
    assert Chat.objects.count() == 0
    sent(client, *[file_part()] * 2)
    refused = send(client, *[file_part()] * 2, message_id="u2")
    assert refused.json["detail"] == (
        f"The files of a chat can have at most {3 * len(PNG)} bytes together. Start a new chat."
    )


def test_a_stored_file_counts_each_time_that_a_message_names_it(client, monkeypatch):
    monkeypatch.setattr(attachments, "MAX_BYTES", 2 * len(PNG))
    monkeypatch.setattr(attachments, "MAX_CHAT_BYTES", 3 * len(PNG))
    (stored,) = sent(client, file_part())
    many = send(client, *[stored] * 3, message_id="u1")
    assert (many.status, "of a message can have at most" in many.json["detail"]) == (400, True)
    assert send(client, *[stored] * 2, message_id="u2").status == 200
    again = send(client, stored, message_id="u3")
    assert (again.status, "of a chat can have at most" in again.json["detail"]) == (400, True)
    # Files removed by an edit are not sent any more, so they don't count.
    client.messages = [message(*[stored] * 2, text="Only these")]
    assert client.post(messageId="u0").status == 200


def test_a_message_may_be_a_file_alone_and_names_the_chat(client):
    sent(client, file_part(name="pic\u202eture.png"), text="")
    assert Chat.objects.get().title == "pic ture.png"


def test_an_empty_text_beside_a_file_is_not_sent_to_the_model(client):
    client.messages = [{"id": "u0", "role": "user", "parts": [file_part(), {"type": "text", "text": ""}]}]
    assert client.post().status == 200
    (asked, *_) = model_history(Turn.objects.get())
    assert [block["type"] for block in asked.content] == ["image"]


def test_an_edit_may_name_a_stored_file_of_its_own_chat_only(client):
    (stored,) = sent(client, file_part())
    client.messages = [message(stored, text="And now?")]
    assert client.post(messageId="u0").status == 200
    client.read()
    assert client.messages[0]["parts"][0] == stored
    assert Attachment.objects.count() == 1
    other = Client(client.machine, "c2")
    answer = send(other, stored)
    assert (answer.status, answer.json["detail"]) == (400, "This chat has no such file. Send it again.")


def test_a_file_is_read_by_those_who_may_read_its_chat(client):
    (stored,) = sent(client, file_part())
    readers = {"bob": people.bob(), "carol": people.carol(), "mallory": people.mallory()}
    found = {name: machine(person, "read").get(stored["url"]).status for name, person in readers.items()}
    assert found == {"bob": 200, "carol": 200, "mallory": 404}
    assert machine(readers["bob"], "ask").get(stored["url"]).status == 403
    assert client.machine.get("/api/chats/files/00000000-0000-4000-8000-000000000000").status == 404


def test_a_client_token_reads_the_files_of_its_chat_only(client):
    (mine,) = sent(client, file_part())
    other = Client(client.machine, "c2")
    (others,) = sent(other, file_part())
    token = client.machine.post("/api/v1/client-tokens", {"chat": "c1"}).json["token"]
    page = type(client.machine)(token)
    assert [page.get(part["url"]).status for part in (mine, others)] == [200, 404]


def test_the_model_is_sent_the_files_of_every_message(client):
    sent(client, file_part(), file_part(PDF, "Invoice.pdf", "application/pdf"))
    turn = queries.last_turn(Chat.objects.get())
    history = queries.progress_of(turn).history
    kinds = [(block["type"], block.get("title"), block["source"]["media_type"]) for block in history[0].content[:2]]
    assert kinds == [("image", None, "image/png"), ("document", "Invoice.pdf", "application/pdf")]
    assert history[0].content[0]["source"]["data"] == data_url(PNG).partition(",")[2]
    Attachment.objects.all().delete()
    history = queries.progress_of(turn).history
    assert [block["text"] for block in history[0].content] == [
        "(A file is no longer stored: picture.png)",
        "(A file is no longer stored: Invoice.pdf)",
        "What is this?",
    ]


def test_a_branch_keeps_the_files_when_the_first_chat_is_removed(client):
    (stored,) = sent(client, file_part())
    chat = Chat.objects.get()
    copy = branch(queries.last_turn(chat), 0)
    assert copy.messages.order_by("position").first().parts[0] == stored
    Chat.objects.filter(pk=chat.pk).update(updated_at=timezone.now() - timedelta(days=400))
    assert actions.begin_pruning(chat.pk, timezone.now() - timedelta(days=1))
    while actions.prune_contents(chat.pk):
        pass
    assert list(Attachment.objects.values_list("chat", flat=True)) == [copy.pk]
    assert client.machine.get(stored["url"]).status == 200


def test_a_removed_chat_serves_no_file(client):
    (stored,) = sent(client, file_part())
    Chat.objects.update(pruned_at=timezone.now())
    assert client.machine.get(stored["url"]).status == 404


def test_the_export_names_the_files_without_their_content(client):
    (stored,) = sent(client, file_part())
    found = client.machine.get("/api/chat/c1/export")
    (row,) = found.json["files"]
    expected = {"name": "picture.png", "media_type": "image/png", "size": len(PNG), "url": stored["url"]}
    assert {name: row[name] for name in expected} == expected
    assert data_url(PNG).partition(",")[2] not in found.text


def test_lists_of_messages_do_not_hold_a_file(client):
    sent(client, file_part(PNG + b"\0" * 100_000))
    assert max(len(str(parts)) for parts in Message.objects.values_list("parts", flat=True)) < 500
