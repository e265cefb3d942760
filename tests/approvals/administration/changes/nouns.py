"""One change of each kind that loosens something, and one of each that doesn't, as made by an administrator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.socialaccount.models import SocialApp
from django.contrib.auth.models import Group, User

from approvals.access.tool_lists import ToolLists
from approvals.actions.policy import write_policy
from approvals.administration.keys.actions import NewKey, change_tool_lists, create_key, make_key
from approvals.administration.people.actions import allow_password_link, change_person
from approvals.administration.scopes.actions import ScopeTerms, delete_scope, store_scope
from approvals.administration.sign_in.actions import change_mapping, save_provider, write_provider
from approvals.administration.tools.actions import store_strict_priorities, store_tool_settings
from approvals.models import ApproverScope, GroupMapping, PolicyVersion, PrioritySettings, ToolSettings
from approvals.models.keys import ApiKey
from approvals.queries.policy.rules.policy_versions import live_version
from approvals.states import Door
from tests.support.desk.ruling import apply_policy

Make = Callable[[User], Any]

ISSUER = "https://login.example.org"


def person(name: str) -> User:
    return User.objects.get(username=name)


def prepare() -> None:
    """The objects of the changes: people, a team that votes, a tool, a scope, a key, and a policy."""
    root = User.objects.create_superuser("setup")
    for name in ("eve", "bob", "kim"):
        User.objects.create_user(name)
    Group.objects.create(name="voters")
    apply_policy({"name": "Wire", "then": "ask", "ask": {"stages": [{"groups": [{"teams": ["voters"]}]}]}}, by=root)
    settings = {"control": "four_eyes", "key_fields": ["/amount"], "no_grants": True}
    ToolSettings.objects.create(tool_name="wire", **settings)
    PrioritySettings.objects.create(priority="high", reason_required=True)
    scope = ApproverScope.objects.create(name="Small", match={"tools": ["wire"]}, may="decide", limit=100)
    scope.people.add(person("bob"))
    create_key(person("bob"), name="coding")
    for value, name in (("v-1", "voters"), ("v-2", "voters"), ("a-1", "Auditor")):
        GroupMapping.objects.create(issuer=ISSUER, value=value, group=Group.objects.get(name=name))
    write_provider(provider(), by=root)
    root.delete()


def _change(name: str, **more: Any) -> Make:
    def make(by: User) -> Any:
        known = {"email": "", "roles": [], "rights": None, "team_ids": []}
        return change_person(person(name).pk, **known | more, by=by)

    return make


def _scope(**more: Any) -> Make:
    def make(by: User) -> Any:
        stored = ApproverScope.objects.get(name="Small")
        terms = {"name": "Small", "match": stored.match, "may": "decide", "limit": 100.0, "people": [person("bob")]}
        return store_scope(stored.pk, ScopeTerms(**terms | more), by=by, via=Door.DASHBOARD)

    return make


def _new_scope(by: User) -> Any:
    terms = ScopeTerms(name="More", match={}, may="decide", people=[person("eve")])
    return store_scope(None, terms, by=by, via=Door.DASHBOARD)


def _last_scope(by: User) -> Any:
    return delete_scope(ApproverScope.objects.get(name="Small").pk, by=by, via=Door.DASHBOARD)


def _mapping(value: str, group: str, *, add: bool) -> Make:
    return lambda by: change_mapping(ISSUER, value, Group.objects.get(name=group).pk, add=add, by=by)


def provider(**more: Any) -> dict[str, Any]:
    known = {"name": "Corp", "slug": "corp", "issuer": ISSUER, "client_id": "desk"}
    return {**known, "secret": "", "link_by_email": True, "private": False, **more}


def _provider(*, add: bool = False, **more: Any) -> Make:
    return lambda by: save_provider(provider(**more), add=add, by=by)


def _team(by: User) -> Any:
    return _change("eve", team_ids=[Group.objects.get(name="voters").pk])(by)


def _policy(*rules: dict[str, Any]) -> Make:
    def make(by: User) -> Any:
        live = live_version()
        number = live.number if live is not None else None
        document = {"rules": list(rules)}
        return write_policy(document, based_on=number, reason="Because.", by=by, via=Door.DASHBOARD)

    return make


def _tool(**fields: Any) -> Make:
    return lambda by: store_tool_settings("wire", fields, by=by)


def _key(by: User) -> Any:
    return make_key(NewKey(user=person("kim"), name="agent"), by=by, via=Door.DASHBOARD)


def _lists(*allowed: str) -> Make:
    def make(by: User) -> Any:
        key = ApiKey.objects.get(name="coding")
        return change_tool_lists(key.pk, ToolLists(allowed=allowed), by=by, via=Door.DASHBOARD)

    return make


ASK = {"name": "Wire", "then": "ask", "ask": {"stages": [{"groups": [{"teams": ["voters"]}]}]}}

#: By kind of change.
LOOSER: dict[str, Make] = {
    "roles": _change("eve", roles=["approver"]),
    "rights": _change("eve", rights=["reveal_secrets"]),
    "teams": _team,
    "tool": _tool(control="", key_fields=["/fee"]),
    "priorities": lambda by: store_strict_priorities([], by=by),
    "scope": _scope(limit=5_000.0),
    "scope ": _new_scope,
    "scope  ": _last_scope,
    "policy": _policy({"name": "All", "match": {"priorities": ["critical"], "tools": ["wire"]}, "then": "allow"}, ASK),
    "key": _key,
    "key_lists": _lists("Read", "Bash"),
    "group_mapping": _mapping("v-3", "Auditor", add=True),
    "group_mapping ": _mapping("a-1", "Auditor", add=False),
    "provider": _provider(client_id="another"),
    "provider ": _provider(add=True, issuer="https://b.example.org", slug="b"),
    "provider  ": _provider(private=True),
}
STRICTER: dict[str, Make] = {
    "roles": _change("eve", roles=["auditor"]),
    "tool": _tool(secret_fields=["iban"], min_priority="critical"),
    "priorities": lambda by: store_strict_priorities(["high", "critical"], by=by),
    "scope": _scope(limit=50.0),
    "policy": _policy({"name": "None", "match": {"tools": ["rm"]}, "then": "deny"}, ASK),
    "key_lists": _lists("Read"),
    "group_mapping": _mapping("v-1", "voters", add=False),
    "provider": _provider(name="Company", secret="new", link_by_email=False),
}


def link(by: User) -> Any:
    return allow_password_link(person("bob").pk, by=by)


def state() -> dict[str, Any]:
    """The state that these changes affect."""
    return {
        "people": sorted(User.objects.values_list("username", "email", "groups__name", "user_permissions__codename")),
        "tools": list(ToolSettings.objects.values("control", "key_fields", "secret_fields", "min_priority")),
        "priorities": sorted(PrioritySettings.objects.filter(reason_required=True).values_list("priority", flat=True)),
        "scopes": list(ApproverScope.objects.order_by("pk").values("name", "limit", "people")),
        "policy": list(PolicyVersion.objects.filter(state="live").values_list("number", flat=True)),
        "mappings": sorted(GroupMapping.objects.values_list("value", "group__name")),
        "providers": list(SocialApp.objects.order_by("pk").values("name", "client_id", "settings")),
        "keys": list(ApiKey.objects.order_by("pk").values("name", "tool_lists")),
    }
