"""Slack as a local server: its Web API, Socket Mode, and the people who click.

    with Slack(request_url=f"{desk}/api/slack/interactivity") as slack:
        bob = slack.person("bob")
        ops = slack.channel("ops", bob)
        ...  # a desk whose SLACK_API_URL is slack.api, with slack.workspace.bot_token, .signing_secret, .app_token
        card = slack.until(lambda: slack.message_with(ops, "Refund order 4711?"))
        answer = bob.click(card, "pausepoint.approve")  # the answer to the signed post: status, payload, seconds, failed
        bob.modal.fill(reason="Too much").submit()  # the modal that the desk opened; block ids with "__" for "."
        slack.until(lambda: "Approved by" in card.words)  # `card` is always what the channel shows now
        assert card.earlier  # what it showed before

It refuses what Slack refuses, with the codes of Slack's reference, and keeps a list of `objections`: what Slack would
refuse, ignore or punish (invalid blocks, an answer of the wrong shape, a call before the end of `Retry-After`, a message
without text). Leaving the block fails while there are some; `take_objections()` takes those that a test expects.

- `slack.post = by_django(client)` brings clicks to Django's test client; otherwise they go over HTTP to `request_url`.
- `slack.will("chat.update", fails("edit_window_closed"), limited(1), LOST, UNREACHED, broken(), held(event))`: faults of
  the next calls of a method. `slack.refuse("token_revoked")`: of all calls. State refuses by itself:
  `channel.archived = True`, `channel.members.remove(...)`, `bob.member.deleted = True`, `slack.workspace.scopes = (...)`.
- `slack.calls`, `slack.called("chat.postMessage")`: what the app called, with which arguments, and the answers.
- `bob.click_payload(card, action)` and `modal.submission()` are payloads to alter; `bob.send(payload)` brings them.
- `slack.send_event({"type": "app_uninstalled"})` brings an event, again until it is accepted; `repeats=1` once more.
- `slack.socket.enabled = True` turns Socket Mode on: clicks go over WebSockets then. `slack.socket.disconnect(reason)`,
  `.lose_acks = 1`, `.pieces = 3` (frames a message), and for each of `slack.socket.links`: `kill()`, `freeze()`, `close()`.
- `slack.be_patient()` waits for answers, and accepts triggers, longer than three seconds: for tests about something else.
- `slack.create_app(manifest)` sets scopes, addresses and Socket Mode from a manifest, which is checked.
- `slack.url` shows the channels as pages whose buttons work, `slack.url + "/channels/ID?as=bob"` what bob sees.

`python -m tests.support.slack --desk http://127.0.0.1:8000` starts one to look at.
"""

from tests.support.slack.server import Slack

__all__ = ["Slack"]
