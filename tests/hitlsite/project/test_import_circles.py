"""No module of the product or of its clients imports another that leads back to it, in either language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.root import ROOT

PYTHON = {"server": ("approvals", "chats", "hitlsite"), "client": ("clients/python/pausepoint",)}


def imports_in(path: Path, package: str) -> Iterator[tuple[str, ...]]:
    """Yield what each import may be, the most exact first: those inside functions and of types alone count, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{module}.{alias.name}", module) for alias in node.names)


def graph_of(folders: tuple[str, ...]) -> dict[str, set[str]]:
    """Return each module below these folders with the modules that it imports."""
    base = ROOT / "clients/python" if folders[0].startswith("clients") else ROOT
    paths = {
        ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__"): path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts
    }
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        imported = (next(filter(paths.__contains__, names), name) for names in imports_in(path, package))
        graph[name] = set(imported) - {name}
    return graph


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("part", PYTHON)
def test_python_modules_import_in_one_direction(part):
    assert circle_in(graph_of(PYTHON[part])) == []


def test_modules_of_the_javascript_client_import_in_one_direction():
    source = ROOT / "clients/javascript/src"
    modules = {path.stem: set(re.findall(r'from "\./([\w-]+)\.js"', path.read_text())) for path in source.glob("*.ts")}
    assert circle_in(modules) == []


def test_a_circle_of_three_is_named():
    assert sorted(set(circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}))) == ["a", "b", "c"]
