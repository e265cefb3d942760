"""The source files of the project, parsed, for tests about the code itself."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path

from tests.support.root import ROOT

APPS = ("approvals", "chats", "hitlsite")


def sources(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not {"migrations", "node_modules"} & {*path.relative_to(ROOT).parts}
    )


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file. It is kept, so the garbage collector need not look through the hundreds of thousands of its nodes."""
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.freeze()
        gc.enable()


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
