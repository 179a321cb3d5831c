"""Media types in requests; what is taken, refused and given back is what a live Java took, refused and gave back."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException

from hearth.rest.media_range import JSON, accepted, content_range
from tests.unit.rest.client import Client, error

TAKEN = [
    ("", JSON),
    ("*/*", JSON),
    ("*", JSON),
    ("*;q=0.5", JSON),
    ("*/json", JSON),
    ("image/*, */json", JSON),
    ("application/*;x=y", JSON),
    ("APPLICATION/JSON", JSON),
    ("application/json;q=0, text/html", JSON),
    ("garbage, application/json ; q=.5", JSON),
    ("application/json,", JSON),
    ("application/json;charset=utf-16", "application/json;charset=utf-16"),
    ('application/json;charset="utf-8"', "application/json;charset=utf-8"),
    ('application/json;a="b,c"', 'application/json;a="b,c"'),
    (r'application/json;a="b\"c"', r'application/json;a="b\"c"'),
    ('application/json;a=""', "application/json;a="),
    ("application/json;;a=b;", "application/json;a=b"),
    ("application/json;a=b;a=c", "application/json;a=c"),
    ("APPLICATION/JSON;A=B;Q=0.5", "APPLICATION/JSON;a=B"),
    ("text/html;q=0.3, application/json;version=2;q=0.1", "application/json;version=2"),
    ("*/*, application/json;a=b", "application/json;a=b"),
    ("*/*;q=0.9, application/json;a=b;q=0.5", JSON),
    ("application/json, application/json;a=b", JSON),
    ("application/json;a=b;q=0.5, application/json;q=0.9", JSON),
]
NOT_TAKEN = ["text/html", "text/html,", "application/*+json", "garbage", "application/xml;q=1."]
MALFORMED = [
    ",", ", ,", ";", ",text/html", "text/html,,application/json", "text/html/x", "/", "/json", "application/",
    "application / json", "te xt/html", "text/html (c)", "text/html;a", "application/json;a=", "application/json;=b",
    "application/json; a = b", "application/json;a=b c", 'application/json;a="b', "\xe9/\xe9", "application/json;q=2",
    "text/html;q=2", "application/json;q=1.001", "application/json;q=0.1234", "application/json;q=-1",
    "application/json;q=.", "application/json;q=01", "application/json;q=x",
]  # fmt: skip


@pytest.mark.parametrize(("accept", "given"), TAKEN)
def test_an_answer_has_the_parameters_of_the_accepted_type(accept: str, given: str) -> None:
    """Those of the most preferred range, and among equals the most specific."""
    wanted = next(each for each in accepted(accept) if each.takes(JSON))
    assert (wanted.particular or JSON) == given


def test_types_are_read_of_requests(client: Client) -> None:
    """Also where nothing is answered but a number."""
    asked = {"Accept": "text/html, application/json;a=b"}
    assert client.call("GET", "/connectors", headers=asked).headers["content-type"] == "application/json;a=b"
    refused = client.call("GET", "/connectors", headers={"Accept": "garbage"})
    assert (refused.status, refused.text) == error(406, "HTTP 406 Not Acceptable")
    malformed = client.call("DELETE", "/connectors/c", headers={"Accept": "text/html;a"})
    assert (malformed.status, malformed.text) == error(400, "HTTP 400 Bad Request")
    assert client.call("OPTIONS", "/connectors", headers={"Accept": "garbage"}).text == ""


@pytest.mark.parametrize("accept", NOT_TAKEN)
def test_a_header_that_excludes_json_does_not_accept_it(accept: str) -> None:
    """A type without a subtype means all of its subtypes."""
    assert not any(each.takes(JSON) for each in accepted(accept))


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_list_of_media_ranges_is_refused(text: str) -> None:
    """Also where another one of them would do."""
    with pytest.raises(HTTPException) as caught:
        accepted(text)
    assert caught.value.status_code == 400


@pytest.mark.parametrize(
    "text", ["application", "*", "application/json,", "application/json;x", "application/json; =x"]
)
def test_content_has_one_whole_type(text: str) -> None:
    """With type and subtype."""
    with pytest.raises(HTTPException) as caught:
        content_range(text)
    assert caught.value.status_code == 400


@pytest.mark.parametrize(
    ("text", "is_json"),
    [("application/json;charset=x", True), ("*/json", True), ("application/*", False), ("text/json", False)],
)
def test_json_is_what_is_called_so(text: str, is_json: bool) -> None:
    """A body of any type that there may be is not read."""
    assert content_range(text).is_json is is_json
