"""Start a stand-in of Slack to look at, with a few people and channels."""

from __future__ import annotations

import argparse
import threading

from tests.support.slack.server import Slack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desk", default="http://127.0.0.1:8000", help="address of the desk")
    parser.add_argument("--port", type=int, default=8119)
    parser.add_argument("--socket-mode", action="store_true")
    options = parser.parse_args()
    slack = Slack(f"{options.desk}/api/slack/interactivity", f"{options.desk}/api/slack/events", port=options.port)
    slack.socket.enabled = options.socket_mode
    with slack:
        people = [slack.person(name) for name in ("ann", "bob", "carla")]
        slack.channel("ops", *people)
        slack.channel("finance", *people[:2], kind="private")
        workspace = slack.workspace
        print(f"Slack (stand-in): {slack.url}")
        print(f"SLACK_API_URL={slack.api}")
        print(
            f"bot token {workspace.bot_token}, signing secret {workspace.signing_secret}, app token {workspace.app_token}"
        )
        for channel in workspace.channels.values():
            print(f"channel {channel.name}: {channel.id}")
        print(f"app {workspace.app_id}, workspace {workspace.team_id}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
