"""The input of `make release`: one version, and the section of the changelog."""

from __future__ import annotations

import importlib.util
from typing import Any

from hitlsite import __version__
from tests.support.root import ROOT

CHANGELOG = """# Changelog

## [Unreleased]

Soon.

## [0.10.0] - 2026-12-24

- Much.

### Fixed

- All.

## [0.1.0] - 2026-12-01

- The first.
"""


def release() -> Any:
    """.ci/release.py, which is a script and in no package."""
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_parts_have_one_version():
    assert release().versions() == dict.fromkeys(release().versions(), __version__)


def test_the_notes_are_the_section_of_the_version():
    notes = release().notes
    assert notes(CHANGELOG, "0.1.0") == ("# Pausepoint 0.1.0\n\n- The first.\n", True)
    assert notes(CHANGELOG, "0.10.0") == ("# Pausepoint 0.10.0\n\n- Much.\n\n### Fixed\n\n- All.\n", True)


def test_a_version_that_is_not_cut_has_the_notes_of_what_is_not_released():
    assert release().notes(CHANGELOG, "0.2.0") == ("# Pausepoint 0.2.0\n\nSoon.\n", False)
