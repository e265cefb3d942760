#!/usr/bin/env bash
# scim-patch (Node.js): an identity provider moves Ann to another department, or takes her approval limit away, by a PATCH whose value has the form in
# which a user is read: `{"op": "replace", "value": {"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "New"}}}`.
# Guess: the department is new, as with `"urn:...:User:department": "New"`, which Entra ID sends. Seen: the old department stays, and the new one
# is stored under another name, as `User` inside of "urn:ietf:params:scim:schemas:extension:enterprise:2.0". It is so for `add` and `replace`, with
# the extension in the path, and beside other attributes, which are changed. Removing the extension by its path removes nothing. No operation is an
# error, so the provider reads a success, and a rule by department or limit goes on with the old value. Extensions of one's own are taken apart
# in the same way. To be safe, split such a value into one operation for each attribute before the library reads it.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 scim-patch@0.8.3 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { scimPatch } from "scim-patch";

const CORE = "urn:ietf:params:scim:schemas:core:2.0:User";
const EXTENSION = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const OWN = "urn:example:approvals:User";
const department = { department: "New" };

// Apply an operation to Ann; return her extensions afterwards, by their names, and whether she is active.
function outcome(operation) {
  const user = {
    schemas: [CORE, EXTENSION, OWN],
    meta: { resourceType: "User" },
    userName: "ann",
    active: true,
    [EXTENSION]: { department: "Old", costCenter: "1" },
    [OWN]: { limit: 50000 },
  };
  const { schemas, meta, userName, ...rest } = scimPatch(user, [operation]);
  return rest;
}

const seen = {
  "an attribute": outcome({ op: "replace", value: { [`${EXTENSION}:department`]: "New" } }),
  "an attribute by path": outcome({ op: "replace", path: `${EXTENSION}:department`, value: "New" }),
  replace: outcome({ op: "replace", value: { [EXTENSION]: department } }),
  add: outcome({ op: "add", value: { [EXTENSION]: department } }),
  "replace by path": outcome({ op: "replace", path: EXTENSION, value: department }),
  "replace beside another": outcome({ op: "replace", value: { active: false, [EXTENSION]: department } }),
  "remove by path": outcome({ op: "remove", path: EXTENSION }),
  "own extension": outcome({ op: "replace", value: { [OWN]: { limit: 50 } } }),
};
const { version } = JSON.parse(readFileSync("node_modules/scim-patch/package.json", "utf8"));
console.log("scim-patch", version, "expected the department New in each but the last two, no extension, a limit of 50; seen", seen);
const old = { active: true, [EXTENSION]: { department: "Old", costCenter: "1" }, [OWN]: { limit: 50000 } };
const right = { ...old, [EXTENSION]: { department: "New", costCenter: "1" } };
const apart = { ...old, [EXTENSION.slice(0, -":User".length)]: { User: department } };
assert.deepEqual(seen, {
  "an attribute": right,
  "an attribute by path": right,
  replace: apart,
  add: apart,
  "replace by path": apart,
  "replace beside another": { ...apart, active: false },
  "remove by path": old,
  "own extension": { ...old, [OWN.slice(0, -":User".length)]: { User: { limit: 50 } } },
});
JAVASCRIPT
node_modules/.bin/node look.mjs
