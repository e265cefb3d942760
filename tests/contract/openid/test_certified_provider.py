"""Single sign-on with oidc-provider, which is certified: log-in, groups, log-out on both sides, and rotation of its keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals.access.sessions import signed_in_at
from approvals.administration.people.actions import create_roles
from approvals.administration.people.queries import roles_of
from approvals.models import GroupMapping, Role
from tests.contract.openid.conftest import Provider
from tests.support.markup import Element, parse
from tests.support.openid_provider import begin, use

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(node: Provider, settings) -> Provider:
    create_roles()
    for value, role in (("fin", "approver"), ("audit", "auditor")):
        GroupMapping.objects.create(issuer=node.issuer, value=value, group=Role.objects.get(name=role).group)
    use(settings, node.issuer, PUBLIC_URL=node.site, OIDC_SCOPES=["openid", "profile", "email", "groups"])
    return node


@dataclass
class Browser:
    """A browser with its cookies here and at the provider."""

    here: Client = field(default_factory=Client)
    there: httpx.Client = field(default_factory=httpx.Client)

    def log_in(self, provider: Provider, sub: str, *groups: str, **query: str) -> None:
        """Log in as a person whom the provider asks for nothing."""
        provider.do("person", sub=sub, groups=list(groups))
        to = begin(self.here, at=provider.at, **query)
        address = urlsplit(provider.lead_back(self.there, to))
        came_back = self.here.get(f"{address.path}?{address.query}")
        assert came_back.status_code == 302, came_back.text

    def log_out_there(self, address: str) -> str:
        """Confirm that page of the provider, and return where it leads."""
        page = parse(self.there.get(address).text)
        (form,) = page.find("form")
        sent = dict(map(_field, form.find("input")))
        to = self.there.post(form.attributes["action"], data=sent | {"logout": "yes"})
        return to.headers["Location"]

    @property
    def is_logged_in(self) -> bool:
        return self.here.get("/workflows/").status_code == 200


def _field(element: Element) -> tuple[str, str]:
    return element.attributes["name"], element.attributes["value"]


def test_people_log_in_and_their_roles_follow_their_groups(provider):
    browser = Browser()
    for groups, roles in ((["fin", "audit"], ["approver", "auditor"]), (["audit"], ["auditor"]), ([], [])):
        browser.log_in(provider, "dora", *groups)
        assert roles_of(User.objects.get(username="dora")) == roles


def test_a_fresh_log_in_is_confirmed_by_the_time_that_the_provider_states(provider):
    browser = Browser()
    browser.log_in(provider, "erin", "fin")
    assert signed_in_at(browser.here.session).timestamp() == 0
    browser.log_in(provider, "erin", "fin", again="1")
    assert signed_in_at(browser.here.session).timestamp() > 0


def test_log_out_ends_the_session_at_the_provider_and_returns(provider):
    browser = Browser()
    browser.log_in(provider, "finn", "fin")
    page = browser.here.post("/logout/")
    address = parse(page.text).find("a", class_="button")[0].attributes["href"]
    assert browser.log_out_there(address) == f"{provider.site}/login/"
    browser.log_in(provider, "gina", "fin")
    assert User.objects.get(pk=browser.here.session["_auth_user_id"]).username == "gina"


def test_the_provider_ends_the_sessions_of_one_of_its_own_sessions_only(provider):
    first, second = Browser(), Browser()
    first.log_in(provider, "hugo", "fin")
    second.log_in(provider, "hugo", "fin")
    provider.sent.clear()
    first.log_out_there(f"{provider.issuer}/session/end")
    (token,) = provider.sent
    statuses = [Client().post("/login/sso/log-out/", {"logout_token": token}).status_code for _ in range(2)]
    assert (statuses, first.is_logged_in, second.is_logged_in) == ([200, 400], False, True)


def test_new_keys_count_at_once(provider):
    before = httpx.get(f"{provider.issuer}/jwks").json()
    provider.do("rotate")
    assert httpx.get(f"{provider.issuer}/jwks").json() != before
    browser = Browser()
    browser.log_in(provider, "ida", "fin")
    assert browser.is_logged_in
