"""Bodies that Slack would never send, made from real ones: none decides, and none is a server's error."""

from __future__ import annotations

import copy
import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from approvals.models import ChannelAccount, ChannelClick, ChannelConnection, Decision
from tests.support.desk.requests import make_request
from tests.support.desk.slack import DESK, card_in, carry, connected, linked, rule_for
from tests.support.people import alice, bob
from tests.support.slack import Slack
from tests.support.slack.delivery import FORM, form_of, signed_headers

pytestmark = pytest.mark.django_db(transaction=True)

CLICKS = "/api/slack/interactivity"
#: More say the same again; `make everything` sends them.
BODIES = 2_000 if "ALL_CASES" in os.environ else 400
#: What stands in the place of a value.
JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    10**400,
    1.5e308,
    "",
    "x" * 20_000,
    "\x00",
    "\ud800",
    "U0; DROP TABLE",
    "../../etc/passwd",
    "<script>",
    [],
    {},
    [[[[[[]]]]]],
    {"id": {"id": {"id": []}}},
    {"$ne": None},
    ["approve", "approve"],
]
#: The places of a click and of a dialog on which the decision depends.
DECISIVE = [
    ("type",),
    ("api_app_id",),
    ("team",),
    ("team", "id"),
    ("user",),
    ("user", "id"),
    ("user", "team_id"),
    ("actions",),
    ("actions", 0),
    ("actions", 0, "action_id"),
    ("actions", 0, "value"),
    ("container",),
    ("container", "channel_id"),
    ("container", "message_ts"),
    ("view",),
    ("view", "callback_id"),
    ("view", "private_metadata"),
]


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value of a document, and to the document itself."""
    yield before
    if isinstance(value, dict):
        for name, member in value.items():
            yield from places(member, (*before, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from places(member, (*before, index))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        document = document[name]
    return document


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy with another value in one place."""
    if not path:
        return value
    changed = copy.deepcopy(document)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def without(document: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(document)
    del at(changed, path[:-1])[path[-1]]
    return changed


def foreign(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a real payload about another content than the displayed one."""
    text = json.dumps(payload)
    digest = text.split("sha256:")[1][:64]
    return json.loads(text.replace(digest, digest[::-1]))  # type: ignore[no-any-return]


class Attacker:
    """Makes bodies from real payloads, always the same ones."""

    def __init__(self, slack: Slack, payloads: list[dict[str, Any]]) -> None:
        self.slack = slack
        self.payloads = payloads
        self.chance = random.Random(46)  # noqa: S311 - the same bodies every time
        self.secret = slack.workspace.signing_secret

    def signed(self, body: bytes, **changes: str) -> tuple[dict[str, str], bytes]:
        return signed_headers(self.secret, body, FORM) | changes, body

    def attack(self) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of one attack."""
        ways = [
            self.wrong_signature,
            self.wrong_time,
            self.wrong_place,
            self.wrong_place,
            self.wrong_place,
            self.any_place,
            self.any_place,
            self.missing,
            self.wrong_value,
            self.wrong_text,
            self.wrong_form,
        ]
        return self.chance.choice(ways)()

    def real(self) -> dict[str, Any]:
        return self.chance.choice(self.payloads)

    def wrong_signature(self) -> tuple[dict[str, str], bytes]:
        body = form_of(self.real())
        headers, _ = self.signed(body)
        good = headers["X-Slack-Signature"]
        position = self.chance.randrange(len(good))
        wrong = [good[:position] + "z" + good[position + 1 :], good[:-1], "", good * 2, "v0=", good.upper(), f"{good}é"]
        other = signed_headers("another secret", body, FORM)["X-Slack-Signature"]
        return headers | {"X-Slack-Signature": self.chance.choice([*wrong, other])}, body

    def wrong_time(self) -> tuple[dict[str, str], bytes]:
        body = form_of(self.real())
        now = int(time.time())
        stamps = [str(now - 301 - self.chance.randrange(10**6)), str(now + 400), "0", "9" * 400, f"-{now}", f"{now}.0"]
        stamp = self.chance.choice([*stamps, "", "now", f" {now - 400}", "1e9", "\u0660" * 10])
        if self.chance.random() < 0.5:
            # A body that was signed for another time.
            return self.signed(body)[0] | {"X-Slack-Request-Timestamp": stamp}, body
        return signed_headers(self.secret, body, FORM, stamp or "0"), body

    def wrong_place(self) -> tuple[dict[str, str], bytes]:
        """A place on which the decision depends holds something else."""
        payload = self.real()
        path = self.chance.choice([path for path in DECISIVE if path in set(places(payload))])
        # Slack leaves the team of a person out where it is the app's own.
        junk = JUNK[1:] if path == ("user", "team_id") else JUNK
        return self.signed(form_of(replaced(payload, path, self.chance.choice(junk))))

    def any_place(self) -> tuple[dict[str, str], bytes]:
        """Any place of a payload about another content holds something else."""
        payload = foreign(self.real())
        path = self.chance.choice(list(places(payload)))
        return self.signed(form_of(replaced(payload, path, self.chance.choice(JUNK))))

    def missing(self) -> tuple[dict[str, str], bytes]:
        payload = foreign(self.real())
        return self.signed(form_of(without(payload, self.chance.choice(list(places(payload))[1:]))))

    def wrong_value(self) -> tuple[dict[str, str], bytes]:
        """The JSON in the value of the button, or behind the dialog, is altered."""
        payload = self.real()
        path = ("view", "private_metadata") if "view" in payload else ("actions", 0, "value")
        value = json.loads(at(payload, path))
        if self.chance.random() < 0.5:
            value = replaced(value, (self.chance.choice(["request", "digest"]),), self.chance.choice(JUNK))
            text = json.dumps(value)
        else:
            text = json.dumps(value)
            text = self.chance.choice(
                [
                    text[:-1],
                    f"{text}{text}",
                    text.replace("{", '{"digest": "sha256:0", ', 1),
                    "[" * 5000,
                    "NaN",
                    text.replace("sha256:", "sha512:"),
                    text.replace("sha256:", "sha256:0"),
                ],
            )
        return self.signed(form_of(replaced(payload, path, text)))

    def wrong_text(self) -> tuple[dict[str, str], bytes]:
        """The payload is no JSON, or JSON with a name twice, or endlessly nested."""
        text = json.dumps(self.real())
        texts = [
            text[: self.chance.randrange(len(text))],
            text.replace("{", '{"type": "view_submission", ', 1),
            text.replace('"api_app_id"', '"api_app_id": "A1", "api_app_id"'),
            f"[{text}]",
            json.dumps(text),
            "[" * 100_000,
            '{"a":' * 50_000,
            "1" * 100_000,
            "NaN",
            "\ufeff" + text,
            "",
            "null",
        ]
        return self.signed(urlencode({"payload": self.chance.choice(texts)}).encode())

    def wrong_form(self) -> tuple[dict[str, str], bytes]:
        """The body is no form with one payload."""
        text = json.dumps(self.real())
        form = urlencode({"payload": text}).encode()
        bodies = [
            text.encode(),
            form + b"&" + form,
            form.replace(b"payload", b"Payload"),
            b"&".join(b"a=%d" % number for number in range(5000)),
            bytes(range(256)),
            b"payload=%FF%FE",
            b"payload",
            b"",
            b"x" * 1_100_000,
            "payload={}".encode("utf-16"),
        ]
        body = self.chance.choice(bodies)
        try:
            return self.signed(body)
        except UnicodeDecodeError:
            # slack_sdk signs text alone.
            return self.signed(b"")[0], body


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


def real_payloads(slack: Slack) -> list[dict[str, Any]]:
    """Return a click that approves, one that opens a dialog, and that dialog, submitted; each of them would decide."""
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    make_request(alice(), input={"amount": 120})
    card = card_in(slack, ops)
    person.click(card, "pausepoint.reject")
    submitted = person.modal.fill(reason="Too much").submission()
    return [person.click_payload(card, "pausepoint.approve"), submitted]


def test_hostile_bodies_decide_nothing_and_break_nothing(slack):
    attacker = Attacker(slack, real_payloads(slack))
    client = Client(raise_request_exception=False)
    statuses: Counter[int] = Counter()
    for number in range(BODIES):
        headers, body = attacker.attack()
        kind = headers.pop("Content-Type")
        try:
            response = client.generic("POST", CLICKS, body, kind, headers=headers)
        except UnicodeEncodeError:
            # No server would pass such a header on.
            continue
        statuses[response.status_code] += 1
        assert response.status_code < 500, (headers, body[:2000])
        if number % 100 == 99:
            carry()
            assert Decision.objects.count() == 0, (headers, body[:2000])
    assert statuses.keys() <= {200, 400, 401, 403, 413}
    assert all(statuses[status] > BODIES / 40 for status in (200, 400, 401, 403)), statuses
    assert ChannelClick.objects.exclude(done_at=None).exclude(outcome__in=["", "decided", "voted"]).exists()
    assert ChannelAccount.objects.count() == 1
    assert ChannelConnection.objects.get().problem == ""
    slack.take_objections()
    # The real ones, from which all of them were made, do decide.
    answer = slack.person("bob").send(attacker.payloads[0])
    carry()
    assert (answer.failed, Decision.objects.count()) == ("", 1)
    assert slack.request_url == DESK + CLICKS
