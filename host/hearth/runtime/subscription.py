"""What a sink task reads: the topics it names, or all whose names match its pattern."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping

from hearth.runtime.kafka.consumer import Consumer
from hearth.runtime.kafka.library import KafkaError
from hearth_api import compile_pattern

log = logging.getLogger(__name__)

METADATA_AGE = "topic.metadata.refresh.interval.ms"
HIDDEN_TOPICS = "topic.blacklist"
_DEFAULT_AGE_MS = 300_000
_WAIT_MS = 5_000
_NO_TOPIC = "^$"


class Subscription:
    """Keeps a consumer subscribed to what a connector's configuration asks for.

    A pattern is Java's and matches a whole name (``KafkaConsumer.subscribe(Pattern)``). librdkafka knows POSIX's
    patterns only, so topics are matched here, each time metadata grows old (``metadata.max.age.ms``).
    """

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str]) -> None:
        self._topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
        self._pattern = None if self._topics else compile_pattern(config["topics.regex"])
        self._hidden = [re.compile(each) for each in settings.get(HIDDEN_TOPICS, "").split(",") if each]
        self._seconds = int(settings.get(METADATA_AGE, _DEFAULT_AGE_MS)) / 1000
        self._due = 0.0

    def begin(self, consumer: Consumer) -> None:
        """Subscribe for the first time, which joins the group, even where no topic matches yet."""
        if self._pattern is None:
            consumer.subscribe(self._topics)
        elif not self.renew(consumer):
            consumer.subscribe([_NO_TOPIC])

    def renew(self, consumer: Consumer) -> bool:
        """Match the pattern anew when that is due; returns whether the subscription changed."""
        if self._pattern is None or time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + self._seconds
        try:
            names = consumer.topic_names(_WAIT_MS)
        except KafkaError as error:  # the broker is away: the next look may find it
            log.warning("topics are not matched with %s now: %s", self._pattern.pattern, error)
            self._due = time.monotonic() + min(self._seconds, _WAIT_MS / 1000)
            return False
        visible = (name for name in names if not any(hidden.match(name) for hidden in self._hidden))
        matching = sorted(name for name in visible if self._pattern.fullmatch(name))
        if matching == self._topics:
            return False
        self._topics = matching
        consumer.subscribe(matching or [_NO_TOPIC])
        return True
