"""Whether this process can do its work: the database, its migrations, the workers, the channel layer."""

from __future__ import annotations

import logging
from functools import cache

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from approvals.live.echo import Echo
from approvals.models import processes
from approvals.models.processes import WorkerKind
from approvals.runtime import append_only

logger = logging.getLogger(__name__)


def workers_run_turns() -> bool:
    """Whether pages are served without the processes that run turns."""
    return bool(settings.HITL_DISPATCH == "workers")


def look() -> list[str]:
    """What the database says is wrong, a line each. Raises what the database raises when it is away."""
    missing = unapplied()
    if missing:
        return [
            _("migrations: not all are applied in %(names)s; run `manage.py migrate`") % {"names": ", ".join(missing)}
        ]
    if append_only.left_on(connection):
        return [
            _("record: %(problem)s; see `manage.py check --database default`")
            % {"problem": append_only.about_left_on()}
        ]
    if workers_run_turns() and not processes.alive().filter(kind=WorkerKind.WORKER).exists():
        seconds = int(processes.ALIVE.total_seconds())
        return [
            _("workers: none was running in the last %(seconds)s s; start `manage.py worker`") % {"seconds": seconds}
        ]
    return []


def unapplied() -> list[str]:
    """The apps whose last migration has not run on this database."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted({app for app, name in _last_migrations() if (app, name) not in applied})


@cache
def _last_migrations() -> list[tuple[str, str]]:
    return list(MigrationLoader(None).graph.leaf_nodes())


async def listen(echo: Echo, seconds: float) -> list[str]:
    """What is wrong with the channel layer, a line; it may take so many seconds."""
    try:
        await echo.come_back(seconds)
    except Exception as error:
        logger.warning("Not ready: the channel layer does not answer (%s: %s)", type(error).__name__, error)
        return [_("channel layer: no answer")]
    return []
