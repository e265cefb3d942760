"""Measure how long 200 matches take over one request whose input is 100 KB.

    .venv/bin/python -m benchmarks.matches [--rounds 200]

The matches differ, and are read from their stored form before. "Typical": each names tools and has two conditions, and one in
ten fits. "All fit": every part of every match has to be looked at. "Long text": a pattern is compared with a text of 90 KB.
Times are processor time of one round of 200 matches.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from statistics import quantiles
from time import process_time
from typing import Any

from approvals.policy.documents import match_from
from approvals.policy.match import Facts

MATCHES = 200
LINES = [
    {"sku": f"sku-{number}", "count": number, "note": "x" * 60} for number in range(900)
]
INPUT = {
    "amount": 99.5,
    "customer": {"name": "Ada", "mail": "ada@example.com"},
    "lines": LINES,
    "text": "a b " * 2_500,
}
LONG = {"text": "select name from customers where id = 1; " * 2_250}


def typical(number: int) -> dict[str, Any]:
    tool = "mcp__crm__refund" if number % 10 == 0 else f"mcp__crm__tool_{number}"
    conditions = [
        {"pointer": "/amount", "at_most": 100},
        {"pointer": "/customer/mail", "like": "*@example.com"},
    ]
    return {
        "tools": [tool, f"other_{number}*"],
        "kinds": ["approval"],
        "input": conditions,
    }


def all_fit(number: int) -> dict[str, Any]:
    conditions = [
        {"pointer": "/lines/899/count", "equals": 899},
        {"pointer": "/amount", "at_most": 100 + number},
    ]
    return {
        "tools": ["mcp__*"],
        "agents": ["bill*"],
        "kinds": ["approval"],
        "requesters": [7],
        "input": conditions,
    }


def long_text(number: int) -> dict[str, Any]:
    return {
        "tools": ["mcp__*"],
        "input": [{"pointer": "/text", "like": f"select*delete*{number}"}],
    }


def microseconds(
    documents: list[dict[str, Any]], value: Mapping[str, Any], rounds: int
) -> list[float]:
    matches = [match_from(document) for document in documents]
    times = []
    for _round in range(rounds + 1):
        facts = Facts(
            agent="Billing",
            tool="mcp__crm__refund",
            kind="approval",
            requester=7,
            input=value,
        )
        start = process_time()
        for match in matches:
            match.fits(facts)
        times.append((process_time() - start) * 1e6)
    # The first round compiles the patterns.
    return times[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    for name, make, value in (
        ("typical", typical, INPUT),
        ("all fit", all_fit, INPUT),
        ("long text", long_text, LONG),
    ):
        times = quantiles(
            microseconds([make(number) for number in range(MATCHES)], value, rounds),
            n=100,
        )
        size = len(json.dumps(value)) / 1_000
        print(
            f"{name:10} {MATCHES} matches over {size:.0f} KB: {times[49]:.0f} µs, p95 {times[94]:.0f} µs"
        )


if __name__ == "__main__":
    main()
