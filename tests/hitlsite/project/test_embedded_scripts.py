"""Scripts in strings, which tests and benchmarks run in processes of their own, import names that exist."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from importlib.util import find_spec

import pytest

from tests.support.root import ROOT

IMPORT = re.compile(r"^\s*(?:.*; )?from ((?:approvals|chats|hitlsite)[\w.]*) import ([\w, ]+?)(?=;|\n|$)", re.MULTILINE)


def exists(module: str, name: str) -> bool:
    return find_spec(module) is not None and (
        hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    )


@pytest.fixture
def imports() -> list[tuple[str, str, str]]:
    """File, module and name of each import in a script; all files are parsed for them."""
    return [
        (path.relative_to(ROOT).as_posix(), module, name.strip())
        for folder in ("tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for module, names in IMPORT.findall(node.value)
        for name in re.sub(r" as \w+", "", names).split(",")
    ]


def test_every_import_in_a_script_finds_its_name(imports):
    assert len(imports) > 20
    assert [each for each in imports if not exists(*each[1:])] == []
