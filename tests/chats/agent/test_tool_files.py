"""Pictures and PDFs that tools return: stored with the result, sent to the model, shown, copied and removed with the chat."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid

import pytest

from approvals.db import pool
from approvals.models import AuditEntry, OutboxEvent
from approvals.states import Verdict
from chats import actions, queries
from chats.actions import attachments
from chats.actions.attachments import new_file
from chats.agent.tools import File
from chats.engine import runner
from chats.models import Attachment, Chat
from chats.queries.file_parts import result_file_id
from tests.chats.engine.test_nested import converse as converse_with_sub_agents
from tests.support import people
from tests.support.chats import draughtsman, scenes
from tests.support.chats.branches import branch
from tests.support.chats.files import PNG, data_url
from tests.support.chats.turns import (
    chunks,
    converse,
    decide,
    make_chat,
    model_history,
    only_request,
    run,
    say,
    start_call,
    tool_parts,
)
from tests.support.machines import machine

pytestmark = pytest.mark.django_db(transaction=True)
BASE64 = data_url(PNG).partition(",")[2]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}


@pytest.fixture(autouse=True)
def _draughtsman(settings):
    settings.HITL_AGENTS = [draughtsman.PATH]
    draughtsman.release.clear()
    yield
    draughtsman.release.set()


def reference(row):
    named = {"filename": row.name} if row.name else {}
    return {
        "type": "file",
        "mediaType": row.media_type,
        **named,
        "url": f"/api/chats/files/{row.file_id}",
        "size": row.size,
        "digest": row.digest,
    }


def results(turn):
    """Return the contents of the results that the model is shown."""
    blocks = [block for message in model_history(turn) for block in message.content]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def test_a_file_is_stored_and_every_record_holds_only_a_reference():
    turn = converse(people.alice(), "draw")
    row = Attachment.objects.get()
    assert (row.chat_id, row.name, row.media_type, row.size) == (turn.chat_id, "plan.png", "image/png", len(PNG))
    assert (row.digest, bytes(row.content)) == (f"sha256:{hashlib.sha256(PNG).hexdigest()}", PNG)
    expected = reference(row)
    assert [part["output"] for part in tool_parts(turn)] == [expected]
    assert [chunk["output"] for chunk in chunks(turn, "ToolSucceeded")] == [expected]
    assert AuditEntry.objects.get(event="tool.result").data["output"] == expected
    assert not any("iVBOR" in str(row.data) for row in [*AuditEntry.objects.all(), *OutboxEvent.objects.all()])


def test_the_model_is_shown_the_file_in_the_result_and_always_the_same():
    turn = converse(people.alice(), "draw")
    text = {"type": "text", "text": json.dumps(reference(Attachment.objects.get()))}
    assert results(turn) == [[text, IMAGE]]
    before = model_history(turn)
    later = run(say(turn.chat, "draw"))
    assert model_history(later)[: len(before)] == before
    Attachment.objects.all().delete()
    assert results(later)[0][1] == {"type": "text", "text": "(A file is no longer stored: plan.png)"}


def test_files_beside_json_in_lists_and_in_models_are_kept():
    turn = converse(people.alice(), "report")
    (part,) = tool_parts(turn)
    rows = {row.name: row for row in Attachment.objects.all()}
    chart, document = rows["chart.png"], rows["Report.pdf"]
    # The last picture has the content of the first, so that it is the same file.
    assert part["output"] == {
        "report": {"rows": 3, "chart": reference(chart)},
        "more": [reference(document), reference(chart)],
    }
    kinds = [(block["type"], block.get("title")) for block in results(turn)[0]]
    assert kinds == [("text", None), ("image", None), ("document", "Report.pdf")]


def test_a_file_of_another_type_is_named_in_words_and_the_rest_is_kept():
    turn = converse(people.alice(), "vector")
    refused = "vector ran, but its file plan.svg cannot be kept: It is not a PNG, JPEG, GIF, WebP or PDF file."
    assert [part["output"] for part in tool_parts(turn)] == [[refused, {"kept": reference(Attachment.objects.get())}]]


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ({"MAX_FILES": 0}, "A result can have at most 0 files."),
        ({"MAX_BYTES": 10}, "The files of a result can have at most 10 bytes together."),
        ({"MAX_CHAT_BYTES": 10}, "The files of a chat can have at most 10 bytes together. Start a new chat."),
    ],
)
def test_a_file_beyond_a_limit_is_named_in_words(monkeypatch, limit, problem):
    for name, value in limit.items():
        monkeypatch.setattr(attachments, name, value)
    turn = converse(people.alice(), "draw")
    words = f"draw ran, but its file plan.png cannot be kept: {problem}"
    assert (turn.state, [part["output"] for part in tool_parts(turn)]) == ("completed", [words])
    assert [chunk["output"] for chunk in chunks(turn, "ToolSucceeded")] == [words]
    assert (Attachment.objects.count(), AuditEntry.objects.filter(event="tool.result").count()) == (0, 1)


def test_a_result_is_stored_once_with_its_files():
    turn = say(make_chat(people.alice()), "draw")
    claim = scenes.begin(turn)
    actions.commit_step(claim, 0, *scenes.calling("draw", draughtsman.draughtsman), [], provider="a test")
    execution = start_call(claim, turn)
    file = new_file(PNG, "plan.png")
    assert [actions.finish_call(execution, output="x", files=[file]) for _ in range(2)] == [True, False]
    assert Attachment.objects.count() == 1


def test_a_late_result_brings_its_file():
    turn = say(make_chat(people.alice()), "draw_late")

    async def story():
        await runner.advance(turn.pk, asyncio.Event())
        assert await pool.run(only_request, turn)
        draughtsman.release.set()
        while await pool.run(queries.open_requests, turn):
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(story(), 60))
    done = run(turn)
    assert [part["output"] for part in tool_parts(done)] == [reference(Attachment.objects.get())]
    assert results(done)[0][1] == IMAGE


def test_a_reference_that_a_tool_repeats_does_not_send_the_file_again():
    turn = converse(people.alice(), "draw")
    repeated = reference(Attachment.objects.get())
    later = scenes.answer(
        say(turn.chat, "echo"),
        scenes.use("echo", {"value": repeated}),
        agent=draughtsman.draughtsman,
        output=repeated,
    )
    assert results(later)[1] == json.dumps(repeated)


def test_the_chat_and_the_request_show_the_picture_to_those_who_may_read_the_chat(client):
    turn = converse(people.alice(), "print_plan")
    request = only_request(turn)
    bob = people.bob()
    decide(request, bob, Verdict.APPROVE)
    turn = run(turn)
    address = reference(Attachment.objects.get())["url"]
    picture = f'<img src="{address}" alt="plan.png">'
    client.force_login(bob)
    for page in (turn.chat.get_absolute_url(), request.get_absolute_url()):
        assert client.get(page).content.decode().count(picture) == 1
    assert client.get(address).content == PNG
    client.force_login(people.mallory())
    assert client.get(address).status_code == 404


def test_a_sub_agents_file_belongs_to_its_own_chat_and_is_exported_with_the_whole(settings):
    settings.HITL_AGENTS = [draughtsman.MANAGER]
    turn = converse_with_sub_agents("a plan")
    row = Attachment.objects.get()
    assert (row.chat.root_id, turn.chat.attachments.count()) == (turn.chat_id, 0)
    exported = machine(turn.chat.owner).get(f"/api/chat/{turn.chat.public_id}/export")
    assert [(file["chat"], file["name"]) for file in exported.json["files"]] == [(row.chat_id, "plan.png")]
    assert BASE64 not in exported.text


def test_a_branch_keeps_the_file_when_the_first_chat_is_removed():
    turn = converse(people.alice(), "draw")
    copy = branch(turn, 0)
    Chat.objects.filter(pk=turn.chat_id).update(pruned_at=turn.created_at)
    while actions.prune_contents(turn.chat_id):
        pass
    assert list(Attachment.objects.values_list("chat", flat=True)) == [copy.pk]
    assert results(queries.last_turn(copy))[0][1] == IMAGE


def test_a_file_must_be_bytes_and_does_not_print_them():
    with pytest.raises(TypeError, match="a file's content must be bytes, not str"):
        File("text")
    assert repr(File(bytearray(b"secret"), "a.png")) == "File(6 bytes, name='a.png')"


def test_the_id_of_a_file_is_the_same_in_each_run_of_a_call():
    first, again, other = (result_file_id(call, "sha256:1") for call in ("c1", "c1", "c2"))
    assert (first == again, first == other, isinstance(first, uuid.UUID)) == (True, False, True)
