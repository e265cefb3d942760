"""Two weeks of work on the demo's desk: rules, decisions of three people, and the waiting requests of today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.access.callers import Caller, caller_by_token
from approvals.access.standing import standing_of
from approvals.actions import policy
from approvals.actions.closing import ReportedResult
from approvals.administration.keys.actions import create_key
from approvals.administration.people.actions.teams import add_team, change_teams
from approvals.api import requests
from approvals.asking.answers import ABSENT, Answer
from approvals.asking.asks import Ask
from approvals.asking.origins import Origin
from approvals.db.canonical_json import digest
from approvals.models import ApprovalRequest, Decision
from approvals.policy.grants import GrantTerms
from approvals.states import Audience, Door, Verdict, Width
from hitlsite.demo.asks import approval, label_mail, refund, reminder
from hitlsite.demo.clock import at
from hitlsite.demo.open_requests import open_requests

DAYS = 14
#: The rules in force, as an administrator would write them.
POLICY = {
    "rules": [
        {
            "name": "Large payments need finance and security",
            "match": {
                "tools": ["sendPayment"],
                "input": [{"pointer": "/amount", "at_least": 5000}],
            },
            "then": "ask",
            "message": "Compare the bank account with the contract.",
            "ask": {
                "stages": [
                    {"groups": [{"teams": ["Finance"]}, {"teams": ["Security"]}]}
                ],
                "key_fields": ["/amount", "/currency", "/recipient"],
            },
        },
        {
            "name": "Reading needs no approval",
            "match": {"tools": ["list*", "search*"]},
            "then": "allow",
        },
        {
            "name": "No agent deletes customers",
            "match": {"tools": ["deleteCustomer"]},
            "then": "deny",
            "message": "Deactivate the customer instead.",
        },
    ]
}
ORDER_CHECKED = "Checked with the warehouse."


@dataclass(frozen=True, slots=True)
class PastDecision:
    """A request of the past: when it came, how long a person took, and what they decided."""

    day: int
    hour: int
    minute: int
    taken: timedelta
    by: str
    ask: Ask
    agent: str = "support"
    verdict: Verdict = Verdict.APPROVE
    comment: str = ""
    edited: Mapping[str, Any] | None = None

    @property
    def at(self) -> timedelta:
        """How long before midnight today it came."""
        return timedelta(days=self.day) - timedelta(
            hours=self.hour, minutes=self.minute
        )


def tell(people: Mapping[str, User]) -> None:
    """Create the history, in the order in which it happened. `people` are those of the demo, by username."""
    now = timezone.now()
    midnight = timezone.localtime(now).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    with at(midnight - timedelta(days=DAYS, hours=-8)):
        _, token = create_key(people["requester"], name="shop agents")
        _join_teams(people)
        # Before there is a second administrator, who would have to confirm it.
        policy.write_policy(
            POLICY,
            based_on=None,
            reason="Agreed with finance and security.",
            by=people["admin"],
            via=Door.DASHBOARD,
        )
    caller = caller_by_token(token)
    assert caller is not None
    desk = Desk(caller, people)
    for past in sorted(_past(), key=lambda each: each.at, reverse=True):
        desk.decided(past, midnight - past.at)
    desk.calls_without_asking(midnight - timedelta(hours=9))
    desk.grant(now - timedelta(minutes=150))
    desk.waiting(now)


def _join_teams(people: Mapping[str, User]) -> None:
    admin = people["admin"]
    for name, member in (("Finance", "finance"), ("Security", "security")):
        team = add_team(name, by=admin)
        change_teams(people[member], [team.pk], by=admin, standing=standing_of(admin))


class Desk:
    """The agents that ask, with one key, and the people who answer."""

    def __init__(self, caller: Caller, people: Mapping[str, User]) -> None:
        self._caller = caller
        self._people = people
        self._asked = 0

    def ask(self, ask: Ask, *, agent: str = "support") -> ApprovalRequest:
        self._asked += 1
        origin = Origin(
            scope=self._caller.scope,
            digest=digest([self._asked, ask.title]),
            agent=agent,
        )
        return requests.ask(self._caller, ask, origin).request

    def decide(self, request: ApprovalRequest, answer: Answer, *, by: str) -> None:
        actions.decide(request.pk, answer, by=self._people[by], via=Door.DASHBOARD)

    def ran(self, request: ApprovalRequest) -> None:
        """Report that an approved call ran."""
        decision = Decision.objects.get(request=request)
        result = ReportedResult(input_digest=decision.approved_digest, output="Done.")
        actions.report_result(
            request.pk,
            result,
            scope=self._caller.scope,
            by=self._caller.actor,
            via=Door.REST,
        )

    def decided(self, past: PastDecision, moment: datetime) -> None:
        """Create a request at this moment, and decide it when its person did."""
        with at(moment):
            request = self.ask(past.ask, agent=past.agent)
        edited = ABSENT if past.edited is None else dict(past.edited)
        answer = Answer(past.verdict, past.comment, edited_input=edited, unseen={})
        with at(moment + past.taken):
            self.decide(request, answer, by=past.by)
            if past.verdict != Verdict.REJECT:
                self.ran(request)

    def calls_without_asking(self, moment: datetime) -> None:
        """Create calls that a rule has allowed and denied."""
        with at(moment):
            orders = {"customer": "C-1042", "year": 2026}
            self.ran(self.ask(approval("List orders", "listOrders", orders)))
            self.ask(
                approval("Delete C-1042", "deleteCustomer", {"customer": "C-1042"})
            )

    def grant(self, moment: datetime) -> None:
        """Approve a call together with a grant for more of its kind, and let three of them use it."""
        terms = GrantTerms(
            width=Width.TOOL,
            audience=Audience.AGENT,
            until=moment + timedelta(hours=7),
            uses=20,
            reason="Sorting the mail of the night.",
        )
        with at(moment):
            request = self.ask(label_mail("P-8801", "returns"), agent="mail")
        with at(moment + timedelta(minutes=2)):
            answer = Answer(Verdict.APPROVE, grant=terms, unseen={})
            self.decide(request, answer, by="approver")
            self.ran(request)
        for number, label in enumerate(("returns", "invoices", "returns"), 2):
            with at(moment + timedelta(minutes=number + 1)):
                call = label_mail(f"P-880{number}", label)
                self.ran(self.ask(call, agent="mail"))

    def waiting(self, now: datetime) -> None:
        """Create the waiting requests of today."""
        for waiting in open_requests(now):
            moment = now - timedelta(minutes=waiting.minutes)
            with at(moment):
                request = self.ask(waiting.ask, agent=waiting.agent)
            if request.tool_name == "sendPayment":
                vote = Answer(
                    Verdict.APPROVE, "The invoice matches the order.", unseen={}
                )
                with at(moment + timedelta(minutes=6)):
                    self.decide(request, vote, by="finance")
            if request.tool_name == "refundOrder":
                with at(moment + timedelta(minutes=2)):
                    actions.comment(
                        request.pk,
                        by=self._people["approver"],
                        via=Door.DASHBOARD,
                        text="@finance does this order have a second payment?",
                    )


def _past() -> Iterator[PastDecision]:
    """Yield the decisions of earlier days."""
    for number in range(24):
        # Two on most days; each needs a minute or more, the second a little longer.
        yield PastDecision(
            day=DAYS - number // 2,
            hour=9 if number % 2 else 11,
            minute=5 + number,
            taken=timedelta(seconds=70 + 9 * number),
            by="approver" if number % 3 else "finance",
            ask=reminder(number),
            agent="billing",
        )
    yield from _refunds()
    yield PastDecision(
        12, 14, 10, timedelta(minutes=7), "security",
        approval("Update packages", "Bash", {"command": "npm audit fix", "description": "Update packages with known faults"}),
        agent="coder", comment="Fine, the lock file is reviewed in the pull request.",
    )  # fmt: skip
    yield PastDecision(
        9, 15, 40, timedelta(minutes=9), "security",
        approval("Free disk space", "Bash", {"command": "rm -rf var/cache", "description": "Free disk space"}),
        agent="coder", verdict=Verdict.REJECT, comment="The cache is in use. Restart the service instead.",
    )  # fmt: skip
    yield PastDecision(
        6, 10, 30, timedelta(minutes=4), "approver",
        approval(
            "Announce the summer sale", "publishPost",
            {"channel": "news", "text": "Our summer sale begins on Monday. Everything is 20 % off."},
        ),
        agent="marketing", comment="The discount is 15 %.",
        verdict=Verdict.EDIT,
        edited={"channel": "news", "text": "Our summer sale begins on Monday. Everything is 15 % off."},
    )  # fmt: skip


def _refunds() -> Iterator[PastDecision]:
    cases = (
        (13, 13, 5, 4701, 49.0, "Arrived broken", Verdict.APPROVE, ORDER_CHECKED),
        (11, 16, 8, 4702, 120.0, "Never arrived", Verdict.APPROVE, ORDER_CHECKED),
        (
            10,
            10,
            3,
            4703,
            890.0,
            "Changed their mind",
            Verdict.REJECT,
            "After 60 days.",
        ),
        (8, 12, 6, 4704, 75.5, "Wrong size", Verdict.APPROVE, ""),
        (7, 9, 2, 4705, 310.0, "Delivered twice", Verdict.APPROVE, ORDER_CHECKED),
        (4, 14, 9, 4706, 64.0, "Arrived broken", Verdict.APPROVE, ""),
        (3, 11, 4, 4707, 1250.0, "Never arrived", Verdict.REJECT, "It was signed for."),
        (2, 15, 5, 4708, 38.9, "Wrong colour", Verdict.APPROVE, ""),
    )
    for day, hour, taken, order, amount, reason, verdict, comment in cases:
        yield PastDecision(
            day=day,
            hour=hour,
            minute=45,
            taken=timedelta(minutes=taken, seconds=order % 60),
            by=("approver", "finance", "security")[order % 3],
            ask=refund(order, amount, reason),
            verdict=verdict,
            comment=comment,
        )
