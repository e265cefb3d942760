"""People who approve content that was never in view are warned once, and the audit log records its size."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from approvals.exceptions import UnreadParts
from approvals.forms.unseen_parts import check_read, how_much, unseen_parts
from approvals.models import ApprovalRequest
from approvals.states import Kind, Status, Verdict
from approvals.text.tables import HeldPart
from tests.support.desk.pressing import HTMX, at, browser, decision, press, refused, seen
from tests.support.desk.requests import make_request, stored
from tests.support.markup import forms, parse
from tests.support.people import alice, bob

LONG = {"note": "x" * 5_000}
MANY = {"orders": [f"order {number}" for number in range(80)]}
#: 40 values behind the first 40, the last of them a text of which 4,000 characters are shown.
BOTH = {"orders": [*MANY["orders"][:-1], "y" * 5_000]}
CONTACTS = {"contacts": [{"name": f"Person {number}", "mail": "a@b.example"} for number in range(650)]}


@pytest.fixture
def asked(db):
    return make_request(alice(), input=LONG)


def folded_parts(request: ApprovalRequest) -> list[HeldPart]:
    """The parts that a card shows only when opened: without JavaScript, those alone were not seen."""
    return unseen_parts(request, Verdict.APPROVE, QueryDict())


def unseen(request: ApprovalRequest, viewed: str, verdict: Verdict = Verdict.APPROVE) -> str:
    """How much was not seen, in words."""
    data = QueryDict(mutable=True)
    data["viewed"] = viewed
    return how_much(unseen_parts(request, verdict, data))


def test_folded_parts_are_identified_by_path():
    assert folded_parts(ApprovalRequest(input=LONG)) == [HeldPart("input.0", characters=999)]
    assert folded_parts(ApprovalRequest(input={"a": 1}, context=LONG)) == [HeldPart("context.0", characters=999)]
    assert how_much(folded_parts(ApprovalRequest(input=BOTH))) == "40 values"


def test_a_list_is_counted_as_long_as_it_is():
    folded = [how_much(folded_parts(ApprovalRequest(input=value))) for value in (CONTACTS, {"many": ["a"] * 650})]
    assert folded == ["610 values"] * 2
    assert unseen(ApprovalRequest(input=CONTACTS), "") == "650 values"


def test_what_was_never_in_view_is_unseen_although_it_was_not_folded():
    harmless = {f"note {number}": "All fine." for number in range(60)}
    request = ApprovalRequest(input=harmless | {"amount": 50_000, "to": "EVIL"}, context={"reason": "None."})
    first = " ".join(f"input.{number}" for number in range(60))
    assert unseen(request, first) == "3 values"
    assert unseen(request, f"{first} input.60 input.61") == "one value"
    assert unseen(request, f"{first} input.60 input.61 context.0") == ""


def test_the_whole_of_a_value_counts_for_its_beginning_and_the_raw_json_for_all():
    request = ApprovalRequest(input=LONG | CONTACTS)
    assert unseen(request, "input.0") == "650 values and 999 characters"
    assert unseen(request, "input.0+") == "650 values"
    assert unseen(request, "raw") == ""
    assert unseen(ApprovalRequest(input=LONG, context={"a": 1}), "raw") == "one value"


def test_the_message_of_the_agent_counts_as_far_as_it_was_not_in_view():
    long = ApprovalRequest(input={"a": 1}, message="Because. " * 200)
    left = [unseen(long, f"input.0 {viewed}") for viewed in ("", "message", "message+")]
    assert left == ["1,800 characters", "800 characters", ""]
    assert unseen(ApprovalRequest(message="Because."), "") == "8 characters"
    # Pausepoint's own text about a recovery is never folded.
    assert unseen(ApprovalRequest(kind=Kind.RECOVERY, message=long.message), "message") == ""


def test_the_fields_of_an_edit_show_the_input_but_not_the_context():
    request = ApprovalRequest(input=LONG, context={"a": 1})
    assert [unseen(request, "edit", verdict) for verdict in (Verdict.EDIT, Verdict.APPROVE)] == ["one value"] * 2
    assert unseen(request, "input.0", Verdict.EDIT) == "one value and 999 characters"
    # Without JavaScript the fields stand above their button.
    assert unseen_parts(request, Verdict.EDIT, QueryDict("")) == []


def test_without_javascript_the_buttons_stand_below_everything_that_is_not_folded(asked):
    page = parse(browser(bob()).get(asked.get_absolute_url()).text)
    bar = [one for one in page.all() if "decision-bar" in one.attributes.get("class", "")][-1]
    parts = [one for one in page.all() if "data-view" in one.attributes and one.attributes["data-view"] != "edit"]
    order = [one for one in page.all() if one is bar or one in parts]
    assert (order[-1] is bar, [one.attributes["data-view"] for one in parts]) == (True, ["input.0", "input.0+", "raw"])
    assert unseen_parts(asked, Verdict.APPROVE, QueryDict("")) == [HeldPart("input.0", characters=999)]


@pytest.mark.parametrize("viewed", ["", "input.1 input.00 nothing", "input.0"])
def test_a_report_of_other_places_shows_nothing(asked, viewed):
    words = refused(asked, bob(), {"verdict": "approve", "viewed": viewed, "comment": "Fine."}, 422, comment="Fine.")
    left = "999 characters" if viewed == "input.0" else "one value"
    assert words == f"You haven't seen {left} yet. Press O to read it."
    assert stored(asked).status == "pending"


def test_second_press_approves(asked):
    client = browser(bob())
    (form,) = forms(client.get(asked.get_absolute_url()).text, "decide/")
    again = press(client, form, "Approve")
    assert all("open" in fold.attributes for fold in parse(again.text).find("details", class_="fold"))
    (form,) = forms(again.text, "decide/")
    assert press(client, form, "Approve unseen part").status_code == 302
    assert decision(asked)[0] == "approve"


def test_parts_that_were_in_view_cause_no_warning(asked):
    done = browser(bob()).post(at(asked), seen(asked) | {"verdict": "approve", "viewed": "input.0 input.0+"})
    assert (done.status_code, decision(asked)[0]) == (302, "approve")


@pytest.mark.parametrize("verdict", ["reject", "respond"])
def test_warning_is_shown_only_for_approvals(verdict):
    request = ApprovalRequest(kind=Kind.APPROVAL, status=Status.PENDING, input=LONG)
    check_read(request, Verdict(verdict), QueryDict("viewed="))
    with pytest.raises(UnreadParts):
        check_read(request, Verdict.APPROVE, QueryDict(""))


def test_a_folded_value_that_is_edited_needs_no_opening(asked):
    client = browser(bob())
    (form,) = forms(client.get(asked.get_absolute_url()).text, "review/")
    review = press(client, form, "Review changes", **{"input.note": "short"})
    assert review.status_code == 200
    (form,) = forms(review.text, "decide/")
    assert press(client, form, "Approve with changes").status_code == 302
    assert decision(asked)[0] == "edit"


def test_an_edit_whose_fields_were_not_in_view_causes_one_warning(asked):
    data = {"verdict": "edit", "input.note": "short", "viewed": ""} | seen(asked)
    client = browser(bob())
    again = client.post(at(asked, "review"), data, headers=HTMX)
    assert again.status_code == 422
    assert client.post(at(asked, "review"), data | {"viewed": "edit"}, headers=HTMX).status_code == 200
    assert client.post(at(asked, "review"), data | {"unread": "accepted"}, headers=HTMX).status_code == 200


def test_rest_of_a_long_context_can_be_opened(db):
    facts = {f"fact {number}": number for number in range(600)}
    request = make_request(alice(), input={"a": 1}, context=facts)
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    (raw,) = page.find("details", data_fold="raw-context")
    assert '"fact 599":599' in raw.words
    assert folded_parts(request) == [HeldPart("raw-context", values=100)]
    assert [unseen(request, viewed) for viewed in ("raw", "raw raw-context")] == ["600 values", ""]
