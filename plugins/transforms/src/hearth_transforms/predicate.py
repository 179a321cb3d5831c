"""The predicates, which select the records of a transformation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api import BOOLEAN_SCHEMA, Composite, ConnectRecord, Importance, NonEmptyString, Regex, Settings, key
from hearth_api.batch import Batch, BatchPredicate
from hearth_api.java import compile_pattern
from hearth_transforms.plugin import KafkaPlugin


class TopicNameMatchesConfig(Settings):
    """Settings of TopicNameMatches."""

    pattern: str = key(
        "pattern",
        check=Composite(NonEmptyString(), Regex()),
        importance=Importance.MEDIUM,
        doc="Regular expression in Java's syntax that must match the whole topic of a record.",
    )


class TopicNameMatches(KafkaPlugin, BatchPredicate):
    """Selects records whose whole topic matches a regular expression."""

    settings = TopicNameMatchesConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Compile the expression."""
        self._pattern = compile_pattern(TopicNameMatchesConfig(configs).pattern)

    def test(self, record: ConnectRecord) -> bool:
        """Return whether the topic of a record matches; False without a topic."""
        return self._matches(record.topic)

    def test_batch(self, batch: Batch) -> Any:
        """Return one result for all rows, which share their topic."""
        from hearth_transforms.struct_column import repeated

        return repeated(BOOLEAN_SCHEMA, self._matches(batch.topic), batch.num_rows)

    def _matches(self, topic: str | None) -> bool:
        return topic is not None and self._pattern.fullmatch(topic) is not None


class HasHeaderKeyConfig(Settings):
    """Settings of HasHeaderKey."""

    name: str = key("name", check=NonEmptyString(), importance=Importance.MEDIUM, doc="Name of the header.")


class HasHeaderKey(KafkaPlugin, BatchPredicate):
    """Selects records that have a header with the name."""

    settings = HasHeaderKeyConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the name."""
        self._name = HasHeaderKeyConfig(configs).name

    def test(self, record: ConnectRecord) -> bool:
        """Return whether a record has such a header."""
        return record.has_headers and bool(record.headers.all_with_name(self._name))

    def test_batch(self, batch: Batch) -> Any:
        """Return for every row whether it has such a header."""
        from hearth_transforms.struct_column import has_header

        return has_header(batch, self._name)


class RecordIsTombstone(KafkaPlugin, BatchPredicate):
    """Selects records whose value is null."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing: there are no settings."""

    def test(self, record: ConnectRecord) -> bool:
        """Return whether the value of a record is null."""
        return record.value is None

    def test_batch(self, batch: Batch) -> Any:
        """Return for every row whether its value is null."""
        return batch.column("value").is_null()
