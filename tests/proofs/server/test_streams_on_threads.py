"""Streams use no thread and no database connection each, and end when the client disconnects."""

from __future__ import annotations

import asyncio
import threading

import pytest
from django.db.models import TextField
from django.db.models.functions import Cast

from approvals.db import pool
from chats.models import Turn, TurnEvent
from tests.support import people
from tests.support.chats import agents
from tests.support.machines import Client, machine, served, user_message


@pytest.mark.django_db(transaction=True)
def test_fifty_streams_keep_flowing_on_a_handful_of_threads(settings):
    settings.HITL_AGENTS = [agents.PATH]
    owner = machine(people.bob())
    clients = [Client(owner, f"chat {number}") for number in range(50)]
    for client in clients:
        client.messages = [user_message("murmur", "u1")]
    # The text of the column: on no database is anything inside of it asked for.
    said = TurnEvent.objects.alias(text=Cast("chunk", TextField())).filter(text__contains='"TextDelta"')
    spoken = Turn.objects.filter(state="running", pk__in=said.values("turn"))

    async def story():
        before = threading.active_count()
        posting = [asyncio.create_task(client.apost()) for client in clients]
        while await pool.run(spoken.count) < 50:
            await asyncio.sleep(0.05)
        # Those that have begun it have done their work; a thread for each stream would be there until its end.
        while threading.active_count() - before >= 25:
            await asyncio.sleep(0.05)
        assert not any(post.done() for post in posting)
        for client in clients:
            await client.astop()
        return [await post for post in posting]

    answers = served(story)
    assert [(answer.types[-1], "text-delta" in answer.types) for answer in answers] == [("abort", True)] * 50
    assert Turn.objects.filter(state="stopped").count() == 50
