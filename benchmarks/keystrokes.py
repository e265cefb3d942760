"""Count the keys that a person presses to decide a full inbox.

    .venv/bin/python -m benchmarks.keystrokes [REQUESTS]

A real server and a headless Chromium. Of every twenty requests ten are plain approvals (of all priorities but critical), four are
emails of 40 lines, two are edits of a file, three are questions with options and one is a critical approval, whose name has to be
typed. All are decided by keyboard alone, from the freshly opened inbox to the last request, and the keys of each are counted. An
email or an edit takes another `a` for each part that was not on the screen. The goal is at most 100 keys for 60 requests; if they
take more, the script ends with status 1.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from playwright.sync_api import Error, Page, sync_playwright

from tests.support.processes.server import Server
from tests.support.services import CHROMIUM

#: Keys for each request.
GOAL = 100 / 60
#: Milliseconds after which a key that did not decide has shown the next part.
SHOWN = 1500
TOOL = "wipe"
ASK = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from approvals import actions
from approvals.asking.asks import Ask
from approvals.states import Kind, Priority
owner = User.objects.get(username="requester")
priorities = [Priority.NORMAL, Priority.HIGH, Priority.LOW]
for number in range({requests}):
    workflow = actions.open_workflow(scope="key:1", key=f"bench-{{number}}", title="Bench", source="api", owner=owner)
    given = {{"order": str(number), "amount": number * 10, "reason": "The parcel came back"}}
    more = {{"priority": priorities[number % 3]}}
    if number % 5 == 0:
        more["deadline_at"] = timezone.now() + timedelta(minutes=50)
    ask = Ask(kind=Kind.APPROVAL, title=f"Refund {{number}}", tool_name="refund", input=given, **more)
    place = number % 20
    if place in (2, 7, 12, 17):
        lines = [f"Line {{line}} of the letter about your order {{number}}." for line in range(40)]
        mail = {{"to": "j.meyer@nordwind.example", "subject": f"Order {{number}}", "body": "\\n".join(lines)}}
        ask = Ask(kind=Kind.APPROVAL, title=f"Write about {{number}}", tool_name="sendEmail", input=mail)
    elif place in (5, 15):
        before = [f"value_{{line}} = {{line}}" for line in range(30)]
        after = [line.replace("= 1", "= 2") for line in before]
        edit = {{"file_path": "/srv/a.py", "old_string": "\\n".join(before), "new_string": "\\n".join(after)}}
        ask = Ask(kind=Kind.APPROVAL, title=f"Edit {{number}}", tool_name="Edit", input=edit)
    elif place in (4, 9, 14):
        options = [{{"label": "Small"}}, {{"label": "Large"}}]
        ask = Ask(kind=Kind.QUESTION, title=f"Which size, {{number}}?", options=options)
    elif place == 19:
        ask = Ask(kind=Kind.APPROVAL, title=f"Wipe {{number}}", tool_name="wipe", input=given, priority=Priority.CRITICAL)
    actions.request_approval(workflow, ask, requested_by=owner)
"""
#: The request in the pane, once a key may decide it: its id and what it is; null while there is none.
OPEN = """decided => {
  const pane = window.pausepoint.pane, card = pane.isLoaded() && pane.isSettled() && pane.card();
  if (!card || !card.matches(".is-pending") || pane.current() === decided) return null;
  if (card.matches(".urgency-critical")) return [pane.current(), "critical approval"];
  if (!card.querySelector("button[data-key=a]")) return [pane.current(), "question"];
  return [pane.current(), card.querySelector(".prose, .call-edit") ? "email or edit" : "plain approval"];
}"""
WAITING = "SELECT count(*) FROM approvals_approvalrequest WHERE status = 'pending'"


class Keyboard:
    """Presses keys and counts them."""

    def __init__(self, page: Page) -> None:
        self.page, self.pressed = page, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.pressed += 1


def decide(keyboard: Keyboard, kind: str) -> None:
    """Decide the open request by keyboard."""
    if kind == "question":
        # The number of an answer chooses it.
        keyboard.press("1")
    elif kind != "critical approval":
        keyboard.press("a")
    else:
        # A single key never decides a critical request: it goes to the field for the name, and Enter confirms.
        keyboard.press("a", *TOOL, "Enter")


def opened(page: Page, decided: str, timeout: float) -> tuple[str, str]:
    """Wait for the next request in the pane; return its id and what it is."""
    request, kind = page.wait_for_function(
        OPEN, arg=decided, timeout=timeout
    ).json_value()
    return request, kind


def is_open(page: Page, request: str) -> bool:
    """Return whether a request is still there to be decided, after the page has shown more of it."""
    try:
        page.wait_for_function(
            "id => window.pausepoint.pane.current() !== id || !document.querySelector('.inbox-row.is-pending')",
            arg=request,
            timeout=SHOWN,
        )
    except Error:
        return True
    return False


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    keys: dict[str, list[int]] = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder)) as server,
        sync_playwright() as play,
    ):
        server.run(ASK.format(requests=requests))
        person = server.person("approver")
        context = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        ).new_context()
        context.add_cookies(
            [
                {"name": name, "value": value, "url": server.address}
                for name, value in person.cookies.items()
            ]
        )
        page = context.new_page()
        page.goto(f"{server.address}/")
        page.wait_for_selector('#live[data-state="on"]', state="attached")
        keyboard, last = Keyboard(page), ""
        keyboard.press("j")
        # The demo brings a few of its own.
        for _ in range(server.value(WAITING)):
            last, kind = opened(page, last, 20_000)
            decide(keyboard, kind)
            while kind == "email or edit" and is_open(page, last):
                keyboard.press("a")
            keys[kind].append(keyboard.pressed)
            keyboard.pressed = 0
        page.wait_for_function("() => !document.querySelector('.inbox-row.is-pending')")
        left = server.value(WAITING)
    print(f"{'keys':<28}{'requests':>10}{'mean':>10}{'most':>10}")
    for kind, found in sorted(keys.items()):
        print(
            f"{kind:<28}{len(found):>10}{sum(found) / len(found):>10.2f}{max(found):>10}"
        )
    pressed = sum(map(sum, keys.values()))
    decided = sum(map(len, keys.values()))
    print(
        f"\n{left} requests are left; {pressed} keys for {decided} requests, "
        f"{pressed / decided:.2f} each; the goal is at most {GOAL:.2f}"
    )
    sys.exit(left > 0 or pressed / decided > GOAL)


if __name__ == "__main__":
    main()
