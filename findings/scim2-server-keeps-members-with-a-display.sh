#!/usr/bin/env bash
# scim2-server, with the policy that reads what identity providers send (`remove_value_as_filter=apply`): a provider takes Alice out of a group with
# `{"op": "remove", "path": "members", "value": [{"value": "alice's id", "display": "Alice"}]}`.
# Guess: she is out, since the id identifies a member. Seen: 204, and she stays. Everything that the entry states has to be stored in the same way;
# a display, a `$ref` or a type that the group doesn't store for her means that nothing is removed, and the answer is the same 204. It works
# with the id alone, with `$ref: null`, and with a filter in the path. The other way around, a member that is added once more in another form is
# stored twice, and removing her in one form leaves the other, so she stays as well. To be safe, strip entries to their `value` before the
# service reads them, and look at the group after the operation.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scim2-server==0.8.3 scim2-models==0.12.3
cd "$folder"
venv/bin/python - <<'PYTHON'
import io
import json
from importlib.metadata import version
from wsgiref.util import setup_testing_defaults

from scim2_models import ScimPolicy, ScimProvider
from scim2_server.applications.wsgi import WSGIApplication
from scim2_server.memory import InMemoryStorage
from scim2_server.utils import load_default_resource_types, load_default_schemas, load_default_service_provider_config

CORE = "urn:ietf:params:scim:schemas:core:2.0:"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
policy = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
provider = ScimProvider.from_discovery(
    load_default_schemas().values(),
    load_default_resource_types().values(),
    config=load_default_service_provider_config(),
    policy=policy,
)
service = WSGIApplication(InMemoryStorage(), provider)


def send(method, path, body=None):
    """Send a request to the service; return its status and body."""
    content = json.dumps(body).encode() if body else b""
    request = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_TYPE": "application/scim+json"}
    request |= {"CONTENT_LENGTH": str(len(content)), "wsgi.input": io.BytesIO(content)}
    setup_testing_defaults(request)
    statuses = []
    answer = b"".join(service(request, lambda status, headers, error=None: statuses.append(int(status[:3]))))
    return statuses[0], json.loads(answer) if answer else None


def create(kind, **fields):
    status, created = send("POST", f"/{kind}s", {"schemas": [CORE + kind], **fields})
    assert status == 201, created
    return created["id"]


alice, bob = (create("User", userName=name) for name in ("alice", "bob"))


def outcome(stored, *operations):
    """Create a group with these entries for Alice, and Bob; return the last status, and how often she is a member afterwards."""
    group = create("Group", displayName="approvers", members=[{"value": alice, **stored}, {"value": bob}])
    for operation in operations:
        status, _ = send("PATCH", f"/Groups/{group}", {"schemas": [PATCH], "Operations": [operation]})
    members = send("GET", f"/Groups/{group}")[1]["members"]
    return status, sum(member["value"] == alice for member in members)


def add(**entry):
    return {"op": "add", "path": "members", "value": [{"value": alice, **entry}]}


def remove(**entry):
    return {"op": "remove", "path": "members", "value": [{"value": alice, **entry}]}


reference = {"$ref": f"https://desk.example/scim/v2/Users/{alice}"}
seen = {
    "by the id": outcome({}, remove()),
    "by the id and $ref: null": outcome({}, remove(**{"$ref": None})),
    "by a filter in the path": outcome({}, {"op": "remove", "path": f'members[value eq "{alice}"]'}),
    "by the id and a display": outcome({}, remove(display="Alice")),
    "by the id and a $ref": outcome({}, remove(**reference)),
    "by the id and a type": outcome({}, remove(type="User")),
    "by the id and a new display": outcome({"display": "Alice A."}, remove(display="Alice B.")),
    "added again with a type": outcome({}, add(type="User")),
    "added again, removed with a type": outcome({}, add(type="User"), remove(type="User")),
}
versions = {package: version(package) for package in ("scim2-server", "scim2-models")}
print(versions, "expected (204, 0) for a removal, and one entry for an addition, seen:", seen)
assert seen == {
    "by the id": (204, 0),
    "by the id and $ref: null": (204, 0),
    "by a filter in the path": (204, 0),
    "by the id and a display": (204, 1),
    "by the id and a $ref": (204, 1),
    "by the id and a type": (204, 1),
    "by the id and a new display": (204, 1),
    "added again with a type": (204, 2),
    "added again, removed with a type": (204, 1),
}
PYTHON
