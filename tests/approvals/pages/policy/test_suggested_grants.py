"""A suggestion is offered as a grant too: with a request that waits, in terms inside the limits, which a person gives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from approvals import actions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, Grant, ToolSettings
from approvals.queries.policy.rules.suggestions import suggestions_for
from approvals.states import Door, Verdict
from tests.approvals.actions.policy.granting import approve, ask
from tests.support.desk.pressing import at, browser
from tests.support.desk.ruling import apply_policy
from tests.support.markup import forms, parse
from tests.support.people import alice, carol, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def people():
    """The requester, and a person who decides and administers."""
    return alice(), make_person("root", "administer", "decide_approvalrequest", "view_approvalrequest")


def approved(people, value: dict, times: int = 20, **asked) -> None:
    asker, decider = people
    for _ in range(times):
        approve(ask(asker, value, **asked), decider)


def suggested(user, request: ApprovalRequest) -> str:
    return browser(user).get(at(request, "grant") + "?suggested=yes").text


def chosen(page: str) -> dict[str, str]:
    names = ("covers", "audience", "lasts")
    fields = {name: parse(page).find("input", name=name) for name in names}
    return {name: each.attributes["value"] for name in names for each in fields[name] if "checked" in each.attributes}


def test_the_page_of_the_policy_leads_to_the_grant_with_its_evidence_and_its_replay(people):
    approved(people, {"amount": 1})
    request = ask(people[0], {"amount": 1})
    page = browser(people[1]).get("/settings/policy/").text
    assert f'href="{at(request, "grant")}?suggested=yes"' in page
    panel = " ".join(suggested(people[1], request).split())
    assert "approved unchanged 20 of 20 times in 60 days, by 1 person" in panel
    assert "It would have approved 20 requests in the last 30 days." in panel
    assert chosen(panel) == {"covers": "input", "audience": "agent", "lasts": "604800"}
    assert Grant.objects.count() == 0


def test_a_person_gives_it_with_the_approval(people):
    approved(people, {"amount": 1})
    request = ask(people[0], {"amount": 1})
    page = suggested(people[1], request)
    (form,) = forms(page, "decide/")
    browser(people[1]).post(form.action, form.fields | chosen(page) | {"verdict": "approve"})
    grant = Grant.objects.get()
    assert (grant.given_by_name, grant.width, grant.audience) == ("root", 0, "agent")
    assert timedelta(days=6) < grant.until - grant.given_at <= timedelta(days=7)


def test_it_is_within_the_limits_and_never_wider_than_the_input_that_people_approved(people):
    ToolSettings.objects.create(tool_name="refund", key_fields=["/order"], grant_seconds=28_800, grant_width=1)
    approved(people, {"amount": 1, "order": "a"})
    request = ask(people[0], {"amount": 1, "order": "a"})
    assert chosen(suggested(people[1], request)) == {"covers": "input", "audience": "agent", "lasts": "28800"}
    other = ask(people[0], {"amount": 50_000, "order": "a"})
    assert "approved unchanged" not in suggested(people[1], other)
    approved(people, {"command": "ls"}, tool="bash", agent="")
    shell = ask(people[0], {"command": "ls"}, tool="bash", agent="")
    assert chosen(suggested(people[1], shell)) == {"covers": "input", "audience": "key", "lasts": "604800"}


def test_what_people_rejected_or_changed_narrows_it_or_ends_it(people):
    asker, decider = people
    approved(people, {"amount": 1})
    request = ask(asker, {"amount": 1})
    actions.decide(ask(asker, {"amount": 9}).pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)
    assert chosen(suggested(decider, request))["covers"] == "input"
    actions.decide(ask(asker, {"amount": 1}).pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)
    page = suggested(decider, request)
    assert ("approved unchanged" in page, chosen(page)["lasts"]) == (False, "3600")


def test_decisions_on_calls_of_others_suggest_no_grant(people):
    approved(people, {"amount": 1})
    other = ask(make_person("eve", "add_approvalrequest"), {"amount": 1})
    [suggestion] = suggestions_for(standing_of(people[1]))
    assert (suggestion.evidence.approved, suggestion.grant_with) == (20, None)
    assert "approved unchanged" not in suggested(people[1], other)


def test_where_no_grant_can_be_given_none_is_suggested(people):
    approved(people, {"amount": 1})
    apply_policy({"name": "Two", "then": "ask", "ask": {"stages": [{"groups": [{"votes": 2}]}]}}, by=people[1])
    request = ask(people[0], {"amount": 1})
    assert [each.grant_with for each in suggestions_for(standing_of(people[1]))] == [None]
    assert "approved unchanged" not in suggested(people[1], request)
    apply_policy(by=people[1])
    request = ask(people[0], {"amount": 1})
    assert [each.grant_with for each in suggestions_for(standing_of(people[1]))] == [request]
    ToolSettings.objects.create(tool_name="refund", no_grants=True)
    assert [each.grant_with for each in suggestions_for(standing_of(people[1]))] == [None]
    assert "A grant is not possible for this tool" in suggested(people[1], request)


def test_whoever_may_not_decide_is_offered_none(people):
    approved(people, {"amount": 1})
    request = ask(people[0], {"amount": 1})
    assert suggestions_for(standing_of(make_person("ann", "administer", "view_approvalrequest")))[0].grant_with is None
    for person in (carol(), people[0]):
        answer = browser(person).get(at(request, "grant") + "?suggested=yes")
        assert (answer.status_code, answer.headers["Location"]) == (302, request.get_absolute_url())
