"""Every element of a page has its style: no page uses a class that only a stylesheet of other pages knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client

from tests.support.chats.scenes import paused
from tests.support.chats.turns import make_chat
from tests.support.desk.requests import make_request
from tests.support.people import alice

pytestmark = pytest.mark.django_db

ADDRESSES = (
    "/", "/workflows/", "/insights/", "/audit/", "/audit/evidence/", "/chats/", "/chats/usage/", "/settings/",
    "/settings/absence/", "/settings/attention/", "/settings/connect/", "/settings/display/",
    "/settings/grants/", "/settings/keys/", "/settings/notifications/", "/settings/people/", "/settings/policy/",
    "/settings/policy/change/", "/settings/rules/", "/settings/scim/", "/settings/scopes/", "/settings/sessions/",
    "/settings/sign-in/", "/settings/single-sign-on/", "/settings/slack/", "/settings/microsoft-teams/", "/settings/relays/",
    "/settings/system/", "/settings/token-issuers/", "/settings/engines/", "/settings/tools/", "/settings/webhooks/",
)  # fmt: skip
#: States and kinds of fields have a style where a page makes something of them.
FREE = re.compile(r"is-|has-|choices-")


def classes_in(stylesheet: str) -> set[str]:
    text = re.sub(r"/\*.*?\*/|url\([^)]*\)", "", stylesheet, flags=re.DOTALL)
    return set(re.findall(r"\.([a-zA-Z][\w-]*)", text))


def test_every_class_of_a_page_is_in_a_stylesheet_of_it_if_it_is_in_any():
    request = make_request(alice(), tool_name="pay", input={"amount": 5})
    chat = paused(make_chat(User.objects.get(username="alice"))).chat_id
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    folder = Path(str(finders.find("pausepoint/base.css"))).parent
    known = {sheet.name: classes_in(sheet.read_text()) for sheet in folder.glob("*.css")}
    everywhere, unstyled = set().union(*known.values()), {}
    for address in (*ADDRESSES, f"/requests/{request.pk}/", f"/requests/{request.pk}/grant/", f"/chats/{chat}/"):
        page = client.get(address)
        assert page.status_code == 200, address
        used = set(" ".join(re.findall(r'class="([^"]*)"', page.text)).split())
        loaded = set().union(*(known[name] for name in re.findall(r"/pausepoint/([\w-]+\.css)", page.text)))
        if missing := {name for name in (used & everywhere) - loaded if not FREE.match(name)}:
            unstyled[address] = missing
    assert unstyled == {}
