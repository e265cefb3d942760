"""How Slack brings clicks and events to the app, and what it demands of the answers.

https://docs.slack.dev/interactivity/handling-user-interaction
https://docs.slack.dev/apis/events-api
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
from slack_sdk.signature import SignatureVerifier

from tests.support.slack.block_rules import view_errors
from tests.support.slack.workspace import Json

if TYPE_CHECKING:
    from tests.support.slack.server import Slack

ANSWER_SECONDS = 3.0
RETRIES = 3
FORM = "application/x-www-form-urlencoded"
AGENT = "Slackbot 1.0 (+https://api.slack.com/robots)"

#: Takes an address, headers and a body; returns status, headers and body. `by_http` and `by_django` are the two.
Post = Callable[[str, Mapping[str, str], bytes], tuple[int, Mapping[str, str], bytes]]


@dataclass(frozen=True)
class Answer:
    """What the app answered: `failed` is what the person sees as a warning."""

    status: int
    payload: Any
    seconds: float
    failed: str = ""


def by_http(url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    response = httpx.post(url, headers=dict(headers), content=body, timeout=60)
    return response.status_code, response.headers, response.content


def by_django(client: Any) -> Post:
    """Return a way to post to Django's test client, without a server."""

    def post(url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        path = "/" + url.split("/", 3)[3]
        response = client.post(path, data=body, content_type=headers["Content-Type"], headers=dict(headers))
        return response.status_code, response.headers, response.content

    return post


def signed_headers(secret: str, body: bytes, content_type: str, stamp: str = "") -> dict[str, str]:
    """Return the headers of a request from Slack, signed by slack_sdk."""
    stamp = stamp or str(int(time.time()))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    return {
        "Content-Type": content_type,
        "User-Agent": AGENT,
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature,
    }


def form_of(payload: Json) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def interact(slack: Slack, payload: Json) -> Answer:
    """Bring a click, a submission or the end of a modal to the app, by the way that is set up. It is brought once."""
    begun = time.monotonic()
    if slack.socket.enabled:
        ack = slack.socket.deliver("interactive", payload)
        seconds = time.monotonic() - begun
        if ack is None or not ack.acknowledged:
            failed = "no connection" if ack is None else "not acknowledged within 3 s"
            return Answer(0, None, seconds, failed)
        return checked(slack, payload, Answer(200, ack.payload, seconds))
    body = form_of(payload)
    answer = posted(slack, slack.request_url, signed_headers(slack.workspace.signing_secret, body, FORM), body)
    return checked(slack, payload, answer)


def posted(slack: Slack, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    begun = time.monotonic()
    try:
        status, answered, content = slack.post(url, headers, body)
    except httpx.HTTPError as error:
        return Answer(0, None, time.monotonic() - begun, f"unreachable: {type(error).__name__}")
    seconds = time.monotonic() - begun
    payload: Any = None
    if content:
        is_json = answered.get("Content-Type", "").startswith("application/json")
        payload = json.loads(content) if is_json else content.decode(errors="replace")
    failed = f"HTTP {status}" if status != 200 else ""
    if seconds > slack.answer_seconds:
        failed = f"no answer within {slack.answer_seconds:g} s"
    return Answer(status, payload, seconds, failed)


def checked(slack: Slack, payload: Json, answer: Answer) -> Answer:
    """Hold an answer against the documentation; what Slack would show as a warning, or ignore, is an objection."""
    kind = payload["type"]
    if answer.failed:
        return answer
    if kind == "view_submission":
        errors = submission_errors(payload, answer.payload)
        if errors:
            slack.object(f"invalid answer to a submission: {errors}")
            return Answer(answer.status, answer.payload, answer.seconds, "We had some trouble connecting. Try again?")
        return answer
    if answer.payload not in (None, "", {}):
        slack.object(f"an answer to {kind} that Slack ignores: {str(answer.payload)[:200]}")
    return answer


def submission_errors(payload: Json, answer: Any) -> list[str]:
    if answer in (None, "", {}):
        return []
    if not isinstance(answer, dict):
        return ["neither empty nor a JSON object"]
    match answer.get("response_action"):
        case "clear":
            return []
        case "update" | "push":
            return view_errors(answer.get("view"))
        case "errors":
            return field_errors(payload, answer.get("errors"))
    return [f"unknown response_action: {answer.get('response_action')}"]


def field_errors(payload: Json, errors: Any) -> list[str]:
    if not isinstance(errors, dict) or not errors:
        return ["`errors` must be an object with at least one error"]
    inputs = {block["block_id"] for block in payload["view"]["blocks"] if block["type"] == "input"}
    unknown = errors.keys() - inputs
    wrong = [name for name, text in errors.items() if not isinstance(text, str) or not 0 < len(text) <= 2000]
    problems = [f"no input block: {name}" for name in sorted(unknown)]
    return problems + [f"no text: {name}" for name in wrong]


def event_body(slack: Slack, event: Json) -> Json:
    workspace = slack.workspace
    return {
        "token": "a verification token, deprecated",
        "team_id": workspace.team_id,
        "api_app_id": workspace.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": workspace.next_id("Ev"),
        "event_time": int(workspace.clock()),
        "authorizations": [{"team_id": workspace.team_id, "user_id": workspace.bot_user, "is_bot": True}],
    }


def send_event(slack: Slack, event: Json, *, repeats: int = 0) -> list[Answer]:
    """Bring an event to the app: again, up to three times, until it is accepted; `repeats` times more though it was."""
    body = event_body(slack, event)
    answers: list[Answer] = []
    reason = ""
    for attempt in range(1 + RETRIES):
        answer = attempt_event(slack, body, attempt, reason)
        answers.append(answer)
        if not answer.failed:
            if len(answers) > repeats:
                break
            reason = "http_error"
        else:
            reason = "http_timeout" if "within" in answer.failed else "http_error"
    return answers


def attempt_event(slack: Slack, body: Json, attempt: int, reason: str) -> Answer:
    if slack.socket.enabled:
        begun = time.monotonic()
        ack = slack.socket.deliver("events_api", body, attempt=attempt, reason="timeout" if reason else "")
        failed = "" if ack is not None and ack.acknowledged else "not acknowledged within 3 s"
        return Answer(200, None, time.monotonic() - begun, failed)
    raw = json.dumps(body).encode()
    headers = signed_headers(slack.workspace.signing_secret, raw, "application/json")
    if attempt:
        headers |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason}
    return posted(slack, slack.events_url, headers, raw)


def verify_url(slack: Slack) -> None:
    """Do what Slack does when somebody enters an address for events: the app must send the challenge back."""
    body: Json = {"token": "deprecated", "challenge": slack.workspace.next_id("challenge"), "type": "url_verification"}
    raw = json.dumps(body).encode()
    headers = signed_headers(slack.workspace.signing_secret, raw, "application/json")
    answer = posted(slack, slack.events_url, headers, raw)
    sent = answer.payload.get("challenge") if isinstance(answer.payload, dict) else answer.payload
    if answer.failed or sent != body["challenge"]:
        slack.object(f"Your URL didn't respond with the value of the challenge parameter: {answer}")
