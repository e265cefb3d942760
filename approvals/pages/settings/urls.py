"""URLs of the settings of people and of administration."""

from __future__ import annotations

from django.urls import path

from approvals.pages.settings import first_run, keys, people, person_access, personal, rules, tools, webhooks

urlpatterns = [
    path("", personal.profile, name="settings"),
    path("display/", personal.display, name="display"),
    path("theme/", personal.theme, name="theme"),
    path("notifications/", personal.notifications, name="notifications"),
    path("notifications/test/", personal.send_test, name="send-test"),
    path("notifications/subscribe/", personal.subscribe, name="subscribe"),
    path("notifications/unsubscribe/", personal.unsubscribe, name="unsubscribe"),
    path("sessions/", personal.sessions, name="sessions"),
    path("sessions/end-others/", personal.end_other_sessions, name="end-sessions"),
    path("sessions/<int:pk>/end/", personal.end_session, name="end-session"),
    path("people/", people.people, name="people"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/active/", person_access.activate, name="person-active"),
    path("people/<int:pk>/link/", person_access.new_link, name="person-link"),
    path("people/<int:pk>/invite/", person_access.invite, name="invite"),
    path("people/changes/<int:pk>/", person_access.pending_change, name="pending-change"),
    path("teams/", people.add_team, name="teams"),
    path("teams/<int:pk>/", people.change_team, name="team"),
    path("keys/", keys.keys, name="keys"),
    path("keys/<int:pk>/", keys.key, name="key"),
    path("keys/<int:pk>/revoke/", keys.revoke, name="revoke-key"),
    path("webhooks/", webhooks.webhooks, name="webhooks"),
    path("webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path("webhooks/<int:pk>/secret/", webhooks.rotate, name="rotate-secret"),
    path("webhooks/<int:pk>/remove/", webhooks.remove, name="remove-webhook"),
    path("webhooks/<int:pk>/resend/<int:event>/", webhooks.resend, name="resend"),
    path("rules/", rules.rules, name="rules"),
    path("rules/<int:pk>/", rules.rule, name="rule"),
    path("rules/<int:pk>/remove/", rules.remove, name="remove-rule"),
    path("tools/", tools.tools, name="tools"),
    path("tools/<path:name>/", tools.tool, name="tool"),
    path("first-run/", first_run.checklist, name="first-run"),
    path("first-run/dismiss/", first_run.dismiss, name="dismiss-first-run"),
]
