"""Templates: params with references, compiled once and filled in from the store."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.workflow.paths import Path
from runtrue.workflow.secrets import EnvironmentName, SecretText, reveal
from runtrue.workflow.templates import (
    Reference,
    Template,
    TemplateSyntaxError,
    Unresolved,
    compile_template,
    escape,
)

STORE: dict[str, Any] = {
    "city": "Oslo",
    "count": 3,
    "nothing": None,
    "yes": True,
    "fetch": {
        "response": {"items": [{"name": "one"}, {"name": "two"}], "login": "ada"},
        "status_code": 200,
        "stdout": '{"tag": {"name": "v1"}, "list": [1, 2]}',
        "headers": {"content-type": "text/html"},
    },
    "get-latest-tag": {"stdout": "v2\n"},
    "batch": {"results": [{"stdout": "first"}, {"stdout": "second"}]},
    "__index__": 1,
    "field": "stdout",
    "tricky": "${city} and ${env.HOME} and $${",
}

PIECES = ["${", "}", "$", "{", "a", "env", ".", "[", "]", "0", "'", " ", "${a}", "${a.b[0]}", "$${"]
TEMPLATE_TEXT = st.text() | st.lists(st.sampled_from(PIECES)).map("".join)


def _compiled(value: Any) -> Template | TemplateSyntaxError:
    try:
        return compile_template(value)
    except TemplateSyntaxError as error:
        return error


def _rendered(value: Any) -> Any:
    return compile_template(value).render(STORE)


def _unresolved(value: Any) -> Unresolved:
    with pytest.raises(Unresolved) as caught:
        _rendered(value)
    return caught.value


# -- rendering ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${count}", 3),
        ("${nothing}", None),
        ("${yes}", True),
        ("${ city }", "Oslo"),
        ("${fetch.status_code}", 200),
        ("${fetch.response.login}", "ada"),
        ("${fetch.response.items[0].name}", "one"),
        ("${fetch.response.items[-1].name}", "two"),
        ("${fetch.response.items.1.name}", "two"),
        ("${fetch.headers.content-type}", "text/html"),
        ("${fetch['headers'][\"content-type\"]}", "text/html"),
        ("${fetch.stdout.tag.name}", "v1"),
        ("${fetch.stdout.list[1]}", 2),
        ("${get-latest-tag.stdout}", "v2\n"),
        ("${__index__}", 1),
        ("${batch.results[${__index__}].stdout}", "second"),
        ("${batch.results[ ${ __index__ } ][${field}]}", "second"),
        ("${batch.results[${__index__}][${field}]} of ${city}", "second of Oslo"),
        ("in ${city}", "in Oslo"),
        ("${city}${city}", "OsloOslo"),
        (" ${count}", " 3"),
        ("is ${nothing}, ${yes}, ${fetch.headers}", 'is null, true, {"content-type":"text/html"}'),
        ("[${fetch.response.items}]", '[[{"name":"one"},{"name":"two"}]]'),
        ("no reference", "no reference"),
        ("$ $name {city} $(city) $$", "$ $name {city} $(city) $$"),
        ("$${city}", "${city}"),
        ("$$${city}", "$${city}"),
        ("${city}$${city}${city}", "Oslo${city}Oslo"),
        ("$${${city}}", "${Oslo}"),
        ("", ""),
        (5, 5),
        (None, None),
        (["${city}", ["${count}", 1]], ["Oslo", [3, 1]]),
        ({"${city}": {"a": "${count}", "b": "$${"}}, {"${city}": {"a": 3, "b": "${"}}),
    ],
)
def test_a_template_renders(template: Any, value: Any) -> None:
    before = copy.deepcopy((template, STORE))
    rendered = _rendered(template)
    assert rendered == value
    assert type(rendered) is type(value)
    assert (template, STORE) == before


def test_a_whole_reference_is_the_value_itself() -> None:
    assert _rendered("${fetch.response}") is STORE["fetch"]["response"]
    assert _rendered({"a": ["${fetch.response}"]})["a"][0] is STORE["fetch"]["response"]


def test_what_is_constant_is_shared() -> None:
    params = {"fixed": {"deep": [1, {"x": "y"}]}, "city": "${city}"}
    template = compile_template(params)
    assert template.render(STORE)["fixed"] is params["fixed"]
    assert list(template.render(STORE)) == ["fixed", "city"]
    assert compile_template(params["fixed"]).render({}) is params["fixed"]


def test_values_from_the_store_are_never_templates_again() -> None:
    assert _rendered("${tricky}") == STORE["tricky"]
    assert _rendered("<${tricky}>") == f"<{STORE['tricky']}>"


@pytest.mark.parametrize(
    ("template", "constant", "secret"),
    [
        ({"a": ["b", "$${c}"]}, True, False),
        ({"a": ["b", "${c}"]}, False, False),
        ({"a": ["b", "x ${env.C}"]}, False, True),
        ("${env.C}", False, True),
        ("$${env.C}", True, False),
    ],
)
def test_a_template_tells_what_can_come_out_of_it(
    template: Any, constant: bool, secret: bool
) -> None:
    compiled = compile_template(template)
    assert (compiled.constant, compiled.secret) == (constant, secret)


# -- references ---------------------------------------------------------------------------------


def test_references_are_told_in_order_with_their_places() -> None:
    value = {"a": ["x ${b.c[0]} ${ d }"], "e": "${f[${g.h}].i}${env.KEY}", "j": 1}
    told = [
        (r.text, r.root, r.path, r.pointer, r.position) for r in compile_template(value).references
    ]
    assert told == [
        ("b.c[0]", "b", Path.of("c", 0), ("a", 0), 2),
        ("d", "d", Path(), ("a", 0), 12),
        ("f[${g.h}].i", "f", None, ("e",), 0),
        ("g.h", "g", Path.of("h"), ("e",), 4),
        ("env.KEY", "env", Path.of("KEY"), ("e",), 14),
    ]


def test_a_string_template_splits_into_literals_and_references() -> None:
    parts = compile_template("grep ${city} $${x} ${env.FILE}").split()
    assert [part if isinstance(part, str) else part.text for part in parts] == [
        "grep ",
        "city",
        " ${x} ",
        "env.FILE",
    ]
    values = [part.resolve(STORE) for part in parts if isinstance(part, Reference)]
    assert values == ["Oslo", SecretText((EnvironmentName("FILE"),))]
    assert compile_template("plain").split() == ("plain",)
    assert compile_template("").split() == ()
    with pytest.raises(TypeError, match="string"):
        compile_template(["${city}"]).split()


# -- what does not resolve ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "found", "available", "message"),
    [
        (
            "${fetch.response.username}",
            "$.fetch.response",
            ("items", "login"),
            "${fetch.response.username}: 'username' is not in fetch.response;"
            " available there: items, login",
        ),
        ("${fetch.response.loginn}", "$.fetch.response", None, "did you mean login?"),
        ("${fetch.headers['Content Type']}", "$.fetch.headers", None, "is not in fetch.headers"),
        ("${fetch.response.items[2].name}", "$.fetch.response.items", None, "has 2 entries, [2]"),
        ("${fetch.response.items.0.nam.x}", "$.fetch.response.items.0", ("name",), "mean name?"),
        ("${city.name}", "$.city", (), "${city.name}: city is a string, it has no 'name'"),
        ("${city[0]}", "$.city", (), "city is a string, it has no [0]"),
        ("${nothing.x}", "$.nothing", (), "nothing is null, it has no 'x'"),
        ("${fetch.stdout.tag.nam}", "$.fetch.stdout.tag", ("name",), "is not in fetch.stdout.tag"),
        ("${batch.results[${count}]}", "$.batch.results", None, "[3] is not one of them"),
        ("${batch.results[${nothing}]}", "$.batch.results", None, "it has no 'null'"),
        ("${batch.results[${yes}]}", "$.batch.results", None, "it has no 'true'"),
        ("${batch.nope[${yes}]}", "$.batch", None, "'nope' is not in batch"),
        ("${batch.results[${i}]}", "$", None, "${i}: 'i' is not in the store"),
        ("${fetch.headers[${count}]}", "$.fetch.headers", None, "is an object, it has no [3]"),
        ("text ${fetch.nope} text", "$.fetch", None, "${fetch.nope}: 'nope' is not in fetch"),
        ("${nope}", "$", tuple(sorted(STORE)), "${nope}: 'nope' is not in the store;"),
        ({"a": ["${nope.x}"]}, "$", None, "${nope.x}: 'nope' is not in the store;"),
        ("${env.KEY} ${nope}", "$", None, "'nope' is not in the store"),
    ],
)
def test_what_does_not_resolve_is_told(
    template: Any, found: str, available: tuple[str, ...] | None, message: str
) -> None:
    error = _unresolved(template)
    assert str(error.missing.found) == found
    assert available is None or error.missing.available == available
    assert message in str(error)
    assert error.reference in compile_template(template).references


def test_an_index_beyond_all_bounds_is_missing_like_any_other() -> None:
    with pytest.raises(Unresolved, match="it has no"):
        compile_template("${a[${i}]}").render({"a": [1], "i": 2**60})


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), st.none() | st.text() | st.lists(st.integers())))
def test_nothing_unresolved_is_left_in_text(store: dict[str, Any]) -> None:
    template = compile_template("${a}|${b}|${c[0]}")
    if {"a", "b"} <= store.keys() and isinstance(store.get("c"), list) and store["c"]:
        values = (store["a"], store["b"], store["c"][0])
        texts = [v if isinstance(v, str) else msgspec.json.encode(v).decode() for v in values]
        assert template.render(store) == "|".join(texts)
    else:
        with pytest.raises(Unresolved):
            template.render(store)


# -- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "position", "named"),
    [
        ("${}", 2, "a name is needed before '}'"),
        ("${ }", 3, "a name is needed before '}'"),
        ("${a b}", 3, "a blank cannot be here"),
        ("${x:-y}", 3, "':' cannot be in a reference"),
        ("${x%.*}", 5, "wildcard"),
        ("a ${x", 2, "never closed"),
        ("a ${", 4, "a name is missing at the end"),
        ("${a[0}", 5, "']' is needed before '}'"),
        ("${a['b}", 4, "never closed"),
        ("${$.a}", 2, "without '$.'"),
        ("${.a}", 2, "a name is needed before '.'"),
        ("${a.*}", 4, "wildcard"),
        ("${a..b}", 3, "descendant"),
        ("${a[1:2]}", 5, "slice"),
        ("${a[${b]}", 7, "']' cannot be in a reference"),
        ("${a[${}]}", 6, "a name is needed before '}'"),
        ("${a.${b}}", 4, "a name is needed before '$'"),
        ("${${a}}", 2, "begins with a name"),
        ("${env}", 0, "name of one variable"),
        ("x ${env.A.B}", 2, "name of one variable"),
        ("${env[0]}", 0, "name of one variable"),
        ("${env['']}", 0, "name of one variable"),
        ("${env[${a}]}", 0, "name of one variable"),
        ("${a[${env.I}]}", 4, "a secret cannot be an index"),
        ("${a[" * 1000, 40, "nested deeper"),
    ],
)
def test_a_mistake_is_named_and_pointed_at(text: str, position: int, named: str) -> None:
    compiled = _compiled({"params": ["", text]})
    assert isinstance(compiled, TemplateSyntaxError)
    assert (compiled.text, compiled.position, compiled.pointer) == (text, position, ("params", 1))
    assert named in str(compiled)
    assert "write $${ for a literal ${" in str(compiled)
    line, caret = compiled.caret.split("\n")
    assert len(caret) <= len(line) + 1


def test_params_nested_without_end_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TemplateSyntaxError, match="nested deeper than 200 levels"):
        compile_template(endless)


@settings(deadline=None)
@given(TEMPLATE_TEXT)
def test_no_text_fails_in_another_way(text: str) -> None:
    compiled = _compiled([text])
    if isinstance(compiled, TemplateSyntaxError):
        assert 0 <= compiled.position <= len(text)
        assert len(str(compiled).splitlines()) == 1
    elif compiled.constant:
        assert compiled.render({})[0] == text.replace("$${", "${")
    elif not all(reference.secret for reference in compiled.references):
        with pytest.raises(Unresolved):
            compiled.render({})


@settings(deadline=None)
@given(TEMPLATE_TEXT)
def test_escaped_text_renders_to_itself(text: str) -> None:
    template = compile_template(escape(text))
    assert template.constant
    assert template.render({}) == text
    assert compile_template({"a": escape(text)}).render({}) == {"a": text}


# -- secrets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("${env.KEY}", (EnvironmentName("KEY"),)),
        ("${env['KEY']}", (EnvironmentName("KEY"),)),
        ("Bearer ${env.KEY}", ("Bearer ", EnvironmentName("KEY"))),
        (
            "${env.USER}:${env.KEY}@${city} $${env.KEY}",
            (EnvironmentName("USER"), ":", EnvironmentName("KEY"), "@Oslo ${env.KEY}"),
        ),
    ],
)
def test_an_environment_variable_stays_a_marker(template: str, parts: tuple[Any, ...]) -> None:
    assert _rendered(template) == SecretText(parts)


def test_an_input_named_env_does_not_hide_the_environment() -> None:
    marker = compile_template("${env.KEY}").render({"env": {"KEY": "input"}})
    assert marker == SecretText((EnvironmentName("KEY"),))


def test_a_marker_can_be_hashed_as_json() -> None:
    encoded = msgspec.json.encode(_rendered({"auth": "Bearer ${env.KEY}"}))
    assert msgspec.json.decode(encoded) == {"auth": {"parts": ["Bearer ", {"name": "KEY"}]}}


def test_data_that_looks_like_a_reference_reveals_nothing() -> None:
    marker = _rendered("${tricky} ${env.KEY}")
    shown = reveal(marker, {"KEY": "k", "HOME": "/secret"}, set())
    assert shown == "${city} and ${env.HOME} and $${ k"
