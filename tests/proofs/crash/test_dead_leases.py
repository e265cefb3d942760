"""The leases of a process that has died are ended at once by the others on its host."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.db.models.functions import Now

from chats.engine import ledger
from chats.models import Turn
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import make_chat, run, say
from tests.support.people import alice

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(ledger.owner().endswith(":"), reason="nothing here tells when a process was started"),
]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until its input ends."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        yield child
        child.kill()


def owner_of(pid: int, *, host: str = ledger.HOST, start: str = "") -> str:
    return f"{host}:{pid}:{start or ledger._start_of(pid)}"


def held_by(owner: str) -> Turn:
    """Return a turn that a process of this name has claimed."""
    turn = say(make_chat(alice()), "hello")
    assert claim_turn(turn.pk, owner=owner) is not None
    return turn


def is_held(turn: Turn) -> bool:
    return Turn.objects.filter(pk=turn.pk, state="running", lease_until__gt=Now()).exists()


def test_a_dead_process_loses_its_turn_at_once(child):
    turn = held_by(owner_of(child.pid))
    ledger.free_dead_leases()
    assert is_held(turn) is True
    child.kill()
    child.wait()
    ledger.free_dead_leases()
    assert is_held(turn) is False
    assert run(turn).state == "completed"


def test_a_dead_process_of_another_host_keeps_its_turn_until_the_lease_expires(child):
    turn = held_by(owner_of(child.pid, host="elsewhere:1"))
    child.kill()
    child.wait()
    ledger.free_dead_leases()
    assert is_held(turn) is True


def test_a_process_that_got_the_number_of_a_dead_one_does_not_keep_its_turn(child):
    turn = held_by(owner_of(child.pid, start="1"))
    ledger.free_dead_leases()
    assert is_held(turn) is False


def test_a_process_keeps_its_own_turns():
    turn = held_by(ledger.owner())
    ledger.free_dead_leases()
    assert is_held(turn) is True
