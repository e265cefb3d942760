"""Libraries whose internals we subclass or patch are pinned exactly: a new version needs a look at our code first."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from tests.support.root import ROOT

#: The version that our code was written for, by the library and the module that depends on its internals.
PINNED = {
    ("channels_redis", "approvals/live/redis_layer.py"): "4.3.0",
    ("daphne", "hitlsite/server/daphne.py"): "4.2.3",
}


@pytest.mark.parametrize(("library", "module"), PINNED)
def test_a_library_whose_internals_we_use_has_the_version_that_we_know(library, module):
    known = PINNED[library, module]
    assert version(library) == known, f"compare the internals of {library} with {module}, then update PINNED"
    assert f"{library}=={known}" in (ROOT / "requirements.txt").read_text().splitlines()
