"""The pages of one OpenID provider in Administration > Single sign-on, which call the provider before they save it."""

from __future__ import annotations

from allauth.socialaccount.models import SocialAccount, SocialApp
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.administration.changes.views import say_saved
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.sign_in import actions
from approvals.administration.sign_in.forms import ProviderForm
from approvals.exceptions import Refusal
from approvals.http import SignedIn, require_safe_or_POST


@administrators_only
@require_safe_or_POST
def provider(request: SignedIn, pk: int | None = None) -> HttpResponse:
    """The form of a provider; a new one without `pk`."""
    app = None if pk is None else get_object_or_404(SocialApp, pk=pk)
    stored = app and actions.described_provider(app.provider_id)
    form = ProviderForm(sent(request), stored)
    if form.is_valid() and _saved(request, form, add=app is None):
        return redirect("approvals:sign-in")
    linked = SocialAccount.objects.filter(provider=app and app.provider_id)
    context = {
        "form": form,
        "app": app,
        "linked": linked.count(),
        "public_url": settings.PUBLIC_URL,
        "here": "sign-in",
    }
    return form_page(request, "sign_in/provider.html", context)


def _saved(request: SignedIn, form: ProviderForm, *, add: bool) -> bool:
    """Save the provider if it answers; otherwise add the error to the form."""
    fields = form.cleaned_data
    app = SocialApp(provider_id=fields["issuer"], settings=fields)
    from hitlsite.accounts import single_sign_on as flow  # noqa: PLC0415 - loaded late

    if problem := flow.provider_problem(app):
        message = _("Pausepoint cannot use this provider: %(problem)s")
        form.add_error("issuer", message % {"problem": problem})
        return False
    try:
        waits = actions.save_provider(fields, add=add, by=request.user)
    except Refusal as refusal:
        refuse(form, refusal)
        return False
    say_saved(request, waits=waits is not None)
    return True


@administrators_only
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    """Remove a provider."""
    app = get_object_or_404(SocialApp, pk=pk)
    actions.remove_provider(app.provider_id, by=request.user)
    messages.success(request, _("The provider is removed."))
    return redirect("approvals:sign-in")
