"""Redaction: secrets are not kept, and code is."""

from __future__ import annotations

import pytest

from runtrue.memory import redacted

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
        f"xoxb-{HIDDEN}-{HIDDEN}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{HIDDEN}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{HIDDEN}",
        f"eyJhbGciOiJIUzI1.{HIDDEN}.{HIDDEN}",
        f"a{HIDDEN}{HIDDEN}{HIDDEN}b=",
    ],
)
def test_a_secret_is_hidden(text: str) -> None:
    assert HIDDEN not in redacted(f"got {text} there")
    assert "[redacted]" in redacted(text)


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
        "https://example.org/a:b@c",
        "e27402d0aaf5f0f0e27402d0aaf5f0f0e27402d0",
    ],
)
def test_code_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text
