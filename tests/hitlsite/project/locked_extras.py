"""Repeat an entry of requirements.lock for its extras, as `make lock` does last.

uv leaves extras out. pip looks for the hashes of a package with extras that only a dependency names under exactly that name.
"""

from __future__ import annotations

import re

from tests.support.root import ROOT

#: Of packages that another package needs with extras: scim2-models needs pydantic[email].
EXTRAS = {"pydantic": "pydantic[email]"}
ENTRY = re.compile(r"^(?P<name>[a-z0-9.-]+)(?P<rest>==.*\\\n(?:    --hash=.*\n)+)", re.MULTILINE)


def with_extras(entry: re.Match[str]) -> str:
    named = EXTRAS.get(entry["name"])
    return entry[0] if named is None else f"{entry[0]}{named}{entry['rest']}"


if __name__ == "__main__":
    lock = ROOT / "requirements.lock"
    lock.write_text(ENTRY.sub(with_extras, lock.read_text()))
