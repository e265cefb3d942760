"""Administration of sign-in: the providers, and the roles and teams that its groups give."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.access.callers import SCIM
from approvals.access.providers import known_providers
from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.sign_in import actions
from approvals.administration.sign_in.forms import MappingForm
from approvals.exceptions import Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import GroupMapping


@administrators_only
@require_safe_or_POST
def sign_in(request: SignedIn) -> HttpResponse:
    """The providers, the group mappings, and the form for a new mapping."""
    form = MappingForm(sent(request))
    if form.is_valid():
        fields = form.cleaned_data
        issuer = fields["issuer"]
        value = fields["value"]
        group = fields["group"]
        try:
            waits = actions.change_mapping(
                issuer, value, group, add=True, by=request.user
            )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            saved = _("The mapping takes effect at each person's next log-in.")
            if issuer == SCIM:
                saved = _("The people of the group have it now.")
            say_saved(request, waits=waits is not None, saved=saved)
            return redirect("approvals:sign-in")
    context = {
        "form": form,
        "here": "sign-in",
        "providers": known_providers(),
        "rows": GroupMapping.objects.select_related("group__role").order_by(
            "issuer", "value"
        ),
        "waiting": pending_changes(
            request.user, kinds=[Kind.PROVIDER, Kind.GROUP_MAPPING]
        ),
        "claim": settings.OIDC_GROUPS_CLAIM,
    }
    return form_page(request, "sign_in/sign_in.html", context)


@administrators_only
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    """Remove a group mapping."""
    mapping = get_object_or_404(GroupMapping, pk=pk)
    waits = actions.change_mapping(
        mapping.issuer, mapping.value, mapping.group_id, add=False, by=request.user
    )
    say_saved(request, waits=waits is not None, saved=_("The mapping is removed."))
    return redirect("approvals:sign-in")
