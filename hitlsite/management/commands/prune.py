"""`manage.py prune`: list data older than the retention period; with `--yes`, remove it while servers run."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from approvals import actions as desk
from approvals.actions.channels.clicks import old_channel_rows, prune_channels
from approvals.management.refusing import RefusingCommand
from approvals.text.numbers import grouped

if apps.is_installed("chats"):
    from chats import actions as chats

#: Chats per query.
PAGE = 200

#: The contents of a chat, by table.
INSIDE = {
    "message": gettext_lazy("messages"),
    "attachment": gettext_lazy("files"),
    "turn": gettext_lazy("turns"),
    "step": gettext_lazy("steps"),
    "toolcall": gettext_lazy("tool calls"),
    "turncheckpoint": gettext_lazy("checkpoints"),
    "turnevent": gettext_lazy("stream events"),
    "chat": gettext_lazy("sub-agents' conversations"),
}


def age(text: str) -> timedelta:
    """Parse an age in whole days, 1 to 36500: `180d`."""
    if not re.fullmatch(r"[1-9][0-9]{0,4}d", text) or int(text[:-1]) > 36_500:
        raise ArgumentTypeError(
            _("%(text)r is not an age. Enter a number of days, like 180d.")
            % {"text": text}
        )
    return timedelta(days=int(text[:-1]))


def _in_batches(prune: Callable[[], int]) -> int:
    """Prune batch by batch until nothing is left; return the number of rows."""
    pruned = 0
    while count := prune():
        pruned += count
    return pruned


class Command(RefusingCommand):
    help = gettext_noop(
        "List old data, and with --yes remove it: the contents of chats that no one has used for this long, delivered "
        "events, stored states of runs, files of requests, past absences, cards and clicks of channels, and ended sessions. "
        "Requests, decisions and the audit log are kept. You can "
        "interrupt this command and run it again, also beside running servers."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=age,
            default=age("180d"),
            help=_("age in days, like 180d (the default)"),
        )
        parser.add_argument(
            "--yes",
            action="store_true",
            help=_("remove the data; without this option nothing is changed"),
        )

    def handle(
        self, *args: Any, older_than: timedelta, yes: bool, **options: Any
    ) -> None:
        before = timezone.now() - older_than
        if not yes:
            self._list_what_would_go(before)
            return
        if apps.is_installed("chats"):
            self._prune_chats(before)
        delivered, after = desk.prune_delivered(before)
        while after is not None:
            removed, after = desk.prune_delivered(before, after=after)
            delivered += removed
        self._write(
            ngettext(
                "Removed %(count)s delivered event.",
                "Removed %(count)s delivered events.",
                delivered,
            ),
            delivered,
        )
        states = _in_batches(lambda: desk.prune_states(before))
        self._write(
            ngettext(
                "Removed %(count)s stored state.",
                "Removed %(count)s stored states.",
                states,
            ),
            states,
        )
        files = _in_batches(lambda: desk.prune_attachments(before))
        self._write(
            ngettext(
                "Removed %(count)s file of a request.",
                "Removed %(count)s files of requests.",
                files,
            ),
            files,
        )
        self._prune_rest(before)

    def _prune_rest(self, before: datetime) -> None:
        absences = _in_batches(lambda: desk.prune_absences(before))
        self._write(
            ngettext(
                "Removed %(count)s past absence.",
                "Removed %(count)s past absences.",
                absences,
            ),
            absences,
        )
        channels = _in_batches(lambda: prune_channels(before))
        self._write(
            ngettext(
                "Removed %(count)s card or click of a channel.",
                "Removed %(count)s cards and clicks of channels.",
                channels,
            ),
            channels,
        )
        sessions = _in_batches(desk.prune_sessions)
        self._write(
            ngettext(
                "Removed %(count)s ended session.",
                "Removed %(count)s ended sessions.",
                sessions,
            ),
            sessions,
        )

    def _write(self, message: str, count: int) -> None:
        self.stdout.write(message % {"count": grouped(count)})

    def _list_what_would_go(self, before: datetime) -> None:
        self.stdout.write(
            _("Older than %(before)s UTC:") % {"before": f"{before:%Y-%m-%d %H:%M}"}
        )
        if apps.is_installed("chats"):
            self._print_count(chats.old_chats(before).count(), _("chats, and in them:"))
            inside: Counter[str] = Counter()
            for pks in _pages(before):
                inside.update(chats.count_contents(pks))
            for table, label in INSIDE.items():
                self._print_count(inside[table], f"  {label}")
            self._print_count(
                chats.partly_pruned_chats().count(),
                _("chats partly removed by an interrupted run"),
            )
        self._print_count(desk.old_delivered(before).count(), _("delivered events"))
        self._print_count(desk.old_states(before).count(), _("stored states of runs"))
        self._print_count(desk.old_attachments(before).count(), _("files of requests"))
        self._print_count(desk.old_absences(before).count(), _("past absences"))
        channels = sum(rows.count() for rows in old_channel_rows(before))
        self._print_count(channels, _("cards and clicks of channels"))
        self._print_count(desk.old_sessions().count(), _("ended sessions of any age"))
        self.stdout.write(
            _(
                "Nothing was changed. Add --yes to remove this data. Requests, decisions and the audit log are kept."
            )
        )

    def _print_count(self, number: int, label: str) -> None:
        self.stdout.write(f"{grouped(number):>12} {label}")

    def _prune_chats(self, before: datetime) -> None:
        rows = removed = skipped = 0
        for pk in list(chats.partly_pruned_chats().values_list("pk", flat=True)):
            rows += self._empty(pk)
        for pks in _pages(before):
            for pk in pks:
                if chats.begin_pruning(pk, before):
                    rows = rows + self._empty(pk)
                    removed = removed + 1
                else:
                    skipped += 1
        self.stdout.write(
            ngettext(
                "Removed %(removed)s chat (%(rows)s rows).",
                "Removed %(removed)s chats (%(rows)s rows).",
                removed,
            )
            % {"removed": grouped(removed), "rows": grouped(rows)}
        )
        if skipped:
            self._write(
                ngettext(
                    "%(count)s chat is in use and was kept.",
                    "%(count)s chats are in use and were kept.",
                    skipped,
                ),
                skipped,
            )

    def _empty(self, pk: int) -> int:
        rows = 0
        while removed := chats.prune_contents(pk):
            rows += removed
        return rows


def _pages(before: datetime) -> Iterator[list[int]]:
    """Yield the ids of old chats, PAGE at a time."""
    last = 0
    while pks := list(
        chats.old_chats(before)
        .filter(pk__gt=last)
        .order_by("pk")
        .values_list("pk", flat=True)[:PAGE]
    ):
        yield pks
        last = pks[-1]
