"""Measure how long it takes to replay a policy of 200 rules over many requests, and what such a policy adds to asking.

    .venv/bin/python -m benchmarks.replay [--requests 100000] [--rounds 3]

The rules name tools; every tenth has a condition in CEL, and half of the requests fit one of them. `judge` is what the rules
add to one ask, besides the statement that it makes anyway. `ask, allowed` is an ask that the last of 200 rules allows, with its
commit, on one connection: 1,000 divided by its time are so many a second.
"""

from __future__ import annotations

from benchmarks.figures import Table
from benchmarks.stage import measured

PREPARE = "from benchmarks.load.replay import prepare; prepare({number})"
MEASURE = "import json; from benchmarks.load.replay import measure; print(json.dumps(measure({rounds})))"


def main() -> None:
    for title, every in measured(__doc__, PREPARE, MEASURE):
        table = Table(title, "ms")
        for name, taken in every.items():
            table.row(name, taken)


if __name__ == "__main__":
    main()
