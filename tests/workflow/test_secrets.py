"""Secrets: revealed only on request, and scrubbed out of whatever comes back."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.redaction import REDACTED
from runtrue.workflow.secrets import (
    EnvironmentName,
    MissingSecret,
    SecretRedactor,
    SecretText,
    redact_by_name,
    reveal,
    sample_of,
    sample_text,
)

KEY = SecretText(("Bearer ", EnvironmentName("KEY")))

# -- revealing ----------------------------------------------------------------------------------


def test_markers_are_replaced_and_what_was_revealed_is_told() -> None:
    params = {"headers": {"auth": KEY}, "body": {"a": [1, "${env.KEY}"]}, "pair": (KEY, 1)}
    revealed: set[str] = set()
    shown = reveal(params, {"KEY": "s3cret", "OTHER": "x"}, revealed)
    assert shown == {
        "headers": {"auth": "Bearer s3cret"},
        "body": {"a": [1, "${env.KEY}"]},
        "pair": ("Bearer s3cret", 1),
    }
    assert revealed == {"s3cret"}
    assert shown["body"] is params["body"]
    assert params["headers"] == {"auth": KEY}


def test_without_a_marker_everything_is_shared() -> None:
    params = {"a": [1, {"b": "c"}]}
    assert reveal(params, {}, set()) is params


def test_a_variable_that_is_not_set_is_named_and_an_empty_one_is_set() -> None:
    with pytest.raises(MissingSecret, match="'KEY' is not set") as caught:
        reveal([KEY], {"OTHER": "x"}, set())
    assert caught.value.name == "KEY"
    assert reveal(KEY, {"KEY": ""}, set()) == "Bearer "


# -- scrubbing ----------------------------------------------------------------------------------

#: What programs do to a value before it turns up in what they say.
ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda s: s,
    "percent": quote,
    "percent, all": lambda s: quote(s, safe=""),
    "percent, lower case": lambda s: quote(s, safe="").replace("%2F", "%2f").replace("%3D", "%3d"),
    "percent, twice": lambda s: quote(quote(s, safe=""), safe=""),
    "form": quote_plus,
    "json": json.dumps,
    "json, unicode": lambda s: json.dumps(s, ensure_ascii=False),
    "json in json": lambda s: json.dumps({"body": json.dumps({"s": s})}),
    "json, slashes": lambda s: json.dumps(s).replace("/", "\\/"),
    "repr": repr,
    "ascii": ascii,
    "repr of bytes": lambda s: repr(s.encode()),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64, no padding": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "base64, urlsafe": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    "base64, bare": lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64, percent": lambda s: quote(base64.b64encode(s.encode()).decode(), safe=""),
    "json, percent": lambda s: quote(json.dumps(s, ensure_ascii=False), safe=""),
}

SECRETS = [
    "s3cr3t-token_1234.x~",
    "p@ss w/ö\"r'd\\x😀%&+=",
    '\\\\server\\new"\\\n\\',
    "line one\nline\ttwo",
    "a/b?c=d&e=f+g==",
    "%25%41%%",
    "ÿþé€",
    "(a+)+$[^x]*|",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_is_found_in_every_encoding(secret: str, encoding: str) -> None:
    encoded = ENCODINGS[encoding](secret)
    text = SecretRedactor({secret}).redact(f"before <{encoded}> after")
    assert text.startswith("before <")
    assert text.endswith("> after")
    assert REDACTED in text
    assert encoded.strip("\"'b\\") not in text


@settings(deadline=None)
@given(
    secret=st.one_of(
        st.text(st.characters(codec="utf-8"), min_size=4), st.text("\\%5cC2nu\"'/ \n", min_size=4)
    ).filter(lambda secret: len(secret.strip()) >= 4),
    encoding=st.sampled_from(sorted(ENCODINGS)),
    around=st.text(st.characters(codec="utf-8"), max_size=10),
)
def test_no_secret_survives(secret: str, encoding: str, around: str) -> None:
    encoded = ENCODINGS[encoding](secret)
    scrubbed = SecretRedactor({secret}).redact({around + encoded: [encoded + around]})
    ((key, (text,)),) = scrubbed.items()
    for result in (key, text):
        # The mark itself may hold a secret such as "redact".
        pieces = result.split(REDACTED)
        assert len(pieces) > 1
        assert not any(ENCODINGS[e](secret) in piece for e in ENCODINGS for piece in pieces)


@pytest.mark.parametrize("user", ["", "u", "us", "user", "somebody"])
def test_basic_authentication_does_not_give_the_password_away(user: str) -> None:
    header = base64.b64encode(f"{user}:{SECRETS[0]}".encode()).decode()
    shown = SecretRedactor({SECRETS[0]}).redact(f"Basic {header}")
    left = shown.removeprefix("Basic ").split(REDACTED)
    assert len(left) == 2
    assert sum(map(len, left)) <= len(base64.b64encode(f"{user}:".encode())) + 4


def test_keys_and_values_at_any_depth_are_scrubbed_and_the_rest_is_shared() -> None:
    value = {"my-s3cret": [{"a": ("s3cret!", 1)}], "other": {"b": ["c"]}, "n": 5, "none": None}
    scrubbed = SecretRedactor({"s3cret"}).redact(value)
    assert scrubbed == {
        "my-[redacted]": [{"a": ("[redacted]!", 1)}],
        "other": {"b": ["c"]},
        "n": 5,
        "none": None,
    }
    assert scrubbed["other"] is value["other"]


def test_where_no_secret_is_the_value_is_the_very_same() -> None:
    value = {"a": ["b", {"c": "d"}]}
    assert SecretRedactor(set()).redact(value) is value
    assert SecretRedactor({"", " \n"}).redact(value) is value
    assert SecretRedactor({"s3cret"}).redact(value) is value


def test_the_longest_secret_wins() -> None:
    redactor = SecretRedactor({"abcd", "abcdefgh", "abcdef"})
    assert redactor.redact("abcdefgh abcdef abcd") == "[redacted] [redacted] [redacted]"


def test_a_short_secret_is_only_replaced_where_it_is_the_whole_string() -> None:
    redactor = SecretRedactor({"abc"})
    assert redactor.redact(["abc", " abc\n", "abcabc", {"abc": "x abc"}]) == [
        REDACTED,
        REDACTED,
        "abcabc",
        {REDACTED: "x abc"},
    ]


def test_blanks_at_the_ends_of_a_secret_do_not_save_it() -> None:
    assert SecretRedactor({"s3cret\n"}).redact("is s3cret!") == "is [redacted]!"


def test_secrets_can_be_added() -> None:
    redactor = SecretRedactor(set())
    redactor.add("first-one")
    redactor.add("second-one", "first-one")
    assert redactor.redact("first-one second-one") == "[redacted] [redacted]"


def test_what_is_too_deep_to_look_through_is_hidden_whole() -> None:
    deep: Any = "s3cret"
    for _ in range(5000):
        deep = [deep]
    assert SecretRedactor({"s3cret"}).redact({"deep": deep}) == REDACTED


@pytest.mark.parametrize(
    "text", ["\\" * 100_000, "%" + "25" * 50_000, "%25" * 50_000, "a" * 100_000]
)
def test_no_text_is_slow_to_look_through(text: str) -> None:
    redactor = SecretRedactor({*SECRETS, "aaaaaaaab", '\\\\\\\\"', "%%%%x", " % \\ a b c d"})
    began = time.process_time()
    redactor.redact(text)
    assert time.process_time() - began < 5


# -- samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("authorization", "Proxy-Authorization", "cookie", "Set-Cookie", "auth", "jwt"),
        *("password", "passwd", "db_password", "userPassword", "password2", "new_password_value"),
        *("secret", "client_secret", "clientSecret", "CLIENTSECRET", "secret_key"),
        *("token", "access_token", "refreshToken", "x-auth-token", "idtoken", "token_value"),
        *("api_key", "apikey", "apiKey", "X-API-Key", "APIKey", "aws_secret_access_key"),
        *("access_key", "private_key", "privateKey", "credential", "credentials", "session_id"),
    ],
)
def test_a_name_of_a_secret_hides_its_text(name: str) -> None:
    assert redact_by_name({name: "x"}) == {name: REDACTED}
    assert redact_by_name([{"a": {name: ["x", {"b": "y"}]}}]) == [
        {"a": {name: [REDACTED, {"b": REDACTED}]}}
    ]
    assert redact_by_name({"name": name, "value": "x"}) == {"name": name, "value": REDACTED}
    assert redact_by_name({name: None, "b": 1}) == {name: None, "b": 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("tokens", 512), ("max_tokens", 5), ("token_count", "9"), ("usage_tokens", {"in": 1})],
        *[("next_page_token", "abc"), ("nextPageToken", "abc"), ("continuation_token", "abc")],
        *[("token_type", "bearer"), ("token_url", "https://host"), ("secret_name", "x")],
        *[("has_password", True), ("password_changed_at", "2020"), ("cookie_policy", "strict")],
        *[("key", "x"), ("public_key", "x"), ("author", "x"), ("keyboard", "x"), ("", "x")],
    ],
)
def test_what_is_no_secret_is_shown(name: str, value: Any) -> None:
    assert redact_by_name({name: value}) == {name: value}


def test_a_number_is_a_secret_where_it_cannot_be_a_count() -> None:
    assert redact_by_name({"password": 1234}) == {"password": REDACTED}
    assert redact_by_name({"token": 1234}) == {"token": 1234}


def test_a_sample_is_bounded_and_keeps_the_structure() -> None:
    value = {
        "items": [{"id": n, "tags": ["a"], "empty": []} for n in range(100)],
        "wide": {f"k{n:02}": n for n in range(25)},
        "text": "x" * 100,
        "token": "abc",
        "stdout": '{"password": "abc", "n": [1, 2]}',
        "odd": object(),
        "none": None,
    }
    sample = sample_of(value)
    assert sample["items"] == [
        {"id": 0, "tags": "[… 1 entry]", "empty": []},
        {"id": 1, "tags": "[… 1 entry]", "empty": []},
        {"id": 2, "tags": "[… 1 entry]", "empty": []},
        "… 97 more",
    ]
    assert len(sample["wide"]) == 21
    assert sample["wide"]["…"] == "5 more keys"
    assert sample["text"] == f"{'x' * 80}… (100 characters)"
    assert sample["token"] == REDACTED
    assert sample["stdout"] == {"password": REDACTED, "n": [1, 2]}
    assert (sample["odd"], sample["none"]) == ("(object)", None)
    assert sample_of({"a": {"b": 1, "c": 2}}, depth=1) == {"a": "{… 2 keys}"}
    assert sample_of([1, 2, 3], depth=0) == "[… 3 entries]"


def test_the_text_of_a_sample_is_json_as_long_as_it_fits() -> None:
    assert sample_text({"a": [1, "é"]}) == '{"a": [1, "é"]}'
    wide = {f"key {n}": {f"key {m}": ["x" * 500] * 9 for m in range(50)} for n in range(50)}
    text = sample_text(wide)
    assert 200 < len(text) <= 2000
    assert json.loads(text)["key 0"]
    assert len(sample_text({f"{n} {'k' * 70}": "x" for n in range(30)}, limit=300)) == 300


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_has_a_small_sample(value: Any) -> None:
    assert len(sample_text(value)) <= 2000
