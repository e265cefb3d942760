"""The duties of a relay: each check raises `Wrong` with the fault and the remedy."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pausepoint.relay_kit.kit import Kit, Wrong, moment_in

REFUSAL = "This request was rejected a minute ago by ann."


def run_checks(kit: Kit) -> int:
    """Run all checks, and return how many have failed."""
    failed = 0
    for check in CHECKS:
        name = (check.__doc__ or "").strip()
        try:
            check(kit)
        except Wrong as wrong:
            failed += 1
            kit.say(f"FAILED  {name}\n        {wrong}")
        else:
            kit.say(f"ok      {name}")
    kit.say(f"{len(CHECKS) - failed} of {len(CHECKS)} checks passed.")
    return failed


def check_answer(
    answer: dict[str, Any],
    shown: Mapping[str, Any],
    offered: Mapping[str, Any],
    text: str = "",
) -> None:
    """Raise Wrong unless this is the answer that was pressed, to the newest version of the message."""
    expected = {
        "token": shown["token"],
        "account": shown["account"],
        "verdict": offered["verdict"],
    }
    expected |= {"option": offered["option"]} if "option" in offered else {}
    expected |= {"message": text} if text else {}
    for name, value in expected.items():
        if answer.get(name) != value:
            raise Wrong(
                f"The answer has {name} {answer.get(name)!r}, where {value!r} was expected."
            )
    unknown = sorted(answer.keys() - {*expected, "message"})
    if unknown:
        raise Wrong(
            f"The answer has members that are not in the contract: {', '.join(unknown)}."
        )


APPROVE = {"verdict": "approve", "label": "Approve", "message": "optional"}
REJECT = {"verdict": "reject", "label": "Reject", "message": "required"}
RED = {"verdict": "respond", "option": 0, "label": "Red", "message": "none"}
BLUE = {"verdict": "respond", "option": 1, "label": "Blue", "message": "none"}


def takes_a_notice(kit: Kit) -> None:
    """takes a notice"""
    data = {
        "account": kit.account,
        "language": "en",
        "text": "This is a test.",
        "open": "https://desk.example.org/",
    }
    kit.show("notice", data)


def refuses_wrong_signatures(kit: Kit) -> None:
    """refuses wrong signatures, altered bodies and old messages"""
    data = kit.message("Forged", APPROVE)
    other = "whsec_" + base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    kit.refuses(
        "a message that another secret has signed",
        kit.post("request.show", data, secret=other),
    )
    forged = json.dumps(
        {"type": "request.show", "timestamp": moment_in(), "data": data}
    ).encode()
    kit.refuses("a body that was altered", kit.post("request.end", data, sent=forged))
    kit.refuses(
        "a message that is ten minutes old", kit.post("request.show", data, age=600)
    )


def sends_an_answer(kit: Kit) -> None:
    """shows a request as plain text, and posts the answer"""
    shown = kit.message("*Refund* [4711](https://example.org)?", APPROVE, REJECT)
    kit.show("request.show", shown)
    check_answer(kit.answer("Approve"), shown, APPROVE)
    kit.nothing_comes("The answer came twice. Post it once.")
    _end(kit, shown)


def ends_a_message(kit: Kit) -> None:
    """removes the buttons when a request has ended"""
    shown = kit.message("Ended elsewhere", APPROVE)
    kit.show("request.show", shown)
    _end(kit, shown)
    _press_in_vain(
        kit,
        "Approve",
        "The relay posted an answer after request.end. Remove the buttons of the message.",
    )


def keeps_the_newest_version(kit: Kit) -> None:
    """answers the newest version of a message, also after an older one comes late"""
    first = kit.message("In two versions", REJECT)
    second = kit.message(
        "In two versions, changed", REJECT, revision=2, of=first["message"]
    )
    for version in (first, second, first):
        kit.show("request.show", version)
    check_answer(kit.answer("Reject", "Too much."), second, REJECT, "Too much.")
    _end(kit, second)


def takes_a_repeat(kit: Kit) -> None:
    """takes the same message twice"""
    shown = kit.message("Twice", APPROVE)
    kit.show("request.show", shown)
    kit.show("request.show", shown)
    check_answer(kit.answer("Approve"), shown, APPROVE)
    _end(kit, shown)


def offers_options(kit: Kit) -> None:
    """offers the options of a question"""
    shown = kit.message("Which color?", RED, BLUE)
    kit.show("request.show", shown)
    check_answer(kit.answer("Blue"), shown, BLUE)
    _end(kit, shown)


def tells_refusals(kit: Kit) -> None:
    """posts a refused answer only once, and shows the words of the refusal"""
    shown = kit.message("Too late", APPROVE)
    kit.show("request.show", shown)
    kit.refusal = {
        "title": "Conflict",
        "status": 409,
        "detail": REFUSAL,
        "code": "already_decided",
    }
    check_answer(kit.answer("Approve"), shown, APPROVE)
    kit.nothing_comes(
        "The relay posted a refused answer again. Show the detail, and leave it at that."
    )
    kit.say(f"        Look at the chat: it should say {REFUSAL!r}")
    _end(kit, shown)


def shows_messages_without_answers(kit: Kit) -> None:
    """shows a message that has no answers and no token"""
    shown = kit.message("Only to open") | {"token": None, "expires_at": None}
    kit.show("request.show", shown)
    _end(kit, shown)


def ignores_unknown_types(kit: Kit) -> None:
    """takes types of events that it does not know"""
    kit.show("something.new", {"account": kit.account})


def asks_for_links(kit: Kit) -> None:
    """asks for a link for an account"""
    kit.press(kit.account, "link", "")
    body = kit.next_post(
        "links",
        "The relay did not ask for a link. Post {account, name?} to PAUSEPOINT_RELAY/links.",
    )
    if body.get("account") != kit.account or not isinstance(body.get("name", ""), str):
        raise Wrong(
            f"The link is for account {body.get('account')!r}, where {kit.account!r} was expected."
        )


CHECKS = (
    takes_a_notice,
    refuses_wrong_signatures,
    sends_an_answer,
    ends_a_message,
    keeps_the_newest_version,
    takes_a_repeat,
    offers_options,
    tells_refusals,
    shows_messages_without_answers,
    ignores_unknown_types,
    asks_for_links,
)


def _end(kit: Kit, shown: Mapping[str, Any]) -> None:
    names = ("message", "account", "language", "title", "open")
    data = {name: shown[name] for name in names}
    kit.show(
        "request.end",
        data | {"revision": shown["revision"] + 1, "text": "Approved by ann, via web"},
    )


def _press_in_vain(kit: Kit, label: str, words: str) -> None:
    kit.press(kit.account, label, "")
    kit.nothing_comes(words)
