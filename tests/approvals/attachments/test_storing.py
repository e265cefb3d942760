"""Files are stored before their request, and files without a request are erased."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.utils import timezone

from approvals import actions
from approvals.actions import attachments
from approvals.api.requests import NewRequest, ask_from
from approvals.asking.attachments import checked_file
from approvals.asking.origins import Origin
from approvals.background import sweep
from approvals.models import ApprovalRequest, AuditEntry, OutboxEvent, RequestAttachment
from hitlsite.storage import PrivateFiles
from tests.support.desk.files import PNG, TEXT, attachment, folder, stored_names
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob

__all__ = ["folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]

FILES = [attachment(), attachment(TEXT, "note.txt")]


class Broken(InMemoryStorage):
    """A storage that stores one file, and can neither store a second one nor remove any."""

    def save(self, name, content, max_length=None):
        if self.listdir("")[0]:
            raise OSError("the disk is full")
        return super().save(name, content, max_length)

    def delete(self, name):
        raise OSError("it is away")


class Renaming(FileSystemStorage):
    """A storage that gives each file a name of its own, as FileSystemStorage does where there is a file of that name."""

    def get_available_name(self, name, max_length=None):
        return self.get_alternative_name(name, "")


def left_over(**since: float) -> None:
    """Leave files and rows without a request, like a crash between the two writes."""
    files = [checked_file(file["name"], file["content"]) for file in FILES]
    erase_at = timezone.now() + attachments.UNCLAIMED - timedelta(**since)
    for file in files:
        RequestAttachment.objects.create(pk=file.known.id, erase_at=erase_at)
        attachments._save(file)


def test_files_are_private_and_named_by_nothing_that_a_client_has_sent(folder):
    Machine(alice()).ask(attachments=[attachment(PNG, "../../evil.png")])
    (row,) = RequestAttachment.objects.all()
    (path,) = [path for path in folder.rglob("*") if path.is_file()]
    assert (path.name, path.parent.name) == (str(row.pk), str(row.pk)[:2])
    assert (oct(path.stat().st_mode), oct(path.parent.stat().st_mode)) == ("0o100600", "0o40700")
    assert path.read_bytes() == PNG


def test_files_are_never_in_the_database():
    Machine(alice()).ask(attachments=[attachment(TEXT, "note.txt")])
    request = ApprovalRequest.objects.get()
    assert list(request.attachments[0]) == ["id", "name", "media_type", "size", "sha256"]
    assert [field.name for field in RequestAttachment._meta.fields] == ["id", "request", "erase_at"]


def test_files_of_a_refused_request_are_removed_at_once(folder):
    machine = Machine(alice())
    machine.ask(workflow_id="run-1")
    machine.post("/workflows/run-1/end", {"outcome": "completed"})
    reply = machine.post("/requests", APPROVAL | {"attachments": FILES, "workflow_id": "run-1"})
    assert reply.refusal == (409, "conflict")
    assert (stored_names(folder), RequestAttachment.objects.count()) == ([], 0)


@pytest.mark.django_db(transaction=True)
def test_the_files_of_a_request_whose_commit_got_no_answer_stay(folder, monkeypatch):
    machine, commit = Machine(alice()), connection.commit

    def commit_and_lose_the_answer():
        asked = ApprovalRequest.objects.exists()
        commit()
        if asked:
            monkeypatch.undo()
            raise OperationalError("the connection is lost")

    monkeypatch.setattr(connections["default"], "commit", commit_and_lose_the_answer)
    reply = machine.post("/requests", APPROVAL | {"attachments": FILES}, idempotency_key="refund-1")
    assert reply.status == 503
    sweep.erase_due_attachments()
    again = machine.post("/requests", APPROVAL | {"attachments": FILES}, idempotency_key="refund-1")
    assert (again.status, len(stored_names(folder)), RequestAttachment.objects.filter(request=None).count()) == (
        200,
        2,
        0,
    )
    paths = [file["url"].partition("/api/v1")[2] for file in again.body["attachments"]]
    assert [machine.get(path).status for path in paths] == [200, 200]


@pytest.mark.django_db(transaction=True)
def test_the_files_of_a_request_whose_commit_failed_are_left_to_the_sweep(folder, monkeypatch):
    machine, commit = Machine(alice()), connection.commit

    def lose_the_connection():
        if ApprovalRequest.objects.exists():
            raise OperationalError("the connection is lost")
        commit()

    monkeypatch.setattr(connections["default"], "commit", lose_the_connection)
    reply = machine.post("/requests", APPROVAL | {"attachments": FILES})
    assert (reply.status, ApprovalRequest.objects.count(), len(stored_names(folder))) == (503, 0, 2)
    monkeypatch.undo()
    RequestAttachment.objects.update(erase_at=timezone.now() - timedelta(seconds=1))
    sweep.erase_due_attachments()
    assert (stored_names(folder), RequestAttachment.objects.count()) == ([], 0)


def test_what_a_crash_before_the_commit_leaves_is_visible_to_no_one_and_swept_after_an_hour(folder):
    left_over(minutes=59)
    sweep.erase_due_attachments()
    assert (len(stored_names(folder)), ApprovalRequest.objects.count()) == (2, 0)
    RequestAttachment.objects.update(erase_at=timezone.now() - timedelta(seconds=1))
    assert sweep.erase_due_attachments in {duty.run for duty in sweep.find_due()}
    sweep.erase_due_attachments()
    assert (stored_names(folder), RequestAttachment.objects.count()) == ([], 0)


def test_files_that_wait_for_too_long_are_not_taken_by_a_request(folder, monkeypatch):
    monkeypatch.setattr(attachments, "UNCLAIMED", attachments.MARGIN)
    reply = Machine(alice()).post("/requests", APPROVAL | {"attachments": FILES})
    assert reply.refusal == (503, "storage_failed")
    assert (stored_names(folder), ApprovalRequest.objects.count()) == ([], 0)


def test_the_sweep_leaves_the_files_of_requests_alone(folder):
    Machine(alice()).ask(attachments=FILES)
    sweep.erase_due_attachments()
    assert (len(stored_names(folder)), sweep.erase_due_attachments in {duty.run for duty in sweep.find_due()}) == (
        2,
        False,
    )


def test_a_file_that_cannot_be_removed_is_tried_again_later(settings):
    settings.STORAGES = {**settings.STORAGES, "attachments": {"BACKEND": f"{__name__}.Broken"}}
    reply = Machine(alice()).post("/requests", APPROVAL | {"attachments": FILES})
    assert reply.refusal == (503, "storage_failed")
    later = timezone.now() + attachments.AGAIN - timedelta(minutes=1)
    assert RequestAttachment.objects.filter(request=None, erase_at__gt=later).count() == 2


def test_a_storage_that_renames_files_is_refused_and_nothing_is_left_of_them(folder, settings, caplog):
    renaming = {"BACKEND": f"{__name__}.Renaming", "OPTIONS": {"location": str(folder)}}
    settings.STORAGES = {**settings.STORAGES, "attachments": renaming}
    reply = Machine(alice()).post("/requests", APPROVAL | {"attachments": FILES})
    assert reply.refusal == (503, "storage_failed")
    assert (stored_names(folder), ApprovalRequest.objects.count(), RequestAttachment.objects.count()) == ([], 0, 0)
    assert [record.msg.partition(",")[0] for record in caplog.records if record.name == attachments.__name__] == [
        'STORAGES["attachments"] renames files'
    ]


def test_pruning_removes_the_files_of_old_requests_and_keeps_what_is_known_of_them(folder, capsys):
    machine = Machine(alice())
    old, waiting, new = (machine.ask(attachments=[attachment()]) for _ in range(3))
    decider = Machine(bob())
    for document in (old, new):
        assert decider.decide(document, "reject").status == 200
    long_ago = timezone.now() - timedelta(days=365)
    ApprovalRequest.objects.filter(pk__in=[old["id"], waiting["id"]]).update(changed_at=long_ago)
    call_command("prune")
    assert "           1 files of requests\n" in capsys.readouterr().out
    call_command("prune", "--yes")
    assert "Removed 1 file of a request.\n" in capsys.readouterr().out
    assert len(stored_names(folder)) == 2
    assert {str(row.request_id) for row in RequestAttachment.objects.all()} == {waiting["id"], new["id"]}
    assert AuditEntry.objects.get(event="retention.pruned").data["attachments"] == 1
    assert machine.get(f"/requests/{old['id']}").body["attachments"] == old["attachments"]
    path = old["attachments"][0]["url"].partition("/api/v1")[2]
    assert machine.get(path).refusal == (410, "file_removed")


def test_two_calls_at_once_under_one_key_leave_one_set_of_files(folder):
    body, machine = APPROVAL | {"attachments": FILES}, Machine(alice())
    first = machine.post("/requests", body, idempotency_key="refund-1").body
    # The second one has looked for the first before it was there.
    sent = NewRequest.model_validate(body)
    origin = Origin(scope=machine.scope, digest=sent.digest(), idempotency_key="refund-1")
    ask = ask_from(sent)
    with attachments.stored(ask.attachments):
        outcome = actions.asking._ask_until_alone(ask, origin, by=machine.key.user)
    assert (str(outcome.request.pk), outcome.replayed) == (first["id"], True)
    assert len(stored_names(folder)) == 2


def test_a_stored_file_is_flushed_to_disk(tmp_path, monkeypatch):
    flushed: list[str] = []
    monkeypatch.setattr("os.fsync", lambda number: flushed.append(os.readlink(f"/proc/self/fd/{number}")))
    PrivateFiles(tmp_path / "files").save("ab/abc", ContentFile(b"x"))
    assert flushed == [f"{tmp_path}/files/ab/abc", f"{tmp_path}/files/ab", f"{tmp_path}/files"]


def test_events_list_the_files_of_a_request_and_say_nothing_where_there_are_none(settings):
    settings.HITL_EVENT_HANDLERS = ["tests.support.receiver.nothing"]
    machine = Machine(alice())
    with_files, without = machine.ask(attachments=[attachment()]), machine.ask()
    payloads = {event.payload["request_id"]: event.payload for event in OutboxEvent.objects.all()}
    assert payloads[with_files["id"]]["attachments"] == with_files["attachments"]
    assert "attachments" not in payloads[without["id"]]
