"""Check whether this process can work: the database, its migrations, the workers, the channel layer."""

from __future__ import annotations

import logging
from functools import cache

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from approvals.db import append_only
from approvals.db.first_version import EARLIER
from approvals.live.liveness import RoundTrip
from approvals.models import processes
from approvals.models.processes import WorkerKind
from hitlsite.storage import unwritable_folder

logger = logging.getLogger(__name__)


def workers_run_turns() -> bool:
    """Return whether turns run in workers and not in the processes that serve pages."""
    return bool(settings.HITL_DISPATCH == "workers")


def find_problems() -> list[str]:
    """Return the problems found in the database, a line each. Raise the database's errors if it is away."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    if EARLIER in applied:
        return [
            _(
                "migrations: the database was created by a commit before 0.1.0; see `manage.py check --database default`"
            )
        ]
    missing = sorted(
        {app for app, name in _last_migrations() if (app, name) not in applied}
    )
    if missing:
        return [
            _("migrations: not all are applied in %(names)s; run `manage.py migrate`")
            % {"names": ", ".join(missing)}
        ]
    if append_only.find_switch_rows(connection):
        return [
            _("record: %(problem)s; see `manage.py check --database default`")
            % {"problem": append_only.switch_warning()}
        ]
    if append_only.missing_triggers(connection):
        return [
            _(
                "record: triggers that protect it are missing; see `manage.py check --database default`"
            )
        ]
    if unwritable_folder() is not None:
        return [
            _("files: this process cannot write to their folder; see `manage.py check`")
        ]
    if (
        workers_run_turns()
        and not processes.alive().filter(kind=WorkerKind.WORKER).exists()
    ):
        seconds = int(processes.ALIVE.total_seconds())
        return [
            _(
                "workers: none was running in the last %(seconds)s s; start `manage.py worker`"
            )
            % {"seconds": seconds}
        ]
    return []


@cache
def _last_migrations() -> list[tuple[str, str]]:
    """Return the last migration of each app."""
    return list(MigrationLoader(None).graph.leaf_nodes())


async def check_channel_layer(round_trip: RoundTrip, seconds: float) -> list[str]:
    """Return the problems of the channel layer, a line each, within `seconds`."""
    try:
        await round_trip.check(seconds)
    except Exception as error:
        logger.warning(
            "Not ready: the channel layer does not answer (%s: %s)",
            type(error).__name__,
            error,
        )
        return [_("channel layer: no answer")]
    return []
