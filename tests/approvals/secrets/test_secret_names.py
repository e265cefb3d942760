"""One rule says which names are secret: in maps, lists of names and values, headers, environments and commands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.text.secret_shapes import says_secret
from approvals.text.secrets import hidden_in, mask_text, masked
from approvals.text.true_values import restored, true_values, with_true_values
from tests.support.machine import Machine
from tests.support.people import alice, bob

HORSE, BASIC = "correct-horse-9", "Basic dXNlcjpjb3JyZWN0"
SECRET = [
    *(
        "password",
        "POSTGRES_PASSWORD",
        "PGPASSWORD",
        "smtp_password",
        "dbPassword",
        "Pass-Word",
        "password2",
        "SMTP_PASS",
    ),
    *("MY_API_KEY", "stripeApiKey", "APIKey", "x-api-key", "openai.api.key", "AWS_SECRET_ACCESS_KEY", "privateKey"),
    *("Authorization", "Proxy-Authorization", "Set-Cookie", "session_cookie", "githubToken", "GH_TOKEN_2", "ghtoken"),
    *("client_secret", "clientSecretKey", "aws_credentials", "DB_PWD", "sms-otp", "pin", "card_cvv"),
]
PLAIN = [
    *(
        "PATH",
        "TZ",
        "password_hint",
        "tokens_used",
        "tokens",
        "max_tokens",
        "token_count",
        "next_page_token",
        "nextPageToken",
    ),
    *(
        "public_key",
        "primary_key",
        "key",
        "keyboard",
        "AWS_ACCESS_KEY_ID",
        "api_key_name",
        "secretary",
        "passport",
        "compass",
    ),
    *("shopping_pin", "authorization_url", "cookie_policy", "", "a" * 300, "cost_per_token", "password_changed_at"),
]


def test_a_name_is_secret_by_its_last_words():
    assert [name for name in SECRET if not says_secret(name)] == []
    assert [name for name in PLAIN if says_secret(name)] == []


def text_of(value: object) -> str:
    return json.dumps(masked(value), ensure_ascii=False)


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        (
            {"env": {"POSTGRES_PASSWORD": HORSE, "MY_API_KEY": HORSE, "PATH": "/usr/bin"}},
            ["/env/POSTGRES_PASSWORD", "/env/MY_API_KEY"],
        ),
        ({"smtp_password": HORSE, "stripeApiKey": HORSE}, ["/smtp_password", "/stripeApiKey"]),
        ({"env": [{"name": "DB_PASSWORD", "value": HORSE}, {"name": "TZ", "value": "UTC"}]}, ["/env/0/value"]),
        ({"headers": [{"name": "Authorization", "value": BASIC}]}, ["/headers/0/value"]),
        ({"Environment": [{"Name": "DB_PASSWORD", "Value": HORSE}]}, ["/Environment/0/Value"]),
        ({"p": [{"ParameterKey": "DbPassword", "ParameterValue": HORSE}]}, ["/p/0/ParameterValue"]),
        ({"h": [{"key": "X-Api-Key", "values": [HORSE, HORSE]}]}, ["/h/0/values/0", "/h/0/values/1"]),
        ({"headers": [["Authorization", BASIC], ["Accept", "text/html"]]}, ["/headers/0/1"]),
        ({"headers": [f"Authorization: {BASIC}", "Accept: text/html"]}, ["/headers/0"]),
        ({"env": [f"DB_PASSWORD={HORSE}", "TZ=UTC"]}, ["/env/0"]),
        ({"args": ["mysql", "--password", HORSE, "--user", "bob"]}, ["/args/2"]),
        ({"args": ["mysql", f"--db-password={HORSE}"]}, ["/args/1"]),
        ({"args": ["curl", "-H", f"X-Api-Key: {HORSE}"]}, ["/args/2"]),
    ],
)
def test_the_rule_holds_in_each_shape_of_names_and_values(value, pointers):
    shown = masked(value)
    assert [hidden.pointer for hidden in hidden_in(shown)] == pointers
    assert [secret for secret in (HORSE, "dXNlcjpjb3JyZWN0") if secret in text_of(value)] == []
    assert with_true_values(shown, true_values(value, shown)) == value
    assert restored(json.loads(json.dumps(shown)), value, shown) == value


@pytest.mark.parametrize(
    "value",
    [
        {"env": [{"name": "TZ", "value": "UTC"}, {"name": "password_hint", "value": "your pet"}]},
        {"name": "password", "label": "Password"},
        {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db"}}},
        {"scopes": ["token", "profile"], "required": ["password", "user"]},
        {"args": ["--password", "--user", "bob", "--tokens-used", "7"]},
        {"usage": {"tokens_used": 5, "max_tokens": 100}, "password_hint": "your pet"},
        {"rows": [["name", "Ann"], ["pin code of the door", "?"]]},
        {"headers": [["Authorization", ""], ["token", None]]},
        {"PASSWORD_REQUIRED": True, "token": None},
    ],
)
def test_what_only_speaks_of_secrets_stays_the_very_same(value):
    assert masked(value) is value


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"POSTGRES_PASSWORD={HORSE} psql", "POSTGRES_PASSWORD=⟨••• hidden: secret value⟩ psql"),
        (f"docker run -e MY_API_KEY={HORSE} app", "docker run -e MY_API_KEY=⟨••• hidden: secret value⟩ app"),
        (f"SMTP_PASS='{HORSE}' send", "SMTP_PASS=⟨••• hidden: secret value⟩ send"),
        (f"mysql --password={HORSE} -u bob", "mysql --password=⟨••• hidden: secret value⟩ -u bob"),
        (f"gh auth --with-token {HORSE}", "gh auth --with-token ⟨••• hidden: secret value⟩"),
        (
            f'curl -H "X-Api-Key: {HORSE}" https://a.example',
            'curl -H "X-Api-Key: ⟨••• hidden: secret value⟩" https://a.example',
        ),
        (f"Accept: */*\nSet-Cookie: id={HORSE}; Path=/", "Accept: */*\nSet-Cookie: ⟨••• hidden: secret value⟩"),
    ],
)
def test_the_same_names_are_secret_in_commands(command, shown):
    assert mask_text(command) == shown


@pytest.mark.parametrize(
    "command",
    [
        'curl -H "X-Api-Key: $KEY" -H "Authorization: Bearer $TOKEN"',
        "TOKENS_USED=1234 PRIMARY_KEY=customer_id run",
        "git log --oneline --author=token-team -- secrets.py",
        "mysql --password --user bobby",
        "AWS_ACCESS_KEY_ID=customer run",
        "The X-Api-Key: header is described below",
    ],
)
def test_commands_that_only_name_secrets_stay_the_very_same(command):
    assert mask_text(command) is command


@given(st.recursive(
    st.sampled_from([HORSE, "--password", "x", "DB_PASSWORD", 7, None, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "value", "token", "a"]), inner),
    max_leaves=12,
))  # fmt: skip
def test_what_is_masked_can_be_sent_back_as_it_was(value):
    shown = masked(value)
    assert with_true_values(shown, true_values(value, shown)) == value
    assert restored(shown, value, shown) == value


@pytest.mark.django_db
def test_no_other_person_or_key_reads_them():
    inputs = [
        {"env": {"POSTGRES_PASSWORD": HORSE, "MY_API_KEY": HORSE, "PATH": "/usr/bin"}},
        {"smtp_password": HORSE, "stripeApiKey": HORSE},
        {"env": [{"name": "DB_PASSWORD", "value": HORSE}, {"name": "TZ", "value": "UTC"}]},
        {"headers": [{"name": "Authorization", "value": BASIC}]},
    ]
    agent, other = Machine(alice()), Machine(bob())
    paths = [f"/requests/{agent.ask(input=value)['id']}" for value in inputs]
    documents = [json.dumps(other.get(path).body["input"]) for path in paths]
    assert [text for text in documents if HORSE in text or "dXNlcjpjb3JyZWN0" in text] == []
    assert ("/usr/bin" in documents[0], '"UTC"' in documents[2]) == (True, True)
