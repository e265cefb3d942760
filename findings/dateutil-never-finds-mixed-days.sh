#!/usr/bin/env bash
# dateutil (Python) and rrule (JavaScript): somebody is on call on every weekend and on the first Monday of the month, which a calendar writes as
# `FREQ=MONTHLY;BYDAY=SA,SU,1MO`.
# Guess: all these days, as RFC 5545 lists the days of BYDAY, each with or without a number. Seen: no day at all, and no error. Days with and
# without a number are two conditions that have to hold at once, so a rule that mixes them has only days that are in both lists: `BYDAY=MO,1MO`
# is the first Monday only, where the RFC means every Monday. It is so for each month and for a month of the year, and `rrule` has taken it over.
# ical.js reads the days of a month as the RFC does. For a desk that computes who is on call with dateutil, nobody ever is. To be safe, split
# such a rule into one with and one without numbers, and take both.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check python-dateutil==4.0.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 rrule@2.8.1 ical.js@2.2.1 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import ICAL from "ical.js";
import rrule from "rrule";

const { start, rules } = JSON.parse(process.argv[2]);
const days = rules.map((rule) => {
  const occurrences = ICAL.Recur.fromString(rule).iterator(ICAL.Time.fromDateTimeString(`${start}T09:00:00`));
  const ical = [];
  for (let each = occurrences.next(); each; each = occurrences.next()) {
    ical.push(each.toString().slice(0, 10));
  }
  const all = rrule.rrulestr(`DTSTART:${start.replaceAll("-", "")}T090000Z\nRRULE:${rule}Z`).all();
  return { "ical.js": ical, rrule: all.map((each) => each.toISOString().slice(0, 10)) };
});
console.log(JSON.stringify(days));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
from datetime import date, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from dateutil.rrule import rrulestr

NAMES = "MO", "TU", "WE", "TH", "FR", "SA", "SU"
START, END = date(2026, 12, 5), date(2027, 3, 1)
UNTIL = f"UNTIL={END:%Y%m%d}T000000"


def is_meant(day, entry):
    """Return whether a day is one of an entry of BYDAY: a weekday, or a weekday with its number in the month."""
    number, name = entry[:-2], entry[-2:]
    if NAMES[day.weekday()] != name:
        return False
    last = (day + timedelta(days=7)).month != day.month
    return not number or (last if number == "-1" else (day.day - 1) // 7 + 1 == int(number))


def meant(entries, months):
    days = (START + timedelta(days=count) for count in range((END - START).days))
    return [str(day) for day in days if day.month in months and any(is_meant(day, entry) for entry in entries.split(","))]


def read(rule):
    occurrences = rrulestr(rule, dtstart=datetime(START.year, START.month, START.day, 9))
    return [str(each.date()) for each in occurrences]


YEAR = range(1, 13)
cases = [("MONTHLY", entries, YEAR) for entries in ("SA,SU", "1MO,-1FR", "SA,SU,1MO", "SA,1MO", "SA,1SA")]
cases.append(("YEARLY;BYMONTH=1", "SA,SU,1MO", [1]))
rules = [f"FREQ={kind};BYDAY={entries};{UNTIL}" for kind, entries, _ in cases]
command = ["node_modules/.bin/node", "look.mjs", json.dumps({"start": str(START), "rules": rules})]
others = json.loads(subprocess.check_output(command, text=True))
versions = {name: json.loads(Path(f"node_modules/{name}/package.json").read_text())["version"] for name in ("rrule", "ical.js")}
print("python-dateutil", version("python-dateutil"), versions, "days from 5 December to the end of February:")
counts = {}
for (kind, entries, months), rule, other in zip(cases, rules, others, strict=True):
    expected = meant(entries, months)
    days = {"python-dateutil": read(rule), **other}
    counts[f"{kind} {entries}"] = len(expected), len(days["python-dateutil"])
    print(f"  {kind} {entries}: expected {len(expected)}, seen", {name: len(each) for name, each in days.items()})
    assert days["rrule"] == days["python-dateutil"]
    assert days["ical.js"] == expected
assert counts == {
    "MONTHLY SA,SU": (26, 26),
    "MONTHLY 1MO,-1FR": (6, 6),
    "MONTHLY SA,SU,1MO": (29, 0),
    "MONTHLY SA,1MO": (16, 0),
    "MONTHLY SA,1SA": (13, 3),
    "YEARLY;BYMONTH=1 SA,SU,1MO": (11, 0),
}, counts
PYTHON
