"""Pictures and PDFs on the chat page: uploaded there, and shown without anything that could act."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals.states import Verdict
from chats.models import Attachment, Message
from tests.support import people
from tests.support.chats.files import PDF, PNG, SVG
from tests.support.chats.turns import decide, make_chat, only_request, run, say

pytestmark = pytest.mark.django_db(transaction=True)


def post(client, chat, *files, text="What is this?", **given):
    uploaded = [SimpleUploadedFile(name, content) for name, content in files]
    return client.post(f"/chats/{chat.pk}/messages/", {"text": text, "files": uploaded}, **given)


def test_an_uploaded_picture_is_shown_and_a_document_is_offered_for_download(client):
    chat = make_chat(people.alice())
    client.force_login(chat.owner)
    assert post(client, chat, ("a.png", PNG), ("<b>.pdf", PDF)).status_code == 302
    picture, document = [f"/api/chats/files/{row.file_id}" for row in Attachment.objects.order_by("pk")]
    page = client.get(chat.get_absolute_url()).content.decode()
    assert f'<img src="{picture}" alt="a.png">' in page
    assert (f'href="{document}" download' in page, "&lt;b&gt;.pdf" in page, "<b>.pdf" in page) == (True, True, False)
    assert client.get(picture)["Content-Security-Policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"
    assert client.get(document)["Content-Disposition"].startswith("attachment")
    client.force_login(people.mallory())
    assert client.get(picture).status_code == 404
    client.logout()
    assert client.get(picture).status_code == 401


def test_a_file_that_is_refused_leaves_the_words_in_the_form(client):
    chat = make_chat(people.alice())
    client.force_login(chat.owner)
    answer = post(client, chat, ("a.png", SVG), text="Look at this", headers={"HX-Request": "true"})
    page = answer.content.decode()
    assert (answer.status_code, "Look at this</textarea>" in page) == (400, True)
    assert "a.png is not a PNG, JPEG, GIF, WebP or PDF file." in page
    assert (Message.objects.count(), Attachment.objects.count()) == (0, 0)


def test_a_file_is_not_taken_with_an_answer(client):
    chat = make_chat(people.alice())
    turn = run(say(chat, "Please refund order 4711, 250 euros"))
    client.force_login(chat.owner)
    answer = post(client, chat, ("a.png", PNG), headers={"HX-Request": "true"})
    assert (answer.status_code, Attachment.objects.count()) == (400, 0)
    decide(only_request(turn), people.bob(), Verdict.REJECT)


def test_a_person_who_does_not_own_the_chat_cannot_add_a_file(client):
    chat = make_chat(people.alice())
    client.force_login(people.bob())
    assert post(client, chat, ("a.png", PNG)).status_code == 404
    assert Attachment.objects.count() == 0


def test_the_timeline_names_the_files_of_a_message(client):
    chat = make_chat(people.alice())
    client.force_login(chat.owner)
    post(client, chat, ("a.png", PNG))
    assert "[a.png]" in client.get(f"/chats/{chat.pk}/timeline/").content.decode()
