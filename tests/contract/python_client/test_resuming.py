"""The Python client and a real server: a run is resumed by one process, and the code of the how-to page works."""

from __future__ import annotations

import asyncio
import re
import subprocess
import uuid
from typing import Any

import pytest
from pausepoint import AsyncDesk, Desk, LeaseLost, Refused, durable
from pausepoint.calls import ToolCall

from tests.contract.python_client.test_against_a_server import SOON, agent, decider  # noqa: F401 - fixtures
from tests.support.processes.server import until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

PAGE = ROOT / "docs" / "how-to" / "resume-once.md"


@pytest.fixture
def desk(server, agent):  # noqa: F811
    with Desk(server.address, agent.key) as desk:
        yield desk


def approved(desk: Desk, decider, **asked: Any) -> str:  # noqa: F811
    found = desk.ask("Pay?", tool_call_id=str(uuid.uuid4()), **{"resume_state": "the run", **asked})
    assert decider.send("POST", f"/requests/{found['id']}/decision", {"verdict": "approve"}).status == 200
    return str(found["id"])


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_python_of_the_page_pauses_and_resumes_once(desk, decider, capsys):  # noqa: F811
    ran: list[Any] = []
    (block,) = blocks("python")
    names: dict[str, Any] = {"desk": desk, "continue_run": lambda *given: ran.append(given)}
    exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 - our own docs
    request_id = names["pause"]("the run")
    names["go_on"](request_id)
    decider.send("POST", f"/requests/{request_id}/decision", {"verdict": "approve"})
    for _ in range(2):
        names["go_on"](request_id)
    ((state, outcome),) = ran
    assert (state, outcome.status, outcome.input) == ("the run", "approved", {"amount": 120})
    assert capsys.readouterr().out.split() == ["not_decided", "already_resumed"]


def test_the_command_of_the_page_takes_the_resume(server, agent, desk, decider):  # noqa: F811
    request_id = approved(desk, decider)
    _ask, block = blocks("sh")
    environment = {"DESK": server.address, "KEY": agent.key, "ID": request_id, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", block], env=environment, capture_output=True, text=True, check=True)
    assert '"state":"the run"' in done.stdout.replace('": ', '":')
    with pytest.raises(Refused, match="resume_taken"), desk.resume(request_id):
        pass


def test_an_error_gives_the_resume_back_and_a_lease_is_renewed_meanwhile(server, desk, decider):  # noqa: F811
    request_id = approved(desk, decider)
    with pytest.raises(ZeroDivisionError), desk.resume(request_id):
        _ = 1 / 0
    with desk.resume(request_id, lease=9) as resume:
        first = resume.until
        until(lambda: resume.until > first + 9, "the lease was renewed beyond its first end", SOON)
        assert (resume.lost, resume.attempt) == (False, 2)
    with pytest.raises(Refused, match="already_resumed"), desk.resume(request_id):
        pass
    events = server.rows(
        "SELECT event FROM approvals_auditentry WHERE request_id = ? AND event LIKE 'resume.%' ORDER BY id",
        request_id.replace("-", ""),
    )
    assert [event for (event,) in events] == ["resume.taken", "resume.released", "resume.taken", "resume.completed"]


def test_who_loses_the_lease_to_another_process_is_told(desk, server, agent, decider):  # noqa: F811
    request_id = approved(desk, decider)
    ended = "from approvals.models import Resumption\nResumption.objects.filter(pk=%r).update(leased_until='2026-01-01T00:00Z')"

    def freeze_and_resume() -> None:
        with Desk(server.address, agent.key) as other, desk.resume(request_id, by="worker-1", lease=3) as resume:
            # As if the process had been frozen for longer than its lease.
            server.run(ended % request_id)
            with other.resume(request_id, by="worker-2") as later:
                until(lambda: resume.lost, "a renewal was refused", SOON)
                document = later.taken[0].document
                assert (later.attempt, document["lost_by"]) == (2, "API key remote of requester (worker-1)")

    with pytest.raises(LeaseLost, match="worker-2") as lost:
        freeze_and_resume()
    assert lost.value.request_id == request_id


def test_two_requests_of_one_run_are_resumed_together_on_a_loop(server, agent, desk, decider):  # noqa: F811
    first, second = approved(desk, decider, resume_state=None), approved(desk, decider)

    async def story() -> tuple[Any, ...]:
        async with AsyncDesk(server.address, agent.key) as own, own.resume(first, second) as resume:
            with pytest.raises(Refused, match="resume_taken"):
                async with own.resume(second):
                    pass
            return resume.state, list(resume.outcomes), resume.outcomes[first].status

    assert asyncio.run(story()) == ("the run", [first, second], "approved")
    for request_id in (first, second):
        with pytest.raises(Refused, match="already_resumed"), desk.resume(request_id):
            pass


def test_a_run_is_found_behind_requests_of_a_process_that_died_before_it_stored_its_own(server, agent, decider):  # noqa: F811
    async def story() -> Any:
        async with AsyncDesk(server.address, agent.key) as desk:
            calls = [ToolCall(name, str(uuid.uuid4()), {"of": name}) for name in ("refund", "drop")]
            wanted = [durable.Wanted(call, question=False) for call in calls]
            stored = await durable.store(desk, wanted, {"turn": 1})
            workflow = (await desk.get(stored.request_ids[0]))["workflow_id"]
            late = await desk.ask("Refund?", tool_name="refund", workflow_id=workflow)
            with pytest.raises(durable.NotYet) as early:
                async with durable.stored_run(desk, late["id"]):
                    pass
            for request_id in (*stored.request_ids, late["id"]):
                reply = await asyncio.to_thread(
                    decider.send, "POST", f"/requests/{request_id}/decision", {"verdict": "approve"}
                )
                assert reply.status == 200
            async with durable.stored_run(desk, late["id"]) as run:
                found = run.run, {call: outcome.input for call, outcome in run.outcomes.items()}
            assert found == ({"turn": 1}, {call.id: call.input for call in calls})
            return len(early.value.resumption.requests)

    assert asyncio.run(story()) == 3
