"""Subscription of a sink task: the topics it names, or all that match its pattern."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import time

from hearth.kafka.consumer import Consumer
from hearth.kafka.kafka_error import KafkaError
from hearth.runtime.plan import SinkPlan
from hearth_api.java import compile_pattern

log = logging.getLogger(__name__)

_WAIT_MS = 5_000
_NO_TOPIC = "^$"
_LATE_SECONDS = 2.0
_LATE_WAIT_MS = 1_000


class Subscription:
    """Keeps a consumer subscribed to the topics of a connector's configuration.

    A pattern is Java's and matches whole names (``KafkaConsumer.subscribe(Pattern)``). librdkafka supports only POSIX
    patterns, so topics are matched here, whenever metadata expires (``metadata.max.age.ms``). Java's consumer looks
    for a missing topic again at once; librdkafka would wait for the metadata's age, five minutes.
    """

    def __init__(self, sink: SinkPlan) -> None:
        self._topics = list(sink.topics)
        self._pattern = None if sink.topics_regex is None else compile_pattern(sink.topics_regex)
        self._hidden = [re.compile(each) for each in sink.hidden_topics]
        self._seconds = sink.metadata_age
        self._due = 0.0
        self._subscribed: list[str] | None = None
        self._late = set(self._topics)
        self._next_look = 0.0

    @property
    def next_look(self) -> float:
        """Return the monotonic time of the next check: never, if all named topics exist."""
        looks = [self._due] if self._pattern is not None else []
        looks += [self._next_look] if self._late else []
        return min(looks, default=math.inf)

    def renew(self, consumer: Consumer) -> bool:
        """Subscribe to the topics, and again when the pattern matches others; return whether that happened."""
        self._match_when_due(consumer)
        if self._topics == (self._subscribed or []):
            self._look_for_late(consumer)
            return False
        self._subscribed = self._topics
        self._next_look = time.monotonic() + _LATE_SECONDS
        consumer.subscribe(self._topics or [_NO_TOPIC])
        return True

    def _match_when_due(self, consumer: Consumer) -> None:
        if self._pattern is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._seconds
        try:
            names = consumer.topic_names(_WAIT_MS)
        except KafkaError as error:  # the broker may be back at the next check
            log.warning("topics cannot be matched with %s now: %s", self._pattern.pattern, error)
            self._due = time.monotonic() + min(self._seconds, _WAIT_MS / 1000)
            return
        visible = (name for name in names if not any(hidden.match(name) for hidden in self._hidden))
        self._topics = sorted(name for name in visible if self._pattern.fullmatch(name))

    def _look_for_late(self, consumer: Consumer) -> None:
        """Request the metadata of all topics while a named one is missing; librdkafka updates itself from it.

        The broker may create a topic that is requested by name. A topic that was seen once is not requested again, so
        that a deleted topic is not recreated.
        """
        if not self._late or time.monotonic() < self._next_look:
            return
        with contextlib.suppress(KafkaError):  # the broker is unavailable
            self._late -= set(consumer.topic_names(_LATE_WAIT_MS))
            for topic in sorted(self._late):
                consumer.ask_for(topic, _LATE_WAIT_MS)
        self._next_look = time.monotonic() + _LATE_SECONDS
