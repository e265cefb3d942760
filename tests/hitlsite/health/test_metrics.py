"""`/metrics`: correct figures, bounded labels, and a cost that does not grow with the tables."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from approvals import actions
from approvals.models import ApprovalRequest, ChannelClick, ChannelConnection, Decision, OutboxEvent
from approvals.models.processes import WorkerKind
from approvals.states import Kind, Priority, Verdict
from chats.models import Turn
from hitlsite.health import metrics
from hitlsite.health.metrics import Metrics
from tests.support.chats.turns import converse
from tests.support.desk.requests import cancel, decide, make_request, make_workflow
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db
LABELS = ("tool", "status", "priority", "channel", "kind", "state", "le")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Here no transaction is still under way."""
    monkeypatch.setattr(metrics, "SETTLE", timedelta(0))


def read(found: Metrics) -> dict[tuple[str, ...], float]:
    """Samples by their name and the values of their labels."""
    families = text_string_to_metric_families(found.text().decode())
    return {
        (
            sample.name.removeprefix("pausepoint_"),
            *(sample.labels[name] for name in LABELS if name in sample.labels),
        ): sample.value
        for family in families
        for sample in family.samples
    }


def test_requests_are_counted_once_by_tool_and_status_over_many_scrapes():
    found, asks, decides = Metrics(), alice(), bob()
    first, second, third = (make_request(asks, tool_name=name) for name in ("refund", "refund", "mail"))
    for _ in range(2):
        figures = read(found)
        assert (figures["requests_total", "refund", "pending"], figures["requests_total", "mail", "pending"]) == (2, 1)
    decide(first, decides, Verdict.APPROVE)
    decide(second, decides, Verdict.REJECT)
    cancel(third, asks)
    for _ in range(2):
        figures = read(found)
        ended = {name[1:]: value for name, value in figures.items() if name[0] == "requests_total"}
        assert ended == {
            ("refund", "pending"): 2,
            ("mail", "pending"): 1,
            ("refund", "approved"): 1,
            ("refund", "rejected"): 1,
            ("mail", "cancelled"): 1,
        }
        assert figures["decision_seconds_count", "refund"] == 2


def test_requests_from_before_the_process_started_are_not_counted():
    request = make_request(alice(), tool_name="refund")
    found = Metrics()
    assert ("requests_total", "refund", "pending") not in read(found)
    decide(request, bob(), Verdict.APPROVE)
    assert read(found)["requests_total", "refund", "approved"] == 1


def test_the_latency_is_measured_from_asking_to_the_end():
    found, request = Metrics(), make_request(alice(), tool_name="refund")
    ApprovalRequest.objects.update(created_at=timezone.now() - timedelta(minutes=10))
    decide(request, bob(), Verdict.APPROVE)
    figures = read(found)
    assert (
        figures["decision_seconds_bucket", "refund", "300.0"],
        figures["decision_seconds_bucket", "refund", "900.0"],
    ) == (0, 1)
    taken = Decision.objects.get().decided_at - ApprovalRequest.objects.get().created_at
    assert figures["decision_seconds_sum", "refund"] == taken.total_seconds()


def test_touching_an_ended_request_does_not_count_it_again():
    found, request = Metrics(), make_request(alice(), tool_name="refund")
    decide(request, bob(), Verdict.APPROVE)
    assert read(found)["requests_total", "refund", "approved"] == 1
    ApprovalRequest.objects.update(changed_at=timezone.now())
    assert read(found)["requests_total", "refund", "approved"] == 1


def test_tools_beyond_the_limit_share_one_label(monkeypatch):
    monkeypatch.setattr(metrics, "MAX_TOOLS", 3)
    found, asks = Metrics(), alice()
    for number in range(10):
        make_request(asks, tool_name=f"tool-{number}")
    figures = read(found)
    assert {name[1] for name in figures if name[0] == "requests_open"} == {
        name[1] for name in figures if name[0] == "requests_total"
    }
    assert sum(value for name, value in figures.items() if name[0] == "requests_open") == 10
    assert len({name[1] for name in figures if name[0] == "requests_open"}) == 4
    assert figures["requests_open", "other", "normal"] == 7


def test_a_tool_name_is_escaped_in_its_label():
    found = Metrics()
    name = 'x"} 1\npausepoint_up 0 \\'
    # No tool is called like this any more; rows of an older version may be.
    ApprovalRequest.objects.filter(pk=make_request(alice()).pk).update(tool_name=name)
    figures = read(found)
    assert (figures["requests_open", name, "normal"], figures["up",]) == (1, 1)


def test_pages_of_changes_have_no_gap_and_no_overlap(monkeypatch):
    monkeypatch.setattr(metrics, "PAGE", 2)
    monkeypatch.setattr(metrics, "PAGES", 2)
    found, asks, decides = Metrics(), alice(), bob()
    moment = timezone.now()
    requests = [make_request(asks, tool_name="refund") for _ in range(7)]
    # All at one moment: the place within it counts.
    ApprovalRequest.objects.update(created_at=moment, changed_at=moment)
    counted = [read(found).get(("requests_total", "refund", "pending"), 0) for _ in range(3)]
    assert counted == [4, 7, 7]
    for request in requests:
        decide(request, decides, Verdict.APPROVE)
    assert [read(found).get(("requests_total", "refund", "approved"), 0) for _ in range(3)] == [4, 7, 7]


def test_pending_requests_are_shown_by_age_and_priority():
    asks, found = alice(), Metrics()
    for priority, minutes in ((Priority.CRITICAL, 3), (Priority.CRITICAL, 9), (Priority.LOW, 60)):
        request = make_request(asks, Kind.QUESTION, priority=priority)
        ApprovalRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() - timedelta(minutes=minutes))
    figures = read(found)
    ages = {name[1]: round(value / 60) for name, value in figures.items() if name[0] == "oldest_request_seconds"}
    assert ages == {"critical": 9, "high": 0, "normal": 0, "low": 60}


@pytest.mark.django_db(transaction=True)
def test_turns_outbox_and_processes_are_shown():
    converse(alice(), "Please refund order 4711, 250 euros")
    for number, channel in enumerate(["webhook", "webhook", "mail"]):
        OutboxEvent.objects.create(
            event_id=f"12345678-1234-5678-1234-56781234567{number}", name="x", stream="s", target="t", channel=channel, payload={}
        )  # fmt: skip
    OutboxEvent.objects.filter(channel="mail").update(delivered_at=timezone.now())
    now = timezone.now()
    for name, running in (("a", 2), ("b", 3)):
        actions.record_heartbeat(name, WorkerKind.WORKER, started_at=now, running=running)
    figures = read(Metrics())
    assert [figures["turns", state] for state in ("queued", "running", "suspended")] == [0, 0, 1]
    assert [figures["outbox_waiting", channel] for channel in ("webhook", "mail")] == [2, 0]
    assert [figures["processes", kind] for kind in ("web", "worker")] == [0, 2]
    assert [figures["turns_running", kind] for kind in ("web", "worker")] == [0, 5]


def test_a_gauge_stops_at_its_cap(monkeypatch):
    monkeypatch.setattr(metrics, "CAP", 5)
    workflow = make_workflow(alice())
    for _ in range(8):
        make_request(workflow.owner, workflow=workflow, tool_name="refund")
    figures = read(Metrics())
    assert figures["requests_open", "refund", "normal"] == 5


@pytest.mark.parametrize("rows", [1, 60])
def test_metrics_cost_the_same_number_of_queries_for_any_number_of_rows(rows, django_assert_max_num_queries):
    found, asks = Metrics(), alice()
    workflow = make_workflow(asks)
    for number in range(rows):
        make_request(asks, workflow=workflow, tool_name=f"tool-{number}")
    assert not Turn.objects.exists()
    # New, ended, whether the triggers are on, the tables, the triggers, open, the oldest of four priorities, eight channels,
    # token issuers, five of chats, engines, processes, keys for SCIM, three states of turns, new log-ins and the providers.
    with django_assert_max_num_queries(2 + 3 + 1 + 4 + 8 + 1 + 5 + 1 + 1 + 1 + 3 + 2):
        found.text()


def test_a_channel_that_fails_and_clicks_that_wait_are_figures():
    assert [name for name in read(Metrics()) if name[0] == "channel_connected"] == []
    connection = ChannelConnection.objects.create(kind="slack", problem="token_revoked")
    ChannelClick.objects.create(connection=connection, key="1", data={})
    figures = read(Metrics())
    assert figures["channel_connected", "slack"] == 0
    assert (figures["channel_waiting", "click"], figures["channel_waiting", "card"]) == (1, 0)
