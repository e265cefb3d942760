"""Answers that no honest relay would post: none decides, and none is a server's error."""

from __future__ import annotations

import json
import os
import random
import string
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from approvals.models import ChannelAccount, Decision
from approvals.states import Kind
from tests.proofs.site.test_hostile_clicks import JUNK
from tests.support.desk.relay import Chat, carry, connected, linked, rule_for
from tests.support.desk.requests import make_request, stored
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)
ANSWERS = "/api/v1/relays/mattermost/answers"
#: More say the same again; `make everything` sends them.
BODIES = 2_000 if "ALL_CASES" in os.environ else 400


@pytest.fixture
def chat(settings) -> Iterator[Chat]:
    settings.HITL_WRONG_KEYS_PER_MINUTE = 0
    with connected(settings) as chat:
        yield chat


def problem(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def test_tokens_that_are_altered_forwarded_or_replayed_in_300_ways_decide_nothing(chat):
    approver = bob()
    linked(approver)
    other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    linked(other)
    rule_for(approver)
    owner = alice()
    used = make_request(owner, title="Used")
    carry()
    replayed = chat.message
    assert chat.answer(replayed, "approve").status_code == 200
    carry()
    waiting = make_request(owner, title="Waiting")
    question = make_request(owner, Kind.QUESTION, title="Which?", options=[{"label": "Red"}, {"label": "Blue"}])
    carry()
    by_title = {each["title"]: each for each in chat.shown.values()}
    good = by_title["Waiting"]
    chance = random.Random(47)  # noqa: S311 - the same ways every time
    letters = string.ascii_letters + string.digits + "-_"

    def altered() -> dict[str, Any]:
        token = good["token"]
        position = chance.randrange(len(token))
        letter = chance.choice([each for each in letters if each != token[position]])
        changed = token[:position] + letter + token[position + 1 :]
        texts = [
            changed,
            token[:-1],
            token + "A",
            token[::-1],
            token.swapcase(),
            f" {token}",
            token[position + 1 :] or "x",
        ]
        return {"token": chance.choice(texts), "account": "id-bob", "verdict": "approve"}

    def forwarded() -> dict[str, Any]:
        account = chance.choice(["id-dora", "id-alice", "id-mallory", "id-bob2", "*", "id-bob\u200b"])
        token = chance.choice([good["token"], by_title["Which?"]["token"]])
        return {"token": token, "account": account, "verdict": chance.choice(["approve", "reject"])}

    def replay() -> dict[str, Any]:
        verdict = chance.choice(["approve", "reject"])
        return {"token": replayed["token"], "account": "id-bob", "verdict": verdict}

    def other_verdict() -> dict[str, Any]:
        wrong: list[dict[str, Any]] = [
            {"token": good["token"], "verdict": "respond", "message": "yes"},
            {"token": good["token"], "verdict": "respond", "option": 0},
            {"token": by_title["Which?"]["token"], "verdict": "approve"},
            {"token": by_title["Which?"]["token"], "verdict": "respond", "option": 2 + chance.randrange(90)},
            {"token": by_title["Which?"]["token"], "verdict": "respond", "message": "Green"},
        ]
        return {"account": "id-bob"} | chance.choice(wrong)

    statuses = set()
    for _ in range(300):
        attack = chance.choice([altered, forwarded, replay, other_verdict])()
        response = chat.send("answers", attack)
        statuses.add(problem(response))
    assert statuses == {(403, "other_account"), (404, "token_unknown"), (409, "token_used"), (422, "invalid")}
    assert [stored(each).status for each in (used, waiting, question)] == ["approved", "pending", "pending"]
    assert Decision.objects.count() == 1
    assert chat.answer(good, "approve").status_code == 200
    assert chat.answer(by_title["Which?"], "respond", option=1).status_code == 200
    assert stored(question).decision.answer["selected"] == ["Blue"]


class Attacker:
    """Makes bodies from an answer that would decide, always the same ones."""

    def __init__(self, chat: Chat, good: dict[str, Any]) -> None:
        self.chat = chat
        self.good = good
        self.chance = random.Random(47)  # noqa: S311 - the same bodies every time

    def attack(self) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of one attack."""
        ways = [self.wrong_signature, self.wrong_time, self.wrong_member, self.wrong_member, self.wrong_text]
        return self.chance.choice(ways)()

    def signed(self, body: bytes) -> tuple[dict[str, str], bytes]:
        try:
            return self.chat.signed(body), body
        except UnicodeDecodeError:
            return self.chat.signed(b""), body

    def wrong_signature(self) -> tuple[dict[str, str], bytes]:
        headers, body = self.signed(json.dumps(self.good).encode())
        good = headers["webhook-signature"]
        other = self.chat.signed(body, "whsec_" + "A" * 44)["webhook-signature"]
        wrong = [other, good[:-2], "", good.replace("v1,", "v2,"), "v1," * 900, "v1,a,b", f"{good[3:]}", "v1,\u00e9"]
        name = self.chance.choice(["webhook-signature", "webhook-id"])
        changed = self.chance.choice(wrong) if name == "webhook-signature" else "msg_2"
        return headers | {name: changed}, body

    def wrong_time(self) -> tuple[dict[str, str], bytes]:
        headers, body = self.signed(json.dumps(self.good).encode())
        if self.chance.random() < 0.5:
            minutes = self.chance.choice([-600, -6, 6, 600])
            return self.chat.signed(body, at=datetime.now(UTC) + timedelta(minutes=minutes)), body
        stamps = ["0", "9" * 400, "-1", "", "now", "nan", "inf", "1e9", "\u0660" * 10]
        return headers | {"webhook-timestamp": self.chance.choice(stamps)}, body

    def wrong_member(self) -> tuple[dict[str, str], bytes]:
        """A member of the answer holds something else, is missing, or is one too many."""
        answer = dict(self.good)
        name = self.chance.choice(["token", "account", "verdict", "option", "extra"])
        if name in answer and self.chance.random() < 0.2:
            del answer[name]
        else:
            answer[name] = self.chance.choice(JUNK)
        return self.signed(json.dumps(answer).encode())

    def wrong_text(self) -> tuple[dict[str, str], bytes]:
        text = json.dumps(self.good)
        texts = [
            text[: self.chance.randrange(len(text))],
            text.replace("{", '{"account": "id-dora", ', 1),
            f"[{text}]",
            json.dumps(text),
            "[" * 50_000,
            '{"a":' * 10_000,
            "1" * 50_000,
            "NaN",
            "\ufeff" + text,
            "",
            "null",
            "x" * 100_000,
        ]
        bodies = [*(each.encode() for each in texts), bytes(range(256)), text.encode("utf-16")]
        return self.signed(self.chance.choice(bodies))


def test_hostile_bodies_decide_nothing_and_break_nothing(chat):
    approver = bob()
    linked(approver)
    rule_for(approver)
    make_request(alice())
    carry()
    message = chat.message
    attacker = Attacker(chat, {"token": message["token"], "account": message["account"], "verdict": "approve"})
    client = Client(raise_request_exception=False)
    statuses: Counter[int] = Counter()
    for _ in range(BODIES):
        headers, body = attacker.attack()
        try:
            response = client.generic("POST", ANSWERS, body, "application/json", headers=headers)
        except UnicodeEncodeError:
            # No server would pass such a header on.
            continue
        statuses[response.status_code] += 1
        assert response.status_code < 500, (headers, body[:2000])
        assert Decision.objects.count() == 0, (headers, body[:2000])
    assert statuses.keys() <= {400, 401, 403, 404, 413, 422}
    assert all(statuses[status] > BODIES / 60 for status in (400, 401, 422)), statuses
    assert ChannelAccount.objects.count() == 1
    assert chat.answer(message, "approve").status_code == 200
