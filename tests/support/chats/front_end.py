"""A Cedar-OS front end for tests: posts like the published package, and reads by the rules of its parser."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

from django.contrib.auth.models import User

from tests.support.machines import Answer, Machine, machine, together

#: Sent by the package with every post.
CONTEXT = {"stateSetters": {}, "setters": {}, "schemas": {}}


class FrontEnd:
    """A page with one thread. Cedar sends an empty thread if the app gave none."""

    def __init__(self, caller: Machine, thread: str = "thread-1") -> None:
        self.machine, self.thread = caller, thread

    def body(self, prompt: str = "", /, **given: Any) -> dict[str, Any]:
        body = {"prompt": prompt, "additionalContext": CONTEXT, "resourceId": "", "threadId": self.thread}
        return body | given

    def say(self, prompt: str, /, **given: Any) -> Answer:
        return self.machine.post("/chat/stream", self.body(prompt, **given))

    def ask(self, prompt: str, /, **given: Any) -> Answer:
        """Send a message without streaming."""
        return self.machine.post("/chat", self.body(prompt, **given))

    def resume(self, run: dict[str, Any], data: Any, *, stream: bool = True, **given: Any) -> Answer:
        return together(self.aresume(run, data, stream=stream, **given))[0]

    def aresume(self, run: dict[str, Any], data: Any, *, stream: bool = True, **given: Any) -> Awaitable[Answer]:
        body = self.body(runId=run["runId"], stepPath=run["stepPath"], resumeData=data) | given
        return self.machine.acall("POST", "/chat/resume" + ("/stream" if stream else ""), body)

    def paused(self, prompt: str) -> dict[str, Any]:
        """Send a message that makes the assistant ask once; return the suspension."""
        (run,) = runs(self.say(prompt))
        return run

    def open_runs(self, thread: str | None = None) -> list[str]:
        """Return the ids of the pending runs."""
        query = "" if thread is None else f"?threadId={thread}"
        return [run["runId"] for run in self.machine.get(f"/chat/suspended{query}").json["object"]]


def front_end(user: User, *scopes: str, thread: str = "thread-1") -> FrontEnd:
    return FrontEnd(machine(user, *scopes), thread)


def shown(answer: Answer) -> list[str | dict[str, Any]]:
    """Return the stream as the chat shows it, in order: texts, joined as Cedar does, and objects."""
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8"), answer.text
    assert "\r" not in answer.text
    assert answer.text.endswith("\n\n"), "Cedar drops a last event without its blank line"
    items: list[str | dict[str, Any]] = []
    *payloads, last = [event for event in answer.text.split("\n\n") if event.strip() and not event.startswith(":")]
    assert last == "event: done\ndata:"
    for event in payloads:
        assert event.startswith("data: ")
        assert "\n" not in event
        _take(items, json.loads(event.removeprefix("data: ")))
    return items


def _take(items: list[str | dict[str, Any]], data: Any) -> None:
    assert isinstance(data, dict), "a primitive becomes text, and a list is dumped"
    content = data.get("content")
    if "type" in data:
        assert not content, "it would be shown twice"
        assert data["type"] in {"humanInTheLoop", "progress_update"}, "an unknown type is dumped as JSON"
        items.append(data)
        return
    assert set(data) == {"content"}
    assert isinstance(content, str)
    assert content
    if items and isinstance(items[-1], str):
        items[-1] += content
    else:
        items.append(content)


def runs(answer: Answer) -> list[dict[str, Any]]:
    """Return the suspensions of a stream."""
    found = [item for item in shown(answer) if isinstance(item, dict) and item["type"] == "humanInTheLoop"]
    assert all({"runId", "stepPath"} <= set(run) and run["status"] == "suspended" for run in found)
    return found


def refusal(answer: Answer) -> str:
    """Return the error line of a refused stream, which holds nothing else."""
    (item,) = shown(answer)
    assert isinstance(item, dict)
    assert (item["type"], item["state"]) == ("progress_update", "error")
    return str(item["text"])
