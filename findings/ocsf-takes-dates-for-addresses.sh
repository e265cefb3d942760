#!/usr/bin/env bash
# ocsf-json-schema (Python): a program that exports events for a SIEM validates them against the schema that the package brings, before it sends
# them. It has put a date, the parts of an amount or the time of day into `src_endpoint.ip` by mistake.
# Guess: the schema refuses each of them, as it refuses "10.0.0.256" and "corp.example". Seen: "2026-11-29", "10203040" and "12:30:45 1" are valid
# IP addresses in every version of OCSF from 1.0.0 to 1.8.0: the pattern of `ip_t` does not escape its dots, so any character, also a digit, separates
# the numbers. A type that a SIEM stores as an address then drops the event or the field. To be safe, parse addresses (`ipaddress.ip_address`).
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet ocsf-json-schema==1.2.0 jsonschema==4.26.0
"$folder/bin/python" - <<'PYTHON'
from ipaddress import ip_address

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema, get_packaged_versions

TEXTS = ("10.0.0.1", "2001:db8::1", "10.0.0.256", "corp.example", "2026-11-29", "10203040", "12:30:45 1")


def parses(text):
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


seen = {}
for version in sorted(get_packaged_versions()):
    endpoint = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=version)).get_object_schema("network_endpoint")
    check = Draft202012Validator(endpoint)
    seen[version] = [text for text in TEXTS if check.is_valid({"ip": text})]
expected = [text for text in TEXTS if parses(text)]
print("expected", expected, "in each version; seen", seen)
assert expected == ["10.0.0.1", "2001:db8::1"]
assert set(map(tuple, seen.values())) == {(*expected, "2026-11-29", "10203040", "12:30:45 1")}
PYTHON
