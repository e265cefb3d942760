"""Two web processes and a worker behind one Redis: changes in one show in the others at once."""

from __future__ import annotations

import time

import pytest

from tests.proofs.team.desk import Desk, copied_database
from tests.proofs.team.reciter import FIRST_PIECE, HELD, REST, WHOLE
from tests.proofs.team.windows import Window, say
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("real_processes")]

WEBS = ("web", "web 2")


@pytest.fixture(scope="module")
def desk(redis, tmp_path_factory):
    folder = tmp_path_factory.mktemp("push")
    # Nothing dies here, so nothing may be taken over either, however slow the machine is.
    desk = Desk(folder, DATABASE_URL=copied_database(), REDIS_URL=redis.url, SHORT_LEASE="", PULSE_PATIENCE="240")
    try:
        desk.tend(*WEBS, "worker 1")
        desk.work()
        yield desk
    finally:
        desk.end()


@pytest.fixture
def held(desk):
    """Turns of the reciter stop in the middle of their sentence until this is called."""
    desk.release.unlink(missing_ok=True)
    yield lambda: desk.release.write_text("go on")
    desk.release.write_text("go on")


def test_a_decision_made_at_one_web_process_is_pushed_to_a_dashboard_at_the_other(desk):
    alice, bob, carol = desk.at("web", "requester"), desk.at("web 2", "approver"), desk.at("web", "auditor")
    with_carol = Window(carol, f"/ws/desk/?since={int(time.time())}", port=desk.ports["web"])
    chat = alice.start_chat("charge 17", agent="cashier")
    desk.wait_for_turn(chat, "suspended")
    ((request,),) = desk.rows("SELECT id FROM approvals_approvalrequest WHERE scope = %s", f"chat:{chat}")
    asked = with_carol.until(f'id="request-{request}"')
    assert bob.decide(str(request), verdict="approve").status == 302
    with_carol.until("Approved</b>", after=asked)
    desk.wait_for_turn(chat, "completed")
    with_carol.until("state-completed", after=asked)
    assert with_carol.find("Delayed") == 0
    with_carol.close()


@pytest.mark.parametrize("web", WEBS)
def test_a_worker_s_words_reach_a_chat_client_in_pieces_before_the_turn_has_ended(desk, held, web):
    key, chat = desk.key("requester"), f"stream-{web[-1]}"
    call = say(desk.ports[web], key, chat, "recite", agent="reciter")
    until(lambda: call.text == FIRST_PIECE, "the first words come")
    state = "SELECT t.state FROM chats_turn t JOIN chats_chat c ON c.id = t.chat_id WHERE c.public_id = %s"
    assert (desk.rows(state, chat), call.over) == ([("running",)], False)
    held()
    call.wait()
    deltas = [chunk["delta"].strip() for chunk in call.chunks if chunk["type"] == "text-delta"]
    assert (deltas, call.cut, call.lines[-2]) == (WHOLE.split(), False, "data: [DONE]")


@pytest.mark.parametrize("web", WEBS)
def test_a_worker_s_words_reach_a_chat_page_in_pieces_before_the_turn_has_ended(desk, held, web):
    alice = desk.at(web, "requester")
    chat = alice.start_chat("recite", agent="reciter")
    page = Window(alice, f"/ws/chats/{chat}/", port=desk.ports[web])
    seen = page.until(f">{HELD} <")
    assert desk.turn(chat) == "running"
    held()
    # Piece by piece in the live element, and the stored message in its place when it is whole.
    for word in REST.split():
        seen = page.until(word, after=seen - 1)
    page.until(WHOLE)
    page.close()


def test_stop_at_a_web_process_cuts_a_worker_s_turn_at_once(desk, held):
    alice = desk.at("web 2", "requester")
    chat = alice.start_chat("recite", agent="reciter")
    page = Window(alice, f"/ws/chats/{chat}/", port=desk.ports["web 2"])
    page.until(f">{HELD} <")
    renewed = "SELECT lease_until FROM chats_turn WHERE chat_id = %s"
    before = desk.rows(renewed, chat)
    assert alice.post(f"/chats/{chat}/stop/").status == 302
    desk.wait_for_turn(chat, "stopped")
    assert not desk.release.exists()
    assert before
    page.until("Stopped")
    page.close()
