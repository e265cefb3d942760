#!/usr/bin/env bash
# Casbin (pycasbin): rules say who may approve, as conditions that are stored with the policy, the pattern that the documentation shows for
# attributes: the matcher is `eval(p.rule)`, and a rule is `r.sub.mail == "ann@corp.example"`.
# Guess: a text in quotes is that text, as in Casbin for Node.js. Seen: if a part of the address is "p" or "r" and a dot follows, as in
# "p.miller@corp.example" or "bob.r.jones@corp.example", the rule never holds for this person, without an error. The dots after the
# variables r and p are replaced in the source of the rule, also inside quotes, so it compares with "p_miller@corp.example". The same goes for file
# names ("tax.r.csv"), for regular expressions and for texts in the matcher of the model; a "&&" or a "!" inside quotes is replaced, too
# ("R&&D"). The same policy holds in Node.js. Values that are not in a rule are safe: compare with an attribute or with a column of the policy.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pycasbin==2.8.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 casbin@5.51.1 >/dev/null
cat >cases.json <<'JSON'
{
  "model": [
    "[request_definition]", "r = sub, obj",
    "[policy_definition]", "p = rule",
    "[policy_effect]", "e = some(where (p.eft == allow))",
    "[matchers]", "m = eval(p.rule)"
  ],
  "cases": [
    ["r.sub.mail == \"ann@corp.example\"", "ann@corp.example"],
    ["r.sub.mail == \"p.miller@corp.example\"", "p.miller@corp.example"],
    ["r.sub.mail == \"bob.r.jones@corp.example\"", "bob.r.jones@corp.example"],
    ["r.sub.mail in (\"bob.r.jones@corp.example\", \"eve@corp.example\")", "bob.r.jones@corp.example"],
    ["r.obj.file == \"tax.r.csv\"", "tax.r.csv"],
    ["r.sub.team == \"R&D\"", "R&D"],
    ["r.sub.team == \"R&&D\"", "R&&D"],
    ["r.sub.mail == r.obj.owner", "p.miller@corp.example"]
  ]
}
JSON
cat >look.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { newEnforcer, newModel } from "casbin";

const { model, cases } = JSON.parse(readFileSync("cases.json", "utf8"));
const answers = [];
for (const [rule, name] of cases) {
  const enforcer = await newEnforcer(newModel(model.join("\n")));
  await enforcer.addPolicy(rule);
  answers.push(await enforcer.enforce({ mail: name, team: name }, { file: name, owner: name }));
}
console.log(JSON.stringify(answers));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import logging
import subprocess
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import casbin
from casbin.model import Model

logging.disable(logging.CRITICAL)
given = json.loads(Path("cases.json").read_text())


def may_approve(rule, name):
    model = Model()
    model.load_model_from_text("\n".join(given["model"]))
    enforcer = casbin.Enforcer(model)
    enforcer.add_policy(rule)
    return enforcer.enforce(SimpleNamespace(mail=name, team=name), SimpleNamespace(file=name, owner=name))


javascript = json.loads(subprocess.run(["node_modules/.bin/node", "look.mjs"], check=True, capture_output=True, text=True).stdout)
seen = [[*case, may_approve(*case), other] for case, other in zip(given["cases"], javascript)]
print("pycasbin", version("pycasbin"), "expected the same as Casbin 5.51.1 for Node.js; seen (rule, name, Python, Node.js):")
for line in seen:
    print(" ", *line)
assert [line[-2] for line in seen] == [True, False, False, False, False, True, False, True]
assert [line[-1] for line in seen] == [True] * 8
PYTHON
