"""The page of SCIM shows its address, keys, groups and refused changes, to administrators alone."""

from __future__ import annotations

import pytest

from approvals.models.people import RoleName
from tests.support.desk.pressing import browser
from tests.support.desk.scim import CORE, Directory, administrator, map_group
from tests.support.markup import parse
from tests.support.people import carol

pytestmark = pytest.mark.django_db

PAGE = "/settings/scim/"


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
