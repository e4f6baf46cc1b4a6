"""Handlers catch what is raised, and doubt is told where an exception is swallowed."""

from __future__ import annotations

from tests.fixers.search.trying import failed, offers, proposed

BEFORE = (
    "def read(text):\n    try:\n        return int(text)\n"
    "    except KeyError:\n        return None\n"
)


def test_the_exception_that_was_seen_is_caught() -> None:
    after = BEFORE.replace("KeyError", "ValueError")
    offers("catch", BEFORE, after, failed("ValueError", "invalid literal", 3))


def test_it_is_caught_beside_the_other() -> None:
    after = BEFORE.replace("KeyError", "(KeyError, ValueError)")
    offers("catch", BEFORE, after, failed("ValueError", "invalid literal", 3))


def test_a_handler_that_swallows_raises_again() -> None:
    before = "try:\n    send()\nexcept OSError:\n    pass\n"
    offers("reraise", before, before.replace("pass", "raise"))


def test_swallowing_is_doubted() -> None:
    before = "def read(text):\n    return int(text)\n"
    after = (
        "def read(text):\n    try:\n        return int(text)\n"
        "    except ValueError:\n        return None\n"
    )
    assert offers("try", before, after, failed("ValueError", "invalid literal", 2)).doubt


def test_an_import_is_not_made_to_fail_in_silence() -> None:
    before = "import tabulate\n"
    assert not proposed(before, failed("ModuleNotFoundError", "No module named 'tabulate'", 1))


def test_an_exception_that_is_caught_and_passed_over_in_silence_is_doubted() -> None:
    before = BEFORE.replace(BEFORE.splitlines()[-1].strip(), "pass")
    after = before.replace("KeyError", "(KeyError, ValueError)")
    assert offers("catch", before, after, failed("ValueError", "invalid literal", 3)).doubt


def test_a_mistake_in_the_program_that_is_caught_is_doubted() -> None:
    after = BEFORE.replace("KeyError", "(KeyError, NameError)")
    assert offers("catch", BEFORE, after, failed("NameError", "name 'x' is not defined", 3)).doubt


def test_what_is_raised_instead_names_its_cause() -> None:
    before = "try:\n    send()\nexcept {}:\n    raise Refused('no'){}\n"
    given = before.format("OSError as e", "")
    offers("cause", given, before.format("OSError as e", " from e"))
    offers("cause", given, before.format("OSError as e", " from None"))
    unnamed = before.format("OSError", "")
    offers("cause", unnamed, before.format("OSError as error", " from error"))
    hidden = before.format("OSError as e", " from None")
    offers("cause", hidden, before.format("OSError as e", " from e"))
    kinds = {edit.kind for edit in proposed(before.format("OSError as e", " from e")).values()}
    assert "cause" not in kinds
