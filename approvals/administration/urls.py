"""URLs of the settings of people and of administration."""

from __future__ import annotations

from django.urls import path

from approvals.administration import first_run
from approvals.administration.absence import views as absence
from approvals.administration.changes import views as changes
from approvals.administration.connecting import views as connecting
from approvals.administration.engines import views as engines
from approvals.administration.issuers import views as issuers
from approvals.administration.keys import views as keys
from approvals.administration.notification_rules import views as rules
from approvals.administration.people import views as people
from approvals.administration.preferences import attention, profile
from approvals.administration.preferences import views as preferences
from approvals.administration.rules import views as policy
from approvals.administration.scim import views as scim
from approvals.administration.scopes import views as scopes
from approvals.administration.sign_in import views as sign_in
from approvals.administration.tools import views as tools
from approvals.administration.webhooks import views as webhooks

urlpatterns = [
    path("", profile.profile, name="settings"),
    path("name/", profile.display_name, name="display-name"),
    path("address/", profile.change_address, name="change-address"),
    path("address/<str:token>/", profile.confirm_address, name="confirm-address"),
    path("display/", preferences.display, name="display"),
    path("theme/", preferences.theme, name="theme"),
    path("notifications/", preferences.notifications, name="notifications"),
    path("notifications/test/", preferences.send_test, name="send-test"),
    path("notifications/subscribe/", preferences.subscribe, name="subscribe"),
    path("notifications/unsubscribe/", preferences.unsubscribe, name="unsubscribe"),
    path("attention/", attention.attention, name="attention"),
    path("sessions/", preferences.sessions, name="sessions"),
    path("sessions/end-others/", preferences.end_other_sessions, name="end-sessions"),
    path("sessions/<int:pk>/end/", preferences.end_session, name="end-session"),
    path("absence/", absence.own, name="absence"),
    path("absence/<int:pk>/end/", absence.end, name="end-absence"),
    path("people/", people.people, name="people"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/absence/", absence.of_person, name="person-absence"),
    path("people/<int:pk>/active/", people.activate, name="person-active"),
    path("people/<int:pk>/link/", people.new_link, name="person-link"),
    path("people/<int:pk>/factors/", people.reset_factors, name="reset-factors"),
    path("people/<int:pk>/invite/", people.invite, name="invite"),
    path("changes/", changes.changes, name="changes"),
    path("changes/<int:pk>/", changes.settle, name="pending-change"),
    path("teams/", people.change_team, name="teams"),
    path("teams/<int:pk>/", people.change_team, name="team"),
    path("teams/<int:pk>/settings/", absence.team_settings, name="team-settings"),
    path("connect/", connecting.connect, name="connect"),
    path("connect/<int:pk>/", connecting.waiting, name="connect-key"),
    path("connect/<int:pk>/progress/", connecting.progress, name="connect-progress"),
    path("keys/", keys.keys, name="keys"),
    path("keys/<int:pk>/", keys.key, name="key"),
    path("keys/<int:pk>/rotate/", keys.rotate, name="rotate-key"),
    path("keys/<int:pk>/revoke/", keys.revoke, name="revoke-key"),
    path("webhooks/", webhooks.webhooks, name="webhooks"),
    path("webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path("webhooks/<int:pk>/secret/", webhooks.rotate, name="rotate-secret"),
    path("webhooks/<int:pk>/remove/", webhooks.remove, name="remove-webhook"),
    path("webhooks/<int:pk>/resend/<int:event>/", webhooks.resend, name="resend"),
    path("rules/", rules.rules, name="rules"),
    path("rules/<int:pk>/", rules.rule, name="rule"),
    path("rules/<int:pk>/remove/", rules.remove, name="remove-rule"),
    path("policy/", policy.policy, name="policy"),
    path("policy/change/", policy.change, name="change-policy"),
    path("policy/suggestions/", policy.suggestion_cases, name="suggestion-cases"),
    path("policy/<int:number>/", policy.version, name="policy-version"),
    path("scopes/", scopes.scopes, name="scopes"),
    path("scopes/<int:pk>/", scopes.scope, name="scope"),
    path("scopes/<int:pk>/delete/", scopes.delete, name="delete-scope"),
    path("token-issuers/", issuers.issuers, name="token-issuers"),
    path("token-issuers/<int:pk>/", issuers.issuer, name="token-issuer"),
    path("token-issuers/<int:pk>/switch/", issuers.switch, name="switch-token-issuer"),
    path(
        "token-issuers/<int:pk>/mappings/",
        issuers.add_mapping,
        name="add-token-mapping",
    ),
    path(
        "token-mappings/<int:pk>/remove/",
        issuers.remove_mapping,
        name="remove-token-mapping",
    ),
    path("engines/", engines.engines, name="engines"),
    path("engines/<int:pk>/", engines.engine, name="engine"),
    path("engines/<int:pk>/switch/", engines.switch, name="switch-engine"),
    path("engines/<int:pk>/try/", engines.try_it, name="try-engine"),
    path("single-sign-on/", sign_in.sign_in, name="sign-in"),
    path("single-sign-on/<int:pk>/remove/", sign_in.remove, name="remove-mapping"),
    path("scim/", scim.scim, name="scim-page"),
    path("tools/", tools.tools, name="tools"),
    path("tools/<path:name>/", tools.tool, name="tool"),
    path("first-run/", first_run.checklist, name="first-run"),
    path("first-run/dismiss/", first_run.dismiss, name="dismiss-first-run"),
]
