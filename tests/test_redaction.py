"""Redaction: secrets are taken out of texts, by value and by their looks, and code stays code."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.checks import trim
from runtrue.models import fence
from runtrue.redaction import Redactor, plain, remember, secrets_in

HIDDEN = "s3cretPassw0rd"


@pytest.mark.parametrize(
    "text",
    [
        f'password = "{HIDDEN}"',
        f"DB_PASSWORD: '{HIDDEN}'",
        f'{{"api_key": "{HIDDEN}"}}',
        f'client_secret := "{HIDDEN}"',
        f"export API_TOKEN={HIDDEN}",
        f"https://ann:{HIDDEN}@example.org/x",
        f"Authorization: Bearer {HIDDEN}.{HIDDEN}",
        f"ghp_{HIDDEN}{HIDDEN}",
        f"sk-{HIDDEN}",
        f"xoxb-{HIDDEN}-{HIDDEN}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{HIDDEN}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{HIDDEN}",
        f"eyJhbGciOiJIUzI1.{HIDDEN}.{HIDDEN}",
        f"a{HIDDEN}{HIDDEN}{HIDDEN}b=",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    redact = Redactor()
    assert HIDDEN not in redact(f"got {text} there")
    assert "[redacted]" in redact(text)


@pytest.mark.parametrize(
    "key",
    [
        "Xk9fQ2mZ7pLr4TnVb8WcY1sDg6HjKe3u",
        "aB3+dE6/gH9+jK2/mN5+pQ8/sT1+vW4yZ7==",
        "7f3KqLx0ZpWm2VtRc9YbNs5HdGj1Ea8U-Uo4Xi6T",
    ],
)
def test_what_is_random_is_hidden(key: str) -> None:
    assert Redactor()(f"with {key}.") == "with [redacted]."


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password(user)",
        "token = next(tokens)",
        "if token == '(':",
        'raise ValueError("the password is too short")',
        "assert total([1, 2]) == 3",
        "def test_that_a_very_long_name_of_a_test_is_still_a_name_and_no_key() -> None:",
        "cookie: Optional[Cookie] = None",
        "tokens: list[Token] = []",
        "src/main/java/org/example/application/service/CustomerService.java",
        "src/components/Step2/CheckoutFormWithAddress.tsx",
        "void testShouldReturn404WhenTheCustomerIsNotFound()",
        "tests/Api2/test_users.py::TestHttp2Client::test_It_Returns_404_For_Nobody",
        "https://example.org/a:b@c",
        "e27402d0aaf5f0f0e27402d0aaf5f0f0e27402d0",
    ],
)
def test_code_stays_as_it_is(text: str) -> None:
    assert Redactor()(text) == text


@pytest.mark.parametrize(
    "value",
    ["swordfish", 'with "quotes" and \\', "one line of the key\nand one more of them", "grün-heim"],
    ids=["plain", "quoted", "lines", "umlaut"],
)
def test_a_value_is_hidden_however_it_is_spelled(value: str) -> None:
    redact = Redactor({"PHRASE": value})
    spelled = [value, json.dumps(value), repr(value), json.dumps({"a": value}, ensure_ascii=False)]
    for text in spelled:
        assert "[redacted: PHRASE]" in redact(f"got {text} there")
        assert value not in redact(text)
        assert json.dumps(value)[1:-1] not in redact(text)


ODD = ["tok-En/with=odd&signs+77", "pa ss%wörd-0815", "plainSecretOfMine4711x", "a'b\"c<d>&e"]


@pytest.mark.parametrize("value", ODD)
def test_a_value_is_hidden_however_it_is_encoded(value: str) -> None:
    redact = Redactor({"PHRASE": value})
    data = value.encode()
    percent = quote(value, safe="")
    texts = [
        *(data.hex(), data.hex().upper(), percent, quote(value), quote_plus(value)),
        *(percent.replace("%C3%B6", "%c3%b6"), quote(percent, safe=""), html.escape(value)),
        *(json.dumps(json.dumps(value)), html.escape(value, quote=False)),
    ]
    for text in texts:
        assert "[redacted: PHRASE]" in redact.values(f"got {text} there"), text


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("before", ["", "u", "u:", "user:", "\n"])
@pytest.mark.parametrize("after", ["", "\n", "@host", ":x"])
def test_a_value_is_hidden_in_the_middle_of_what_is_encoded_in_base64(
    value: str, before: str, after: str
) -> None:
    redact = Redactor({"PHRASE": value})
    data = f"{before}{value}{after}".encode()
    for encoded in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()):
        hidden = redact.values(f"Basic {encoded}")
        assert "[redacted: PHRASE]" in hidden
        left = hidden.removeprefix("Basic ").replace("[redacted: PHRASE]", "")
        # What is left belongs to what is around the value, and at most four bits of it.
        assert len(left) <= -(-len((before + after).encode()) * 4 // 3) + 5


@given(st.text(min_size=6, max_size=40).filter(lambda text: len(plain(text.strip())) >= 6))
def test_no_value_breaks_it(value: str) -> None:
    text = value.strip()
    assert text not in Redactor({"V": value})(f"<{text}>").replace("[redacted: V]", "")


def test_what_is_read_from_a_store_is_hidden_by_redactors_that_were_there_before() -> None:
    redact = Redactor({"PHRASE": "swordfish"})
    assert redact("read-later-4711") == "read-later-4711"
    remember("LATER_TOKEN", "read-later-4711")
    assert redact("read-later-4711, swordfish") == "[redacted: LATER_TOKEN], [redacted: PHRASE]"
    remember("LAST_TOKEN", "and-again-0815")
    assert Redactor()("and-again-0815") == "[redacted: LAST_TOKEN]"
    assert redact(base64.b64encode(b"and-again-0815").decode()[:-1]).startswith("[redacted: LAST")


@pytest.mark.parametrize("kept", range(2, 40, 3))
def test_no_half_of_a_value_is_left_where_a_text_was_cut(kept: int) -> None:
    value = "tok-En-with-a-length-of-its-own-0815"
    redact = Redactor({"PHRASE": value})
    for spelled in (value, value.encode().hex(), base64.b64encode(value.encode()).decode()):
        text = f"{'x' * 40}{spelled}{'y' * 5_000}{spelled}{'z' * 40}"
        for cut in (trim(text, 40 + kept), fence(text, limit=80 + 2 * kept)):
            left = redact(cut)
            assert spelled[:8] not in left
            assert spelled[-8:].rstrip("=") not in left


def test_the_longer_of_two_values_goes_first() -> None:
    redact = Redactor({"SHORT": "sword1", "LONG": "sword1fish"})
    assert redact("sword1fish sword1") == "[redacted: LONG] [redacted: SHORT]"


def test_a_variable_may_have_several_values() -> None:
    redact = Redactor({"PHRASE": "swordfish"}, {"PHRASE": "mackerel"})
    assert redact("swordfish, mackerel") == "[redacted: PHRASE], [redacted: PHRASE]"


def test_short_values_are_words() -> None:
    assert Redactor({"DEBUG": "1", "EMPTY": "", "PORT": " 8080 "})("1 8080") == "1 8080"


def test_hidden_twice_is_hidden_the_same() -> None:
    redact = Redactor({"PHRASE": "swordfish"})
    once = redact(f'password = "swordfish"; token = "{HIDDEN}"; swordfish')
    assert (
        redact(once)
        == once
        == ('password = "[redacted: PHRASE]"; token = "[redacted]"; [redacted: PHRASE]')
    )


def test_names_are_kept_but_for_the_values() -> None:
    redact = Redactor({"PHRASE": "swordfish"})
    name = "t.py::test_login[swordfish-sk-123456789012]"
    assert redact.values(name) == "t.py::test_login[[redacted: PHRASE]-sk-123456789012]"


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("OPENAI_API_KEY", True),
        ("db_password", True),
        ("GITHUB_TOKEN", True),
        ("GOOGLE_CREDENTIALS", True),
        ("API_KEY_2", True),
        ("SIGNING_KEYS", True),
        ("DB_PASS", True),
        ("MYSQL_PWD", True),
        ("GITHUB_PAT", True),
        ("SENTRY_DSN", True),
        ("SLACK_WEBHOOK_URL", True),
        ("SERVICE_TOKEN_BASE64", True),
        ("GPG_PASSPHRASE", True),
        ("DOCKER_AUTH_CONFIG", True),
        ("PWD", False),
        ("OLDPWD", False),
        ("COMPASS", False),
        ("XAUTHORITY", False),
        ("SSH_AUTH_SOCK", False),
        ("KEYBOARD", False),
        ("HOME", False),
    ],
)
def test_some_names_say_that_they_are_secret(name: str, is_secret: bool) -> None:
    assert bool(secrets_in({name: "x"})) is is_secret


def test_the_password_in_a_url_is_secret_whatever_the_variable_is_called() -> None:
    environment = {"DATABASE_URL": "postgres://ann:s3cret%2Fpw@db/x", "DOCS": "https://a.org/b:c@d"}
    assert secrets_in(environment) == {"DATABASE_URL": "s3cret%2Fpw"}
    redact = Redactor(secrets_in(environment))
    assert redact.values("pw: s3cret%2Fpw, s3cret/pw") == (
        "pw: [redacted: DATABASE_URL], [redacted: DATABASE_URL]"
    )


def test_what_a_terminal_would_obey_is_not_plain() -> None:
    assert plain("\x1b]0;owned\x07\x1b[31mred\x1b[0m\x07\u202egnp\ud800") == "redgnp?"
