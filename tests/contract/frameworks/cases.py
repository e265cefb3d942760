"""The cases that every adapter has to pass: no call runs twice, and none runs that people have not approved.

A framework has a program that plays the messages of a model (`agent.py THREAD`, see `shared/program.py`), and a test:

    @pytest.mark.cases("langchain", without=["condition"])
    def test_nothing_runs_unasked_or_twice(case, agent, tmp_path):
        case(Play(agent, tmp_path))

The effects of all processes are lines of one file. ROUNDS=20 repeats each case with a kill or with two processes 20 times.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.contract import table
from tests.contract.frameworks.conftest import SOON, Agent, told
from tests.contract.frameworks.lost_connections import desk_that_comes_back
from tests.support.processes.policies import apply_rules
from tests.support.processes.server import Server, until
from tests.support.services import ROUNDS

REFUND = {"order": "4711", "amount": 250}
CHANGED = {"order": "4711", "amount": 99}
#: The rules of the desk deny the first refund and stop the run if no one decides the second one.
DENIED = {"order": "4711", "amount": 13}
HALTED = {"order": "4711", "amount": 14}
OTHER = {"order": "4712", "amount": 30}
RULES = [
    {
        "name": f"{then} {amount}",
        "match": {"tools": ["refund"], "input": [{"pointer": "/amount", "type": "amount", "equals": amount}]},
        "then": then,
        **more,
    }
    for amount, then, more in (
        (13, "deny", {"message": "Ask finance."}),
        (14, "ask", {"ask": {"deadline": {"after": 600, "then": "halt"}}}),
    )
]
#: Where a refund hangs when its process is killed, and people's decision if they are asked whether it may run again.
MOMENTS = {"before the effect": "approve", "after the effect": "reject"}
AGAIN = "Run refund again?"

Request = dict[str, Any]


@functools.cache
def apply_rules_once(server: Server) -> None:
    apply_rules(server, *RULES)


class Effects:
    """The effects of an agent's tools in any process, and the moments before a kill."""

    def __init__(self, agent: Agent, folder: Path) -> None:
        self.file = folder / "effects"
        agent.environment["EFFECTS"] = str(self.file)

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    def ran(self) -> list[Any]:
        return [json.loads(line) for line in self.lines() if not line.startswith("waits ")]


class Play(Effects):
    """The programs of one agent, the messages that its model plays, and the effects of its tools.

    With `again`, the framework can't change the input of a call: its model makes an edited call again. With `in_turn`, it asks
    about the calls of a message one after the other. With `all_first`, no call runs before all of a message are decided.
    """

    def __init__(
        self,
        agent: Agent,
        folder: Path,
        *,
        again: bool = False,
        in_turn: bool = False,
        all_first: bool = False,
    ) -> None:
        super().__init__(agent, folder)
        self.agent = agent
        self.again = again
        self.in_turn = in_turn
        self.all_first = all_first
        apply_rules_once(agent.asker.server)

    def call(self, tool: str, arguments: dict[str, Any], label: str = "") -> list[Any]:
        """Return a call of the model. Its id contains the thread: the ids of real models are unique."""
        return [f"{self.agent.thread}-{label or tool}", tool, arguments]

    def model(self, *messages: list[list[Any]]) -> None:
        """Let the model play these messages, each a list of calls, and then say that it is done."""
        self.agent.environment["SCRIPT"] = json.dumps(messages)

    def effects(self) -> list[Any]:
        """Return the effects, sorted."""
        return sorted(self.ran(), key=str)

    def waiting(self, tool: str) -> Request:
        """Return the waiting request about a tool, also beside others."""

        def requests() -> list[Request]:
            assert self.agent.program.poll() is None, self.agent.program.communicate()[1][-4000:]
            return [request for request in self.agent.every_waiting() if request["tool_name"] == tool]

        return until(requests, f"{tool} waits", SOON)[0]

    def end(self, *programs: Any, answer: Callable[[Request], object]) -> None:
        """Answer each request as it comes, until the programs have ended."""

        def have_ended() -> bool:
            for request in self.agent.every_waiting():
                answer(request)
            return all(program.poll() is not None for program in programs)

        until(have_ended, "the programs have ended", SOON)

    def run(self, answer: Callable[[Request], object]) -> list[str]:
        """Run the program to its end and answer each request; return what the model has read of its calls."""
        program = self.agent.start()
        self.end(program, answer=answer)
        return list(told(program)["read"])

    def approve(self, request: Request) -> None:
        self.agent.decide(request, "approve")

    def reject(self, request: Request) -> None:
        self.agent.decide(request, "reject")

    def approve_refunds(self, request: Request) -> None:
        """Approve the refund and reject everything else."""
        self.agent.decide(request, "approve" if request["tool_name"] == "refund" else "reject")

    def kill(self) -> None:
        self.agent.program.kill()
        self.agent.program.communicate()

    def rounds(self) -> Iterator[None]:
        """Begin a new thread for each round."""
        for _ in range(ROUNDS):
            self.file.unlink(missing_ok=True)
            self.agent.begin_thread()
            yield


def parts(texts: list[str], words: str) -> int:
    """Return how many of the texts contain these words."""
    return sum(words in text for text in texts)


def approve(play: Play) -> None:
    """What was approved runs with its result, and not again when the agent is started again."""
    play.model([play.call("refund", REFUND)])
    read = play.run(play.approve)
    assert (play.effects(), parts(read, "refunded 250")) == ([["4711", 250]], 1)
    again = play.run(play.reject)
    assert (play.effects(), parts(again, "refunded 250")) == ([["4711", 250]], 1)


def edit(play: Play) -> None:
    """What was changed runs as it was changed, and the model is told the change and the words."""
    repeated = [[play.call("refund", CHANGED, "again")]] if play.again else []
    play.model([play.call("refund", REFUND)], *repeated)
    read = play.run(lambda request: play.agent.decide(request, "edit", edited_input=CHANGED, comment="Half."))
    assert play.effects() == [["4711", 99]]
    assert (parts(read, "A person changed the input of this call to"), parts(read, "Half.")) == (1, 1)


def reject(play: Play) -> None:
    """What was rejected does not run, and the model is told the words."""
    play.model([play.call("refund", REFUND)])
    read = play.run(lambda request: play.agent.decide(request, "reject", comment="Not on a Friday"))
    assert (play.effects(), parts(read, "Not on a Friday")) == ([], 1)


def expire(play: Play) -> None:
    """What no one decides does not run, and the model is told why."""
    play.model([play.call("refund", REFUND)])
    read = play.run(lambda request: play.agent.let_expire(request))
    assert (play.effects(), parts(read, "No one decided in time")) == ([], 1)


def denied(play: Play) -> None:
    """What a rule denies does not run, no one is asked, and the model is told the words of the rule."""
    play.model([play.call("refund", DENIED)])
    asked: list[Request] = []
    read = play.run(asked.append)
    assert (play.effects(), asked, parts(read, "Ask finance.")) == ([], [], 1)


def halted(play: Play) -> None:
    """At a deadline at which the policy stops the run, the call does not run, and the model or the program is told so."""
    play.model([play.call("refund", HALTED)])
    program = play.agent.start()
    play.end(program, answer=lambda request: play.agent.let_expire(request))
    assert play.effects() == []
    assert "the policy stops the run now" in "".join(program.communicate())


def grant(play: Play) -> None:
    """A call that a grant covers runs without asking."""
    play.model([play.call("refund", REFUND)], [play.call("refund", REFUND, "second")])
    asked: list[Request] = []

    def give(request: Request) -> None:
        asked.append(request)
        play.agent.decide(request, "approve", grant={"covers": "input", "audience": "thread", "uses": 1})

    play.run(give)
    assert (play.effects(), len(asked)) == ([["4711", 250]] * 2, 1)


def raises(play: Play) -> None:
    """An approved tool that raises is recorded as failed, and does not run again when the agent is started again."""
    play.agent.environment["LOCKED"] = "yes"
    play.model([play.call("drop", {"table": "orders"})])
    asked: list[Request] = []

    def approve_once(request: Request) -> None:
        asked.append(request)
        play.approve(request)

    play.end(play.agent.start(), answer=approve_once)
    # The words are those of the tool or of the framework.
    assert play.agent.failure(asked[0])
    play.end(play.agent.start(), answer=play.reject)
    assert (play.effects(), len(asked)) == (["orders"], 1)


def siblings(play: Play) -> None:
    """Of two gated calls and a free one in a message, both are asked about at once, and the free one runs without asking."""
    play.model(
        [play.call("refund", REFUND), play.call("drop", {"table": "orders"}), play.call("look", {"order": "4711"})]
    )
    program = play.agent.start()
    if not play.in_turn:
        play.agent.waiting(2)
        until(lambda: play.effects() in ([], ["looked"]), "nothing else has run")
    play.end(program, answer=play.approve_refunds)
    told(program)
    assert play.effects() == [["4711", 250], "looked"]


def partial(play: Play) -> None:
    """An approved call whose sibling waits runs once, also if the process is killed meanwhile."""
    play.model([play.call("refund", REFUND), play.call("drop", {"table": "orders"})])
    play.agent.start()
    refund = play.waiting("refund")
    play.approve(refund)
    if not play.all_first:
        until(lambda: play.agent.whole(refund)["result"], "its result is reported", SOON)
    play.waiting("drop")
    assert play.effects() == ([] if play.all_first else [["4711", 250]])
    play.kill()
    play.run(play.reject)
    assert play.effects() == [["4711", 250]]


def same_ids(play: Play, call_id: str) -> None:
    play.model([[call_id, "refund", REFUND], [call_id, "refund", OTHER]])

    def approve_the_first(request: Request) -> None:
        play.agent.decide(request, "approve" if play.agent.whole(request)["input"] == REFUND else "reject")

    program = play.agent.start()
    play.end(program, answer=approve_the_first)
    assert play.effects() in ([], [["4711", 250]]), program.communicate()[1][-2000:]


def no_id(play: Play) -> None:
    """Of calls without ids, nothing runs but what was approved."""
    same_ids(play, "")


def repeated_id(play: Play) -> None:
    """Of calls with the same id, nothing runs but what was approved."""
    same_ids(play, f"{play.agent.thread}-refund")


def condition(play: Play) -> None:
    """A rejected call does not run though the condition by which it was asked about is false by then."""
    calm = play.file.with_name("calm")
    play.agent.environment["CALM"] = str(calm)
    play.model([play.call("refund", REFUND), play.call("drop", {"table": "orders"})])
    program = play.agent.start()
    refund = play.waiting("refund")
    drop = play.waiting("drop")
    calm.touch()
    play.reject(refund)
    play.approve(drop)
    play.end(program, answer=play.reject)
    told(program)
    assert (play.effects(), play.agent.result(drop)) == (["orders"], "dropped")


def killed(play: Play) -> None:
    """A process is killed when its approved call is about to run or has just run. People are asked whether it may run again."""
    for _ in play.rounds():
        for moment, verdict in MOMENTS.items():
            play.file.unlink(missing_ok=True)
            play.agent.begin_thread()
            play.model([play.call("refund", REFUND), play.call("drop", {"table": "orders"})])
            kill_at(play, moment)
            again: list[Request] = []

            def decide_again(request: Request, verdict: str = verdict, again: list[Request] = again) -> None:
                if request["title"] == AGAIN:
                    again.append(play.agent.whole(request))
                play.agent.decide(request, verdict if request["title"] == AGAIN else "reject")

            play.run(decide_again)
            assert [request["input"] for request in again] == [REFUND]
            assert play.effects() == [["4711", 250]]


def kill_at(play: Play, moment: str) -> None:
    """Approve the refund and kill the process at that moment. Its sibling waits, unless the framework needs all decisions."""
    play.agent.environment["HANG"] = moment
    play.agent.start()
    refund = play.waiting("refund")
    play.approve(refund)

    def hangs() -> bool:
        if play.all_first:
            for request in play.agent.every_waiting():
                play.reject(request)
        return play.lines()[-1:] == [f"waits {moment}"]

    until(hangs, f"it waits {moment}", SOON)
    play.kill()
    del play.agent.environment["HANG"]
    play.agent.lose_lease(refund)


def together(play: Play) -> None:
    """Of two processes of one thread, one runs what was approved."""
    for _ in play.rounds():
        play.model([play.call("refund", REFUND), play.call("drop", {"table": "orders"})])
        programs = [play.agent.start(), play.agent.start()]
        play.end(*programs, answer=play.approve_refunds)
        for program in programs:
            told(program)
        assert play.effects() == [["4711", 250]]


def away(play: Play) -> None:
    """While the desk is away, nothing runs; when it is back, people are asked, and what they approve runs once."""
    play.model([play.call("refund", REFUND)])
    with desk_that_comes_back(play.agent, after=3):
        read = play.run(play.approve)
    assert (play.effects(), parts(read, "refunded 250")) == ([["4711", 250]], 1)


#: The cases by the names of their columns in docs/reference/protocols.md.
FUNCTIONS = (
    approve,
    edit,
    reject,
    expire,
    raises,
    partial,
    condition,
    killed,
    together,
    denied,
    halted,
    grant,
    siblings,
    no_id,
    repeated_id,
    away,
)
CASES = {function.__name__.replace("_", "-"): function for function in FUNCTIONS}
assert tuple(CASES) == table.CASES
