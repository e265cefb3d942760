#!/usr/bin/env bash
# Burr: an application is run with `halt_before=["pay"]`, so that people approve before it pays. Its state is persisted at the halt. Before
# they have answered, the same line runs again: a retried request, a webhook that comes twice, a worker that has restarted.
# Guess: it halts before the action again, as the parameter says, and pays nothing. Seen: the conditions are compared after each action,
# never before the first one, so the second call pays. `iterate`, `arun` and `stream_result` do the same, a tag is no better, and an
# application whose first action is the gated one never halts. To be safe, look at `get_next_action()` before each call.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apache-burr==0.43.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import asyncio
import logging
from importlib.metadata import version

from burr.core import ApplicationBuilder, action
from burr.core.persistence import SQLitePersister

logging.disable(logging.CRITICAL)
ran = []


@action(reads=[], writes=["amount"])
def plan(state):
    ran.append("plan")
    return state.update(amount=5)


@action(reads=["amount"], writes=[], tags=["people"])
def pay(state):
    ran.append("pay")
    return state


@action(reads=[], writes=[])
def report(state):
    ran.append("report")
    return state


def application(name, first="plan"):
    """Build the application as a worker does when it starts: from what is stored, or from its first action."""
    store = SQLitePersister(db_path="state.db", table_name="state")
    store.initialize()
    return (
        ApplicationBuilder()
        .with_actions(plan, pay, report)
        .with_transitions(("plan", "pay"), ("pay", "report"))
        .with_identifiers(app_id=name)
        .initialize_from(store, resume_at_next_action=True, default_state={"amount": 5}, default_entrypoint=first)
        .with_state_persister(store)
        .build()
    )


def run(app, gate="pay"):
    app.run(halt_before=[gate])


def run_by_tag(app):
    run(app, "@tag:people")


def run_async(app):
    asyncio.run(app.arun(halt_before=["pay"]))


def iterate(app):
    for _ in app.iterate(halt_before=["pay"]):
        pass


def stream(app):
    app.stream_result(halt_before=["pay"], halt_after=["report"])[1].get()


def guarded(app):
    if app.get_next_action().name != "pay":
        run(app)


def twice(call):
    """Run the same line in two workers, one after the other; return what has run after each."""
    ran.clear()
    runs = []
    for _ in range(2):
        call(application(call.__name__))
        runs.append(list(ran))
    return runs


halted, paid = ["plan"], ["plan", "pay", "report"]
seen = {call.__name__: twice(call) for call in (run, run_by_tag, run_async, iterate, stream, guarded)}
ran.clear()
run(application("gated first", first="pay"))
print("apache-burr", version("apache-burr"), "expected", [halted, halted], "seen", seen, "gated first:", ran)
assert seen.pop("guarded") == [halted, halted]
assert all(runs == [halted, paid] for runs in seen.values()), seen
assert ran == ["pay", "report"]
PYTHON
