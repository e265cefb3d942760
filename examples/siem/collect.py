"""Send new entries of Pausepoint's audit log to Splunk, or append them to a file for Elastic. Run it every minute.

It needs Python 3.11 and nothing else. `docs/how-to/into-your-siem.md` explains the settings, which are environment variables.
The cursor is stored after each delivered batch, so nothing is lost; after a crash, one batch may arrive twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from http.client import HTTPResponse
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

BATCH = 100
SECONDS = 60


class NoRedirects(HTTPRedirectHandler):
    """Follow no redirect, which would get the key."""

    def redirect_request(self, *_: Any) -> None:
        return None


def open_url(
    address: str, authorization: str, body: bytes | None = None
) -> HTTPResponse:
    headers = {"Authorization": authorization}
    request = Request(address, body, headers)  # noqa: S310 - the address is yours
    response: HTTPResponse = build_opener(NoRedirects).open(request, timeout=SECONDS)
    return response


def new_lines(after: int) -> Iterable[bytes]:
    """Yield the events after this one, as lines. Raise an error if the response ends too soon."""
    address = f"{os.environ['PAUSEPOINT_URL']}/api/v1/audit?format=ocsf&after={after}"
    with open_url(address, f"Bearer {os.environ['PAUSEPOINT_KEY']}") as response:
        yield from response


def send_to_splunk(events: Iterable[dict[str, Any]]) -> None:
    """Post events to the HTTP Event Collector, with their time in seconds. Raise an error unless it takes all of them."""
    body = "\n".join(
        json.dumps(
            {
                "time": event["time"] / 1000,
                "source": "pausepoint",
                "sourcetype": "_json",
                "event": event,
            }
        )
        for event in events
    )
    address = f"{os.environ['SPLUNK_URL']}/services/collector/event"
    token = f"Splunk {os.environ['SPLUNK_TOKEN']}"
    with open_url(address, token, body.encode()) as response:
        response.read()


def append_to(file: Path, lines: Iterable[bytes]) -> None:
    """Append whole lines; a part of a line, from a crash, is ended first."""
    with file.open("ab+") as opened:
        if opened.tell():
            opened.seek(-1, os.SEEK_END)
            if opened.read() != b"\n":
                opened.write(b"\n")
        opened.writelines(lines)
        opened.flush()
        os.fsync(opened.fileno())


def main() -> None:
    cursor = Path(os.environ.get("CURSOR", "pausepoint.cursor"))
    lines = iter(new_lines(int(cursor.read_text()) if cursor.exists() else 0))
    while batch := list(islice(lines, BATCH)):
        # Parsed, because the text of a request may look like a cursor.
        events = [json.loads(line) for line in batch]
        if "SPLUNK_URL" in os.environ:
            send_to_splunk(events)
        else:
            append_to(Path(os.environ["FILE"]), batch)
        written = cursor.with_suffix(".new")
        written.write_text(str(events[-1]["metadata"]["sequence"]))
        written.replace(cursor)


if __name__ == "__main__":
    main()
