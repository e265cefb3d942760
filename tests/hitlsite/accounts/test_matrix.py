"""Who gets in and who decides: address, role, second factor, freshness and kind of credential, with results written by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from approvals.access.callers import SCOPES
from approvals.administration.people.actions import create_roles, give_roles
from approvals.db.pool import run
from approvals.models import ApprovalRequest, Decision
from approvals.pages import consumers
from approvals.policy.terms import Terms
from approvals.states import Priority
from hitlsite.accounts.factor_forms import FactorAdapter
from tests.hitlsite.accounts.matrix import FACTORS, LOG_INS, ROLES, WITH_A_KEY, WITH_A_SCIM_KEY, WITH_A_SESSION
from tests.hitlsite.accounts.test_factors import code_of, forget
from tests.support.desk.pressing import at, seen
from tests.support.desk.requests import make_request
from tests.support.desk.token_issuer import add_issuer, map_tokens, program
from tests.support.desk.votes import make_voted
from tests.support.lines import SOON, dial
from tests.support.machine import API, Machine
from tests.support.markup import parse
from tests.support.openid_provider import Provider, use
from tests.support.openid_provider import log_in as log_in_at_provider
from tests.support.people import PASSWORD, alice

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
#: What differs with the access token of an issuer: it never decides, whoever it acts for.
NEVER_BY_TOKEN = """
approve by REST           none present         | any | person  person person  person  person  log-in
approve critical by REST  none present         | any | person  person person  person  person  log-in
approve by terms by REST  none present         | any | person  person person  person  person  log-in
"""
#: What a WebSocket of the live pages gets: closed as logged out, open without other people's requests, with them, or with the
#: buttons that decide. A factor that is missing closes it; how old the log-in is does not matter for reading.
WITH_A_WEBSOCKET = {
    "none": ("nothing", "decides", "sees", "sees", "decides", "closed"),
    "missing": ("closed", "closed", "closed", "closed", "closed", "closed"),
    "present": ("nothing", "decides", "sees", "sees", "decides", "closed"),
}

Cell = tuple[str, str, str, str]


def cells(table: str) -> Iterator[tuple[Cell, str]]:
    """Yield each cell of a table: act, factor, log-in and role, and its result."""
    for line in table.strip().splitlines():
        begin, log_ins, results = line.split("|")
        for factor, log_in in product(begin[26:].split(), log_ins.split()):
            if (factor, log_in) != ("none", "half"):
                for role, result in zip(ROLES, results.split(), strict=True):
                    yield (begin[:26].strip(), factor, log_in, role), result


def differences(results: dict[Cell, str], table: str, factor: str) -> list[str]:
    """Each cell of a factor in which the table says something else. The table has every cell once."""
    written = [(cell, result) for cell, result in cells(table) if cell[1] == factor]
    assert sorted(cell for cell, _result in written) == sorted(results)
    return [f"{cell}: {results[cell]}, not {result}" for cell, result in written if results[cell] != result]


# --- acts


@pytest.fixture
def acts(settings) -> dict[str, Callable[..., Any]]:
    """Every act with a client; those that write something say what."""
    settings.HITL_FRESH_SIGN_IN_FOR = ["critical", "administration"]
    owner = alice()
    plain = make_request(owner, tool_name="wipe")
    critical = make_request(owner, tool_name="wipe", priority=Priority.CRITICAL)
    fresh = make_voted(owner, Terms(fresh_sign_in=True), tool_name="wipe")
    group = {"name": "Finance", "_save": "Save"}

    def decide(request: ApprovalRequest) -> Callable[..., Any]:
        sent = seen(request) | {"verdict": "approve", "typed_name": "wipe"}
        return lambda client, **head: client.post(at(request), sent, headers=head)

    def decide_by_rest(request: ApprovalRequest) -> Callable[..., Any]:
        address, body = f"{API}/requests/{request.pk}/decision", json.dumps({"verdict": "approve"})
        return lambda client, **head: client.post(address, body, "application/json", headers=head)

    def get(address: str) -> Callable[..., Any]:
        return lambda client, **head: client.get(address, headers=head)

    def post(address: str, data: dict[str, str]) -> Callable[..., Any]:
        return lambda client, **head: client.post(address, data, headers=head)

    many = {"pick": f"{fresh.pk}:{fresh.input_digest}", "verdict": "approve", "confirmed": "yes"}
    return {
        "open the Inbox": get("/"),
        "read the audit log": get("/audit/"),
        "set up an app": get("/settings/sign-in/app/"),
        "approve": decide(plain),
        "approve if critical": decide(critical),
        "approve by terms": decide(fresh),
        "approve many": post("/requests/bulk/", many),
        "list by REST": get(f"{API}/requests"),
        "approve by REST": decide_by_rest(plain),
        "approve critical by REST": decide_by_rest(critical),
        "approve by terms by REST": decide_by_rest(fresh),
        "see people": get("/settings/people/"),
        "add a team": post("/settings/teams/", {"name": "Finance"}),
        "see the admin": get("/admin/auth/group/"),
        "add a group in the admin": post("/admin/auth/group/add/", group),
        "list people by SCIM": get("/scim/v2/Users"),
    }


WRITES = ("approve", "add")
#: The words of a refusal, as opposed to those of a request that needs a fresh log-in.
AGAIN = re.compile(r"Log in again to decide it|This needs a fresh log-in\. Nothing was changed")
CODES = {
    "person_needed": "person",
    "second_factor_missing": "factor",
    "sign_in_again": "page",
    "decide_on_page": "page",
    "not_allowed": "no",
}


def result_of(act: Callable[..., Any], client: Client, *, writes: bool, **head: str) -> str:
    """Do it, say what became of it, and undo it."""
    with transaction.atomic():
        response = act(client, **head)
        if response.headers.get("Location", "").startswith("/admin/login/"):
            response = client.get(response.headers["Location"])
        written = Decision.objects.exists() or Group.objects.filter(name="Finance").exists()
        transaction.set_rollback(True)
    result = _result(response, written=written, writes=writes)
    assert written == (writes and result == "ok"), response.text
    return result


def _result(response: Any, *, written: bool, writes: bool) -> str:
    if response.status_code == 404:
        return "absent"
    page = response.headers.get("Location", "").partition("?")[0]
    if response.status_code == 401 or page == "/login/":
        return "log-in"
    if page == "/settings/sign-in/":
        return "factor"
    if response.status_code == 403 and "json" in response.headers["Content-Type"]:
        # SCIM has no codes.
        code: str = response.json().get("code", "not_allowed")
        return CODES.get(code, code)
    if page == "/login/again/" or AGAIN.search(response.text):
        return "again"
    if response.status_code == 403 or (writes and not written):
        return "no"
    return "ok" if response.status_code in {200, 302} else str(response.status_code)


# --- people and their credentials


@pytest.fixture
def provider(settings) -> Iterator[Provider]:
    with Provider() as provider:
        use(settings, provider.issuer)
        yield provider


def person(role: str, factor: str) -> User:
    create_roles()
    made = User.objects.create_user(role, password=PASSWORD)
    give_roles(made, {"superuser": [], "deactivated": ["approver"]}.get(role, [role]))
    made.is_superuser = made.is_staff = role == "superuser"
    made.save()
    if factor == "present":
        Authenticator.objects.create(user=made, type="totp", data={"secret": FactorAdapter().encrypt(SECRET)})
    return made


def by_password(who: User, provider: Provider) -> Client:
    client = Client(raise_request_exception=False)
    client.post("/login/", {"username": who.username, "password": PASSWORD})
    return client


def by_single_sign_on(who: User, provider: Provider) -> Client:
    """Log in someone without a password here."""
    who.set_unusable_password()
    who.save()
    provider.person = {"sub": f"subject of {who.username}"}
    SocialAccount.objects.create(user=who, provider=provider.issuer, uid=provider.person["sub"])
    client = Client(raise_request_exception=False)
    log_in_at_provider(client)
    return client


def finish(client: Client, who: User, factor: str) -> None:
    if factor == "present":
        forget()
        assert client.post("/login/factor/", {"code": code_of(SECRET)}).status_code == 302
    assert client.session["_auth_user_id"] == str(who.pk)
    User.objects.filter(pk=who.pk, username="deactivated").update(is_active=False)


def age(client: Client, who: User, log_in: str) -> None:
    """Make the log-in, or only its factor, an hour older."""
    session = client.session
    for record in session["account_authentication_methods"]:
        if log_in == "stale" or (log_in == "half" and record["method"] == "mfa"):
            record["at"] -= 3600
    session.save()
    if log_in == "stale":
        User.objects.filter(pk=who.pk).update(last_login=timezone.now() - timedelta(hours=1))


def need(settings: Any, factor: str) -> None:
    roles = ["requester", "approver", "auditor", "administrator"]
    settings.SECOND_FACTOR_ROLES = [] if factor == "none" else roles


CREDENTIALS = pytest.mark.parametrize("credential", [by_password, by_single_sign_on], ids=lambda each: each.__name__)


@pytest.mark.django_db
@pytest.mark.parametrize("factor", FACTORS)
@CREDENTIALS
def test_a_session_gets_what_the_table_says_and_nothing_else(acts, provider, settings, credential, factor):
    need(settings, factor)
    clients = {}
    for role in ROLES:
        who = person(role, factor)
        clients[role] = credential(who, provider), who
        finish(*clients[role], factor)
    results = {}
    for log_in in LOG_INS if factor == "present" else LOG_INS[:2]:
        for role, (client, who) in clients.items():
            with transaction.atomic():
                age(client, who, log_in)
                for name, act in acts.items():
                    token = client.cookies["csrftoken"].value
                    result = result_of(act, client, writes=name.startswith(WRITES), **{"X-CSRFToken": token})
                    results[name, factor, log_in, role] = result
                transaction.set_rollback(True)
    assert "\n".join(differences(results, WITH_A_SESSION, factor)) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(("scopes", "table"), [(SCOPES, WITH_A_KEY), (("scim",), WITH_A_SCIM_KEY)])
def test_a_key_gets_what_the_table_says_and_nothing_else(acts, settings, factor, scopes, table):
    need(settings, factor)
    results = {}
    for role in ROLES:
        who = person(role, factor)
        machine = Machine(who, scopes=scopes)
        User.objects.filter(pk=who.pk, username="deactivated").update(is_active=False)
        for name, act in acts.items():
            result = result_of(act, machine.client, writes=name.startswith(WRITES), **machine.headers)
            results[name, factor, "any", role] = result
    assert "\n".join(differences(results, table, factor)) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("factor", FACTORS)
def test_a_token_of_an_issuer_gets_what_a_key_gets_but_never_decides(acts, settings, factor):
    need(settings, factor)
    results = {}
    with Provider() as issuer:
        row = add_issuer(issuer)
        for role in ROLES:
            who = person(role, factor)
            map_tokens(row, who, role, scopes=list(SCOPES))
            machine = program(issuer, client_id=role, sub=role)
            User.objects.filter(pk=who.pk, username="deactivated").update(is_active=False)
            for name, act in acts.items():
                result = result_of(act, machine.client, writes=name.startswith(WRITES), **machine.headers)
                results[name, factor, "any", role] = result
    others = [line for line in WITH_A_KEY.splitlines() if line.split("|")[0] not in NEVER_BY_TOKEN]
    assert "\n".join(differences(results, "\n".join(others) + NEVER_BY_TOKEN, factor)) == ""


def live_page(html: str) -> str:
    """What a live page pushes of the other person's request."""
    if "Approve" in [button.words for button in parse(html).find("button")]:
        return "decides"
    return "sees" if 'id="request-' in html else "nothing"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("factor", FACTORS)
@CREDENTIALS
async def test_a_websocket_gets_what_the_table_says_and_nothing_else(provider, settings, credential, factor):
    need(settings, factor)
    await run(lambda: make_request(alice()))

    def cookie_of(role: str) -> str:
        who = person(role, factor)
        client = credential(who, provider)
        finish(client, who, factor)
        return f"sessionid={client.session.session_key}"

    results = []
    for role in ROLES:
        page = dial("/ws/desk/?since=0", cookie=await run(cookie_of, role))
        assert (await page.connect(SOON))[0]
        first = await page.receive_output(SOON)
        closed = first["type"] == "websocket.close"
        assert not closed or first["code"] == consumers.LOGGED_OUT
        results.append("closed" if closed else live_page(first["text"]))
        await page.disconnect(timeout=SOON)
    assert tuple(results) == WITH_A_WEBSOCKET[factor]
