#!/usr/bin/env bash
# Rego, the language of Open Policy Agent, in two packages that run it in process: regopy (rego-cpp) and opa-eval (regorus). A policy allows a
# call without asking people if `input.amount < 50`, and a model leaves the amount out as null, or writes it as text.
# Guess: a comparison of null or text with a number is undefined, as in other policy languages (CEL refuses it), so nothing is allowed. Seen: every
# pair of values has an order. regorus has that of OPA, by type: null, booleans, numbers, text, lists, objects. So null, true and false are less
# than 50, and allowed. rego-cpp has another one: any text is less than any number, so "60" and "five thousand" are allowed, and null is not. Of
# the opposite rule, `input.amount > 50` for what people must see, each misses what it allows. `is_number(input.amount)` first is safe in both.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check regopy==1.5.2 opa-eval==0.1.1
cd "$folder"
venv/bin/python - <<'PYTHON'
import json
from importlib.metadata import version
from pathlib import Path

from opa_eval import OpaEval
from regopy import Interpreter

POLICY = """package desk
import rego.v1
default allow := false
default safe := false
default ask := false
allow if input.amount < 50
safe if { is_number(input.amount); input.amount < 50 }
ask if input.amount > 50
"""
Path("desk.rego").write_text(POLICY)


def by_regopy(rule, amount):
    interpreter = Interpreter()
    interpreter.add_module("desk", POLICY)
    interpreter.set_input({"amount": amount})
    return json.loads(str(interpreter.query(f"answer := data.desk.{rule}")))["bindings"]["answer"]


def by_opa_eval(rule, amount):
    return OpaEval("desk.rego", query=f"data.desk.{rule}").evaluate_parsed(json.dumps({"amount": amount}))


AMOUNTS = [5, 60, None, True, False, "60", "five thousand", [60]]
seen = {
    engine.__name__: {rule: [amount for amount in AMOUNTS if engine(rule, amount)] for rule in ("allow", "safe", "ask")}
    for engine in (by_regopy, by_opa_eval)
}
print("regopy", version("regopy"), "opa-eval", version("opa-eval"), "expected only 5 to be allowed, seen", json.dumps(seen))
assert seen == {
    "by_regopy": {"allow": [5, "60", "five thousand"], "safe": [5], "ask": [60, None, True, False, [60]]},
    "by_opa_eval": {"allow": [5, None, True, False], "safe": [5], "ask": [60, "60", "five thousand", [60]]},
}
PYTHON
