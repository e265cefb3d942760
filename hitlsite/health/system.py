"""The System page: the health of this installation, and how to fix problems."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import django
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models import Count, Q
from django.db.models.functions import Now
from django.http import HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from approvals.access import permissions
from approvals.administration.guards import administrators_only
from approvals.background import sweep
from approvals.http import SignedIn
from approvals.models import AuditEntry, processes
from approvals.models.keys import WARNINGS, ApiKey, live
from approvals.outbound import outbox, push
from approvals.states import Channel
from hitlsite import __version__
from hitlsite.health import readiness
from hitlsite.health.channels import channels, engines
from hitlsite.health.parts import BAD, OK, WARN, SystemPart
from hitlsite.health.sign_in import (
    former_keys,
    scim,
    second_factors,
    single_sign_on,
    token_issuers,
)
from hitlsite.storage import unwritable_folder

if apps.is_installed("chats"):
    from chats.queries import unfinished_turns
    from chats.states import TurnState

#: Counts beyond this are shown as "1000 or more".
CAP = 1000
#: The page warns below this much free disk space.
LOW_DISK = 0.1
#: With this many administrators, a second one confirms loosening changes; the period for counting changes made alone.
SECOND = 2
ALONE_FOR = timedelta(days=30)
#: Work overdue for this long shows that no sweep is running.
LATE = timedelta(minutes=1)


@administrators_only
@require_GET
def system(request: SignedIn) -> HttpResponse:
    lines = [line for part in PARTS for line in part()]
    worst = next(
        (state for state in (BAD, WARN) if any(line.state == state for line in lines)),
        OK,
    )
    context = {"lines": lines, "worst": worst, "here": "system"}
    return render(request, "approvals/administration/system.html", context)


def _versions() -> Iterator[SystemPart]:
    names = f"Pausepoint {__version__}, Django {django.get_version()}, Python {platform.python_version()}"
    yield SystemPart(_("Versions"), OK, names)


def _database() -> Iterator[SystemPart]:
    version = ".".join(str(part) for part in connection.get_database_version())
    name = f"{connection.display_name} {version}"
    problems = readiness.find_problems()
    if problems:
        yield SystemPart(
            _("Database"),
            BAD,
            f"{name}: {'; '.join(problems)}",
            _("Follow these instructions, then reload this page."),
        )
    else:
        yield SystemPart(
            _("Database"),
            OK,
            _("%(name)s, all migrations applied, audit log protected") % {"name": name},
        )


def _administrators() -> Iterator[SystemPart]:
    """Report whether a second administrator confirms loosening changes, and changes that one of them made alone."""
    number = permissions.administrators().count()
    summary = ngettext(
        "%(count)d administrator", "%(count)d administrators", number
    ) % {"count": number}
    since = timezone.now() - ALONE_FOR
    alone = (
        AuditEntry.objects.filter(event="change.alone", at__gte=since)
        .order_by()[:CAP]
        .count()
    )
    if alone:
        done = ngettext(
            "%(count)s loosening change was made without a second administrator in the last 30 days",
            "%(count)s loosening changes were made without a second administrator in the last 30 days",
            alone,
        ) % {"count": _capped(alone)}
        summary = f"{summary}; {done}"
    if settings.HITL_ONE_ADMINISTRATOR:
        advice = _(
            "HITL_ONE_ADMINISTRATOR is on, so each administrator may loosen rules, tools, scopes and access alone."
        )
        yield SystemPart(_("Second administrator"), WARN, summary, advice)
    elif number < SECOND:
        advice = _(
            "Make someone else an administrator. A second one must then confirm loosening changes."
        )
        yield SystemPart(_("Second administrator"), WARN, summary, advice)
    else:
        yield SystemPart(_("Second administrator"), OK, summary)


def _processes() -> Iterator[SystemPart]:
    web, workers = processes.alive_by_kind().values()
    counted = ngettext(
        "%(count)d web process", "%(count)d web processes", web["number"]
    ) % {"count": web["number"]}
    if readiness.workers_run_turns():
        more = ngettext("%(count)d worker", "%(count)d workers", workers["number"]) % {
            "count": workers["number"]
        }
        counted = f"{counted}, {more}"
    if web["number"]:
        yield SystemPart(_("Processes"), OK, counted)
    else:
        advice = _(
            "Start Pausepoint with `manage.py serve`, which also checks for deadlines."
        )
        yield SystemPart(
            _("Processes"),
            BAD,
            _("No process has reported in the last 30 seconds"),
            advice,
        )


def _redis() -> Iterator[SystemPart]:
    if not settings.REDIS_URL:
        yield SystemPart(
            "Redis", OK, _("Not used: one web process notifies its own pages")
        )
        return
    from redis import Redis, RedisError  # noqa: PLC0415 - loaded late

    host = urlsplit(settings.REDIS_URL).hostname or ""
    try:
        with Redis.from_url(
            settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1
        ) as client:
            client.ping()
    except RedisError:
        advice = _(
            "Check that Redis runs and that REDIS_URL is right. Until then pages update every few seconds."
        )
        yield SystemPart(
            "Redis", WARN, _("%(host)s does not answer") % {"host": host}, advice
        )
    else:
        yield SystemPart("Redis", OK, _("%(host)s answers") % {"host": host})


def _queue() -> Iterator[SystemPart]:
    if not apps.is_installed("chats"):
        return
    turns = unfinished_turns(CAP)
    counts = ", ".join(
        f"{TurnState(state).label}: {_capped(number)}"
        for state, number in turns.items()
    )
    yield SystemPart(_("Turns of agents"), OK, counts)


def _sweep() -> Iterator[SystemPart]:
    late = sweep.overdue(Now() - LATE).order_by()[:CAP].count()
    if late:
        message = ngettext(
            "%(count)s request is past its deadline",
            "%(count)s requests are past their deadline",
            late,
        ) % {"count": _capped(late)}
        yield SystemPart(
            _("Sweep"),
            BAD,
            message,
            _("Look for sweep errors in the log, and restart the processes."),
        )
    else:
        yield SystemPart(_("Sweep"), OK, _("Nothing is overdue"))


def _deliveries() -> Iterator[SystemPart]:
    channels = (
        Channel.WEBHOOK,
        Channel.MAIL,
        Channel.SLACK,
        Channel.CARD,
        Channel.RELAY,
        Channel.HANDLER,
    )
    waiting = outbox.undelivered_events(*channels).order_by()[:CAP].count()
    failing = (
        outbox.undelivered_events(*channels)
        .filter(attempts__gt=2)
        .order_by()[:CAP]
        .count()
    )
    message = _("%(count)s waiting") % {"count": _capped(waiting)}
    if failing:
        failed = _("%(count)s failed more than twice") % {"count": _capped(failing)}
        advice = _(
            "Open the webhook under Webhooks to see the response of its receiver."
        )
        yield SystemPart(_("Deliveries"), WARN, f"{message}, {failed}", advice)
    else:
        yield SystemPart(_("Deliveries"), OK, message)


def _disk() -> Iterator[SystemPart]:
    file = (
        connection.settings_dict["NAME"]
        if connection.vendor == "sqlite"
        else settings.BASE_DIR
    )
    folder = (
        Path(str(file)).parent if connection.vendor == "sqlite" else Path(str(file))
    )
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return
    message = _("%(free)s free of %(total)s") % {
        "free": filesizeformat(usage.free),
        "total": filesizeformat(usage.total),
    }
    if usage.free < LOW_DISK * usage.total:
        advice = _(
            "Free up disk space. Without it, nothing can be decided. `manage.py prune` removes old data."
        )
        yield SystemPart(_("Disk of this process"), WARN, message, advice)
    else:
        yield SystemPart(_("Disk of this process"), OK, message)


def _files() -> Iterator[SystemPart]:
    folder = unwritable_folder()
    if folder is None:
        yield SystemPart(_("Files of requests"), OK, _("Can be stored"))
    else:
        message = _("This process cannot write to %(folder)s") % {"folder": folder}
        advice = _(
            "Make the folder writable for the user of the processes, or set ATTACHMENTS_OPTIONS."
        )
        yield SystemPart(_("Files of requests"), BAD, message, advice)


def _mail() -> Iterator[SystemPart]:
    if settings.HITL_MAIL:
        yield SystemPart(
            _("Mail"), OK, _("Set up. Send yourself a test under Notifications.")
        )
    else:
        advice = _(
            "Set EMAIL_HOST, so that people can be notified and can reset their passwords."
        )
        yield SystemPart(_("Mail"), WARN, _("Not set up"), advice)


def _push() -> Iterator[SystemPart]:
    if push.is_available():
        yield SystemPart(
            _("Device notifications"),
            OK,
            _("Set up. People subscribe their devices under Notifications."),
        )
    else:
        advice = _("Set PUBLIC_URL to an https:// URL, which push services require.")
        yield SystemPart(
            _("Device notifications"),
            WARN,
            _("Off: PUBLIC_URL does not start with https://"),
            advice,
        )


def _model() -> Iterator[SystemPart]:
    if not apps.is_installed("chats"):
        return
    if settings.HITL_PROVIDER == "scripted":
        message = _("Demo agent: prepared answers, no model")
        yield SystemPart(
            _("Model"),
            WARN,
            message,
            _("Set HITL_PROVIDER and a key to let a model answer in chats."),
        )
    elif settings.HITL_PROVIDER:
        yield SystemPart(
            _("Model"), OK, f"{settings.HITL_PROVIDER}: {settings.HITL_MODEL}"
        )
    else:
        yield SystemPart(
            _("Model"),
            WARN,
            _("None"),
            _("Set HITL_PROVIDER and a key to let a model answer in chats."),
        )


def _api_keys() -> Iterator[SystemPart]:
    soon = Q(expires_at__lte=timezone.now() + max(WARNINGS))
    counts = ApiKey.objects.filter(live(), issuer=None).aggregate(
        valid=Count("pk"),
        soon=Count("pk", filter=soon),
        endless=Count("pk", filter=Q(expires_at=None)),
    )
    summary = _(
        "Valid: %(valid)d. Expire within 30 days: %(soon)d. Never expire: %(endless)d."
    )
    warns = counts["soon"] or counts["endless"]
    advice = _("Rotate these keys under API keys, or revoke them.") if warns else ""
    state = WARN if warns else OK
    yield SystemPart(_("API keys"), state, summary % counts, advice)


def _capped(number: int) -> str:
    return _("%(count)d+") % {"count": number} if number >= CAP else str(number)


PARTS: tuple[Callable[[], Iterator[SystemPart]], ...] = (
    _versions,
    _database,
    _administrators,
    _processes,
    _redis,
    _queue,
    _sweep,
    _deliveries,
    _disk,
    _files,
    _mail,
    channels,
    engines,
    single_sign_on,
    scim,
    second_factors,
    former_keys,
    _api_keys,
    token_issuers,
    _push,
    _model,
)
