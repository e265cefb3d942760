"""Personal settings: display, notifications and sessions."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from approvals.access import permissions
from approvals.access.rate_limits import Limit
from approvals.access.sessions import limit_of
from approvals.access.standing import Standing
from approvals.actions import logins
from approvals.administration.forms import form_page, sent
from approvals.administration.notification_rules.queries import rules_for
from approvals.administration.preferences import actions
from approvals.administration.preferences.browsers import describe_browser
from approvals.administration.preferences.forms import PreferencesForm, QuietHoursForm
from approvals.administration.preferences.queries import sessions_of, subscriptions_of
from approvals.exceptions import BadBody, Conflict, NotFound
from approvals.http import (
    SignedIn,
    referring_address,
    refusals_as_pages,
    require_safe_or_POST,
)
from approvals.models import ChannelAccount, ChannelConnection
from approvals.models.preferences import Theme
from approvals.outbound.mailing import mail_to, send_now
from approvals.outbound.push import is_available, public_key
from approvals.queries.preferences import (
    in_language_of,
    name_of_language,
    preferences_of,
)
from approvals.states import Channel, Kind

#: Subjects of notifications, besides the kinds of requests.
MUTABLE = {
    **dict(Kind.choices),
    "assigned": gettext_lazy("A request is assigned to you"),
    "mentioned": gettext_lazy("A note mentions you"),
    "undecidable": gettext_lazy("No one may decide a request"),
}
#: Subjects for administrators only.
OF_ADMINISTRATORS = {"undecidable"}
#: Channels of notifications.
WAYS = {
    Channel.MAIL: gettext_lazy("Email"),
    "browser": gettext_lazy("Open page"),
    Channel.PUSH: gettext_lazy("Device"),
    Channel.CARD: gettext_lazy("Direct message"),
    Channel.RELAY: gettext_lazy("Chat (relay)"),
}
#: Pages and devices announce every new request, whoever its assignee; open pages show notes anyway; cards are of requests.
NEVER = {
    "browser:assigned",
    f"{Channel.PUSH}:assigned",
    "browser:mentioned",
    "browser:undecidable",
    *(f"{Channel.CARD}:{kind}" for kind in ("mentioned", "undecidable")),
}
TESTS_A_MINUTE = 3
_tests = Limit()


@require_safe_or_POST
def display(request: SignedIn) -> HttpResponse:
    """Theme, density, and behavior of pages."""
    stored = preferences_of(request.user)
    form = PreferencesForm(sent(request), instance=stored)
    if form.is_valid():
        actions.store_preferences(request.user, form.cleaned_data)
        with in_language_of(request.user.pk):
            messages.success(request, _("Your settings are saved."))
        return redirect("approvals:display")
    # The form has modified `stored`; the page must show the database values.
    only_language = (
        ""
        if len(settings.HITL_LANGUAGES) > 1
        else name_of_language(settings.LANGUAGE_CODE)
    )
    context = {
        "form": form,
        "here": "display",
        "preferences": preferences_of(request.user),
        "only_language": only_language,
    }
    return form_page(request, "preferences/display.html", context)


@require_POST
@refusals_as_pages
def theme(request: SignedIn) -> HttpResponse:
    """Store the theme selected in the user menu."""
    chosen = request.POST.get("theme", "")
    if chosen not in Theme.values:
        raise BadBody(_("Choose one of the themes."))
    actions.store_preferences(request.user, {"theme": chosen})
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204)
    return redirect(referring_address(request) or "approvals:display")


@require_safe_or_POST
def notifications(request: SignedIn) -> HttpResponse:
    """A person's notifications and quiet hours."""
    stored = preferences_of(request.user)
    ways = _ways(request.user)
    form = QuietHoursForm(sent(request), instance=stored)
    if form.is_valid():
        wanted = set(request.POST.getlist("wanted"))
        muted = [name for name in _names(ways, request.standing) if name not in wanted]
        actions.store_preferences(request.user, form.cleaned_data | {"muted": muted})
        messages.success(request, _("Your notifications are saved."))
        return redirect("approvals:notifications")
    muted = preferences_of(request.user).muted
    lines = [
        (words, [_cell(way, kind, muted) for way in ways])
        for kind, words in _mutable(request.standing).items()
    ]
    context = {
        "form": form,
        "ways": ways.values(),
        "lines": lines,
        "mail": settings.HITL_MAIL,
        "rules": rules_for(request.user.pk),
        "browsers": [
            (browser, describe_browser(browser.browser))
            for browser in subscriptions_of(request.user)
        ],
        "push_key": public_key() if is_available() else "",
        "here": "notifications",
    }
    return form_page(request, "preferences/notifications.html", context)


def _mutable(viewer: Standing) -> dict[str, Any]:
    administers = permissions.may_administer(viewer)
    return {
        kind: words
        for kind, words in MUTABLE.items()
        if administers or kind not in OF_ADMINISTRATORS
    }


def _ways(person: User) -> dict[str, Any]:
    """Return the channels of notifications; relays only for people with a linked account."""
    linked = ChannelAccount.objects.filter(
        user=person, connection__kind=ChannelConnection.Kind.RELAY
    ).exists()
    return {way: name for way, name in WAYS.items() if way != Channel.RELAY or linked}


def _names(ways: Iterable[str], viewer: Standing) -> list[str]:
    return [
        name
        for way in ways
        for kind in _mutable(viewer)
        if (name := f"{way}:{kind}") not in NEVER
    ]


def _cell(way: str, kind: str, muted: list[str]) -> dict[str, object]:
    name = f"{way}:{kind}"
    label = _("%(way)s: %(kind)s") % {"way": WAYS[way], "kind": MUTABLE[kind]}
    return {
        "name": name,
        "label": label,
        "wanted": name not in muted,
        "never": name in NEVER,
    }


@require_POST
@refusals_as_pages
def send_test(request: SignedIn) -> HttpResponse:
    """Send the user a test mail, and report the result."""
    if not settings.HITL_MAIL or not request.user.email:
        raise Conflict(
            _(
                "No mail can be sent to you: your account has no address, or no mail server is set up."
            )
        )
    _tests.count(str(request.user.pk), TESTS_A_MINUTE)
    try:
        send_now(mail_to(request.user.email, "test"))
    except (OSError, ValueError) as error:
        refusal = _(
            "The mail server refused the test: %(error)s. Ask an administrator to check the mail settings."
        )
        messages.error(request, refusal % {"error": error})
    else:
        messages.success(
            request,
            _("A test is on its way to %(address)s.") % {"address": request.user.email},
        )
    return redirect("approvals:notifications")


@require_POST
@refusals_as_pages
def subscribe(request: SignedIn) -> HttpResponse:
    """Store the push subscription of the requesting browser."""
    sent = {name: request.POST.get(name, "") for name in ("endpoint", "p256dh", "auth")}
    browser = request.headers.get("User-Agent", "")
    actions.subscribe(
        request.user,
        **sent,
        browser=browser,
        session_key=request.session.session_key or "",
    )
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_POST
def unsubscribe(request: SignedIn) -> HttpResponse:
    """Delete a browser by its endpoint."""
    actions.unsubscribe(request.user, endpoint=request.POST.get("endpoint", ""))
    if request.headers.get("X-Requested-With") == "fetch":
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return redirect("approvals:notifications")


@require_GET
def sessions(request: SignedIn) -> HttpResponse:
    """The user's own sessions."""
    current = request.session.session_key
    shown = [
        (session, describe_browser(session.browser), session.session_key == current)
        for session in sessions_of(request.user)
    ]
    return render(
        request,
        "approvals/administration/preferences/sessions.html",
        {
            "sessions": shown,
            "hours": limit_of(settings.SESSION_HOURS, request.user),
            "minutes": limit_of(settings.SESSION_IDLE_MINUTES, request.user),
            "here": "sessions",
        },
    )


@require_POST
@refusals_as_pages
def end_session(request: SignedIn, pk: int) -> HttpResponse:
    if not logins.end_session(request.user, pk):
        raise NotFound(_("Session not found. It may have ended already."))
    messages.success(
        request, _("The session has ended. Anyone using it must log in again.")
    )
    return redirect("approvals:sessions")


@require_POST
def end_other_sessions(request: SignedIn) -> HttpResponse:
    kept = request.session.session_key or ""
    ended = logins.end_sessions(request.user.pk, logins.EndReason.OTHER, kept=kept)
    message = ngettext(
        "%(count)d session has ended.", "%(count)d sessions have ended.", ended
    )
    messages.success(request, message % {"count": ended})
    return redirect("approvals:sessions")
