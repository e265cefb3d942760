"""Two hundred bodies and addresses that no provider sends: each gets an error in the form of SCIM, none a 5xx."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.desk.scim import CORE, PATCH, Directory, administrator, error_of, id_of

pytestmark = pytest.mark.django_db

DEEP = b'{"a":' * 500 + b"1" + b"}" * 500
#: Bodies that are no JSON, or JSON that cannot be stored.
RAW = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"\xff\xfe",
    b"\x00",
    b'{"userName": "a\\u0000b"}',
    b'{"userName": "\\ud800"}',
    b'{"userName": NaN}',
    b'{"userName": 1e999}',
    b'{"userName": "a", "userName": "b"}',
    DEEP,
    b"[" * 100_000,
    b'{"schemas": [' + b"1," * 70_000 + b"1]}",
    json.dumps({"userName": "x" * 900_000}).encode(),
    b"x" * 1_000_001,
)
#: Values where another type, or a bound, is expected.
VALUES: tuple[Any, ...] = (
    None,
    0,
    -1,
    10**30,
    1.5,
    True,
    "",
    " ",
    "x" * 3000,
    [],
    {},
    [[]],
    [{}],
    {"value": {}},
    ["\u202e"],
)
PERSON_FIELDS = ("userName", "active", "name", "emails", "externalId", "displayName", "schemas", "id", "meta")
GROUP_FIELDS = ("displayName", "members", "externalId")
PATHS = (
    "", "a b", "emails[", 'emails[type eq "work"', "members[value eq]", "name..x", "urn:x:y:z", "$ref", "id", "schemas",
    "meta.version", "password", 'emails[type eq "a" or type eq "b"].value', "x" * 5000, "members[members[value eq 1]]",
    "userName.x", "active.active", 'name[givenName eq "x"]',
)  # fmt: skip
FILTERS = (
    "", "a", "userName eq", 'userName eq "', "userName xx 1", "(" * 200, 'not not (userName eq "a")', "userName eq {}",
    'emails[value eq "x"', 'userName eq "a" and', 'a.b.c eq "x"', "active eq \"x\"", "meta.created gt 1", "userName gt 1",
    'userName eq "\\u0000"', "(" * 5000, "userName co " + "x" * 3000, " and ".join(["userName pr"] * 500), "id pr or id pr",
)  # fmt: skip
ADDRESSES = (
    "/Me", "/Users/", "/Users/1", "/Users/p", "/Users/p-1", "/Users/p1e9", "/Users/g1", "/Users/p" + "9" * 40, "/Nothing",
    "/Users/p1/x", "/Bulk", "/Schemas/x", "/ResourceTypes/x", "/../Users", "/Users/%00", "/Users/%2e%2e", "//Users", "/users/",
    "/Users.scim", "/Groups/p1", "/.search/x", "/Users/p٣",
)  # fmt: skip


def attempts(person: str, group: str) -> list[tuple[str, str, Any]]:
    """Every attempt: method, address and body."""
    user = {"schemas": [f"{CORE}User"], "userName": "ann"}
    found: list[tuple[str, str, Any]] = [(method, "/Users", body) for method in ("POST",) for body in RAW]
    found += [("PATCH", f"/Users/{person}", body) for body in RAW[:8]]
    found += [("POST", "/Bulk", body) for body in RAW[:8]]
    found += [("PUT", f"/Users/{person}", user | {name: value}) for name in PERSON_FIELDS for value in VALUES]
    made = {"schemas": [f"{CORE}Group"], "displayName": "G"}
    found += [("PUT", f"/Groups/{group}", made | {name: value}) for name in GROUP_FIELDS for value in VALUES]
    for path in PATHS:
        for op in ("add", "remove", "replace", "move"):
            operation = {"op": op, "path": path, "value": "x"}
            found.append(("PATCH", f"/Users/{person}", {"schemas": [PATCH], "Operations": [operation]}))
    for value in VALUES:
        found.append(("PATCH", f"/Groups/{group}", {"schemas": [PATCH], "Operations": value}))
        remove = {"op": "remove", "path": "members", "value": value}
        found.append(("PATCH", f"/Groups/{group}", {"schemas": [PATCH], "Operations": [remove]}))
        bulk = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], "Operations": value}
        found.append(("POST", "/Bulk", bulk))
        found.append(("POST", "/Users/.search", {"filter": value, "count": value, "startIndex": value}))
    return found


def wrong_answers(directory: Directory, tried: list[tuple[str, str, Any]]) -> list[Any]:
    """Send everything; return what is answered with a 5xx. All other errors are in the form of SCIM."""
    wrong: list[Any] = []
    for method, address, body in tried:
        reply = directory.send(method, address, body)
        if reply.status >= 500:
            wrong.append((method, address, str(body)[:200], reply))
        elif reply.status >= 400:
            error_of(reply)
        elif address == "/Bulk":
            wrong += [(method, address, body, each) for each in reply.body["Operations"] if each["status"] >= "5"]
    return wrong


def test_no_address_is_answered_with_a_5xx():
    directory = Directory(administrator())
    user = {"schemas": [f"{CORE}User"], "userName": "ann"}
    methods = ("GET", "POST", "PUT", "DELETE", "TRACE")
    assert wrong_answers(directory, [(method, each, user) for each in ADDRESSES for method in methods]) == []


@pytest.mark.parametrize("half", [0, 1])
def test_no_body_is_answered_with_a_5xx(half):
    directory = Directory(administrator())
    person, group = id_of(directory.person("zoe")), directory.group("Z")["id"]
    tried = attempts(person, group)
    assert len(tried) > 300
    assert wrong_answers(directory, tried[half::2]) == []


def test_no_filter_is_answered_with_a_5xx():
    directory = Directory(administrator())
    replies = {each: directory.get("/Users", filter=each) for each in FILTERS}
    assert {each: reply for each, reply in replies.items() if reply.status >= 500} == {}
    more = (
        {"count": "x"},
        {"startIndex": "-1"},
        {"sortBy": "]"},
        {"attributes": "("},
        {"cursor": ""},
        {"count": "1e9"},
    )
    assert [directory.get("/Users", **query).status < 500 for query in more] == [True] * len(more)


def test_a_bulk_request_runs_each_operation_within_bounds():
    directory = Directory(administrator())
    schema = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"

    def bulk(*operations: Any, **more: Any) -> Any:
        return directory.send("POST", "/Bulk", {"schemas": [schema], "Operations": list(operations), **more})

    def creation(name: str, number: int = 0) -> dict[str, Any]:
        data = {"schemas": [f"{CORE}User"], "userName": name}
        return {"method": "POST", "path": "/Users", "bulkId": f"b{number}", "data": data}

    member = {"schemas": [f"{CORE}Group"], "displayName": "Finance", "members": [{"value": "bulkId:b0"}]}
    reply = bulk(
        creation("ann"),
        {"method": "POST", "path": "/Groups", "bulkId": "g", "data": member},
        creation("ann", 1),
        {"method": "DELETE", "path": "/Users/p99999"},
    )
    assert [each["status"] for each in reply.body["Operations"]] == ["201", "201", "409", "404"]
    assert len(directory.members({"id": reply.body["Operations"][1]["location"].rpartition("/")[2]})) == 1
    many = [creation(f"n{number}", number) for number in range(101)]
    assert error_of(bulk(*many))[0] == 413
    first = bulk(creation("ann"), creation("ben", 1), failOnErrors=1)
    assert [each["status"] for each in first.body["Operations"]] == ["409"]
