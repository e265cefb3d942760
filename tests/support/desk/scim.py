"""An identity provider that sends people and groups by SCIM, in this process or to a server."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import Group, User
from django.test import Client

from approvals.administration.keys.actions import create_key
from approvals.administration.people.actions import give_roles
from approvals.models import ApiKey, GroupMapping, Role
from approvals.models.people import RoleName
from tests.support.machine import Reply
from tests.support.people import PASSWORD

ADDRESS = "/scim/v2"
CORE = "urn:ietf:params:scim:schemas:core:2.0:"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


def administrator(name: str = "dora") -> User:
    person = User.objects.create_user(name, password=PASSWORD)
    give_roles(person, [RoleName.ADMINISTRATOR])
    return User.objects.get(pk=person.pk)


def map_group(name: str, group: Group | RoleName) -> None:
    """Map a group of the provider to a role or team, as two other administrators have done."""
    if isinstance(group, RoleName):
        group = Role.objects.get(name=group).group
    GroupMapping.objects.create(issuer="scim", value=name, group=group)


class Directory:
    """An identity provider with a key of an administrator."""

    key: ApiKey

    def __init__(self, owner: User | None = None, *, text: str = "") -> None:
        if owner is not None:
            self.key, text = create_key(owner, name="Corp directory", scopes=("scim",))
        self.headers = {"authorization": f"Bearer {text}"}
        self.client = Client(raise_request_exception=False)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send JSON, or bytes as they are."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        kind = "application/scim+json"
        response = self.client.generic(method, ADDRESS + path, content, kind, headers=sent)
        answered = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, json.loads(response.content) if response.content else None, answered)

    def get(self, path: str, **query: str) -> Reply:
        return self.send("GET", f"{path}?{urlencode(query)}" if query else path)

    def create(self, kind: str, **fields: Any) -> Any:
        reply = self.send("POST", f"/{kind}s", {"schemas": [CORE + kind], **fields})
        assert reply.status == 201, reply
        return reply.body

    def patch(self, row: Any, *operations: dict[str, Any], **headers: str) -> Reply:
        body = {"schemas": [PATCH], "Operations": list(operations)}
        return self.send("PATCH", path_of(row), body, **headers)

    def person(self, username: str, **fields: Any) -> Any:
        return self.create("User", userName=username, **fields)

    def group(self, name: str, *members: Any, **fields: Any) -> Any:
        return self.create("Group", displayName=name, members=[{"value": id_of(each)} for each in members], **fields)

    def members(self, group: Any) -> list[str]:
        return [each["value"] for each in self.get(path_of(group)).body.get("members", [])]


def id_of(row: Any) -> str:
    return f"p{row.pk}" if isinstance(row, User) else row["id"]


def path_of(row: Any) -> str:
    number = id_of(row)
    return f"/{'Users' if number.startswith('p') else 'Groups'}/{number}"


def user_of(row: Any) -> User:
    return User.objects.get(pk=int(id_of(row)[1:]))


def error_of(reply: Reply) -> tuple[int, str, str]:
    """Status, type and words of an error; fails for anything else."""
    assert reply.headers["content-type"] == "application/scim+json", reply
    assert reply.body["schemas"] == [ERROR]
    assert reply.body["status"] == str(reply.status)
    return reply.status, reply.body.get("scimType", ""), reply.body["detail"]
