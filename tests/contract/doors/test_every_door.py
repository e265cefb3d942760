"""One request and everything that can ask, decide or wait, at one moment: the first decision wins, and all are told of it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from pausepoint import Desk

from tests.contract.ai_sdk.test_real_clients import Chat
from tests.contract.doors import askers, doors
from tests.contract.doors.doors import Pressed
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server, until
from tests.support.services import ROUNDS

pytestmark = pytest.mark.server

VERDICTS = ("approve", "reject")


@pytest.fixture(scope="package")
def deciders(server: Server) -> list[Remote]:
    """A key for each program that decides; its name says in the record which one it was."""
    names = ("rest", "python", "command")
    return [Remote(server, "admin", key=server.key("admin", "decide", "read", name=name)) for name in names]


@pytest.fixture(scope="package")
def requester(server: Server) -> Remote:
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="package")
def reader(server: Server) -> Remote:
    return Remote(server, "approver", ("read",))


def pressed_at_once(all_doors: list[doors.Door]) -> list[Pressed]:
    gate = Barrier(len(all_doors))

    def press(door: doors.Door) -> Pressed:
        gate.wait(PATIENCE)
        return door()

    with ThreadPoolExecutor(len(all_doors)) as pool:
        return list(pool.map(press, all_doors))


def waiting(reader: Remote, request: str, pool: ThreadPoolExecutor) -> list[Future[str]]:
    """Programs that wait for the decision, each in its own way; each gets the decider's name."""
    rest = pool.submit(lambda: reader.send("GET", f"/requests/{request}?wait=60").body["decision"]["by"])
    client = pool.submit(lambda: Desk(reader.server.address, reader.key).wait(request).by)
    mcp = pool.submit(lambda: askers.check(reader, request))
    return [rest, client, mcp]


def made_ready(server, driver, owner_key, cedar_page, deciders, chat, request, contrary) -> dict[str, doors.Door]:
    """Every door by the name that its decision has in the record; neighbours want the contrary."""
    rest, client, command = deciders
    ways = {
        "page": lambda verdict: doors.page(server, "admin", request, verdict),
        "bulk": lambda verdict: doors.bulk(server, "approver", request, verdict),
        "rest": lambda verdict: doors.rest(rest, request, verdict),
        "client": lambda verdict: doors.client(client, request, verdict),
        "command": lambda verdict: doors.command(command, request, verdict),
        "ai-sdk": lambda verdict: doors.ai_sdk(driver, server, owner_key, chat, verdict),
        "cedar": lambda verdict: doors.cedar(cedar_page, request, verdict),
    }
    return {name: way(VERDICTS[(place + contrary) % 2]) for place, (name, way) in enumerate(ways.items())}


@pytest.mark.parametrize("first", ["page", "bulk", "rest", "client", "command", "ai-sdk", "cedar", *["any"] * ROUNDS])
def test_the_first_door_wins_and_all_others_are_told_who_won(
    first, server, driver, owner_key, cedar_page, deciders, reader
):
    chat = Chat(driver, server, owner_key).do("send", text="approve refund")
    call = chat.calls("issueRefund")[0]["toolCallId"]
    request = str(UUID(server.value("SELECT id FROM approvals_approvalrequest WHERE tool_call_id = ?", call)))
    cedar_page.do("open", thread=chat.id)
    all_doors = made_ready(server, driver, owner_key, cedar_page, deciders, chat, request, len(first))
    with ThreadPoolExecutor() as pool:
        told = waiting(reader, request, pool)
        answers = {} if first == "any" else {first: all_doors.pop(first)()}
        answers |= dict(zip(all_doors, pressed_at_once(list(all_doors.values())), strict=True))
        names = [future.result(PATIENCE) for future in told]
    key = request.replace("-", "")
    ((verdict, by),) = server.rows("SELECT verdict, by_name FROM approvals_decision WHERE request_id = ?", key)
    (winner,) = [name for name, pressed in answers.items() if pressed.won]
    assert first in {winner, "any"}
    assert [pressed.told for pressed in answers.values() if not pressed.won and by not in pressed.told] == []
    assert names == [by, by, by]
    until(lambda: chat.stored()[-1]["parts"][-1]["type"] == "text", "the turn goes on")
    ran = server.value("SELECT attempt FROM chats_toolcall WHERE tool_call_id = ?", call)
    assert ran == int(verdict == "approve")
    events = dict(server.rows("SELECT event, count(*) FROM approvals_auditentry WHERE request_id = ? GROUP BY 1", key))
    assert (events["request.decided"], events["tool.result"]) == (1, 1)


@pytest.mark.parametrize("asker", [askers.rest, askers.client, askers.mcp, askers.claude_code, askers.codex])
def test_however_it_was_asked_its_program_is_told_of_the_first_decision(asker, server, deciders, reader, requester):
    tool = f"refund_{uuid4().hex}"
    rest, client, command = deciders
    with ThreadPoolExecutor() as pool:
        asking = pool.submit(asker, requester, tool)
        (found,) = until(lambda: [one for one in pending(reader) if one["tool_name"] == tool], "it is asked", PATIENCE)
        request = found["id"]
        all_doors = [
            doors.page(server, "admin", request, "approve"),
            doors.bulk(server, "approver", request, "reject"),
            doors.rest(rest, request, "approve"),
            doors.client(client, request, "reject"),
            doors.command(command, request, "approve"),
        ]
        told = waiting(reader, request, pool)
        answers = pressed_at_once(all_doors)
        names = [future.result(PATIENCE) for future in told]
        approved = asking.result(PATIENCE)
    verdict, by = server.rows(
        "SELECT verdict, by_name FROM approvals_decision WHERE request_id = ?", request.replace("-", "")
    )[0]
    assert [pressed.won for pressed in answers].count(True) == 1
    assert [pressed.told for pressed in answers if not pressed.won and by not in pressed.told] == []
    assert (approved, names) == (verdict == "approve", [by, by, by])


def pending(reader: Remote) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = reader.send("GET", "/requests?status=pending").body["items"]
    return found
