"""The profile page: display name, email address, roles and password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from approvals.access.rate_limits import Limit
from approvals.administration.forms import REFUSED
from approvals.administration.people.queries import roles_of, teams
from approvals.administration.preferences import actions
from approvals.administration.preferences.forms import AddressForm, DisplayNameForm
from approvals.administration.preferences.own_address import (
    address_in,
    may_change_address,
)
from approvals.exceptions import NotAllowed
from approvals.http import SignedIn, refusals_as_pages, require_safe_or_POST
from approvals.models import ChannelAccount
from approvals.models.people import ROLE_DESCRIPTIONS, RoleName

#: Attempts at the current password, each of which may send two mails.
TRIES_A_MINUTE = 5
_tries = Limit()


@require_GET
def profile(request: SignedIn) -> HttpResponse:
    return _page(request)


@require_POST
def display_name(request: SignedIn) -> HttpResponse:
    """Store a person's display name."""
    form = DisplayNameForm(request.POST)
    if form.is_valid():
        try:
            actions.store_display_name(request.user, form.cleaned_data["display_name"])
        except ValidationError as error:
            form.add_error("display_name", error)
    if form.errors:
        return _page(request, name_form=form, status=REFUSED)
    messages.success(request, _("Your display name is saved."))
    return redirect("approvals:settings")


@sensitive_post_parameters("password")
@require_POST
@refusals_as_pages
def change_address(request: SignedIn) -> HttpResponse:
    """Mail a link to a new address. Nothing changes until the link is used."""
    if not may_change_address(request.user):
        raise NotAllowed(
            _("You cannot change your email address yourself. Ask an administrator.")
        )
    _tries.count(str(request.user.pk), TRIES_A_MINUTE)
    form = AddressForm(request.POST, person=request.user)
    if not form.is_valid():
        return _page(request, address_form=form, status=REFUSED)
    address = form.cleaned_data["email"]
    actions.request_address(request.user, address)
    message = _("A link is on its way to %(address)s. Open it to use this address.")
    messages.success(request, message % {"address": address})
    return redirect("approvals:settings")


@require_safe_or_POST
@refusals_as_pages
def confirm_address(request: SignedIn, token: str) -> HttpResponse:
    """Show the address that a link confirms. Opening it changes nothing, because mail scanners open links too."""
    if request.method == "POST":
        address = actions.confirm_address(request.user, token)
        messages.success(
            request, _("Your email address is now %(address)s.") % {"address": address}
        )
        return redirect("approvals:settings")
    context = {"address": address_in(token, request.user), "here": "profile"}
    return render(request, "approvals/administration/preferences/address.html", context)


def _page(request: SignedIn, *, status: int = 200, **forms: Any) -> HttpResponse:
    person = request.user
    roles = [
        (RoleName(name).label, ROLE_DESCRIPTIONS[RoleName(name)])
        for name in roles_of(person)
    ]
    names = teams().filter(user=person).order_by("name").values_list("name", flat=True)
    context = {
        "roles": roles,
        "teams": list(names),
        "channel_accounts": ChannelAccount.objects.filter(user=person).select_related(
            "connection"
        ),
        "mail": settings.HITL_MAIL,
        "here": "profile",
        "name_form": DisplayNameForm(initial={"display_name": person.first_name}),
        "address_form": AddressForm(person=person)
        if may_change_address(person)
        else None,
    }
    return render(
        request,
        "approvals/administration/preferences/profile.html",
        context | forms,
        status=status,
    )
