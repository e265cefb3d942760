#!/usr/bin/env bash
# LlamaIndex workflows: two parallel runs of a step each wait for a person's answer with a `waiter_id` of their own.
# Guess: each answer ends one wait, so one answer leaves the other waiting. Seen: one answer ends both, because a wait takes any event of its
# type; only `requirements` bind an answer to its question, and then the answers may come in any order.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check llama-index-workflows==2.26.1
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent


class Question(InputRequiredEvent):
    number: int


class Answer(HumanResponseEvent):
    number: int
    text: str


class Task(Event):
    number: int


class Answered(Event):
    words: str


class Desk(Workflow):
    bound = False

    @step
    async def begin(self, ctx: Context, ev: StartEvent) -> Task | None:
        for number in (1, 2):
            ctx.send_event(Task(number=number))

    @step(num_workers=2)
    async def ask(self, ctx: Context, ev: Task) -> Answered:
        more = {"requirements": {"number": ev.number}} if self.bound else {}
        asked = Question(number=ev.number)
        answer = await ctx.wait_for_event(Answer, waiter_id=f"question-{ev.number}", waiter_event=asked, **more)
        return Answered(words=f"{ev.number}: {answer.text}")

    @step
    async def end(self, ctx: Context, ev: Answered) -> StopEvent | None:
        both = ctx.collect_events(ev, [Answered] * 2)
        return StopEvent(result=sorted(each.words for each in both)) if both else None


class BoundDesk(Desk):
    bound = True


async def outcome(desk, *answers):
    """Answer once both questions are asked; return the result."""
    run, asked = desk(timeout=20).run(), 0
    async for event in run.stream_events():
        asked += isinstance(event, Question)
        if isinstance(event, Question) and asked == 2:
            for number, text in answers:
                run.ctx.send_event(Answer(number=number, text=text))
    return await run


one_for_both = asyncio.run(outcome(Desk, (1, "yes")))
each_its_own = asyncio.run(outcome(BoundDesk, (2, "no"), (1, "yes")))
print("llama-index-workflows", version("llama-index-workflows"), one_for_both, each_its_own)
assert one_for_both == ["1: yes", "2: yes"]
assert each_its_own == ["1: yes", "2: no"]
PYTHON
