#!/usr/bin/env bash
# Durable Task (Azure Durable Functions' engine, Python): an orchestration waits for the event "approval" beside a timer, reminds people when the
# timer fires, and waits again. People answer after the first reminder.
# Guess: the wait that goes on gets the answer, since the other one has lost its `when_any`. Seen: waits of a name are served in the
# order in which they began, also those that nobody looks at any more. The first wait takes the answer, so the run goes on reminding and
# expires with a yes in its history; n reminders take n answers. With the same name for the next question, an answer to that one is lost. It
# works if the lost wait is canceled, or if one wait is kept for all rounds.
# Fails if that has changed. (About 40 seconds, with the in-memory backend of the package on a port of this machine.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check durabletask==1.12.0
"$folder/venv/bin/python" - <<'PYTHON'
import logging
import socket
import threading
from datetime import timedelta
from importlib.metadata import version

from durabletask import task
from durabletask.client import TaskHubGrpcClient
from durabletask.testing import create_test_backend
from durabletask.worker import TaskHubGrpcWorker

ROUNDS = timedelta(seconds=2), timedelta(seconds=20)
reminded = {}


def remind(context, instance):
    reminded[instance].release()


def until_answered(context, next_wait):
    """Wait two rounds for an answer, with a reminder after each; return the answer."""
    wait = None
    for length in ROUNDS:
        wait = next_wait(wait)
        timer = context.create_timer(length)
        if (yield task.when_any([wait, timer])) is wait:
            timer.cancel()
            return wait.get_result()
        yield context.call_activity(remind, input=context.instance_id)
    return "expired"


def plain(context, _):
    return (yield from until_answered(context, lambda wait: context.wait_for_external_event("approval")))


def canceled(context, _):
    def next_wait(wait):
        if wait:
            wait.cancel()
        return context.wait_for_external_event("approval")

    return (yield from until_answered(context, next_wait))


def kept(context, _):
    return (yield from until_answered(context, lambda wait: wait or context.wait_for_external_event("approval")))


def outcome(client, orchestration, *answers):
    """Start a run, send the answers after the first reminder, and return what the run returns."""
    name = f"{orchestration.__name__}-{len(reminded)}"
    reminded[name] = threading.Semaphore(0)
    client.schedule_new_orchestration(orchestration, instance_id=name)
    client.wait_for_orchestration_start(name, timeout=30)
    assert reminded[name].acquire(timeout=60)
    for answer in answers:
        client.raise_orchestration_event(name, "approval", data=answer)
    state = client.wait_for_orchestration_completion(name, timeout=60)
    return state.runtime_status.name, state.serialized_output


logging.disable(logging.CRITICAL)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
backend = create_test_backend(port=port)
address = f"localhost:{port}"
worker, client = TaskHubGrpcWorker(host_address=address), TaskHubGrpcClient(host_address=address)
for orchestration in (plain, canceled, kept):
    worker.add_orchestrator(orchestration)
worker.add_activity(remind)
with worker:
    worker.start()
    seen = {
        "plain": outcome(client, plain, "yes"),
        "plain, answered twice": outcome(client, plain, "yes", "no"),
        "lost wait canceled": outcome(client, canceled, "yes"),
        "one wait kept": outcome(client, kept, "yes"),
    }
client.close()
backend.stop()
print("durabletask", version("durabletask"), "expected a yes in each, seen", seen)
assert seen == {
    "plain": ("COMPLETED", '"expired"'),
    "plain, answered twice": ("COMPLETED", '"no"'),
    "lost wait canceled": ("COMPLETED", '"yes"'),
    "one wait kept": ("COMPLETED", '"yes"'),
}
PYTHON
