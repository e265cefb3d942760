"""Tests of the bakery, as an app of your own would have them: `manage.py test` with the bakery installed (see README)."""

from __future__ import annotations

import asyncio

from bakery.models import Heard, Order
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import TransactionTestCase

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.db import append_only
from approvals.states import Door, Verdict
from chats import actions, queries
from chats.agent import registry
from chats.engine import runner
from chats.models import Turn


class Story(TransactionTestCase):
    """Run conversations with the real runner and the scripted provider."""

    def setUp(self) -> None:
        self.alice = User.objects.create_user("alice")
        bob = User.objects.create_user("bob")
        bob.user_permissions.set(
            Permission.objects.filter(codename="decide_approvalrequest")
        )
        self.bob = User.objects.get(pk=bob.pk)

    def _fixture_teardown(self) -> None:
        # The flush between tests also deletes audit entries, which is only allowed in maintenance.
        with append_only.maintenance(connection, "test teardown"):
            super()._fixture_teardown()

    def say(self, agent: str, text: str) -> Turn:
        baker = registry.get(settings.HITL_AGENTS, agent)
        chat = actions.open_chat(owner=self.alice, agent=baker)
        return self.run_turn(
            actions.post_message(
                chat, text, by=self.alice, agent=baker, via=Door.CHAT
            ).turn
        )

    def run_turn(self, turn: Turn) -> Turn:
        asyncio.run(runner.advance(turn.pk, asyncio.Event()))
        return Turn.objects.get(pk=turn.pk)

    def decide(self, turn: Turn, verdict: Verdict, **given: object) -> Turn:
        (request,) = queries.open_requests(turn)
        desk.decide(
            request.pk, Answer(verdict, **given), by=self.bob, via=Door.DASHBOARD
        )
        return self.run_turn(turn)

    def test_a_small_order_needs_nobody(self) -> None:
        turn = self.say("baker", "order 20 kilos")
        self.assertEqual((turn.state, Order.objects.get().kilograms), ("completed", 20))

    def test_a_large_order_waits_for_approval_and_runs_once(self) -> None:
        turn = self.say("baker", "order 200 kilos")
        self.assertEqual((turn.state, Order.objects.count()), ("suspended", 0))
        turn = self.decide(turn, Verdict.APPROVE)
        self.assertEqual(
            (turn.state, [order.kilograms for order in Order.objects.all()]),
            ("completed", [200]),
        )

    def test_bob_may_order_less(self) -> None:
        turn = self.decide(
            self.say("baker", "order 200 kilos"),
            Verdict.EDIT,
            edited_input={"kilograms": 150},
        )
        self.assertEqual(
            (turn.state, Order.objects.get().kilograms), ("completed", 150)
        )

    def test_the_planner_asks_before_and_in_between(self) -> None:
        turn = self.say("planner", "bake for the market")
        self.assertEqual((turn.state, Order.objects.count()), ("suspended", 0))
        turn = self.decide(turn, Verdict.RESPOND, answer="Go ahead")
        self.assertEqual((turn.state, Order.objects.get().kilograms), ("suspended", 40))
        turn = self.decide(
            turn,
            Verdict.RESPOND,
            answer={"fieldName": "trays", "selected": ["Two"], "selectedIndex": 1},
        )
        self.assertEqual(turn.state, "completed")
        self.assertIn("40 loaves are in the oven", str(turn.chat.messages.last().parts))

    def test_events_are_heard_once_and_in_order(self) -> None:
        self.decide(
            self.say("baker", "order 200 kilos"),
            Verdict.REJECT,
            comment="We have enough.",
        )
        for _ in range(10):
            sweep.run_once()
        heard = list(Heard.objects.order_by("pk").values_list("name", flat=True))
        self.assertEqual(
            heard,
            [
                "tool.result",
                "request.created",
                "turn.suspended",
                "request.decided",
                "tool.result",
                "turn.completed",
            ],
        )
