"""The stand-in of Slack by itself, with slack_sdk as the app: it answers as Slack's reference says."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import ActionsBlock, ButtonElement, ConfirmObject, HeaderBlock, SectionBlock
from slack_sdk.models.views import View
from slack_sdk.signature import SignatureVerifier

from tests.support.slack import Slack
from tests.support.slack.faults import LOST, UNREACHED, broken, fails, limited
from tests.support.slack.people import NotPossible

CARD = [
    HeaderBlock(text="Refund order 4711?").to_dict(),
    SectionBlock(text="*refund*\n```amount: 250```").to_dict(),
    ActionsBlock(
        block_id="pausepoint",
        elements=[
            ButtonElement(
                text="Approve",
                style="primary",
                action_id="approve",
                value="4711",
                confirm=ConfirmObject(title="Approve this?", text="amount 250", confirm="Approve", deny="Back"),
            ),
            ButtonElement(text="Reject…", style="danger", action_id="reject", value="4711"),
        ],
    ).to_dict(),
]
REASON = {
    "type": "input",
    "block_id": "reason",
    "label": {"type": "plain_text", "text": "Reason"},
    "element": {"type": "plain_text_input", "action_id": "value", "max_length": 20},
}
MODAL = View(
    type="modal",
    callback_id="reject",
    title="Reject",
    submit="Reject",
    close="Back",
    blocks=[REASON],
).to_dict()


@dataclass
class App:
    """An app that keeps what it gets and answers as told."""

    status: int = 200
    body: Any = None
    seconds: float = 0.0
    got: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        self.got.append((headers, body))
        time.sleep(self.seconds)
        content = b"" if self.body is None else json.dumps(self.body).encode()
        return self.status, {"Content-Type": "application/json"}, content

    @property
    def payloads(self) -> list[Any]:
        return [json.loads(httpx.QueryParams(body.decode())["payload"]) for _, body in self.got]


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def slack(app: App) -> Iterator[Slack]:
    with Slack("https://desk/clicks", "https://desk/events", post=app.post) as slack:
        yield slack


def client(slack: Slack) -> WebClient:
    return WebClient(slack.workspace.bot_token, base_url=slack.api, retry_handlers=[])


def refused(call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(SlackApiError) as error:
        call(*arguments, **named)
    return str(error.value.response["error"])


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "plain_text", "text": text}}


def test_a_card_is_posted_updated_and_heard_of_in_its_thread(slack: Slack) -> None:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    web = client(slack)
    assert web.auth_test()["team_id"] == slack.workspace.team_id
    posted = web.chat_postMessage(channel=ops.id, text="Refund order 4711?", blocks=CARD)
    card = slack.until(lambda: slack.message_with(ops, "Refund order 4711?"))
    assert [posted["channel"], posted["ts"]] == [ops.id, card.ts]
    web.chat_update(channel=ops.id, ts=card.ts, text="Approved", blocks=[section("Approved by bob")])
    web.chat_postMessage(channel=ops.id, text="It ran.", thread_ts=card.ts)
    web.chat_postEphemeral(channel=ops.id, user=bob.id, text="Thank you.")
    assert [each.words for each in bob.messages(ops.id)] == ["Approved by bob", "It ran.", "Thank you."]
    assert card.earlier[0][1][0]["text"]["text"] == "Refund order 4711?"
    assert card.buttons == {}
    assert [call.method for call in slack.calls] == [
        "auth.test",
        "chat.postMessage",
        "chat.update",
        "chat.postMessage",
        "chat.postEphemeral",
    ]


def test_blocks_are_refused_with_pointers_into_them(slack: Slack) -> None:
    ops = slack.channel("ops")
    with pytest.raises(SlackApiError) as refusal:
        client(slack).chat_postMessage(channel=ops.id, text="x", blocks=[section("x")] * 51)
    assert refusal.value.response["error"] == "invalid_blocks"
    problem = "[ERROR] no more than 50 items allowed [json-pointer:/blocks]"
    assert refusal.value.response["response_metadata"]["messages"] == [problem]
    assert slack.take_objections() == [f"invalid blocks: ['{problem}']"]


def test_the_state_of_the_workspace_refuses_with_slacks_codes(slack: Slack) -> None:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    web = client(slack)
    ts = web.chat_postMessage(channel=ops.id, text="one")["ts"]
    assert refused(web.chat_update, channel=ops.id, ts="1.2", text="x") == "message_not_found"
    assert refused(web.chat_postMessage, channel="C1", text="x") == "channel_not_found"
    assert refused(web.api_call, "chat.postMessage", json={"channel": ops.id}) == "no_text"
    assert refused(web.chat_postEphemeral, channel=ops.id, user="U1", text="x") == "user_not_in_channel"
    quiet = slack.channel("quiet", with_bot=False)
    assert refused(web.chat_postMessage, channel=quiet.id, text="x") == "not_in_channel"
    hidden = slack.channel("hidden", with_bot=False, kind="private")
    assert refused(web.chat_postMessage, channel=hidden.id, text="x") == "channel_not_found"
    ops.archived = True
    assert refused(web.chat_postMessage, channel=ops.id, text="x") == "is_archived"
    assert refused(web.chat_update, channel=ops.id, ts=ts, text="x") == "is_inactive"
    slack.workspace.scopes = ("users:read",)
    assert refused(web.conversations_open, users=bob.id) == "missing_scope"
    slack.refuse("account_inactive")
    assert refused(web.auth_test) == "account_inactive"
    assert refused(WebClient("xoxb-other", base_url=slack.api).auth_test) == "invalid_auth"
    assert refused(WebClient(base_url=slack.api).auth_test) == "not_authed"


def test_people_and_channels_are_read_by_form_alone_and_direct_messages_opened(slack: Slack) -> None:
    bob = slack.person("bob", email="bob@example.com")
    ops = slack.channel("ops", bob, kind="private")
    web = client(slack)
    assert web.users_info(user=bob.id)["user"]["profile"] == {"real_name": "Bob", "display_name": "bob"}
    slack.workspace.scopes = (*slack.workspace.scopes, "users:read.email")
    assert web.users_info(user=bob.id)["user"]["profile"]["email"] == "bob@example.com"
    assert web.conversations_info(channel=ops.id)["channel"]["is_private"]
    assert web.conversations_members(channel=ops.id)["members"] == [bob.id, slack.workspace.bot_user]
    direct = web.conversations_open(users=bob.id)["channel"]["id"]
    assert web.chat_postMessage(channel=bob.id, text="Hello")["channel"] == direct
    headers = {"Authorization": f"Bearer {slack.workspace.bot_token}"}
    read = httpx.post(f"{slack.api}users.info", json={"user": bob.id}, headers=headers)
    assert read.json()["error"] == "invalid_arguments"
    assert slack.take_objections() == ["users.info does not read JSON: its arguments are ignored"]
    posted = httpx.post(f"{slack.api}chat.postMessage", json={"channel": ops.id, "text": "x"}, headers=headers)
    assert posted.json()["warning"] == "missing_charset"


def test_faults_are_those_of_a_network_and_of_a_busy_slack(slack: Slack) -> None:
    ops = slack.channel("ops")
    web = client(slack)
    slack.will("chat.postMessage", LOST, UNREACHED, broken(503), fails("fatal_error"))
    for error in (ConnectionError, ConnectionError, SlackApiError, SlackApiError):
        with pytest.raises(error):
            web.chat_postMessage(channel=ops.id, text="one")
    assert [each.text for each in ops.messages] == ["one"]
    slack.will("chat.postMessage", limited(60))
    with pytest.raises(SlackApiError) as limit:
        web.chat_postMessage(channel=ops.id, text="two")
    assert [limit.value.response.status_code, limit.value.response.headers["retry-after"]] == [429, "60"]
    assert refused(web.chat_postMessage, channel=ops.id, text="too early") == "ratelimited"
    assert "before the end of `Retry-After`" in slack.take_objections()[0]
    slack.limited_until.clear()
    web.chat_postMessage(channel=ops.id, text="three")


def test_a_click_is_signed_and_carries_what_slack_sends(slack: Slack, app: App) -> None:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    client(slack).chat_postMessage(channel=ops.id, text="Refund order 4711?", blocks=CARD)
    answer = bob.click(ops.messages[0], "approve")
    assert [answer.status, answer.failed, bob.warnings] == [200, "", []]
    headers, body = app.got[0]
    assert SignatureVerifier(slack.workspace.signing_secret).is_valid_request(body, dict(headers))
    payload = app.payloads[0]
    assert [payload["type"], payload["api_app_id"], payload["team"]["id"]] == ["block_actions", "A0DESK", "T0ACME"]
    assert payload["user"] == {"id": bob.id, "username": "bob", "name": "bob", "team_id": "T0ACME"}
    assert [payload["actions"][0][name] for name in ("action_id", "block_id", "value")] == [
        "approve",
        "pausepoint",
        "4711",
    ]
    assert payload["message"]["blocks"][2]["block_id"] == "pausepoint"
    with pytest.raises(NotPossible):
        bob.click(ops.messages[0], "delete")
    app.status = 500
    assert bob.click(ops.messages[0], "approve").failed == "HTTP 500"
    app.status = 200
    app.seconds = 0.2
    slack.answer_seconds = 0.1
    assert bob.click(ops.messages[0], "approve").failed == "no answer within 0.1 s"
    assert bob.warnings == ["HTTP 500", "no answer within 0.1 s"]


def test_a_modal_is_opened_once_within_three_seconds_and_keeps_its_errors(slack: Slack, app: App) -> None:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    web = client(slack)
    web.chat_postMessage(channel=ops.id, text="Refund order 4711?", blocks=CARD)
    bob.click(ops.messages[0], "reject")
    trigger = app.payloads[0]["trigger_id"]
    web.views_open(trigger_id=trigger, view=MODAL)
    assert refused(web.views_open, trigger_id=trigger, view=MODAL) == "exchanged_trigger_id"
    assert refused(web.views_open, trigger_id="1.2.3", view=MODAL) == "invalid_trigger_id"
    with pytest.raises(NotPossible, match="required"):
        bob.modal.submit()
    with pytest.raises(NotPossible, match="wrong length"):
        bob.modal.fill(reason="x" * 21).submit()
    app.body = {"response_action": "errors", "errors": {"reason": "Say more."}}
    modal = bob.modal.fill(reason="No")
    modal.submit()
    assert modal.view.errors == {"reason": "Say more."}
    app.body = {"response_action": "errors", "errors": {"other": "?"}}
    assert bob.modal.fill(reason="No").submit().failed == "We had some trouble connecting. Try again?"
    assert slack.take_objections() == ["invalid answer to a submission: ['no input block: other']"]
    app.body = None
    modal.submit()
    assert app.payloads[-1]["view"]["state"]["values"]["reason"]["value"] == {"type": "plain_text_input", "value": "No"}
    with pytest.raises(AssertionError, match="no modal"):
        assert bob.modal


def test_a_trigger_ends_after_three_seconds_and_an_address_for_answers_after_five_uses(slack: Slack, app: App) -> None:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    client(slack).chat_postMessage(channel=ops.id, text="Refund order 4711?", blocks=CARD)
    bob.click(ops.messages[0], "reject")
    url = app.payloads[0]["response_url"]
    answers = [httpx.post(url, json={"text": f"Note {number}"}) for number in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert [each.seen_by for each in bob.messages(ops.id)[1:]] == [bob.id] * 5
    assert slack.take_objections() == ["response_url: used_url"]
    now = time.time()
    slack.workspace.clock = lambda: now + 3.5
    trigger = app.payloads[0]["trigger_id"]
    assert refused(client(slack).views_open, trigger_id=trigger, view=MODAL) == "expired_trigger_id"


def test_events_come_again_until_they_are_accepted(slack: Slack, app: App) -> None:
    app.status = 500
    answers = slack.send_event({"type": "tokens_revoked"})
    assert [answer.failed for answer in answers] == ["HTTP 500"] * 4
    assert [headers.get("X-Slack-Retry-Num") for headers, _ in app.got] == [None, "1", "2", "3"]
    assert len({json.loads(body)["event_id"] for _, body in app.got}) == 1
    app.status = 200
    assert len(slack.send_event({"type": "app_uninstalled"}, repeats=1)) == 2


def test_a_manifest_sets_the_app_up_or_is_refused(slack: Slack) -> None:
    manifest: dict[str, Any] = {
        "display_information": {"name": "Pausepoint"},
        "features": {"bot_user": {"display_name": "Pausepoint"}},
        "oauth_config": {"scopes": {"bot": ["chat:write"]}},
        "settings": {"interactivity": {"is_enabled": True, "request_url": "https://desk.example.org/clicks"}},
    }
    slack.create_app(manifest)
    assert [slack.request_url, slack.workspace.scopes] == ["https://desk.example.org/clicks", ("chat:write",)]
    manifest["settings"]["interactivity"]["request_url"] = "http://desk.example.org/clicks"
    manifest["oauth_config"]["scopes"]["bot"] = ["chat:wrote"]
    with pytest.raises(AssertionError, match="failed to match"):
        slack.create_app(manifest)


def test_pages_show_what_a_person_sees_and_their_buttons_work(slack: Slack, app: App) -> None:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    client(slack).chat_postMessage(channel=ops.id, text="x", blocks=[*CARD, section("<script>")])
    client(slack).chat_postMessage(channel=ops.id, text="Hello <!channel> &lt;b&gt; <https://example.org|this>")
    page = httpx.get(f"{slack.url}/channels/{ops.id}?as=bob").text
    shown = [
        "<b>refund</b>",
        "&lt;script&gt;",
        '<span class="mention">@channel</span>',
        "&lt;b&gt;",
        "amount: 250</pre>",
    ]
    assert [each for each in shown if each not in page] == []
    form = {"as": "bob", "channel": ops.id, "ts": ops.messages[0].ts, "action": "approve"}
    assert httpx.post(f"{slack.url}/click", data=form).status_code == 303
    assert app.payloads[0]["actions"][0]["action_id"] == "approve"


def test_an_unknown_method_and_a_body_that_is_no_form_are_refused_as_slack_does(slack: Slack) -> None:
    web = client(slack)
    assert refused(web.api_call, "chat.postMessages") == "unknown_method"
    headers = {"Authorization": f"Bearer {slack.workspace.bot_token}"}
    sent = httpx.post(
        f"{slack.api}chat.postMessage", content=b"{", headers=headers | {"Content-Type": "application/json"}
    )
    assert sent.json()["error"] == "invalid_json"
    assert slack.take_objections() == ["chat.postMessage: invalid_json"]
