"""Which place a missed path meant, how sure that is, and when it is better to say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.fields import SURE, Ranked, rank_names, rank_paths

BOOKING = {
    "data": {
        "uuid": "7f1c2a9e-1111-4a4a-9d9d-0c0ffee00000",
        "reference": "QX7RT2",
        "state": "CONFIRMED",
        "created": "2031-02-03T04:05:06Z",
        "guestCount": 3,
        "paid": False,
        "hotel": {
            "title": "Sea View",
            "tel": "+44 20 7946 0000",
            "addr": {"line1": "1 Pier Road", "town": "Whitby", "zip": "YO21 3PU"},
            "geo": {"lat": 54.48, "lng": -0.61},
        },
        "customer": {"given_name": "Ada", "family_name": "Byron", "mail": "ada@example.org"},
        "price": {"amount": "340.00", "ccy": "GBP", "tax": "56.67"},
        "cancelledBy": None,
        "keywords": ["sea", "quiet"],
        "links": {"html": "https://rooms.example.org/QX7RT2"},
    }
}
BOOKING_URL = "https://api.rooms.example.com/v2/bookings/QX7RT2"


def best(guess: str, intent: str, body: Any, url: str = BOOKING_URL) -> Ranked:
    return rank_paths(guess, intent, url, body)[0]


def acts_on(guess: str, intent: str, body: Any, url: str = BOOKING_URL) -> str | None:
    """The path that runtrue would use on its own."""
    ranked = rank_paths(guess, intent, url, body)
    return ranked[0].path if ranked and ranked[0].confidence >= SURE else None


@pytest.mark.parametrize(
    ("guess", "intent", "path"),
    [
        ("$.data.guests", "how many guests are coming", "$.data.guestCount"),
        ("$.data.hotel.phone", "phone number of the hotel", "$.data.hotel.tel"),
        ("$.data.hotel.name", "what is the hotel called", "$.data.hotel.title"),
        ("$.data.hotel.address.city", "which town is the hotel in", "$.data.hotel.addr.town"),
        ("$.hotel.latitude", "latitude of the hotel", "$.data.hotel.geo.lat"),
        ("$.data.postcode", "postcode of the hotel", "$.data.hotel.addr.zip"),
        ("$.customer.last_name", "surname of the customer", "$.data.customer.family_name"),
        ("$.data.customer.email", "where can I write to the customer", "$.data.customer.mail"),
        ("$.data.price.currency", "currency of the price", "$.data.price.ccy"),
        ("$.status", "is the booking confirmed", "$.data.state"),
        ("$.data.is_paid", "has it been paid", "$.data.paid"),
        ("$.data.created_at", "when was the booking made", "$.data.created"),
        ("$.data.tags", "keywords of the booking", "$.data.keywords"),
        ("$.data.web_url", "link to the booking", "$.data.links.html"),
    ],
)
def test_names_synonyms_shapes_and_wrappers_lead_to_the_place(
    guess: str, intent: str, path: str
) -> None:
    assert best(guess, intent, BOOKING).path == path


@pytest.mark.parametrize(
    ("guess", "intent", "path"),
    [
        ("$.customer.email", "email of the customer", "$.data.customer.mail"),
        ("$.data.hotel.longitude", "longitude of the hotel", "$.data.hotel.geo.lng"),
        ("$.data.price.currency", "currency of the price", "$.data.price.ccy"),
    ],
)
def test_plain_cases_are_acted_on(guess: str, intent: str, path: str) -> None:
    assert acts_on(guess, intent, BOOKING) == path


@pytest.mark.parametrize(
    ("guess", "intent"),
    [
        ("$.data.room_number", "number of the room"),
        ("$.data.breakfast", "is breakfast included"),
        ("$.data.customer.birthday", "when was the customer born"),
        ("$.data.hotel.stars", "how many stars has the hotel"),
        ("$.data.agent.name", "name of the travel agent"),
        ("$.data.customer.phone", "phone number of the customer"),
        ("", ""),
        ("$", "everything"),
    ],
)
def test_what_is_not_there_is_met_with_silence(guess: str, intent: str) -> None:
    assert acts_on(guess, intent, BOOKING) is None


def test_a_false_friend_is_not_taken_for_the_answer() -> None:
    body = {"name": "eu-west-1a", "owner": {"handle": "grace"}, "vm": {"kind": "small"}}
    assert best("$.owner.name", "who owns the machine", body).path == "$.owner.handle"


def test_null_is_a_value_and_can_be_the_answer() -> None:
    found = best("$.data.canceled_by", "who cancelled the booking", BOOKING)
    assert found == Ranked("$.data.cancelledBy", found.confidence, None)


def test_the_own_object_comes_before_related_ones() -> None:
    repo = {"default_ref": "main", "archived": True}
    body = {"template": repo, **repo, "parent": repo}
    url = "https://git.example.com/api/repos/ada/engine"
    assert best("$.is_archived", "is the repository archived", body, url).path == "$.archived"


def test_what_excludes_each_other_is_not_mixed_up() -> None:
    body = {"departure": {"gate": "A1"}, "arrival": {"gate": "B2"}}
    assert best("$.arrival_gate", "gate it arrives at", body).path == "$.arrival.gate"
    assert acts_on("$.longitude", "longitude", {"latitude": 1.5, "altitude": 3.0}) is None


def test_the_index_of_the_guess_is_kept() -> None:
    body = {"rows": [{"label": "one"}, {"label": "two"}, {"label": "three"}]}
    assert best("$.items[1].name", "name of the second entry", body).path == "$.rows[1].label"
    assert best("$.items[-1].name", "name of the last entry", body).path == "$.rows[2].label"
    assert acts_on("$.rows[7].name", "name of the eighth entry", body) is None


def test_the_entry_that_holds_what_the_user_named_is_the_one() -> None:
    body = {"members": [{"login": "ada", "post": "chair"}, {"login": "grace", "post": "clerk"}]}
    url = "https://api.example.com/teams/9/members?user=grace"
    assert (
        best("$.members.role", "what is the role of grace", body, url).path == "$.members[1].post"
    )


def test_a_place_that_holds_what_the_user_named_comes_first() -> None:
    body = {"alias": "Linus", "login": "torvalds", "handle": "lt"}
    url = "https://api.example.com/people/torvalds"
    assert best("$.username", "username of torvalds", body, url).path == "$.login"


def test_an_entry_is_also_found_by_what_it_calls_itself() -> None:
    body = {"tags": [{"Key": "Team", "Value": "blue"}, {"Key": "CostCenter", "Value": "42"}]}
    guess, intent = "$.tags.cost_center", "cost center of the machine"
    assert best(guess, intent, body).path == "$.tags[1].Value"


def test_a_list_is_the_answer_only_where_many_are_asked_for() -> None:
    body = {"topics": ["alpha", "beta"]}
    assert best("$.keywords", "keywords of the page", body).path == "$.topics"
    assert best("$.keyword", "first keyword of the page", body).path == "$.topics[0]"


def test_a_link_for_people_comes_before_one_into_the_api() -> None:
    body = {"url": "https://api.example.com/notes/1", "html_url": "https://example.com/n/1"}
    url = "https://api.example.com/notes/1"
    assert best("$.link", "link to the page of the note", body, url).path == "$.html_url"


def test_odd_names_are_quoted() -> None:
    body = {"it's": {"e mail": "ada@example.org", "${x}": 1}}
    assert best("$.email", "email", body).path == "$['it\\'s']['e mail']"


def test_the_best_come_first_and_no_more_than_asked_for() -> None:
    ranked = rank_paths("$.price", "what does it cost", "", BOOKING, limit=3)
    assert len(ranked) == 3
    assert [r.confidence for r in ranked] == sorted((r.confidence for r in ranked), reverse=True)
    assert ranked == rank_paths("$.price", "what does it cost", "", BOOKING, limit=3)


@pytest.mark.parametrize("body", [None, 3, "text", [], {}, [[]], {"": {}}])
def test_a_body_without_names_has_nothing_to_be_sure_of(body: Any) -> None:
    assert acts_on("$.name", "the name", body) is None


# -- what a fetch of one's own meets ---------------------------------------------------------------

PROFILE = {
    "login": "torvalds",
    "id": 1024025,
    "node_id": "MDQ6VXNlcjEwMjQwMjU=",
    "avatar_url": "https://avatars.example.org/u/1024025",
    "url": "https://api.example.org/users/torvalds",
    "html_url": "https://example.org/torvalds",
    "type": "User",
    "name": "Linus Torvalds",
    "company": "Linux Foundation",
    "blog": "",
    "location": "Portland, OR",
    "email": None,
    "bio": "I make kernels",
    "twitter_username": None,
    "public_repos": 8,
    "followers": 230000,
    "created_at": "2011-09-03T15:26:22Z",
}
PROFILE_URL = "http://127.0.0.1:8000/users/torvalds"


@pytest.mark.parametrize(
    ("guess", "path"),
    [("$.username", "$.login"), ("$.biography", "$.bio"), ("$.user.username", "$.login")],
)
def test_a_value_that_the_user_named_confirms_the_place(guess: str, path: str) -> None:
    intent = f"fetch {PROFILE_URL} and extract username and biography"
    assert acts_on(guess, intent, PROFILE, PROFILE_URL) == path
    sure = rank_paths(guess, intent, PROFILE_URL, PROFILE)[0].confidence
    other = {**PROFILE, "login": "ada"}
    unsure = rank_paths(guess, intent, PROFILE_URL, other)[0].confidence
    assert sure > unsure if path == "$.login" else sure == unsure


ARTICLES = [{"id": 1, "title": "One", "author": "ada"}, {"id": 2, "title": "Two", "author": "bob"}]
HEADLINES = [{"id": 1, "headline": "One", "author": "ada"}]


@pytest.mark.parametrize(
    ("guess", "body", "path"),
    [
        ("$.items[0].title", {"data": ARTICLES}, "$.data[0].title"),
        ("$.items[1].title", {"results": ARTICLES, "total": 2}, "$.results[1].title"),
        ("$.items[0].title", ARTICLES, "$[0].title"),
        ("$[0].title", {"articles": ARTICLES}, "$.articles[0].title"),
        ("$.items[0].title", {"data": HEADLINES}, "$.data[0].headline"),
        ("$.items[0].title", HEADLINES, "$[0].headline"),
        (
            "$.response.articles[0].title",
            {"payload": {"hits": ARTICLES}},
            "$.payload.hits[0].title",
        ),
    ],
)
def test_one_wrapper_is_as_good_as_another(guess: str, body: Any, path: str) -> None:
    intent = "title of the article"
    assert acts_on(guess, intent, body, "http://127.0.0.1:8000/articles") == path


def test_an_object_that_the_guess_or_the_body_wraps_is_found() -> None:
    user = {"user": {"name": "Ada", "id": 3, "email": "ada@example.org"}}
    url, intent = "http://127.0.0.1:8000/me", "name of the user"
    assert acts_on("$.data.user.name", intent, user, url) == "$.user.name"
    assert acts_on("$.user.name", intent, {"data": user}, url) == "$.data.user.name"


def test_a_label_is_not_the_value_beside_it() -> None:
    post = {"post": {"label": "Post", "value": "Clerk"}, "age": {"label": "Age", "value": 40}}
    assert best("$.job_title", "what is her job", post).path == "$.post.value"
    sent = {"headers": [{"name": "Accept", "value": "*/*"}, {"name": "Host", "value": "x.org"}]}
    assert acts_on("$.headers.Host", "host that was sent", sent) == "$.headers[1].value"


def test_a_word_that_nothing_meets_brings_doubt() -> None:
    mug = {"title": "Mug", "price": {"amount": 2500, "currency_code": "USD"}}
    assert acts_on("$.price", "what does it cost", mug) == "$.price.amount"
    assert acts_on("$.shipping_price", "shipping cost", mug) is None


def test_the_value_of_another_holder_is_not_taken() -> None:
    issue = {"creator": {"name": "Rita"}, "assignee": {"name": "Kim", "email": "kim@example.org"}}
    assert acts_on("$.creator.email", "email of the creator", issue) is None


def test_what_the_guess_goes_through_may_be_the_value_itself() -> None:
    sent = {"ok": True, "room": "R7", "note": {"text": "hello", "bot_id": "B1"}}
    assert best("$.room.id", "id of the room it went to", sent).path == "$.room"


# -- flat names ------------------------------------------------------------------------------------

ARGUMENTS = {
    "timezone": "IANA name of the zone",
    "max_results": "How many to return at most",
    "repo_path": "",
    "message": "Text of the commit",
}


@pytest.mark.parametrize(
    ("guess", "intent", "name"),
    [
        ("tz", "what time is it in Oslo", "timezone"),
        ("timeZone", "", "timezone"),
        ("limit", "the first ten entries", "max_results"),
        ("commit_message", "commit my work", "message"),
        ("repository", "log of my repository", "repo_path"),
    ],
)
def test_a_wrong_name_leads_to_the_right_one(guess: str, intent: str, name: str) -> None:
    first = rank_names(guess, intent, ARGUMENTS)[0]
    assert first.path == name
    assert first.value == ARGUMENTS[name]


def test_a_plain_wrong_name_is_acted_on_and_an_unknown_one_is_not() -> None:
    assert rank_names("tz", "time in Oslo", ARGUMENTS)[0].confidence >= SURE
    assert rank_names("color", "paint it blue", ARGUMENTS)[0].confidence < SURE
    assert rank_names("color", "paint it blue", {}) == []


def test_an_entry_of_a_list_that_nobody_asked_for_is_doubted() -> None:
    body = {"sensors": [{"temperature": 3.5}, {"temperature": 4.5}]}
    asked = rank_paths("$.sensors[0].temp", "temperature of the first sensor", "", body)[0]
    unasked = rank_paths("$.temp", "temperature", "", body)[0]
    assert asked.path == unasked.path == "$.sensors[0].temperature"
    assert asked.confidence >= SURE > unasked.confidence


def test_the_last_two_weeks_are_no_entry_of_a_list() -> None:
    body = {"days": [{"views": 3}, {"views": 4}], "count": 7}
    answers = rank_paths("$.total_views", "total views in the last two weeks", "", body)
    assert not answers or answers[0].path == "$.count" or answers[0].confidence < SURE
