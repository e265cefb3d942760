"""Modules, functions, templates and folders stay small, and each module has a docstring."""

from __future__ import annotations

import ast
from collections import Counter

from tests.support.root import ROOT
from tests.support.sources import APPS, dotted, functions, parsed, sources

MAX_MODULE, MAX_FUNCTION, MAX_TEMPLATE, MAX_FOLDER = 400, 60, 200, 24
#: All that is written by hand, with the package of the Python client.
CLIENT = "clients/python/pausepoint"


def test_modules_are_small():
    lengths = {dotted(path): len(path.read_text().splitlines()) for path in sources(*APPS, "tests", CLIENT)}
    assert {name: length for name, length in lengths.items() if length > MAX_MODULE} == {}


def test_functions_are_small():
    lengths = {
        f"{dotted(path)}.{function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path in sources(*APPS, CLIENT)
        for function in functions(path)
    }
    assert {name: length for name, length in lengths.items() if length > MAX_FUNCTION} == {}


def test_lines_assign_one_value():
    """Two values may be swapped, or unpacked where one of them is needed to make the other."""
    tuples = [
        f"{dotted(path)}:{node.lineno}"
        for path in sources(*APPS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    ]
    assert len(tuples) <= 20, tuples


def test_no_condition_stands_inside_another():
    assert [
        f"{dotted(path)}:{node.lineno}"
        for path in sources(*APPS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.IfExp)
        and any(isinstance(part, ast.IfExp) for part in ast.walk(node) if part is not node)
    ] == []


def test_modules_have_docstrings():
    assert [
        dotted(path) for path in sources(*APPS, CLIENT) if path.read_text() and not ast.get_docstring(parsed(path))
    ] == []


def test_templates_are_small():
    lengths = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "templates").rglob("*.html")}
    assert {name: length for name, length in lengths.items() if length > MAX_TEMPLATE} == {}


def test_folders_are_small():
    counts = Counter(path.parent for path in sources(*APPS, "tests", CLIENT) if path.name != "__init__.py")
    assert {str(folder): count for folder, count in counts.items() if count > MAX_FOLDER} == {}
