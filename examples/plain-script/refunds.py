"""Pay a list of refunds, each after an approval. You can stop it and start it again at any time.

python refunds.py refunds.csv paid.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from pausepoint import Desk, Outcome

#: The amount up to which no approval is needed.
SMALL = 20


def pay(ledger: Path, order: str, amount: float) -> dict[str, Any]:
    """Pay one order. An order that is already in the ledger was paid by a run that died before it could report it."""
    with ledger.open("a+", newline="") as file:
        file.seek(0)
        if order not in {row[0] for row in csv.reader(file)}:
            csv.writer(file).writerow([order, amount])
    return {"order": order, "paid": amount}


def approved(desk: Desk, order: str, amount: float, reason: str) -> Outcome:
    """Return the decision on one refund. The id of the call is that of the order, so asking again finds the same request."""
    return desk.await_human(
        f"Refund {amount:.2f} for order {order}?",
        message=f"The customer says: {reason}",
        tool_name="refund",
        tool_call_id=f"refund-{order}",
        input={"order": order, "amount": amount},
        response_schema={
            "type": "object",
            "properties": {
                "order": {"const": order},
                "amount": {"type": "number", "minimum": 0, "maximum": amount},
            },
            "required": ["order", "amount"],
            "additionalProperties": False,
        },
        priority="high" if amount > 500 else "normal",
        workflow_id=f"refund-{order}",
        agent="refunds.py",
    )


def main(orders: Path, ledger: Path) -> None:
    with Desk() as desk, orders.open(newline="") as file:
        for row in csv.DictReader(file):
            order, amount = row["order"], float(row["amount"])
            if amount <= SMALL:
                pay(ledger, order, amount)
                print(f"{order}: paid {amount:.2f}, it is small")
                continue
            outcome = approved(desk, order, amount, row["reason"])
            if outcome.approved and outcome.input is not None:
                paid = pay(ledger, **outcome.input)
                desk.report(outcome, output=paid)
                print(f"{order}: paid {paid['paid']:.2f}, {outcome.by} said yes")
            else:
                print(
                    f"{order}: not paid, {outcome.status} by {outcome.by or 'no one'}. {outcome.comment}".rstrip()
                )
            desk.end_workflow(f"refund-{order}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
