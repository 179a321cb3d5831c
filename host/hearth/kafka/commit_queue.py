"""Commits of one client and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hearth.kafka.c_object import partition_list
from hearth.kafka.kafka_error import KafkaError, check
from hearth.kafka.library import EVENT_COMMIT, library
from hearth_api import TopicPartition


@dataclass(frozen=True)
class CommitAnswer:
    """The answer to a commit: its number, and the partitions whose offsets were refused."""

    number: int
    refused: dict[TopicPartition, KafkaError]


class CommitQueue:
    """Sends commits of a client and receives the answer to each, under its number.

    An answer may take as long as the coordinator is unavailable: librdkafka keeps the commit until then, or until the
    session ends. Closing the queue drops outstanding answers.
    """

    def __init__(self, client: int) -> None:
        self._library = library()
        self._client = client
        self._queue = self._library.queue_new(client)

    def send(self, offsets: Mapping[TopicPartition, int], number: int) -> None:
        """Send a commit."""
        with partition_list(offsets) as wanted:
            check(self._library.commit_queue(self._client, wanted, self._queue, None, number))

    def answers(self, wait_ms: int) -> list[CommitAnswer]:
        """Return answers to commits, waiting up to ``wait_ms`` for the first."""
        answers = []
        while event := self._library.queue_poll(self._queue, wait_ms):
            try:
                if self._library.event_type(event) == EVENT_COMMIT:
                    answers.append(self._answer(event))
            finally:
                self._library.event_destroy(event)
            wait_ms = 0
        return answers

    def _answer(self, event: int) -> CommitAnswer:
        """Return an answer; an error of the whole commit applies to every partition if none has its own."""
        content = self._library.event_topic_partition_list(event).contents
        places = [content.elements[index] for index in range(content.count)]
        of_all = self._library.event_error(event)
        refused = {
            TopicPartition(each.topic.decode(), each.partition): KafkaError(each.error or of_all)
            for each in places
            if each.error or (of_all and not any(place.error for place in places))
        }
        return CommitAnswer(int(self._library.event_opaque(event) or 0), refused)

    def close(self) -> None:
        """Free the queue."""
        self._library.queue_destroy(self._queue)
