#!/usr/bin/env bash
# CEL by Buf (@bufbuild/cel): a rule asks for people at weekends, or pays on a day of the month, by the time of an office:
# `now.getDayOfWeek("Europe/Berlin")`.
# Guess: the day there. Seen: on Node.js 20, from 00:00 to 00:59 of the named zone, it is the day after. Friday 00:30 is a Saturday and Sunday 00:30
# a Monday; `getDate` is a day ahead, too, and on the last day of a month `getMonth` names the next month. `getHours` is right, so a rule by day and
# hour finds hour 0 of the wrong day. On Node.js 22 the same package is right: it asks the runtime for parts of the time with `hour12: false`, and
# Node.js 20 calls midnight hour 24 then, which the package adds to the day. Offsets ("+01:00") and calls without a zone are right, and so are
# the other packages for CEL on both (in JavaScript @marcbachmann/cel-js, in Python cel-expr-python).
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check cel-expr-python==0.1.3
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node20@npm:node@20.20.2 node22@npm:node@22.23.3 @bufbuild/cel@0.6.1 @marcbachmann/cel-js@8.0.0 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import { run } from "@bufbuild/cel";
import { evaluate } from "@marcbachmann/cel-js";

const engines = { "@bufbuild/cel": run, "@marcbachmann/cel-js": evaluate };
const answers = {};
for (const [name, engine] of Object.entries(engines)) {
  answers[name] = JSON.parse(process.argv[2]).map((expression) => Number(engine(expression)));
}
console.log(JSON.stringify(answers));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

from cel_expr_python import cel

UTC = ZoneInfo("UTC")
BUF, OTHER, PYTHON = "@bufbuild/cel", "@marcbachmann/cel-js", "cel-expr-python"
environment = cel.NewEnv()


def answers(node, *expressions):
    command = [f"node_modules/{node}/bin/node", "look.mjs", json.dumps(expressions)]
    by_package = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {**by_package, PYTHON: [environment.compile(each).eval(data={}).value() for each in expressions]}


def wrong_hours(node, zone):
    """Return the hours of a week in a zone in which a package names another day of the week than the calendar: the hour, and days ahead."""
    start = datetime(2026, 11, 30, 0, 30, tzinfo=ZoneInfo(zone))
    times = [start + timedelta(hours=hour) for hour in range(7 * 24)]
    given = [time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for time in times]
    named = answers(node, *(f"timestamp('{each}').getDayOfWeek('{zone}')" for each in given))
    return {
        package: sorted({(time.hour, (day - time.isoweekday()) % 7) for time, day in zip(times, days) if day != time.isoweekday() % 7})
        for package, days in named.items()
    }


def last_friday(node):
    """Return what packages name on Friday, 31 July 2026, at 00:30 in Berlin."""
    parts = ["getDayOfWeek", "getDate", "getMonth", "getHours"]
    return answers(node, *(f"timestamp('2026-07-30T22:30:00Z').{part}('Europe/Berlin')" for part in parts))


ZONES = "Europe/Berlin", "America/New_York"
seen = {node: {zone: wrong_hours(node, zone) for zone in ZONES} | {"31 July": last_friday(node)} for node in ("node20", "node22")}
versions = {name: json.loads(Path(f"node_modules/{name}/package.json").read_text())["version"] for name in (BUF, OTHER)}
print(versions, PYTHON, version(PYTHON), "expected no hour with a wrong day, seen (hour, days ahead):")
for node, each in seen.items():
    print(" ", node, each)
right, friday = {BUF: [], OTHER: [], PYTHON: []}, [5, 31, 6, 0]
all_right = dict.fromkeys(ZONES, right) | {"31 July": dict.fromkeys(right, friday)}
assert seen["node22"] == all_right
wrong = {zone: {**right, BUF: [(0, 1)]} for zone in ZONES}
assert seen["node20"] == wrong | {"31 July": {**all_right["31 July"], BUF: [6, 1, 7, 0]}}
PYTHON
