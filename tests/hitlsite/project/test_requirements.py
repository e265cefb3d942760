"""requirements.lock has the packages of requirements.txt, with hashes, on each Python."""

from __future__ import annotations

import re

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.root import ROOT

LINES = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
ASKED = [Requirement(line) for line in LINES]
#: The requirement and the hashes of each entry.
LOCK = re.findall(r"^(\S.*?)((?: \\\n +--hash=\S+)*)$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
PINNED = [Requirement(entry) for entry, _ in LOCK]
PYTHONS = ("3.11.0", "3.12.0", "3.13.0", "3.14.0")


def pins(python: str) -> dict[str, list[str]]:
    """Return the versions that are installed on a Python, by name."""
    where = {"python_full_version": python, "python_version": python.rpartition(".")[0], "sys_platform": "linux"}
    found: dict[str, list[str]] = {}
    for pinned in PINNED:
        # With extras, an entry stands beside the one without: `locked_extras.py`.
        if not pinned.extras and (pinned.marker is None or pinned.marker.evaluate(where)):
            found.setdefault(canonicalize_name(pinned.name), []).append(str(pinned.specifier).removeprefix("=="))
    return found


def test_the_lock_has_one_version_of_each_requirement_that_it_allows_on_each_python():
    wrong = {
        (str(asked), python): versions
        for python in PYTHONS
        for asked in ASKED
        for versions in [pins(python).get(canonicalize_name(asked.name), [])]
        if len(versions) != 1 or not asked.specifier.contains(versions[0])
    }
    assert wrong == {}, "run `make lock`"


def test_every_entry_of_the_lock_is_one_version_with_hashes():
    assert [entry for entry, hashes in LOCK if "--hash=sha256:" not in hashes] == []
    assert [str(pinned) for pinned in PINNED if not re.fullmatch(r"==[^*,]+", str(pinned.specifier))] == []


def test_the_lock_has_both_versions_of_django():
    versions = [pins(python)["django"][0].split(".")[0] for python in PYTHONS]
    assert versions == ["5", "6", "6", "6"]
