"""Press a button of a card as a browser does, with JavaScript and without."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from approvals.models import ApprovalRequest, Decision
from tests.support.markup import Form, forms, parse

HTMX = {"HX-Request": "true"}


def browser(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def at(request: ApprovalRequest, action: str = "decide") -> str:
    return f"{request.get_absolute_url()}{action}/"


def seen(request: ApprovalRequest) -> dict[str, str]:
    """The fields that a form of its card always sends: the digest of the displayed content."""
    return {"digest": request.input_digest}


def decision(request: ApprovalRequest) -> tuple[str, str, str, str]:
    """Verdict, decider, protocol and comment, as stored."""
    found = Decision.objects.get(request=request)
    return found.verdict, found.by_name, found.via, found.comment


def press(client: Client, form: Form, button: str, **typed: str) -> HttpResponse:
    """Send a form with one of its buttons."""
    assert form.fields.keys() >= typed.keys()
    ((_, name, value),) = [found for found in form.buttons if found[0] == button]
    return client.post(form.action, form.fields | typed | ({name: value} if name else {}), follow=False)


def refused(request: ApprovalRequest, user: User, data: dict[str, str], status: int, **kept: str) -> str:
    """The same refusal as a card and as a page; gives its words."""
    client, data = browser(user), seen(request) | data
    as_card, as_page = client.post(at(request), data, headers=HTMX), client.post(at(request), data)
    assert (as_card.status_code, as_page.status_code) == (status, status)
    assert parse(as_card.text).inside[0].attributes["id"] == f"request-{request.pk}"
    assert parse(as_page.text).find("title")[0].words.endswith("Pausepoint")
    words = {alert.words for answer in (as_card, as_page) for alert in parse(answer.text).find("div", class_="refusal")}
    for answer in (as_card, as_page):
        fields = [form.fields for action in ("decide/", "review/") for form in forms(answer.text, action)]
        assert [name for name, value in kept.items() if value not in [one.get(name) for one in fields]] == []
    (only,) = words
    return only
