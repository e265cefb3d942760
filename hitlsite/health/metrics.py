"""`/metrics` for Prometheus, computed from the database, so that scraping one process is enough.

Gauges are read each time, through an index and up to a cap. Counters and the histogram start with the process and add the
changes since the last scrape, so that their cost does not grow with the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from approvals.access.providers import ENVIRONMENT, known_providers
from approvals.administration.scim.queries import counts, scim_keys
from approvals.asking.asks import URGENCY
from approvals.channels.posting import due_cards
from approvals.channels.relay.posting import due_messages
from approvals.db import append_only
from approvals.models import (
    ApprovalRequest,
    AuditEntry,
    ChannelClick,
    ChannelConnection,
    TokenIssuer,
    processes,
)
from approvals.outbound import outbox
from approvals.queries.engines import unsettled_deliveries
from approvals.states import FINAL, Channel, Status
from approvals.text.names import fold

if apps.is_installed("chats"):
    from chats.queries import unfinished_turns

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
DOWN = b"# HELP pausepoint_up Whether the database answers.\n# TYPE pausepoint_up gauge\npausepoint_up 0.0\n"
#: Cap of gauges that count rows; it means "this many or more".
CAP = 20_000
#: Clients choose tool names, so only the first ones seen get a label of their own; all others share `other`.
MAX_TOOLS = 50
OTHER = "other"
#: Younger changes are counted at the next scrape, because an earlier transaction may not have committed yet.
SETTLE = timedelta(seconds=5)
PAGE = 1000
PAGES = 10
#: Seconds until a decision, from one second to a week.
BUCKETS = (
    1,
    5,
    15,
    60,
    300,
    900,
    3600,
    4 * 3600,
    24 * 3600,
    3 * 24 * 3600,
    7 * 24 * 3600,
)


class Metrics:
    """The metrics of one process. Call `text` on one thread at a time."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._tools: dict[str, str] = {}
        self._created_after = self._changed_after = (timezone.now(), "")
        self._logged_in_after: tuple[datetime, Any] = (timezone.now(), 0)
        names = ["tool", "status"]
        self._requests = Counter(
            "pausepoint_requests",
            "Requests that reached a status since this process started.",
            names,
            registry=self._registry,
        )
        self._latency = Histogram(
            "pausepoint_decision_seconds",
            "Time from a request to its end, however it ended.",
            ["tool"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._logins = Counter(
            "pausepoint_logins",
            "Log-ins and refused ones since this process started.",
            ["by", "outcome", "provider"],
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format. Raise the errors of the database."""
        self._count_new()
        self._count_ended()
        self._count_logins()
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Describe no metrics, so that registering reads nothing from the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        yield _gauge("up", "Whether the database is reachable.", 1)
        protected = append_only.is_protected(connection)
        yield _gauge(
            "record_protected",
            "Whether the append-only triggers are on; 0 means act now.",
            protected,
        )
        yield self._open_requests()
        yield _oldest_requests()
        yield _outbox()
        yield _token_issuers()
        yield from _channels()
        yield _engines()
        yield from _processes()
        yield from _scim()
        if apps.is_installed("chats"):
            yield from _turns()

    def _tool(self, name: str) -> str:
        """Return the label of a tool: the first name under which this process saw it, in any spelling."""
        canonical = fold(name)
        if canonical not in self._tools and len(self._tools) >= MAX_TOOLS:
            return OTHER
        return self._tools.setdefault(canonical, name)

    def _open_requests(self) -> Metric:
        metric = GaugeMetricFamily(
            "pausepoint_requests_open",
            "Requests waiting for people.",
            labels=["tool", "priority"],
        )
        first = ApprovalRequest.objects.filter(status=Status.PENDING).order_by(
            "urgency", "created_at"
        )
        rows = ApprovalRequest.objects.filter(pk__in=first.values("pk")[:CAP]).order_by(
            "tool_name", "priority"
        )
        counted: dict[tuple[str, str], int] = {}
        for tool, priority, number in rows.values_list(
            "tool_name", "priority"
        ).annotate(Count("pk")):
            label = (self._tool(tool), priority)
            counted[label] = counted.get(label, 0) + number
        for label, number in counted.items():
            metric.add_metric(label, number)
        return metric

    def _count_new(self) -> None:
        rows = ApprovalRequest.objects.values_list("created_at", "pk", "tool_name")
        for page in _behind(rows, "created_at", self._created_after):
            for at, pk, tool in page:
                self._requests.labels(self._tool(tool), Status.PENDING).inc()
                self._created_after = (at, pk)

    def _count_ended(self) -> None:
        names = (
            "changed_at",
            "pk",
            "tool_name",
            "status",
            "created_at",
            "decision__decided_at",
        )
        rows = ApprovalRequest.objects.values_list(*names)
        for page in _behind(rows, "changed_at", self._changed_after):
            for at, pk, tool, status, created_at, decided_at in page:
                # A later change, such as a comment, does not end it again.
                if status in FINAL and decided_at == at:
                    self._requests.labels(self._tool(tool), status).inc()
                    self._latency.labels(self._tool(tool)).observe(
                        max((decided_at - created_at).total_seconds(), 0)
                    )
                self._changed_after = (at, pk)

    def _count_logins(self) -> None:
        logins = AuditEntry.objects.filter(
            event__in=["login.failed", "login.succeeded"]
        )
        rows = logins.values_list("at", "pk", "event", "body")
        keys = {app.provider_id: app.key or ENVIRONMENT for app in known_providers()}
        for page in _behind(rows, "at", self._logged_in_after):
            for at, pk, event, body in page:
                data = json.loads(body)["data"]
                by = data.get("by", "password")
                outcome = event.removeprefix("login.")
                if data.get("reason") == "unavailable":
                    outcome = "unavailable"
                provider = ""
                if "provider" in data:
                    by = "single_sign_on"
                    # One that was removed since then has no key.
                    provider = keys.get(data["provider"], OTHER)
                self._logins.labels(by, outcome, provider).inc()
                self._logged_in_after = (at, pk)


def _behind(
    rows: QuerySet[Any, Any], column: str, place: tuple[datetime, Any]
) -> Iterator[list[Any]]:
    """Yield pages of the rows after `place` in the order of an indexed time, at most PAGES pages."""
    until = timezone.now() - SETTLE
    at, pk = place
    for _ in range(PAGES):
        later = Q(**{f"{column}__gt": at})
        later |= Q(**{column: at, "pk__gt": pk}) if pk else Q()
        page = list(
            rows.filter(
                later, **{f"{column}__gte": at, f"{column}__lte": until}
            ).order_by(column, "pk")[:PAGE]
        )
        yield page
        if len(page) < PAGE:
            return
        at, pk = page[-1][:2]


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"pausepoint_{name}", documentation, value=value)


def _oldest_requests() -> Metric:
    metric = GaugeMetricFamily(
        "pausepoint_oldest_request_seconds",
        "Age of the oldest waiting request; 0 without one.",
        labels=["priority"],
    )
    now = timezone.now()
    for priority, urgency in URGENCY.items():
        waiting = ApprovalRequest.objects.filter(
            status=Status.PENDING, urgency=urgency
        ).order_by("created_at")
        oldest = waiting.values_list("created_at", flat=True).first()
        metric.add_metric([priority], (now - oldest).total_seconds() if oldest else 0)
    return metric


def _outbox() -> Metric:
    metric = GaugeMetricFamily(
        "pausepoint_outbox_waiting",
        "Events waiting for delivery.",
        labels=["channel"],
    )
    for channel in Channel:
        metric.add_metric(
            [channel], outbox.undelivered_events(channel).order_by()[:CAP].count()
        )
    return metric


def _token_issuers() -> Metric:
    metric = GaugeMetricFamily(
        "pausepoint_token_issuers",
        "Enabled token issuers, by whether their keys could be read last time.",
        labels=["state"],
    )
    enabled = TokenIssuer.objects.filter(disabled_at=None)
    problems = list(enabled.values_list("problem", flat=True))
    metric.add_metric(["readable"], problems.count(""))
    metric.add_metric(["unreadable"], len(problems) - problems.count(""))
    return metric


def _engines() -> Metric:
    metric = GaugeMetricFamily(
        "pausepoint_engine_decisions",
        "Decisions that an engine did not take, or may have got, and that no one has settled.",
        labels=["state"],
    )
    ended = unsettled_deliveries().order_by().values_list("uncertain", flat=True)
    unknown = [bool(uncertain) for uncertain in ended[:CAP]]
    metric.add_metric(["not_taken"], unknown.count(False))
    metric.add_metric(["unknown"], unknown.count(True))
    return metric


def _channels() -> Iterator[Metric]:
    connected = GaugeMetricFamily(
        "pausepoint_channel_connected",
        "Whether the last call of a channel in which people answer succeeded.",
        labels=["channel"],
    )
    for row in ChannelConnection.objects.all():
        relay = row.kind == ChannelConnection.Kind.RELAY
        name = f"{row.kind}:{row.team_id}" if relay else row.kind
        connected.add_metric([name], not row.problem)
    yield connected
    waiting = GaugeMetricFamily(
        "pausepoint_channel_waiting",
        "Clicks to carry out, cards to rewrite, and messages for relays.",
        labels=["kind"],
    )
    clicks = ChannelClick.objects.filter(done_at=None)
    waiting.add_metric(["click"], clicks.order_by()[:CAP].count())
    waiting.add_metric(["card"], due_cards(Now()).order_by()[:CAP].count())
    waiting.add_metric(["message"], due_messages(Now()).order_by()[:CAP].count())
    yield waiting


def _processes() -> Iterator[Metric]:
    seen = GaugeMetricFamily(
        "pausepoint_processes",
        "Processes seen in the last 30 seconds.",
        labels=["kind"],
    )
    running = GaugeMetricFamily(
        "pausepoint_turns_running",
        "Turns that processes report as running.",
        labels=["kind"],
    )
    for kind, row in processes.alive_by_kind().items():
        seen.add_metric([kind], row["number"])
        running.add_metric([kind], row["running"])
    yield seen
    yield running


def _scim() -> Iterator[Metric]:
    """Yield the metrics of SCIM, if it has a key."""
    keys = scim_keys()
    if not keys:
        return
    known = counts()
    people = GaugeMetricFamily(
        "pausepoint_scim_people", "People of an identity provider.", labels=["state"]
    )
    for state in ("active", "inactive"):
        people.add_metric([state], known[state])
    yield people
    uses = [key.last_used_at.timestamp() for key in keys if key.last_used_at]
    last = max(uses, default=0)
    yield _gauge("scim_last_call_seconds", "Unix time of the last call by SCIM.", last)


def _turns() -> Iterator[Metric]:
    metric = GaugeMetricFamily(
        "pausepoint_turns", "Turns that have not ended.", labels=["state"]
    )
    for state, number in unfinished_turns(CAP).items():
        metric.add_metric([state], number)
    yield metric
