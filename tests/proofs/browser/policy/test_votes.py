"""Several people decide one request, and in an emergency one person decides it alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proofs.browser.places import violations
from tests.support.machine import Remote
from tests.support.processes.server import Server

pytestmark = pytest.mark.browser

#: Bob is in finance and may break the glass, Carol is in security; a payment needs both teams.
TEAMS_AND_RULE = """
from django.contrib.auth.models import Group, Permission, User
from approvals.actions import policy
from approvals.models.people import RoleName
from approvals.states import Door
from hitlsite.management.commands.seed_demo import make_person

for name, team in (("bob", "finance"), ("carol", "security")):
    Group.objects.create(name=team).user_set.add(make_person(name, RoleName.APPROVER, False))
alone = Permission.objects.get(codename="break_glass", content_type__app_label="approvals")
User.objects.get(username="bob").user_permissions.add(alone)
asking = {"stages": [{"groups": [{"teams": ["finance"]}, {"teams": ["security"]}]}]}
rule = {"name": "Payments", "match": {"tools": ["payInvoice"]}, "then": "ask", "ask": asking}
policy.write_policy(
    {"rules": [rule]}, based_on=None, reason="As agreed.", by=User.objects.get(username="admin"), via=Door.DASHBOARD
)
"""
CALL = {"title": "Pay the invoice?", "tool_name": "payInvoice", "input": {"amount": 900}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    """A server of its own, with a rule that wants two teams."""
    with Server(tmp_path_factory.mktemp("votes")) as running:
        running.run(TEAMS_AND_RULE)
        yield running


def test_bob_approves_the_row_says_who_is_missing_and_carol_approves(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL)
    bob = windows.open(server.person("bob"), "/?tool=payInvoice")
    carol = windows.open(server.person("carol"), "/?tool=payInvoice")
    row = f"#row-{request['id']}"
    assert carol.locator(f"{row} .row-progress").inner_text() == "0 of 2, finance and security missing"

    bob.locator(f"{row} .row-title").click()
    bob.locator("#detail-body").get_by_role("button", name="Approve", exact=True).click()
    bob.locator(".votes-cast", has_text="bob approved").wait_for()
    assert bob.locator("#detail-body .votes-progress").inner_text() == "Votes 1 of 2, security missing"
    assert violations(bob, axe) == {}

    # Carol's page, which was open all the time, says it too.
    carol.locator(f"{row} .row-progress", has_text="1 of 2, security missing").wait_for()
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "pending"
    carol.locator(f"{row} .row-title").click()
    carol.locator("#detail-body .votes-cast", has_text="bob approved").wait_for()
    assert violations(carol, axe) == {}
    carol.locator("#detail-body").get_by_role("button", name="Approve", exact=True).click()
    carol.locator(f"{row}.is-approved").wait_for()
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "approved"
    carol.goto(f"{server.address}/requests/{request['id']}/")
    cast = carol.locator(".votes-cast > li .vote").all_inner_texts()
    assert [" ".join(words.split()) for words in cast] == ["bob approved", "carol approved"]


def test_one_person_breaks_the_glass_with_a_reason_after_a_confirmation(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL)
    page = windows.open(server.person("bob"), f"/requests/{request['id']}/")
    page.get_by_text("Break the glass…").click()
    assert violations(page, axe) == {}
    alone = page.get_by_role("button", name="Approve alone")

    # Without a reason nothing is sent; without the confirmation neither.
    alone.click()
    assert page.locator(".break-glass textarea:invalid").count() == 1
    page.get_by_label("Why you decide this alone").fill("The bank closes at noon.")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    alone.click()
    assert asked == ["Decide this alone? Everyone concerned is told at once."]
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "pending"

    page.once("dialog", lambda dialog: dialog.accept())
    alone.click()
    page.locator(".outcome", has_text="The bank closes at noon.").wait_for()
    # What was sent is no draft that is kept.
    assert page.get_by_text("What you typed is kept").count() == 0
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "approved"
    assert violations(page, axe) == {}
