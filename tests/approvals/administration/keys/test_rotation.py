"""A rotated key has a successor, and both work until the overlap ends."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from approvals.administration.keys.actions import create_key, revoke_key, rotate_key
from approvals.exceptions import NotAllowed, NotFound
from approvals.models import ApprovalRequest, AuditEntry, PendingChange
from approvals.models.keys import ApiKey
from approvals.states import Door
from tests.approvals.actions.test_races import race
from tests.approvals.administration.people.test_people import administrator
from tests.approvals.administration.people.test_second_administrator import confirm
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

#: Requests that each thread makes before, and at least after, the rotation.
CALLS = 5


def machine(text: str) -> Machine:
    return Machine(authorization=f"Bearer {text}")


def works(*texts: str) -> list[int]:
    return [machine(text).get("/requests").status for text in texts]


def hours_left(key: ApiKey) -> int:
    key.refresh_from_db()
    assert key.expires_at is not None
    return round((key.expires_at - timezone.now()) / timedelta(hours=1))


@pytest.mark.parametrize(("overlap", "hours", "old_works"), [("0", 0, 401), ("1", 1, 200), ("24", 24, 200)])
def test_on_its_page_a_key_is_rotated_and_the_old_one_works_for_as_long_as_chosen(overlap, hours, old_works):
    old, old_text = create_key(
        administrator(), name="agent", scopes=("read", "audit"), ranges=("127.0.0.0/8",), by=None
    )
    client, address = browser(old.user), f"/settings/keys/{old.pk}/rotate/"
    assert client.get(address).status_code == 200
    shown = client.post(address, {"overlap": overlap, "last_day": day_in(30)})
    text = parse(shown.text).find("pre")[0].words
    new = ApiKey.objects.get(replaces=[old.pk])
    same = [(key.user_id, key.name, key.scopes, key.ranges, key.tool_lists) for key in (old, new)]
    assert (same[0], hours_left(old)) == (same[1], hours)
    assert f"{new.expires_at:%Y-%m-%d}" == day_in(31)
    assert works(old_text, text) == [old_works, 200]
    entry = AuditEntry.objects.filter(event="key.created").latest("pk")
    assert (entry.actor_name, entry.data["replaces"]) == ("dora", old.prefix)
    assert entry.data["replaced_expires_at"][:16] == old.expires_at.isoformat()[:16]


@pytest.mark.parametrize("wrong", [{"overlap": "2"}, {"overlap": ""}, {"last_day": ""}, {"last_day": "2026-01-01"}])
def test_a_wrong_form_rotates_nothing_and_keeps_what_was_chosen(wrong):
    old, _text = create_key(administrator(), name="agent")
    sent = {"overlap": "168", "last_day": day_in(30)} | wrong
    refused = browser(old.user).post(f"/settings/keys/{old.pk}/rotate/", sent)
    chosen = [option.attributes["value"] for option in parse(refused.text).find("option", selected="")]
    assert (refused.status_code, ApiKey.objects.count()) == (422, 1)
    assert chosen == ([] if "overlap" in wrong else ["168"])


def test_an_overlap_never_extends_a_key():
    owner = administrator()
    old, _text = create_key(owner, name="agent", expires_at=timezone.now() + timedelta(hours=2))
    rotate_key(old.pk, by=owner, via=Door.DASHBOARD)
    assert hours_left(old) == 2


def test_a_revoked_or_expired_key_has_no_successor():
    owner = administrator()
    revoked, expired = (create_key(owner, name=name)[0] for name in "ab")
    revoke_key(revoked.pk, by=owner, via=Door.DASHBOARD)
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    for key in (revoked, expired):
        with pytest.raises(NotFound):
            rotate_key(key.pk, by=owner, via=Door.DASHBOARD)
    statuses = [
        browser(owner).post(f"/settings/keys/{key.pk}/rotate/", {"overlap": "0", "last_day": day_in(9)}).status_code
        for key in (revoked, expired)
    ]
    assert (statuses, ApiKey.objects.count()) == ([404, 404], 2)


def test_for_someone_elses_key_the_overlap_begins_when_a_second_administrator_confirms():
    dora, root = administrator(), User.objects.create_superuser("root")
    old, _text = create_key(alice(), name="agent", ranges=("10.0.0.0/8",))
    before = hours_left(old)
    change, text = rotate_key(old.pk, by=dora, via=Door.DASHBOARD, overlap=timedelta(hours=1))
    assert isinstance(change, PendingChange)
    assert (hours_left(old), works(text)) == (before, [401])
    page = browser(root).get("/settings/changes/").text
    assert "It works only from: 10.0.0.0/8." in page
    confirm(change, root)
    new = ApiKey.objects.get(replaces=[old.pk])
    assert (hours_left(old), new.ranges, new.made_by) == (1, ["10.0.0.0/8"], dora)


def test_a_key_that_is_revoked_before_its_rotation_is_confirmed_has_no_successor():
    dora, root = administrator(), User.objects.create_superuser("root")
    old, _text = create_key(alice(), name="agent")
    change, _text = rotate_key(old.pk, by=dora, via=Door.DASHBOARD)
    revoke_key(old.pk, by=dora, via=Door.DASHBOARD)
    with pytest.raises(NotFound, match="may be revoked already"):
        confirm(change, root)
    assert ApiKey.objects.count() == 1


def test_a_key_that_is_revoked_and_rotated_at_one_moment_leaves_no_successor_of_a_revoked_key():
    owner = administrator()
    for _round in range(10):
        old, _text = create_key(owner, name="agent")
        revoked, _rotated = race(
            lambda old=old: revoke_key(old.pk, by=owner, via=Door.DASHBOARD),
            lambda old=old: rotate_key(old.pk, by=owner, via=Door.DASHBOARD),
        )
        assert revoked is True
        of_both = AuditEntry.objects.order_by("-pk").values_list("event", flat=True)
        successors = ApiKey.objects.filter(replaces=[old.pk]).count()
        assert list(of_both[: 1 + successors]) == ["key.revoked", "key.created"][: 1 + successors]


def test_rotation_under_load_loses_no_call():
    """Each thread takes the new key when it is there, as a program does that is restarted."""
    owner = administrator()
    texts = [create_key(owner, name="agent", scopes=("ask", "read"))[1]]
    half, statuses = threading.Barrier(5), []

    def ask() -> None:
        question = {"kind": "question", "title": "Which size?"}
        statuses.extend(machine(texts[-1]).post("/requests", question).status for _ in range(CALLS))

    def call() -> None:
        ask()
        half.wait()
        while True:
            used = texts[-1]
            statuses.append(machine(used).get("/requests").status)
            if len(texts) > 1 and used == texts[-1]:
                break
        ask()

    def rotate() -> None:
        half.wait()
        texts.append(rotate_key(ApiKey.objects.get().pk, by=owner, via=Door.DASHBOARD)[1])

    race(call, call, call, call, rotate)
    connection.close()
    assert set(statuses) == {200, 201}
    assert ApprovalRequest.objects.count() == 4 * 2 * CALLS


def test_someone_who_administers_no_longer_rotates_no_key_of_somebody_else():
    dora = administrator()
    key, _text = create_key(alice(), name="agent")
    dora.groups.clear()
    with pytest.raises(NotAllowed, match="Only administrators can create keys for someone else"):
        rotate_key(key.pk, by=User.objects.get(pk=dora.pk), via=Door.DASHBOARD)
    assert ApiKey.objects.count() == 1
