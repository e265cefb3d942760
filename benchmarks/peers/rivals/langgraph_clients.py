"""How clients run a cycle of LangGraph: each on a checkpointer of its own, because a `PostgresSaver` does one thing at a time.

All use one pool. With its default durability (`async`), a graph goes on while a step is stored, and `invoke` returns when all is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from batches import answer_batches
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool


def run(client: Callable[[PostgresSaver], Callable[[], None]]) -> None:
    """Answer batches with the cycle that `client` makes of a checkpointer; the program has the arguments `URL CLIENTS`."""
    url, clients = sys.argv[1:]
    # What `PostgresSaver.from_conn_string` sets.
    kept = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(
        url, min_size=int(clients), max_size=int(clients), kwargs=kept
    ) as pool:
        PostgresSaver(pool).setup()
        answer_batches(*(client(PostgresSaver(pool)) for _ in range(int(clients))))
