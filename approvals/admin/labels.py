"""The names of models and fields in the admin, translated when apps start: in the models, each would need a migration."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy

from approvals.text.translatable import gettext_noop

# fmt: off
#: The name of every model and field.
LABELS = frozenset(
    {
        gettext_noop("a rejection needs a message"), gettext_noop("above"), gettext_noop("active"),
        gettext_noop("actor id"), gettext_noop("agent"), gettext_noop("agent version"), gettext_noop("allow text"),
        gettext_noop("amount"), gettext_noop("amount pointer"), gettext_noop("answer"), gettext_noop("answered by"),
        gettext_noop("API key"), gettext_noop("api key"), gettext_noop("API keys"), gettext_noop("approval"),
        gettext_noop("approval request"), gettext_noop("approval requests"), gettext_noop("approved digest"),
        gettext_noop("ask digest"), gettext_noop("assigned to"), gettext_noop("at"), gettext_noop("attachment"),
        gettext_noop("attachments"), gettext_noop("attempt"), gettext_noop("attempts"), gettext_noop("audit entries"),
        gettext_noop("audit entry"), gettext_noop("auth"), gettext_noop("blocks"), gettext_noop("body"),
        gettext_noop("branch token"), gettext_noop("branched at"), gettext_noop("branched from"),
        gettext_noop("browser"), gettext_noop("by id"), gettext_noop("by name"), gettext_noop("cache read"),
        gettext_noop("cache write"), gettext_noop("cache write hour"), gettext_noop("callback url"),
        gettext_noop("changed at"), gettext_noop("channel"), gettext_noop("chat"), gettext_noop("chat pk"),
        gettext_noop("chats"), gettext_noop("chunk"), gettext_noop("claimed at"), gettext_noop("claimed by"),
        gettext_noop("claimed name"), gettext_noop("comment"), gettext_noop("completed at"), gettext_noop("content"),
        gettext_noop("context"), gettext_noop("created at"), gettext_noop("currency"), gettext_noop("cut at"),
        gettext_noop("dead at"), gettext_noop("deadline at"), gettext_noop("decided at"), gettext_noop("decision"),
        gettext_noop("decisions"), gettext_noop("dedup key"), gettext_noop("default response"),
        gettext_noop("delivered at"), gettext_noop("density"), gettext_noop("depth"), gettext_noop("digest"),
        gettext_noop("edited input"), gettext_noop("ended at"), gettext_noop("endpoint"), gettext_noop("error"),
        gettext_noop("error text"), gettext_noop("event"), gettext_noop("event id"), gettext_noop("event stream"),
        gettext_noop("event streams"), gettext_noop("events"), gettext_noop("events pruned"),
        gettext_noop("executed digest"), gettext_noop("expires at"), gettext_noop("field name"),
        gettext_noop("file id"), gettext_noop("fingerprint"), gettext_noop("finish reason"),
        gettext_noop("finished at"), gettext_noop("from"), gettext_noop("group"), gettext_noop("has default"),
        gettext_noop("hold my decisions for (seconds)"), gettext_noop("holder"), gettext_noop("id"),
        gettext_noop("idempotency key"), gettext_noop("include payload"), gettext_noop("index"), gettext_noop("input"),
        gettext_noop("input digest"), gettext_noop("invitation"), gettext_noop("invitations"),
        gettext_noop("invited by"), gettext_noop("kept"), gettext_noop("key fields"),
        gettext_noop("keyboard shortcuts"), gettext_noop("kind"), gettext_noop("lane"), gettext_noop("language"),
        gettext_noop("last"), gettext_noop("last active at"), gettext_noop("last error"), gettext_noop("last notice"),
        gettext_noop("last notices"), gettext_noop("last seen at"), gettext_noop("last used at"),
        gettext_noop("lease owner"), gettext_noop("lease until"), gettext_noop("leased until"),
        gettext_noop("lost at"), gettext_noop("lost by"), gettext_noop("mailed"), gettext_noop("media type"),
        gettext_noop("message"), gettext_noop("message id"), gettext_noop("messages"), gettext_noop("metadata"),
        gettext_noop("model"), gettext_noop("model price"), gettext_noop("model prices"), gettext_noop("multiple"),
        gettext_noop("muted"), gettext_noop("name"), gettext_noop("next attempt at"), gettext_noop("nonce"),
        gettext_noop("notification rule"), gettext_noop("notification rules"), gettext_noop("open after"),
        gettext_noop("open count"), gettext_noop("open the next request after a decision"), gettext_noop("options"),
        gettext_noop("ordinal"), gettext_noop("outbox event"), gettext_noop("outbox events"), gettext_noop("output"),
        gettext_noop("owner"), gettext_noop("p256dh"), gettext_noop("page"), gettext_noop("parent call"),
        gettext_noop("parts"), gettext_noop("payload"), gettext_noop("pending change"),
        gettext_noop("pending changes"), gettext_noop("person"), gettext_noop("person session"),
        gettext_noop("person sessions"), gettext_noop("position"), gettext_noop("preferences"), gettext_noop("prefix"),
        gettext_noop("prepared answers"), gettext_noop("priority"), gettext_noop("priority at least"),
        gettext_noop("priority settings"), gettext_noop("provider"), gettext_noop("pruned at"),
        gettext_noop("public id"), gettext_noop("push subscription"), gettext_noop("push subscriptions"),
        gettext_noop("query"), gettext_noop("recipient"), gettext_noop("recovery"), gettext_noop("request"),
        gettext_noop("request comment"), gettext_noop("request comments"), gettext_noop("request id"),
        gettext_noop("requested at"), gettext_noop("requested by"), gettext_noop("response schema"),
        gettext_noop("resume state"), gettext_noop("resume states"), gettext_noop("resumption"),
        gettext_noop("resumptions"), gettext_noop("retry count"), gettext_noop("revoked at"), gettext_noop("role"),
        gettext_noop("roles"), gettext_noop("root"), gettext_noop("route"), gettext_noop("run id"),
        gettext_noop("running"), gettext_noop("said before"), gettext_noop("saved view"), gettext_noop("saved views"),
        gettext_noop("scope"), gettext_noop("scopes"), gettext_noop("sealed"), gettext_noop("search text"),
        gettext_noop("search texts"), gettext_noop("searches"), gettext_noop("secret hash"), gettext_noop("seen at"),
        gettext_noop("sent again at"), gettext_noop("sent at"), gettext_noop("seq"), gettext_noop("sequence"),
        gettext_noop("service tier"), gettext_noop("session key"), gettext_noop("setup dismissed"),
        gettext_noop("shared"), gettext_noop("show the request beside the list"), gettext_noop("signing secret"),
        gettext_noop("signing secrets"), gettext_noop("size"), gettext_noop("snooze"), gettext_noop("snoozes"),
        gettext_noop("source"), gettext_noop("source url"), gettext_noop("started at"), gettext_noop("state"),
        gettext_noop("status"), gettext_noop("step"), gettext_noop("step path"), gettext_noop("steps"),
        gettext_noop("stop details"), gettext_noop("stop reason"), gettext_noop("stopped"), gettext_noop("stopped by"),
        gettext_noop("stream"), gettext_noop("suggestions"), gettext_noop("suspended at"), gettext_noop("tail"),
        gettext_noop("taken at"), gettext_noop("taken by"), gettext_noop("taker"), gettext_noop("target"),
        gettext_noop("text"), gettext_noop("theme"), gettext_noop("thread id"), gettext_noop("thread url"),
        gettext_noop("time zone"), gettext_noop("title"), gettext_noop("token digest"), gettext_noop("tool"),
        gettext_noop("tool call"), gettext_noop("tool call id"), gettext_noop("tool calls"),
        gettext_noop("tool lists"), gettext_noop("tool name"), gettext_noop("tool settings"),
        gettext_noop("touched at"), gettext_noop("turn"), gettext_noop("turn checkpoint"),
        gettext_noop("turn checkpoints"), gettext_noop("turn event"), gettext_noop("turn events"),
        gettext_noop("turn pk"), gettext_noop("turns"), gettext_noop("until"), gettext_noop("until reply"),
        gettext_noop("updated at"), gettext_noop("urgency"), gettext_noop("usage"), gettext_noop("user"),
        gettext_noop("valid from"), gettext_noop("value"), gettext_noop("verdict"), gettext_noop("version"), gettext_noop("via"),
        gettext_noop("webhook endpoint"), gettext_noop("webhook endpoints"), gettext_noop("words"),
        gettext_noop("worker"), gettext_noop("workers"), gettext_noop("workflow"), gettext_noop("workflows"),
    }
)
# fmt: on


def translate_labels(app: AppConfig) -> None:
    """Let the models of an app show their names in the current language."""
    for model in app.get_models():
        options = model._meta
        plural = options.verbose_name_plural
        # Django makes the plural that a model does not name: "{}s", which is lazy too.
        made = "verbose_name_plural" not in options.original_attrs
        options.verbose_name_plural = _in_current_language(str(plural) if made else plural)
        options.verbose_name = _in_current_language(options.verbose_name)
        for field in options.fields:
            field.verbose_name = _in_current_language(field.verbose_name)


def _in_current_language(name: Any) -> Any:
    # What is lazy is marked where it is written.
    return gettext_lazy(name) if isinstance(name, str) else name
