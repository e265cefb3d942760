"""The pages on which administrators add, change and remove providers of single sign-on."""

from __future__ import annotations

import json

import pytest
from allauth.socialaccount.models import SocialAccount, SocialApp
from django.contrib.auth.models import User
from django.test import Client

from approvals.administration.sign_in import actions
from approvals.models import AuditEntry, GroupMapping, PendingChange, Role
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.openid_provider import CLIENT, Provider, add, log_in
from tests.support.people import PASSWORD

pytestmark = pytest.mark.django_db
TAKEN = "Another provider has this issuer or short name."
LIST = "/settings/single-sign-on/"
ADD = "/settings/single-sign-on/add/"


@pytest.fixture
def provider():
    with Provider() as provider:
        yield provider


@pytest.fixture
def ann() -> User:
    return administrator("ann")


def fields(provider: Provider, **more: str) -> dict[str, str]:
    """What the form sends. A box that is not ticked is not sent."""
    sent = {"name": "Partner", "slug": "partner", "issuer": provider.issuer, "client_id": CLIENT["client_id"]}
    return {**sent, "secret": CLIENT["client_secret"], "private": "on", **more}


def address_of(app: SocialApp) -> str:
    return f"{LIST}providers/{app.pk}/"


def errors(response) -> list[str]:
    page = parse(response.text)
    return [each.words for name in ("refusal", "field-error") for each in page.find("p", class_=name)]


def changes() -> list[dict]:
    return [entry.data for entry in AuditEntry.objects.filter(event="sign_in.changed").order_by("pk")]


def stored(provider: Provider, **more: object) -> dict[str, object]:
    shown = {"name": "Partner", "issuer": provider.issuer, "slug": "partner", "client_id": CLIENT["client_id"]}
    return {**shown, "link_by_email": False, "private": True, **more}


def test_an_administrator_adds_changes_and_removes_a_provider_on_record(ann, provider, client):
    desk = browser(ann)
    sent = fields(provider, issuer=f" {provider.issuer}/ ")
    assert desk.post(ADD, sent).headers["Location"] == LIST
    app = SocialApp.objects.get()
    link = parse(desk.get(LIST).text).find("a", class_="row-title")[0]
    assert (link.words, link.attributes["href"]) == ("Partner", address_of(app))
    pat = User.objects.create_user("pat", password=PASSWORD)
    SocialAccount.objects.create(user=pat, provider=provider.issuer, uid="d-1")
    assert log_in(client, at="/login/with/partner/").status_code == 302
    change = fields(provider, name="Company", secret="", issuer="https://other.example.org", slug="other")
    assert desk.post(address_of(app), change).headers["Location"] == LIST
    GroupMapping.objects.create(issuer=provider.issuer, value="fin", group=Role.objects.get(name="auditor").group)
    assert client.get("/workflows/").status_code == 200
    assert desk.post(f"{address_of(app)}remove/").headers["Location"] == LIST
    assert (client.get("/workflows/").status_code, GroupMapping.objects.count(), SocialApp.objects.count()) == (
        302,
        0,
        0,
    )
    assert SocialAccount.objects.count() == 1
    named = stored(provider, name="Company")
    assert changes() == [
        {"change": "provider added", "new_secret": True, **stored(provider)},
        {"change": "provider changed", "new_secret": False, **named},
        {"change": "provider removed", "issuer": provider.issuer},
    ]
    assert desk.post(f"{address_of(app)}remove/").status_code == 404


def test_the_secret_is_encrypted_and_never_shown_again(ann, provider):
    dora = administrator("dora")
    desk = browser(ann)
    desk.post(ADD, fields(provider))
    confirm(waiting_change(), dora)
    app = SocialApp.objects.get()
    kept = json.dumps([app.secret, app.settings, app.key, *[entry.data for entry in AuditEntry.objects.all()]])
    pages = [desk.get(each).text for each in (LIST, address_of(app), "/audit/")]
    refused = desk.post(address_of(app), fields(provider, name="")).text
    secrets = (CLIENT["client_secret"], app.settings["secret"])
    assert [[secret in text for text in (*pages, refused)] for secret in secrets] == [[False] * 4] * 2
    assert CLIENT["client_secret"] not in kept
    assert "secret" not in AuditEntry.objects.filter(event="change.waiting").earliest("pk").data["value"]


def test_another_administrator_confirms_a_new_provider_and_what_loosens_one(ann, provider, client):
    dora = administrator("dora")
    desk = browser(ann)
    desk.post(ADD, fields(provider))
    assert SocialApp.objects.count() == 0
    page = parse(browser(dora).get(LIST).text).find("ul", class_="pending-changes")[0]
    assert page.find("a")[0].words == f"Let people log in with Partner ({provider.issuer}), like this:"
    assert CLIENT["client_secret"] not in page.words
    confirm(waiting_change(), dora)
    app = SocialApp.objects.get()
    desk.post(address_of(app), fields(provider, secret="", link_by_email="on"))
    page = parse(browser(dora).get("/settings/changes/").text).find("ul", class_="pending-changes")[0]
    assert page.find("a")[0].words == f"Let people log in with Partner ({provider.issuer}), like this:"
    assert actions.described_provider(provider.issuer) == stored(provider)
    confirm(waiting_change(), dora)
    assert actions.described_provider(provider.issuer) == stored(provider, link_by_email=True)
    desk.post(address_of(app), fields(provider, secret="another one"))
    assert actions.described_provider(provider.issuer) == stored(provider)
    assert PendingChange.objects.count() == 0
    assert desk.post(f"{address_of(app)}remove/").status_code == 302
    assert SocialApp.objects.count() == 0


def test_two_new_providers_that_wait_cannot_get_the_same_address(ann, provider):
    dora = administrator("dora")
    desk = browser(ann)
    with Provider() as other:
        for each in (provider, other):
            desk.post(ADD, fields(each))
        first, second = PendingChange.objects.order_by("pk")
        confirm(first, dora)
        with pytest.raises(actions.Conflict):
            confirm(second, dora)
    assert SocialApp.objects.get().provider_id == provider.issuer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""), ("name", "x" * 41), ("name", "a\0b"), ("issuer", ""), ("issuer", "login.example.org"),
        ("issuer", "https://a b"), ("issuer", "https://[::1"), ("issuer", "ftp://login.example.org"),
        ("issuer", "https://" + "x" * 200), ("slug", ""), ("slug", "a b"),
        ("slug", "x" * 41), ("client_id", ""), ("client_id", "x" * 192), ("secret", ""), ("secret", "x" * 1001),
    ],
)  # fmt: skip
def test_bad_input_gets_the_form_again(ann, provider, name, value):
    refused = browser(ann).post(ADD, fields(provider, **{name: value}))
    assert (refused.status_code, len(errors(refused)), SocialApp.objects.count()) == (422, 1, 0)
    client_id = parse(refused.text).find("input", name="client_id")[0].attributes.get("value", "")
    assert client_id == (value if name == "client_id" else "pausepoint")
    assert provider.called == []


@pytest.mark.parametrize(
    ("answer", "more", "problem"),
    [
        ((404, b""), {}, "{url}: answered 404"),
        ((500, b""), {}, "{url}: answered 500"),
        ((200, b"[]"), {}, "{url}: no JSON object"),
        ((200, b'{"issuer": "https://other.example.org"}'), {}, "it names another issuer"),
        (None, {"private": ""}, "{url}: the address must start with https://"),
        (
            None,
            {"issuer": "http://169.254.169.254", "private": "on"},
            "{url}: the address points to 169.254.169.254, which",
        ),
    ],
)
def test_a_provider_that_cannot_be_used_is_refused_in_words(ann, provider, answer, more, problem):
    if answer is not None:
        provider.answers["/.well-known/openid-configuration"] = answer
    sent = fields(provider, **more)
    if not sent["private"]:
        del sent["private"]
    refused = browser(ann).post(ADD, sent)
    (error,) = errors(refused)
    url = f"{sent['issuer']}/.well-known/openid-configuration"
    assert error.startswith(f"Pausepoint cannot use this provider: {problem.format(url=url)}")
    assert (refused.status_code, SocialApp.objects.count()) == (422, 0)


def test_the_same_issuer_or_short_name_twice_is_refused(ann, provider, settings):
    desk = browser(ann)
    add(provider.issuer)
    assert errors(desk.post(ADD, fields(provider, slug="more"))) == [TAKEN]
    with Provider() as other:
        assert errors(desk.post(ADD, fields(other))) == [TAKEN]
        settings.OIDC_ISSUER = other.issuer
        assert errors(desk.post(ADD, fields(other, slug="more"))) == [TAKEN]


def test_the_page_says_how_many_people_a_removal_concerns_and_no_one_removes_their_own_only_way(ann, provider):
    add(provider.issuer)
    app = SocialApp.objects.get()
    for name in ("pat", "pam"):
        person = User.objects.create_user(name)
        SocialAccount.objects.create(user=person, provider=provider.issuer, uid=name)
    root = User.objects.create_superuser("root", password=PASSWORD)
    SocialAccount.objects.create(user=root, provider=provider.issuer, uid="r-1")
    client = Client()
    client.force_login(root)
    words = parse(client.get(address_of(app)).text).find("section", **{"aria-labelledby": "removal"})[0].words
    assert "3 people are linked to it. Those without a password or passkey need a link to set a password." in words
    root.set_unusable_password()
    root.save()
    client.force_login(root)
    refused = client.post(f"{address_of(app)}remove/")
    assert (refused.status_code, SocialApp.objects.count()) == (409, 1)
    assert "You log in with this provider. Set up a password first." in parse(refused.text).words


def test_others_do_not_see_the_pages_and_what_is_gone_gets_one(ann, provider):
    add(provider.issuer)
    app = SocialApp.objects.get()
    bob = User.objects.create_user("bob")
    for address in (ADD, address_of(app)):
        assert browser(bob).get(address).status_code == 404
    assert browser(bob).post(f"{address_of(app)}remove/").status_code == 404
    SocialApp.objects.all().delete()
    assert browser(ann).get(address_of(app)).status_code == 404
