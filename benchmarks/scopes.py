"""Measure the lists of people whom approver scopes limit, over many requests and 200 scopes, and what asking costs with them.

    .venv/bin/python -m benchmarks.scopes [--requests 200000] [--rounds 20]

`in-10: inbox` is the list of a person whom ten of the scopes name, each of which fits as many requests; `approver` sees all.
"""

from __future__ import annotations

from benchmarks.figures import Table
from benchmarks.stage import measured

PREPARE = "from benchmarks.load.scopes import prepare; prepare({number})"
MEASURE = "import json; from benchmarks.load.scopes import measure; print(json.dumps(measure({rounds})))"


def main() -> None:
    for title, every in measured(__doc__, PREPARE, MEASURE):
        table = Table(title, "ms")
        for name, taken in every.items():
            table.row(name, taken)


if __name__ == "__main__":
    main()
