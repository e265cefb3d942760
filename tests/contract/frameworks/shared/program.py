"""Shared by the programs of the contract tests. They run in the environment of a framework, which has no Django."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOW_TO = Path(__file__).parents[4] / "docs" / "how-to"

#: The model's calls in one step: two that need an approval, and a question.
REFUND = {"order": "4711", "amount": 250}
DROP = {"table": "orders"}
QUESTION = {"question": "Which colour?", "options": ["red", "blue"]}

RAN: list[Any] = []


@dataclass(frozen=True)
class Call:
    """A call that the model makes; one with an empty id has none."""

    id: str
    name: str
    input: dict[str, Any]


def messages(thread: str) -> list[list[Call]]:
    """Return the messages that the model plays, each a list of calls: those of SCRIPT, or one with the calls above."""
    if script := os.environ.get("SCRIPT"):
        return [[Call(*call) for call in message] for message in json.loads(script)]
    wanted = {"refund": REFUND, "drop": DROP, "ask_human": QUESTION}
    return [[Call(f"{thread}-{name}", name, arguments) for name, arguments in wanted.items()]]


def happens(what: Any) -> None:
    """Note the effect of a tool, for this process and, with EFFECTS, in a file that outlives it."""
    RAN.append(what)
    leave_a_line(json.dumps(what))


def leave_a_line(line: str) -> None:
    if file := os.environ.get("EFFECTS"):
        with Path(file).open("a") as effects:
            effects.write(f"{line}\n")


def hang(where: str) -> None:
    """With HANG, never go on from there: the process can be killed at that moment."""
    if os.environ.get("HANG") == where:
        leave_a_line(f"waits {where}")
        threading.Event().wait()


def asks() -> bool:
    """A condition by which calls ask, until the file CALM is there."""
    return not Path(os.environ["CALM"]).exists()


def refund(order: str, amount: int) -> str:
    """Refund an order."""
    hang("before the effect")
    happens([order, amount])
    hang("after the effect")
    return f"refunded {amount}"


def drop(table: str) -> str:
    """Drop a table; it may be locked."""
    happens(table)
    if "LOCKED" in os.environ:
        raise RuntimeError(f"{table} is locked")
    return "dropped"


def look(order: str) -> str:
    """Look at an order; no one has to be asked."""
    happens("looked")
    return f"order {order}"


#: Tools that need no approval; a script may call them.
FREE = [look] if "SCRIPT" in os.environ else []


def ask_human(question: str, options: list[str]) -> str:
    """Ask a person."""
    happens(question)
    return "nobody was asked"


def run_page(page: str, given: dict[str, Any], blocks: slice = slice(None)) -> dict[str, Any]:
    """Run the Python of a page of the docs verbatim, with the names that it assumes; return all names."""
    names = dict(given)
    every = re.findall(r"^```python\n(.*?)^```$", (HOW_TO / page).read_text(), re.MULTILINE | re.DOTALL)
    for block in every[blocks]:
        exec(compile(block, page, "exec"), names)  # noqa: S102 - our own docs
    return names


def tell(texts: Sequence[Any] = (), /, **found: Any) -> None:
    """Print the events for the test, in a marked line: a framework may print before and after it. The `texts` that the model has
    read of its calls are told for a script only, since other tests compare the whole line.
    """
    if "SCRIPT" in os.environ:
        found["read"] = [each if isinstance(each, str) else json.dumps(each) for each in texts]
    print(f"\nTOLD {json.dumps({'ran': RAN, **found})}", flush=True)
