"""A tool has one canonical name: settings and decisions hold for every spelling, which is stored as sent."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from approvals import actions
from approvals.access.standing import standing_of
from approvals.access.tool_lists import Ruling, ToolLists
from approvals.actions.attention.floods import SETTLED, find_floods, tell_of
from approvals.administration.tools.actions import store_tool_settings
from approvals.administration.tools.queries import tools_seen
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, AuditEntry, Flood, NotificationRule, OutboxEvent, ToolSettings
from approvals.outbound.recipients import recipients_of
from approvals.policy.conditions.cost import size_of
from approvals.policy.conditions.expressions import Expression, StepBudget
from approvals.queries.audit import entries_for
from approvals.queries.audit_filters import AuditFilters
from approvals.queries.filters import Filters
from approvals.queries.insights.figures import insights_for
from approvals.queries.lists.saved_views import suggested_values
from approvals.queries.policy.grants.ledger import grants_for
from approvals.queries.precedents import precedents_of
from approvals.queries.preferences import reason_rules, settings_of_tools
from approvals.queries.request_list import page_of
from approvals.queries.suggestions import last_messages, tools_with
from approvals.states import Control, Door, Kind, Priority, Route, Verdict, Width
from tests.approvals.actions.policy.granting import approve, ask, give, terms
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

SPELLINGS = ("wire", "Wire", "WIRE", "wIrE")
STRICT = {
    "min_priority": "critical",
    "control": Control.FOUR_EYES,
    "no_grants": True,
    "secret_fields": ["iban"],
    "key_fields": ["/amount"],
    "reason_required": True,
}


def asked(requester: User, tool: str, **more: object) -> ApprovalRequest:
    return ask(requester, {"amount": 5, "iban": "DE02"}, tool=tool, **more)


def reject(request: ApprovalRequest, by: User, comment: str = "no") -> None:
    actions.decide(request.pk, Answer(Verdict.REJECT, comment=comment), by=by, via=Door.DASHBOARD)


@pytest.mark.parametrize("tool", SPELLINGS)
def test_the_settings_of_a_tool_hold_for_every_spelling(tool):
    asker, decider = alice(), bob()
    store_tool_settings("wire", STRICT, by=administrator())
    request = asked(asker, tool)
    assert (request.priority, request.control, request.secrets, request.amount_pointer) == (
        Priority.CRITICAL,
        Control.FOUR_EYES,
        ["iban"],
        None,
    )
    assert request.tool_name == tool
    assert settings_of_tools([tool])[tool].secret_fields == ["iban"]
    with pytest.raises(Invalid):
        reject(request, decider, comment="")
    with pytest.raises(Invalid):
        approve(request, decider, terms())
    assert reason_rules([tool]).apply_to(request)


def test_letters_beyond_ascii_count_in_every_case():
    store_tool_settings("\u00dcberweisung", STRICT, by=administrator())
    assert asked(alice(), "\u00fcBERWEISUNG").control == Control.FOUR_EYES


def test_settings_are_stored_once_whichever_spelling_is_opened():
    for number, tool in enumerate(SPELLINGS):
        store_tool_settings(tool, {"grant_uses": number + 1}, by=administrator())
    assert list(ToolSettings.objects.values_list("tool_name", "grant_uses")) == [("wire", len(SPELLINGS))]
    changed = AuditEntry.objects.filter(event="tool.changed").order_by("pk").values_list("tool_name", flat=True)
    assert tuple(changed) == SPELLINGS


@pytest.mark.parametrize("tool", SPELLINGS)
def test_a_grant_holds_for_every_spelling_and_ends_beyond_the_limits_of_the_tool(tool):
    asker, decider = alice(), bob()
    given = give(decider, asker, terms(Width.TOOL), tool="Wire")
    assert (given.tool_name, asked(asker, tool).status) == ("Wire", "approved")
    assert list(grants_for(standing_of(decider), tool=tool)) == [given]
    store_tool_settings(tool, {"no_grants": True}, by=administrator())
    assert asked(asker, "Wire").status == "pending"


@pytest.mark.parametrize("tool", SPELLINGS)
def test_an_earlier_rejection_answers_the_same_call_in_every_spelling(tool):
    asker, decider = alice(), bob()
    apply_policy(repeat_rejections=True)
    reject(asked(asker, "wire"), decider)
    assert asked(asker, tool).status == "rejected"


@pytest.mark.parametrize("tool", SPELLINGS)
def test_lists_precedents_and_statistics_count_every_spelling_as_one_tool(tool):
    asker, decider = alice(), bob()
    for spelling in SPELLINGS:
        reject(asked(asker, spelling), decider)
    waiting = asked(asker, tool)
    assert len(page_of(standing_of(decider), Filters(status="decided", tool=tool))[0]) == len(SPELLINGS)
    assert precedents_of(standing_of(decider), waiting).total == len(SPELLINGS)
    assert last_messages(decider, tool) == ["no"]
    assert [count for _name, count in suggested_values(standing_of(decider), Filters(status="decided"), "tool")] == [
        len(SPELLINGS)
    ]
    figures = insights_for(standing_of(decider), days=1, now=waiting.created_at).tools
    assert [measure.ended for measure in figures.measures] == [len(SPELLINGS)]
    assert [seen.name for seen in tools_seen(standing_of(administrator()))[0]] == [tool]
    assert tools_with("IR") == [tool]
    entries = entries_for(AuditFilters(tool=tool)).filter(event="request.created")
    assert set(entries.values_list("tool_name", flat=True)) == set(SPELLINGS)


def test_a_page_of_one_group_has_every_spelling():
    asker, decider = alice(), bob()
    for tool in (*SPELLINGS, "other"):
        asked(asker, tool)
    rows, _after = page_of(standing_of(decider), Filters(group="tool"))
    assert [request.canonical_tool for request in rows] == ["other", *["wire"] * len(SPELLINGS)]


def test_requests_in_several_spellings_are_one_flood(settings):
    asker = alice()
    settings.HITL_FLOOD = 3
    for tool in SPELLINGS:
        asked(asker, tool)
    ApprovalRequest.objects.update(created_at=F("created_at") - 2 * SETTLED)
    [stream] = find_floods()
    assert [tell_of(stream), tell_of(stream)] == [True, False]
    assert (Flood.objects.get().tool_name, stream.tool_name in SPELLINGS) == ("wire", True)


@pytest.mark.parametrize("tool", SPELLINGS)
def test_rules_of_notifications_and_lists_of_hooks_name_a_tool_in_any_spelling(tool):
    request = asked(alice(), tool)
    rule = NotificationRule(pk=1, person=bob(), route=Route.SLACK, min_priority="low", tool_name="WiRe")
    event = OutboxEvent(name="request.created", payload={})
    assert len(recipients_of(event, request, [rule])) == 1
    assert ToolLists(denied=("WiRe",)).ruling(tool)[0] == Ruling.DENIED


@pytest.mark.parametrize("tool", SPELLINGS)
@pytest.mark.parametrize(
    "condition",
    ['tool == "Wire"', 'tool in ["a", "wire"]', '!(tool != "WIRE")', 'tool.startsWith("wI")', "tool.endsWith('RE')"],
)
def test_a_condition_meets_a_tool_in_its_own_spelling(tool, condition):
    values = {"tool": tool, "input": {}, "context": None}
    assert Expression(condition).holds(values, size_of({}), StepBudget()) is True


def test_a_name_whose_canonical_form_is_too_long_is_refused():
    ask_of = {"kind": Kind.APPROVAL, "title": "May I?"}
    with pytest.raises(Invalid) as refused:
        Ask(**ask_of, tool_name="\ufdfa" * 20).check()
    assert refused.value.errors == {"tool_name": "is longer than 100 characters in its canonical form"}
