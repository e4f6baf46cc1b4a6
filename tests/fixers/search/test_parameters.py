"""Parameters: one that is missing, one that is not handed on, one that is not used for its name."""

from __future__ import annotations

from tests.fixers.search.trying import failed, offers

JOIN = """\
def join(items, strict=False):
    return list(items)

def merge(items{}):
    if not strict:
        return items
"""


def test_a_name_that_nothing_binds_becomes_a_parameter_with_the_default_of_others() -> None:
    failure = failed("NameError", "name 'strict' is not defined", 5)
    failure = type(failure)(
        test=failure.test,
        exception=failure.exception,
        message=failure.message,
        frames=failure.frames,
        name="strict",
    )
    offers("parameter", JOIN.format(""), JOIN.format(", strict=False"), failure)


def test_a_keyword_gets_what_it_is_named_after() -> None:
    source = """\
    def show(item, encode=False):
        return parts(item, encode=True)
    """
    offers("parameter", source, source.replace("encode=True", "encode=encode"))


def test_a_parameter_is_handed_on_to_a_function_that_takes_it() -> None:
    source = """\
    def parts(item, encode=False):
        return item

    def show(item, encode=False):
        return parts(item) if encode else None
    """
    offers("parameter", source, source.replace("parts(item) if", "parts(item, encode=encode) if"))


def test_a_keyword_that_is_refused_is_taken_and_handed_on() -> None:
    source = """\
    def parts(item, depth=None):
        return item

    def show(item):
        return parts(item)
    """
    wanted = source.replace("show(item):", "show(item, depth=None):").replace(
        "return parts(item)", "return parts(item, depth=depth)"
    )
    failure = failed("TypeError", "show() got an unexpected keyword argument 'depth'", 1)
    offers("parameter", source, wanted, failure)
