"""The requests of Microsoft Entra and Okta, in the shapes that their documentation shows, from the first to the last day."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.administration.people.queries import roles_of
from approvals.models import ScimGroup
from approvals.models.people import RoleName
from tests.support.desk.scim import CORE, PATCH, Directory, administrator, map_group, path_of, user_of

pytestmark = pytest.mark.django_db

ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
ADSCIM = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"


@pytest.fixture
def directory() -> Directory:
    return Directory(administrator())


def number_of(directory: Directory, condition: str, kind: str = "Users", **query: str) -> int:
    reply = directory.get(f"/{kind}", filter=condition, **query)
    assert reply.status == 200, reply
    return reply.body["totalResults"]


def test_entra_from_the_connection_test_to_the_leaver(directory):
    map_group("Refund approvers", RoleName.APPROVER)
    # Test connection: a name that no one has.
    assert number_of(directory, 'userName eq "9db1a4f2-3c0e-4a66-8b77-5d2f1f0c5a11"') == 0
    # A new hire.
    sent: dict[str, Any] = {
        "schemas": [f"{CORE}User", ENTERPRISE],
        "externalId": "ann.lee",
        "userName": "Ann.Lee@corp.local",
        "active": True,
        "displayName": "Ann Lee",
        "emails": [{"primary": True, "type": "work", "value": "Ann.Lee@corp.local"}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "Ann Lee", "familyName": "Lee", "givenName": "Ann"},
        "roles": [],
        "title": "Clerk",
        ENTERPRISE: {"department": "Finance", "manager": "someone"},
    }
    reply = directory.send("POST", "/Users", sent)
    assert reply.status == 201
    ann = reply.body
    assert number_of(directory, 'userName eq "ann.lee@CORP.LOCAL"') == 1
    assert directory.get(path_of(ann)).body["displayName"] == "Ann Lee"
    # Groups, without the members that they have.
    group = {"schemas": [f"{CORE}Group", ADSCIM], "externalId": "8aa1a0c0", "displayName": "Refund approvers"}
    assert number_of(directory, 'displayName eq "Refund approvers"', "Groups", excludedAttributes="members") == 0
    made = directory.send("POST", "/Groups", group | {"meta": {"resourceType": "Group"}}).body
    assert "members" not in directory.get(path_of(made), excludedAttributes="members").body
    member = [{"$ref": None, "value": ann["id"]}]
    assert directory.patch(made, {"op": "Add", "path": "members", "value": member}).status == 204
    assert roles_of(user_of(ann)) == ["approver"]
    # A marriage, and attributes that this service does not keep.
    married = (
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "Ann.Bell@corp.local"},
        {"op": "Replace", "path": "name.familyName", "value": "Bell"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Treasury"},
        {"op": "Add", "path": 'phoneNumbers[type eq "work"].value', "value": "+49 30 1"},
        {"op": "Replace", "path": "displayName", "value": "Ann Bell"},
    )
    assert directory.patch(ann, *married).status == 204
    changed = directory.get(path_of(ann)).body
    assert (changed["emails"], changed["name"]["familyName"]) == (
        [{"value": "Ann.Bell@corp.local", "type": "work", "primary": True}],
        "Bell",
    )
    assert (user_of(ann).email, user_of(ann).first_name) == ("Ann.Bell@corp.local", "Ann Bell")
    assert directory.patch(ann, {"op": "Replace", "value": {"name.givenName": "Anna"}}).status == 204
    # Out of the group, and gone: disabled first, with a boolean as text, and deleted later.
    assert directory.patch(made, {"op": "Remove", "path": "members", "value": member}).status == 204
    assert roles_of(user_of(ann)) == []
    assert directory.patch(ann, {"op": "Replace", "path": "active", "value": "False"}).status == 204
    assert user_of(ann).is_active is False
    assert directory.patch(ann, {"op": "Replace", "path": "active", "value": "True"}).status == 204
    assert user_of(ann).is_active is True
    assert directory.send("DELETE", path_of(ann)).status == 204
    assert directory.patch(made, {"op": "Replace", "path": "displayName", "value": "Former approvers"}).status == 204
    assert directory.send("DELETE", path_of(made)).status == 204
    assert ScimGroup.objects.count() == 0


def test_an_address_that_entra_adds_to_a_person_without_one(directory):
    ann = directory.person("ann@corp.local")
    address = {"op": "Add", "path": 'emails[type eq "work"].value', "value": "ann@corp.local"}
    assert directory.patch(ann, address).status == 204
    assert user_of(ann).email == "ann@corp.local"


def test_okta_from_the_import_to_the_leaver(directory):
    map_group("Refund approvers", RoleName.APPROVER)
    assert directory.get("/Users", startIndex="1", count="2").body["totalResults"] == 1
    assert directory.get("/Groups", startIndex="1", count="100").body["totalResults"] == 0
    assert number_of(directory, 'userName eq "ann.lee@corp.local"', startIndex="1", count="100") == 0
    sent: dict[str, Any] = {
        "schemas": [f"{CORE}User"],
        "userName": "ann.lee@corp.local",
        "name": {"givenName": "Ann", "familyName": "Lee"},
        "emails": [{"primary": True, "value": "ann.lee@corp.local", "type": "work"}],
        "displayName": "Ann Lee",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
    }
    reply = directory.send("POST", "/Users", sent)
    assert reply.status == 201
    ann = reply.body
    # A password of the provider opens nothing here.
    assert user_of(ann).has_usable_password() is False
    assert directory.send("POST", "/Users", sent).status == 409
    # A profile push sends everything back.
    profile = directory.get(path_of(ann)).body | {"name": {"givenName": "Anna", "familyName": "Lee"}}
    assert directory.send("PUT", path_of(ann), profile).body["name"]["givenName"] == "Anna"
    group = {"schemas": [f"{CORE}Group"], "displayName": "Refund approvers", "members": []}
    made = directory.send("POST", "/Groups", group).body
    everyone = {"op": "replace", "path": "members", "value": [{"value": ann["id"], "display": "ann.lee@corp.local"}]}
    assert directory.patch(made, everyone).status == 204
    assert roles_of(user_of(ann)) == ["approver"]
    rename = {"op": "replace", "value": {"id": made["id"], "displayName": "Refund approvers"}}
    assert directory.patch(made, rename).status == 204
    out = {"op": "remove", "path": f'members[value eq "{ann["id"]}"]'}
    assert directory.patch(made, out).status == 204
    assert roles_of(user_of(ann)) == []
    whole = group | {"id": made["id"], "members": [{"value": ann["id"], "display": "Ann"}]}
    assert directory.send("PUT", path_of(made), whole).status == 200
    assert roles_of(user_of(ann)) == ["approver"]
    # Okta deactivates, and deletes no one.
    body = {"schemas": [PATCH], "Operations": [{"op": "replace", "value": {"active": False}}]}
    assert directory.send("PATCH", path_of(ann), body).status == 204
    assert user_of(ann).is_active is False
    assert directory.send("PUT", path_of(ann), profile | {"active": True}).body["active"] is True


def test_the_documents_of_the_service_say_what_it_keeps(directory):
    config = directory.get("/ServiceProviderConfig").body
    assert {
        name: config[name]["supported"] for name in ("patch", "bulk", "filter", "sort", "etag", "changePassword")
    } == {
        "patch": True,
        "bulk": True,
        "filter": True,
        "sort": True,
        "etag": True,
        "changePassword": False,
    }
    assert (config["bulk"]["maxOperations"], config["filter"]["maxResults"]) == (100, 200)
    schemas = directory.get("/Schemas").body["Resources"]
    names = {each["name"]: [attribute["name"] for attribute in each["attributes"]] for each in schemas}
    assert names == {
        "User": ["userName", "name", "displayName", "active", "emails"],
        "Group": ["displayName", "members"],
    }
    assert [each["name"] for each in directory.get("/ResourceTypes").body["Resources"]] == ["User", "Group"]
