"""People who approve collapsed parts that they never opened are warned once."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from approvals.exceptions import UnreadParts
from approvals.forms.safeguards import check_read, collapsed_parts
from approvals.models import ApprovalRequest
from approvals.runtime.json_tables import Fold
from approvals.states import Kind, Status, Verdict
from tests.support.desk.pressing import HTMX, at, browser, decision, press, refused, seen
from tests.support.desk.requests import make_request, stored
from tests.support.markup import forms, parse
from tests.support.people import alice, bob

LONG = {"note": "x" * 1_400}
MANY = {"orders": [f"order {number}" for number in range(80)]}
#: 60 values behind the first 20, and 600 characters behind the first 400 of one of them.
BOTH = {"orders": [*MANY["orders"][:-1], "y" * 1_000]}
AGAIN = "press again to approve"


@pytest.fixture
def asked(db):
    return make_request(alice(), input=LONG)


def test_collapsed_parts_are_identified_by_path():
    assert collapsed_parts(ApprovalRequest(input=LONG)) == [Fold("input.0", characters=1_000)]
    assert collapsed_parts(ApprovalRequest(input=BOTH)) == [
        Fold("input.0", values=60), Fold("input.0.80", characters=600),
    ]  # fmt: skip
    assert collapsed_parts(ApprovalRequest(input={"a": 1}, context=LONG)) == [Fold("context.0", characters=1_000)]
    assert collapsed_parts(ApprovalRequest(input={"many": ["a"] * 1_600})) == [
        Fold("input.0", values=481),
        Fold("raw", values=1_100),
    ]


@pytest.mark.parametrize("verdict", ["approve", "edit"])
def test_parts_that_were_never_opened_are_named_before_approval(asked, verdict):
    words = refused(asked, bob(), {"verdict": verdict, "input.note": "z", "comment": "Fine."}, 422, comment="Fine.")
    assert words == "1 collapsed part was never opened: 1,000 characters. Open it, or press again to approve it unseen."
    assert stored(asked).status == "pending"


def test_values_and_characters_are_counted_together(db):
    request = make_request(alice(), input=BOTH, context=LONG)
    words = refused(request, bob(), {"verdict": "approve"}, 422)
    assert words.startswith("3 collapsed parts were never opened: 60 values and 1,600 characters. Open them")


def test_second_press_approves(asked):
    client = browser(bob())
    (form,) = forms(client.get(asked.get_absolute_url()).text, "decide/")
    again = press(client, form, "Approve")
    (form,) = forms(again.text, "decide/")
    assert press(client, form, "Approve unseen part").status_code == 302
    assert decision(asked)[0] == "approve"


def test_opened_parts_cause_no_warning(asked):
    done = browser(bob()).post(at(asked), seen(asked) | {"verdict": "approve", "opened": "input.0"})
    assert (done.status_code, decision(asked)[0]) == (302, "approve")


def test_opened_part_stays_open_in_the_card_with_the_warning(db):
    request = make_request(alice(), input=BOTH)
    data = seen(request) | {"verdict": "approve", "opened": "input.0"}
    page = parse(browser(bob()).post(at(request), data, headers=HTMX).text)
    states = {one.attributes["data-fold"]: "open" in one.attributes for one in page.find("details", class_="fold")}
    assert states == {"input.0": True, "input.0.80": False}
    assert "600 characters" in page.find("div", class_="refusal")[0].words


@pytest.mark.parametrize("verdict", ["reject", "respond"])
def test_warning_is_shown_only_for_approvals(verdict):
    request = ApprovalRequest(kind=Kind.APPROVAL, status=Status.PENDING, input=LONG)
    check_read(request, Verdict(verdict), QueryDict(""))
    with pytest.raises(UnreadParts):
        check_read(request, Verdict.APPROVE, QueryDict(""))


def test_edit_causes_one_warning_before_the_review(asked):
    client = browser(bob())
    (form,) = forms(client.get(asked.get_absolute_url()).text, "review/")
    again = press(client, form, "Review changes", **{"input.note": "short"})
    assert again.status_code == 422
    (form,) = forms(again.text, "review/")
    review = press(client, form, "Review changes")
    (form,) = forms(review.text, "decide/")
    assert press(client, form, "Approve with changes").status_code == 302
    assert decision(asked)[0] == "edit"


def test_rest_of_a_long_context_can_be_opened(db):
    request, decider = (
        make_request(alice(), input={"a": 1}, context={f"fact {number}": number for number in range(600)}),
        bob(),
    )
    page = parse(browser(decider).get(request.get_absolute_url()).text)
    (raw,) = page.find("details", data_fold="raw-context")
    assert '"fact 599":599' in raw.words
    assert collapsed_parts(request) == [Fold("raw-context", values=100)]
    words = refused(request, decider, {"verdict": "approve", "opened": "raw"}, 422)
    assert words.startswith("1 collapsed part was never opened: 100 values.")
