"""Activities that Teams would never send, made from real ones: none decides, and none is a server's error."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from approvals.models import ChannelAccount, ChannelClick, ChannelConnection, Decision
from tests.proofs.site.test_hostile_clicks import BODIES, JUNK, foreign, places, replaced, without
from tests.support.desk.requests import make_request
from tests.support.desk.slack import carry
from tests.support.desk.teams import card_in, connected, linked, rule_for
from tests.support.people import alice, bob
from tests.support.teams import Teams
from tests.support.teams.cards import Json

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/api/teams/messages"
#: The places of a click on which the decision depends.
DECISIVE: list[tuple[Any, ...]] = [
    ("type",),
    ("name",),
    ("from",),
    ("from", "aadObjectId"),
    ("recipient", "id"),
    ("conversation",),
    ("conversation", "id"),
    ("conversation", "tenantId"),
    ("channelData", "tenant", "id"),
    ("value",),
    ("value", "action"),
    ("value", "action", "verb"),
    ("value", "action", "data"),
    ("value", "action", "data", "request"),
    ("value", "action", "data", "digest"),
]
#: Without these, or with nothing in them, a click is whole: another place says the same.
SPARE = {("conversation", "tenantId"), ("channelData", "tenant", "id")}


class Attacker:
    """Makes activities from real ones, always the same."""

    def __init__(self, teams: Teams, clicks: list[Json]) -> None:
        self.teams = teams
        self.clicks = clicks
        self.chance = random.Random(47)  # noqa: S311 - the same bodies every time

    def attack(self) -> tuple[str, bytes]:
        """Return the token and the body of one attack."""
        ways = [
            self.wrong_token,
            self.wrong_place,
            self.wrong_place,
            self.wrong_place,
            self.any_place,
            self.any_place,
            self.missing,
            self.wrong_text,
        ]
        return self.chance.choice(ways)()

    def real(self) -> Json:
        return self.chance.choice(self.clicks)

    def wrong_token(self) -> tuple[str, bytes]:
        good = self.teams.token()
        position = self.chance.randrange(len(good))
        altered = good[:position] + ("A" if good[position] != "A" else "B") + good[position + 1 :]
        # The last letters of a part of Base64 may hold bits that mean nothing.
        tokens = [good[:-9], good[9:], "", "é", good.upper(), f"{good}.{good}", f"{good[:-20]}{'A' * 20}"]
        inside = 4 < position - good.rindex(".") < 300
        changes = [{"aud": "x"}, {"iss": "x"}, {"exp": 1}, {"serviceurl": "https://evil.example"}, {"aud": [1]}]
        forged = [self.teams.token(**change) for change in changes]
        return self.chance.choice([*tokens, *forged, altered if inside else "x"]), json.dumps(self.real()).encode()

    def wrong_place(self) -> tuple[str, bytes]:
        path = self.chance.choice(DECISIVE)
        junk = JUNK[1:] if path in SPARE else JUNK
        return self.sent(replaced(self.real(), path, self.chance.choice(junk)))

    def any_place(self) -> tuple[str, bytes]:
        """Any place of a click on another content holds something else."""
        click = foreign(self.real())
        path = self.chance.choice(list(places(click)))
        return self.sent(replaced(click, path, self.chance.choice(JUNK)))

    def missing(self) -> tuple[str, bytes]:
        click = foreign(self.real())
        return self.sent(without(click, self.chance.choice(list(places(click))[1:])))

    def wrong_text(self) -> tuple[str, bytes]:
        """The body is no JSON, or JSON with a name twice, or endlessly nested."""
        text = json.dumps(self.real())
        bodies = [
            text[: self.chance.randrange(len(text))].encode(),
            text.replace("{", '{"type": "message", ', 1).encode(),
            f"[{text}]".encode(),
            json.dumps(text).encode(),
            b"[" * 100_000,
            b'{"a":' * 50_000,
            b"NaN",
            text.encode("utf-16"),
            bytes(range(256)),
            b"",
            b"null",
            b"x" * 1_100_000,
        ]
        return self.teams.token(), self.chance.choice(bodies)

    def sent(self, click: Any) -> tuple[str, bytes]:
        return self.teams.token(), json.dumps(click).encode()


@pytest.fixture
def teams(settings) -> Iterator[Teams]:
    with connected(settings) as teams:
        settings.HITL_WRONG_KEYS_PER_MINUTE = 0
        yield teams


def test_hostile_activities_decide_nothing_and_break_nothing(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice(), input={"amount": 120})
    card = card_in(teams, ops)
    real = [person.activity(card, "Approve"), person.activity(card, "Reject", reject_comment="Too much")]
    attacker = Attacker(teams, real)
    client = Client(raise_request_exception=False)
    statuses: Counter[int] = Counter()
    for number in range(BODIES):
        token, body = attacker.attack()
        headers = {"Authorization": f"Bearer {token}"}
        response = client.generic("POST", ADDRESS, body, "application/json", headers=headers)
        statuses[response.status_code] += 1
        assert response.status_code < 500, (token, body[:2000])
        if number % 100 == 99:
            carry()
            assert Decision.objects.count() == 0, (token, body[:2000])
    assert statuses.keys() <= {200, 400, 401, 403, 413}
    assert all(statuses[status] > BODIES / 40 for status in (200, 400, 401, 403)), statuses
    assert ChannelClick.objects.exclude(outcome__in=["", "decided", "voted"]).exists()
    assert ChannelAccount.objects.count() == 1
    assert ChannelConnection.objects.get().problem in {"", "http_404"}
    # The real one, from which all of them were made, does decide.
    person.send(card, real[0])
    assert Decision.objects.count() == 1
