"""The page of SCIM shows its address, keys, groups and refused changes, to administrators alone."""

from __future__ import annotations

import pytest

from approvals.models import ApiKey
from approvals.models.people import RoleName
from hitlsite.health.metrics import Metrics
from tests.support.desk.pressing import browser
from tests.support.desk.scim import CORE, Directory, administrator, map_group
from tests.support.markup import parse
from tests.support.people import carol

pytestmark = pytest.mark.django_db

PAGE = "/settings/scim/"
SYSTEM = "/settings/system/"


def rows_of(page: str, heading: str) -> list[str]:
    """The rows below a heading, by its id."""
    return [
        row.words
        for each in parse(page).find("ul")
        if each.attributes.get("aria-labelledby") == heading
        for row in each.find("li")
    ]


def test_administrators_see_address_keys_groups_and_refusals():
    dora = administrator()
    empty = browser(dora).get(PAGE).text
    assert "No keys. Create one with the scope scim" in empty
    directory = Directory(dora)
    map_group("Approvers <b>", RoleName.APPROVER)
    directory.group("Approvers <b>", directory.person("ann"))
    directory.group("Others")
    directory.send("POST", "/Users", {"schemas": [f"{CORE}User"], "userName": "dora"})
    page = browser(dora).get(PAGE).text
    assert parse(page).find("pre")[0].words == "http://127.0.0.1:8000/scim/v2"
    (key,) = rows_of(page, "keys")
    assert key.startswith("Corp directory pp_")
    assert rows_of(page, "groups") == ["Approvers <b> 1 person gives Approver", "Others 0 people gives nothing"]
    (refusal,) = rows_of(page, "refused")
    assert refusal.startswith("That username is taken. POST /Users 409 Corp directory")
    assert "1 active person" in page
    assert browser(carol()).get(PAGE).status_code == 404


def test_the_system_page_and_metrics_say_how_the_provider_is_doing():
    dora = administrator()
    assert "SCIM" not in words_of(browser(dora).get(SYSTEM).text)
    assert b"pausepoint_scim" not in Metrics().text()
    directory = Directory(dora)
    directory.group("Finance", directory.person("ann"))
    ben = directory.person("ben", active=False)
    assert "SCIM People: 2. Groups: 1. Last call: " in words_of(browser(dora).get(SYSTEM).text)
    lines = [line for line in Metrics().text().decode().splitlines() if line.startswith("pausepoint_scim")]
    assert lines[:2] == ['pausepoint_scim_people{state="active"} 1.0', 'pausepoint_scim_people{state="inactive"} 1.0']
    used = ApiKey.objects.get().last_used_at
    name, _space, number = lines[2].partition(" ")
    assert (name, float(number)) == ("pausepoint_scim_last_call_seconds", used.timestamp())
    assert directory.send("DELETE", f"/Users/{ben['id']}").status == 204
    ApiKey.objects.update(revoked_at=used)
    system = words_of(browser(dora).get(SYSTEM).text)
    assert "SCIM People: 1. Groups: 1. Last call: never." in system
    assert "No key is valid, so the provider can deactivate no one." in system


def words_of(page: str) -> str:
    return parse(page).find("main")[0].words.replace("People from a provider", "")
