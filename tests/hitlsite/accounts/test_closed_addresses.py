"""Every address, for people who lack a factor that their role needs, and for administrators whose log-in is too old."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.hitlsite.accounts.test_matrix import AGAIN, age, need, person
from tests.hitlsite.site.test_security import OPEN, WITHOUT_CODES, addresses

pytestmark = pytest.mark.django_db

#: What someone can open whose role needs a factor that they lack, besides the pages for everybody.
OPEN_WITHOUT_A_FACTOR = {
    "/admin/login/",
    "/admin/logout/",
    "/login/again/",
    "/login/factor/",
    "/logout/",
    "/password/",
    "/settings/sign-in/",
    "/settings/sign-in/app/",
    "/settings/sign-in/app/remove/",
    "/settings/sign-in/passkey/",
    "/settings/sign-in/recovery-codes/",
}
#: The own settings of an administrator whose log-in is too old for administration, and grants, which people who decide revoke.
OPEN_TO_A_STALE_ADMINISTRATOR = {
    "/admin/login/",
    "/admin/password_change/",
    "/settings/",
    "/settings/absence/",
    "/settings/absence/1/end/",
    "/settings/address/",
    "/settings/address/x/",
    "/settings/attention/",
    "/settings/display/",
    "/settings/grants/",
    "/settings/grants/ID/",
    "/settings/grants/ID/revoke/",
    "/settings/grants/switch/",
    "/settings/name/",
    "/settings/notifications/",
    "/settings/notifications/subscribe/",
    "/settings/notifications/test/",
    "/settings/notifications/unsubscribe/",
    "/settings/sessions/",
    "/settings/sessions/1/end/",
    "/settings/sessions/end-others/",
    "/settings/sign-in/",
    "/settings/theme/",
}


def session_of(role: str, *, log_in: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person(role, "none"))
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": time.time()}]
    session.save()
    age(client, User.objects.get(username=role), log_in)
    return client


def test_without_a_needed_factor_every_other_address_leads_to_the_page_that_sets_it_up(settings):
    need(settings, "missing")
    client = session_of("superuser", log_in="fresh")
    opened = {page for page in addresses() if client.get(page).headers.get("Location") != "/settings/sign-in/"}
    assert opened - OPEN == OPEN_WITHOUT_A_FACTOR
    refused = [client.get(address).json()["code"] for address in set(addresses(for_machines=True)) - WITHOUT_CODES]
    assert set(refused) == {"second_factor_missing"}


def test_every_page_of_administration_needs_a_fresh_log_in(settings):
    settings.HITL_FRESH_SIGN_IN_FOR = ["administration"]
    client = session_of("superuser", log_in="stale")
    pages = [page for page in addresses() if page.startswith(("/settings/", "/admin/")) and page != "/admin/logout/"]
    opened = {page for page in pages for send in (client.get, client.post) if not AGAIN.search(asked(send, page))}
    assert {re.sub(r"[0-9a-f-]{36}", "ID", page) for page in opened} == OPEN_TO_A_STALE_ADMINISTRATOR


def asked(send: Callable[..., Any], page: str) -> str:
    """The words of a page; those of the refusal, if it leads to the log-in."""
    response = send(page)
    leads = response.headers.get("Location", "").startswith("/login/again/")
    return "This needs a fresh log-in. Nothing was changed" if leads else response.text
