"""The lines of the System page on sign-in: the OpenID providers, the break-glass account, second factors, and token issuers."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.access.administrators import break_glass_account, can_break_glass
from approvals.access.factors import lacking
from approvals.access.providers import known_providers
from approvals.actions.upkeep.rotating import outdated_secrets
from approvals.administration.scim.queries import counts, scim_keys
from approvals.models import TokenIssuer
from approvals.models.people import RoleName
from approvals.text.text import visible
from approvals.text.times import short_time
from hitlsite.health.parts import OK, WARN, SystemPart

#: How long the page waits for each provider of single sign-on.
PROVIDER_SECONDS = 2.0


def single_sign_on() -> Iterator[SystemPart]:
    part = _("Single sign-on")
    apps = known_providers()
    if not apps:
        yield SystemPart(part, OK, _("Not used: people log in with passwords"))
        return
    from hitlsite.accounts import single_sign_on as flow  # noqa: PLC0415 - loaded late

    for app in apps:
        names = {"name": visible(app.name), "issuer": visible(app.provider_id)}
        if problem := flow.provider_problem(app, PROVIDER_SECONDS):
            advice = _("Check it under Sign-in, and at the provider: %(problem)s")
            summary = _("%(name)s (%(issuer)s) cannot be used") % names
            yield SystemPart(part, WARN, summary, advice % {"problem": problem})
        else:
            yield SystemPart(part, OK, _("%(name)s (%(issuer)s) answers") % names)
    if settings.OIDC_ONLY:
        yield _break_glass()


def scim() -> Iterator[SystemPart]:
    keys = scim_keys()
    known = counts()
    people = known["active"] + known["inactive"]
    if not keys and not people:
        return
    uses = [key.last_used_at for key in keys if key.last_used_at]
    last = short_time(max(uses)) if uses else _("never")
    numbers = {"people": people, "groups": known["groups"], "time": last}
    summary = _("People: %(people)d. Groups: %(groups)d. Last call: %(time)s.")
    advice = ""
    if not keys:
        advice = _(
            "No key is valid, so the provider can deactivate no one. Create one under API keys."
        )
    state = OK if keys else WARN
    yield SystemPart("SCIM", state, summary % numbers, advice)


def _break_glass() -> SystemPart:
    part = _("Break-glass account")
    account = break_glass_account()
    if account is not None and can_break_glass(account):
        return SystemPart(part, OK, visible(account.get_username()))
    advice = _(
        "No one can log in while the provider is down. Name an active administrator who has a password: "
        "manage.py breakglass --user NAME"
    )
    return SystemPart(part, WARN, _("None that could log in"), advice)


def token_issuers() -> Iterator[SystemPart]:
    part = _("Token issuers")
    issuers = TokenIssuer.objects.filter(disabled_at=None).order_by("name", "pk")
    if not issuers:
        yield SystemPart(part, OK, _("None: programs use API keys"))
    for issuer in issuers:
        names = {"name": visible(issuer.name), "issuer": visible(issuer.issuer)}
        if issuer.problem:
            summary = _("The keys of %(name)s (%(issuer)s) cannot be read") % names
            yield SystemPart(part, WARN, summary, visible(issuer.problem))
        else:
            yield SystemPart(part, OK, _("%(name)s (%(issuer)s) answers") % names)


def former_keys() -> Iterator[SystemPart]:
    if not settings.SECRET_KEY_FALLBACKS:
        return
    part = _("Former SECRET_KEYs")
    number = len(outdated_secrets())
    if number:
        summary = _("Rows with secrets that need one: %(count)d") % {"count": number}
        yield SystemPart(part, WARN, summary, _("Run manage.py rotatesecrets."))
    else:
        yield SystemPart(part, OK, _("No stored secret needs one"))


def second_factors() -> Iterator[SystemPart]:
    part = _("Second factors")
    if not settings.SECOND_FACTOR_ROLES:
        yield SystemPart(part, OK, _("Needed by no role"))
        return
    active = User.objects.filter(is_active=True)
    missing = len(lacking(set(active.values_list("pk", flat=True))))
    roles = ", ".join(
        str(RoleName(name).label) for name in settings.SECOND_FACTOR_ROLES
    )
    summary = _("Needed by these roles: %(roles)s") % {"roles": roles}
    if missing:
        advice = ngettext(
            "%(count)d person has none yet.", "%(count)d people have none yet.", missing
        )
        yield SystemPart(part, WARN, summary, advice % {"count": missing})
    else:
        yield SystemPart(part, OK, summary)
