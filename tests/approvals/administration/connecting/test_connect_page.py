"""The page *Connect your agent*: a key that is shown once, and the wait for its first request."""

from __future__ import annotations

import time

import pytest
from django.test import Client

from approvals.administration.keys.actions import create_key, revoke_key
from approvals.models import AuditEntry
from approvals.models.keys import ApiKey
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db


def connected() -> tuple[Client, ApiKey, Machine]:
    """An administrator who has made a key on the page, the key, and a program that has it."""
    client = browser(administrator())
    made = client.post("/settings/connect/", {"name": "billing agent"})
    text = parse(made.text).find("pre")[0].words
    return client, ApiKey.objects.get(), Machine(authorization=f"Bearer {text}")


def progress(client: Client, address: str) -> str:
    (shown,) = parse(client.get(address).text).find("div", id="first-request-progress")
    return str(shown.attributes["data-progress"])


def test_the_key_is_of_the_person_who_makes_it_and_is_in_the_lines_of_every_agent():
    client = browser(administrator())
    before = client.get("/settings/connect/").text
    made = client.post("/settings/connect/", {"name": "billing agent"})
    key = ApiKey.objects.get()
    assert (key.user.username, key.name, key.scopes, key.tool_lists) == ("dora", "billing agent", ["ask", "read"], None)
    text = parse(made.text).find("pre")[0].words
    blocks = [block.words for block in parse(made.text).find("pre")]
    places = [block.words for block in parse(before).find("pre") if "PAUSEPOINT_KEY=YOUR_KEY" in block.words]
    assert sum(f"PAUSEPOINT_KEY={text}" in block for block in blocks) == len(places) == 25
    assert made.headers["Cache-Control"] == "private, no-store"
    assert [entry.actor_name for entry in AuditEntry.objects.filter(event="key.created")] == ["dora"]


def test_the_lines_of_a_coding_agent_name_the_calls_that_its_hook_does_not_see():
    page = parse(browser(administrator()).get("/settings/connect/").text)
    told = [each.words for each in page.find("p") if each.words.startswith("Not seen by its hook:")]
    assert len(told) == 6
    assert told[1] == (
        "Not seen by its hook: Input to a command that already runs, hosted web search, and every call until you have "
        "trusted the hook."
    )


def test_the_key_is_in_no_later_page_and_in_no_address():
    client, key, machine = connected()
    secret = machine.headers["authorization"].split("_", 2)[2]  # it may have a "_" itself
    pressed = client.get(f"/settings/connect/{key.pk}/progress/", headers={"HX-Request": "true"})
    reloaded = client.get(pressed.headers["HX-Push-Url"])
    listed = client.get("/settings/connect/")
    assert [secret in page.text for page in (pressed, reloaded, listed)] == [False] * 3
    assert secret not in pressed.headers["HX-Push-Url"]


def test_a_key_without_a_name_is_refused_and_not_made():
    refused = browser(administrator()).post("/settings/connect/", {"name": ""})
    assert (refused.status_code, ApiKey.objects.count()) == (422, 0)


def test_the_page_waits_says_what_to_check_after_a_minute_and_then_links_to_the_request():
    client, key, machine = connected()
    now, long_ago = int(time.time()) + 3600, 0
    waiting, checks = (f"/settings/connect/{key.pk}/?since={since}" for since in (now, long_ago))
    found = [progress(client, waiting), progress(client, checks)]
    assert machine.get("/requests").status == 200
    found.append(progress(client, checks))
    request = machine.ask()
    found += [progress(client, waiting), progress(client, checks)]
    assert found == ["waiting", "unused", "used", "arrived", "arrived"]
    (arrived,) = parse(client.get(checks).text).find("p", class_="arrived")
    assert [link.attributes["href"] for link in arrived.find("a")] == [f"/requests/{request['id']}/"]


def test_a_page_that_shows_the_progress_already_is_told_nothing():
    client, key, machine = connected()
    address = f"/settings/connect/{key.pk}/progress/?since=0&shown="
    assert [client.get(address + shown).status_code for shown in ("unused", "waiting")] == [204, 200]
    machine.ask()
    arrived = client.get(f"{address}unused")
    assert (arrived.status_code, "hx-trigger" in arrived.text) == (200, False)


def test_without_scripts_the_button_leads_to_a_page_that_waits():
    client, key, _ = connected()
    sent = client.get(f"/settings/connect/{key.pk}/")
    assert sent.status_code == 302
    assert progress(client, sent.headers["Location"]) == "waiting"


def test_a_revoked_key_is_said_to_have_ended():
    client, key, _ = connected()
    revoke_key(key.pk, by=key.user, via="dashboard")
    assert progress(client, f"/settings/connect/{key.pk}/?since=0") == "ended"


def test_who_may_not_see_a_request_hears_only_that_it_arrived():
    key, text = create_key(alice(), name="agent")
    Machine(authorization=f"Bearer {text}").ask(title="Pay the secret supplier?")
    page = browser(make_person("dora", "administer")).get(f"/settings/connect/{key.pk}/?since=0").text
    (arrived,) = parse(page).find("p", class_="arrived")
    assert (arrived.find("a"), "supplier" in page) == ([], False)


@pytest.mark.parametrize("address", ["/settings/connect/404/", "/settings/connect/404/progress/"])
def test_a_key_that_does_not_exist_has_no_page(address):
    assert browser(administrator()).get(address).status_code == 404


def test_odd_times_in_the_address_are_no_error():
    client, key, _ = connected()
    odd = ["-1", "9999999999", "99999999999999999999", "x", "٣"]
    found = [client.get(f"/settings/connect/{key.pk}/progress/", {"since": since}).status_code for since in odd]
    assert found == [200] * 5


def test_administrators_find_the_page_from_the_empty_inbox_the_checklist_and_the_keys():
    client = browser(administrator())
    pages = {address: parse(client.get(address).text) for address in ("/", "/settings/keys/")}
    main = {address: page.find("main")[0] for address, page in pages.items()}
    links = [
        address
        for address, part in main.items()
        for link in part.find("a")
        if link.attributes.get("href") == "/settings/connect/"
    ]
    assert links == ["/", "/", "/settings/keys/", "/settings/keys/"]
    assert "/settings/connect/" not in browser(alice()).get("/").text
