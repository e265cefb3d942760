"""`manage.py prune`: what is older than is kept. Says first what would go; `--yes` removes it, beside running servers."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.utils import timezone

from approvals import actions as desk
from approvals.management.refusing import RefusingCommand

if apps.is_installed("chats"):
    from chats import actions as chats

#: Chats that are looked up at once.
PAGE = 200

#: What is in a chat, by table.
INSIDE = {
    "message": "messages",
    "turn": "turns",
    "step": "steps",
    "toolcall": "tool calls",
    "turncheckpoint": "checkpoints",
    "turnevent": "stream events",
    "chat": "sub-agents' conversations",
}


def age(text: str) -> timedelta:
    """`180d`: whole days, 1 to 36500."""
    if not re.fullmatch(r"[1-9][0-9]{0,4}d", text) or int(text[:-1]) > 36_500:
        raise ArgumentTypeError(f"{text!r} is not an age. Write it in days, like 180d.")
    return timedelta(days=int(text[:-1]))


class Command(RefusingCommand):
    help = (
        "Say what is old enough to go, and with --yes remove it: what was said in chats that nobody used for so long, "
        "events that were delivered, sessions that are over. Requests, decisions and the audit log stay. It may be "
        "killed and run again, beside running servers."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--older-than", type=age, default=age("180d"), help="in days, like 180d (the default)")
        parser.add_argument("--yes", action="store_true", help="remove it; without this nothing is changed")

    def handle(self, *args: Any, older_than: timedelta, yes: bool, **options: Any) -> None:
        before = timezone.now() - older_than
        if not yes:
            self._say_what_would_go(before)
            return
        if apps.is_installed("chats"):
            self._prune_chats(before)
        delivered, after = desk.prune_delivered(before)
        while after is not None:
            removed, after = desk.prune_delivered(before, after=after)
            delivered += removed
        self.stdout.write(f"{delivered:,} delivered events removed.")
        sessions = 0
        while removed := desk.prune_sessions():
            sessions += removed
        self.stdout.write(f"{sessions:,} ended sessions removed.")

    def _say_what_would_go(self, before: datetime) -> None:
        self.stdout.write(f"Older than {before:%Y-%m-%d %H:%M} UTC:")
        if apps.is_installed("chats"):
            self._say(chats.old_chats(before).count(), "chats, and in them:")
            inside: Counter[str] = Counter()
            for pks in _pages(before):
                inside.update(chats.count_contents(pks))
            for table, words in INSIDE.items():
                self._say(inside[table], f"  {words}")
            self._say(chats.partly_pruned_chats().count(), "chats of which a killed run has left something")
        self._say(desk.old_delivered(before).count(), "delivered events")
        self._say(desk.old_sessions().count(), "ended sessions, whatever their age")
        self.stdout.write("Nothing was changed: add --yes to remove it. Requests, decisions and the audit log stay.")

    def _say(self, number: int, words: str) -> None:
        self.stdout.write(f"{number:>12,} {words}")

    def _prune_chats(self, before: datetime) -> None:
        rows = removed = skipped = 0
        for pk in list(chats.partly_pruned_chats().values_list("pk", flat=True)):
            rows += self._empty(pk)
        for pks in _pages(before):
            for pk in pks:
                if chats.begin_pruning(pk, before):
                    rows, removed = rows + self._empty(pk), removed + 1
                else:
                    skipped += 1
        self.stdout.write(f"{removed:,} chats removed, {rows:,} rows; {skipped:,} are in use and stay.")

    def _empty(self, pk: int) -> int:
        rows = 0
        while removed := chats.prune_contents(pk):
            rows += removed
        return rows


def _pages(before: datetime) -> Iterator[list[int]]:
    """The ids of old chats, PAGE at a time, each once."""
    last = 0
    while pks := list(chats.old_chats(before).filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:PAGE]):
        yield pks
        last = pks[-1]
