"""RegexRouter: changes topics that match a regular expression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api import DataError, Importance, Regex, Settings, key
from hearth_api.batch import Batch, BatchTransformation
from hearth_api.java import PatternError, compile_pattern, compile_replacement
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.route import rerouted
from hearth_transforms.side import R


class RegexRouterConfig(Settings):
    """Settings of RegexRouter."""

    regex: str = key(
        "regex",
        check=Regex(),
        importance=Importance.HIGH,
        doc="Regular expression in Java's syntax; topics that match it as a whole are changed.",
    )
    replacement: str = key(
        "replacement",
        importance=Importance.HIGH,
        doc="The new topic; $1 and ${name} are replaced by the text of a group, and \\ escapes the next character.",
    )


class RegexRouter(KafkaPlugin, BatchTransformation):
    """Changes the topic of records if a regular expression matches the whole topic."""

    settings = RegexRouterConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Compile the expression; an invalid replacement fails the first matching record."""
        config = RegexRouterConfig(configs)
        self._regex = compile_pattern(config.regex)
        self._replacement = config.replacement
        self._routed = lru_cache(maxsize=1000)(self._route)

    def apply(self, record: R) -> R:
        """Return the record with its new topic."""
        topic = self._routed(record.topic)
        return record if topic == record.topic else record.new_record(topic=topic)

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Return the batch with its new topic; a sink's original topic is kept."""
        return [rerouted(batch, self._routed(batch.topic))]

    def _route(self, topic: str | None) -> str:
        if topic is None:
            raise DataError("a record without topic cannot be routed")
        if self._regex.fullmatch(topic) is None:
            return topic
        try:
            # As in Java the first match is replaced, which need not be the whole topic: t.*? matches only the t.
            return self._regex.sub(compile_replacement(self._replacement, self._regex), topic, count=1)
        except PatternError as error:
            raise DataError(str(error)) from error
