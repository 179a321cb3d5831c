"""What a sink task reads: the topics it names, or all whose names match its pattern."""

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
    """Keeps a consumer subscribed to what a connector's configuration asks for.

    A pattern is Java's and matches a whole name (``KafkaConsumer.subscribe(Pattern)``). librdkafka knows POSIX's
    patterns only, so topics are matched here, each time metadata grows old (``metadata.max.age.ms``). For a topic that
    is named and not there Java's consumer asks again at once; librdkafka would wait for that age, five minutes.
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
        """Return the moment of the monotonic clock at which to renew it: never, where all that was named is there."""
        looks = [self._due] if self._pattern is not None else []
        looks += [self._next_look] if self._late else []
        return min(looks, default=math.inf)

    def renew(self, consumer: Consumer) -> bool:
        """Subscribe once there is a topic, and anew when the pattern matches others; returns whether that happened."""
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
        except KafkaError as error:  # the broker is away: the next look may find it
            log.warning("topics are not matched with %s now: %s", self._pattern.pattern, error)
            self._due = time.monotonic() + min(self._seconds, _WAIT_MS / 1000)
            return
        visible = (name for name in names if not any(hidden.match(name) for hidden in self._hidden))
        self._topics = sorted(name for name in visible if self._pattern.fullmatch(name))

    def _look_for_late(self, consumer: Consumer) -> None:
        """Ask for all topics while a named one has not been seen: librdkafka takes notice of the answer by itself.

        The broker may make a topic that is asked for by its name. One that was seen once is not asked for again, so
        that nobody makes anew what somebody has deleted.
        """
        if not self._late or time.monotonic() < self._next_look:
            return
        with contextlib.suppress(KafkaError):  # the broker is away
            self._late -= set(consumer.topic_names(_LATE_WAIT_MS))
            for topic in sorted(self._late):
                consumer.ask_for(topic, _LATE_WAIT_MS)
        self._next_look = time.monotonic() + _LATE_SECONDS
