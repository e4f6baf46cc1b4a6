"""Which fields the body of a refused request names: by its structure, in the usual formats."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.planner.complaints import named_fields


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"title": ["This field is required."], "name": ["Too long.", "Odd."]}, ("title", "name")),
        ({"title": ["Bad."], "non_field_errors": ["Passwords differ."]}, ("title",)),
        ({"title": []}, ()),
        ({"title": ["Bad."], "status": 400}, ()),
        ({"title": "Bad."}, ()),
        ({"title": [{"id": 1}]}, ()),
        ({"not a name!": ["Bad."]}, ()),
        ({"errors": ["it is bad"]}, ()),
        ({"detail": ["it is bad"], "messages": ["so bad"]}, ()),
        ({"field": ["title"]}, ("title",)),
        ({}, ()),
        ({"errors": {"title": ["is missing"]}}, ("title",)),
        ({"errors": {"message": "bad"}}, ()),
        ({"detail": [{"loc": ["body", "title"], "type": "missing"}]}, ("title",)),
        ({"errors": [{"source": {"pointer": "/data/attributes/title"}}]}, ("title",)),
        ({"errors": [{"path": "user.email"}]}, ("email",)),
        ({"path": "/users"}, ()),
    ],
)
def test_the_fields_that_are_complained_of(body: Any, fields: tuple[str, ...]) -> None:
    assert named_fields(body) == fields
