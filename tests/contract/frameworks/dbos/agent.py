"""An app with DBOS, the workflow and the handler of the guide; runs are begun by lines on stdin."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

DBOS(config=DBOSConfig(name="refunds", system_database_url=f"sqlite:///{sys.argv[1]}/dbos.sqlite"))

import guide  # noqa: E402 - its workflows are registered with the app


class Route(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = guide.handle(body, {name.lower(): value for name, value in self.headers.items()})
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


def tell(name: str, handle: Any) -> None:
    print("DONE", json.dumps([name, handle.get_result()]), flush=True)


def main() -> None:
    DBOS.launch()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Route)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("READY", f"http://127.0.0.1:{server.server_address[1]}/decisions", flush=True)
    for line in sys.stdin:
        name, orders = json.loads(line)
        with SetWorkflowID(name):
            handle = DBOS.start_workflow(guide.refunds, orders)
        threading.Thread(target=tell, args=(name, handle), daemon=True).start()


if __name__ == "__main__":
    main()
