"""Plugins over HTTP, against what a live Kafka Connect 4.3.1 answered to the same requests."""

from __future__ import annotations

import pytest

from tests.unit.herder.catalogue import SINK, SOURCE
from tests.unit.rest.client import CONFIG, Client, error


class TestPlugins:
    """What is asked about plugins."""

    def test_connectors_are_listed_sinks_first(self, client: Client) -> None:
        """The bytes of Kafka's answer."""
        assert client.call("GET", "/connector-plugins").text == (
            f'[{{"class":"{SINK}","type":"sink","version":"4.3.1"}},'
            f'{{"class":"{SOURCE}","type":"source","version":"4.3.1"}}]'
        )

    def test_all_plugins_are_listed_type_by_type(self, client: Client) -> None:
        """In Kafka's order of types, each sorted by class."""
        listed = client.call("GET", "/connector-plugins?connectorsOnly=false").json
        types = list(dict.fromkeys(row["type"] for row in listed))
        assert types == ["sink", "source", "transformation", "predicate", "converter", "header_converter"]
        assert len(listed) == 2 + 26 + 3 + 9 + 10

    @pytest.mark.parametrize(
        ("query", "are_all"),
        [("", False), ("=", False), ("=TRUE", False), ("=%20true", True), ("=0&connectorsOnly=true", True)],
    )
    def test_a_flag_is_read_as_java_reads_it(self, client: Client, query: str, are_all: bool) -> None:
        """The first of its name counts, a blank one does not, and nothing but `true` is."""
        listed = client.call("GET", f"/connector-plugins?connectorsOnly{query}").json
        assert (len(listed) > 2) is are_all

    def test_keys_and_their_errors(self, client: Client) -> None:
        """200, 404 and 400."""
        assert client.call("GET", "/connector-plugins/RegexRouter/config").json[0]["name"] == "regex"
        answer = client.call("GET", "/connector-plugins/Nope/config")
        assert (answer.status, answer.text) == error(404, "Unknown plugin Nope.")
        answer = client.call("GET", "/connector-plugins/FileStreamSource/config?version=%5B1,")
        assert (answer.status, answer.text) == error(400, "Invalid version specification: [1,")

    def test_a_validation_answers_with_every_key(self, client: Client) -> None:
        """The shape is tested with the validator; here is the way there."""
        answer = client.call("PUT", "/connector-plugins/FileStreamSourceConnector/config/validate", CONFIG)
        assert answer.status == 200
        assert list(answer.json) == ["name", "error_count", "groups", "configs"]
        assert answer.json["error_count"] == 1

    def test_the_class_must_fit_the_path(self, client: Client) -> None:
        """And there must be one; that error has another status here than on creation, as in Kafka."""
        path = "/connector-plugins/FileStreamSink/config/validate"
        answer = client.call("PUT", path, CONFIG)
        message = "Included connector type FileStreamSource does not match request type FileStreamSink"
        assert (answer.status, answer.text) == error(400, message)
        answer = client.call("PUT", path, {"a": "b"})
        assert (answer.status, answer.text) == error(
            500,
            "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
            "Connector config {a=b} contains no connector type",
        )

    def test_warnings_are_returned_on_request(self, client: Client) -> None:
        """Strict clients refuse a member that Kafka Connect's answer does not have."""
        config = {**CONFIG, "tpoic": "t", "transforms": "a", "transforms.a.type": "HoistField$Value"}
        path = "/connector-plugins/FileStreamSource/config/validate"
        plain = client.call("PUT", path, config).json
        warned = client.call("PUT", f"{path}?warnings=true", config).json
        assert list(plain) == ["name", "error_count", "groups", "configs"]
        assert warned.pop("warnings") == [
            {"name": "tpoic", "message": "no plugin declares this key, did you mean 'topic'?"},
            {
                "name": "transforms.a.type",
                "message": "nearest names: org.apache.kafka.connect.transforms.HoistField$Value, "
                "org.apache.kafka.connect.transforms.InsertField$Value, "
                "org.apache.kafka.connect.transforms.HoistField$Key",
            },
        ]
        assert warned == plain
