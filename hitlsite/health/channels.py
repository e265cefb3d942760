"""The lines of the System page on the channels in which people answer, and on engines."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.channels.slack.states import socket_state_of
from approvals.channels.states import state_of
from approvals.models import ChannelConnection, EngineConnection
from approvals.models.channels import SocketState
from approvals.outbound.outbox import lane_of_engine, undelivered_events
from approvals.queries.engines import unsettled_deliveries
from approvals.states import Channel
from approvals.text.text import visible
from hitlsite.health.parts import OK, WARN, SystemPart


def channels() -> Iterator[SystemPart]:
    for connection in ChannelConnection.objects.all():
        number = connection.accounts.count()
        linked = ngettext(
            "%(count)d linked account", "%(count)d linked accounts", number
        )
        name = visible(connection.team_name)
        summary = f"{name}: {linked % {'count': number}}"
        socket = connection.socket_state not in {"", SocketState.CONNECTED}
        words = [state_of(connection)] if connection.problem else []
        words += [socket_state_of(connection)] if socket else []
        state = WARN if words else OK
        yield SystemPart(
            connection.get_kind_display(), state, summary, visible(" ".join(words))
        )


def engines() -> Iterator[SystemPart]:
    unknown = unsettled_deliveries().filter(uncertain=True)
    failing = undelivered_events(Channel.ENGINE).filter(attempts__gt=2)
    for connection in EngineConnection.objects.filter(disabled_at=None):
        lane = lane_of_engine(connection.name)
        part = _("Engine %(name)s") % {"name": connection.name}
        advice = _("Open the engine under Engines to see what it answers.")
        if failing.filter(lane=lane).exists():
            yield SystemPart(part, WARN, _("It does not take decisions"), advice)
        elif unknown.filter(lane=lane).exists():
            summary = _("It is unknown whether it has a decision")
            yield SystemPart(part, WARN, summary, advice)
        else:
            yield SystemPart(part, OK, _("No decision is overdue"))
