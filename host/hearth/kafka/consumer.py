"""A group consumer: reads many messages from librdkafka in one call, as columns."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hearth.kafka.assignment import Assignment, RebalanceListener
from hearth.kafka.c_object import (
    cluster_metadata,
    first_error,
    new_client,
    new_configuration,
    partition_list,
    read_list,
)
from hearth.kafka.client_log import LOG_SETTING, LogQueue
from hearth.kafka.client_statistics import STATISTICS_SETTING, StatisticsKeeper
from hearth.kafka.commit_queue import CommitAnswer, CommitQueue
from hearth.kafka.fetched import Incoming, MessageQueue
from hearth.kafka.kafka_error import KafkaError, check, check_object, is_refusal
from hearth.kafka.library import CONSUMER, DESTROY_IMMEDIATE, ERR_STATE, OK, ErrorCallback, library
from hearth.kafka.membership import GroupIdentity, Membership, is_fenced, subscribe
from hearth.kafka.token import desk
from hearth.kafka.token_source import SOURCE
from hearth_api import TopicPartition

log = logging.getLogger(__name__)

MOST_MESSAGES = 15_000
"""Most messages of one poll, however small."""

STEP_MS = 10
SEEK_SECONDS = 0.01


class Consumer:
    """One member of a group; used by one thread, which others may ``wake``.

    With an ``identity`` (see ``Membership``) it removes members of earlier runs when it joins, and leaves the group at
    its end. A broker may fence such a member although no other replaced it: librdkafka keeps a commit while its
    coordinator is unavailable and, if the session ends meanwhile, sends it with a member id that the group has
    removed. The member then joins again, as after a lost session.
    """

    def __init__(self, config: Mapping[str, str], identity: GroupIdentity | None = None) -> None:
        self._library = library()
        self._topics: list[str] = []
        self._raised: BaseException | None = None
        self._source = config.get(SOURCE)
        self._membership = Membership(config, identity)
        self._assignment = Assignment(self._membership, config.get("auto.offset.reset", "largest"), self._fail)
        self._error_callback = ErrorCallback(self._note)
        self.statistics = StatisticsKeeper()
        self._open(wants_timestamps=True)

    def _open(self, wants_timestamps: bool) -> None:
        configuration = new_configuration(STATISTICS_SETTING | self._membership.new_config() | LOG_SETTING)
        self.statistics.listen(configuration)
        self._library.conf_set_rebalance_cb(configuration, self._assignment.callback)
        self._library.conf_set_error_cb(configuration, self._error_callback)
        client = new_client(CONSUMER, configuration)
        self._client: int | None = client
        check(self._library.poll_set_consumer(client))
        self._messages = MessageQueue(client, MOST_MESSAGES, self._assignment.revoked, wants_timestamps)
        self._commits = CommitQueue(client)
        self._log = LogQueue(client, "consumer")
        self._admission: Iterator[bool] | None = None
        self._is_admitted = self._is_subscribed = False

    @property
    def wants_timestamps(self) -> bool:
        """Return whether rows have timestamps; unset it if they are not read."""
        return self._messages.reader.wants_timestamps

    @wants_timestamps.setter
    def wants_timestamps(self, wanted: bool) -> None:
        self._messages.reader.wants_timestamps = wanted

    def listen(self, listener: RebalanceListener) -> None:
        """Set the rebalance listener; must be called before ``subscribe``."""
        self._assignment.listener = listener

    def topic_names(self, wait_ms: int = 30_000) -> list[str]:
        """Return the names of all topics that the broker shows to this client."""
        with cluster_metadata(self._client, wait_ms, of_all_topics=True) as found:
            topics = (found.topics[index] for index in range(found.topic_count))
            return [topic.name.decode() for topic in topics if topic.error == OK]

    def ask_for(self, topic: str, wait_ms: int) -> None:
        """Request the metadata of one topic, which creates it if ``allow.auto.create.topics`` and the broker allow it.

        librdkafka sends no such request for subscribed topics, unlike Java's consumer.
        """
        handle = self._library.topic_new(self._client, topic.encode(), None)
        try:
            with cluster_metadata(self._client, wait_ms, topic=handle):
                pass
        finally:
            self._library.topic_destroy(handle)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe to these topics; a name that starts with ``^`` is a POSIX pattern of librdkafka.

        ``poll`` joins the group, once no member of an earlier run is left in it.
        """
        self._topics = list(topics)
        self._is_subscribed = False

    def poll(self, wait_ms: int, most: int = MOST_MESSAGES) -> list[Incoming]:
        """Read up to ``most`` messages, waiting at most ``wait_ms`` for the first, or until ``wake``.

        Raises ``KafkaError`` when the consumer cannot continue, and what the listener raised.
        """
        self._log.flush()
        self._join()
        if not self._is_admitted:
            wait_ms = min(wait_ms, STEP_MS)
        try:
            with self._messages.piece(wait_ms, most) as pointers:
                self._reraise()
                return self._messages.read(pointers)
        except KafkaError:
            if not is_fenced(self._client) or not self._membership.is_renewable:
                raise
        self._restart()
        return []

    def wake(self) -> None:
        """End the current or next wait of ``poll``; may be called from any thread."""
        self._messages.wake()

    def is_member(self) -> bool:
        """Return whether the group has this member; False also if the group does not answer for a while."""
        return self._client is not None and self._membership.is_present(self._client)

    def _join(self) -> None:
        """Continue to join the group; a new client removes members of earlier runs first."""
        if self._client is None or not self._topics:
            return
        if self._admission is None:
            self._admission = self._membership.admission(self._client, self._topics, self._subscribe)
        if not self._is_admitted:
            self._is_admitted = next(self._admission, True)
        elif not self._is_subscribed:
            self._subscribe()

    def _subscribe(self) -> None:
        subscribe(self._client or 0, self._topics)
        self._is_subscribed = True

    def _restart(self) -> None:
        """Lose all partitions, and join as a new member with the next poll."""
        log.warning("%s: the group fenced this member, which joins again", self._membership)
        self._raised = None
        self._shut(0.0)
        self._open(self.wants_timestamps)
        self._reraise()

    def commit(self, offsets: Mapping[TopicPartition, int], number: int) -> None:
        """Send a commit; ``commit_answers`` returns its answer later, under this number."""
        self._commits.send(offsets, number)

    def commit_answers(self, wait_ms: int = 0) -> list[CommitAnswer]:
        """Return what became of commits, waiting up to ``wait_ms`` for the first."""
        return self._commits.answers(wait_ms)

    def committed(self, partitions: Iterable[TopicPartition], wait_ms: int = 30_000) -> dict[TopicPartition, int]:
        """Return the committed offsets; a partition without one is missing.

        Raises ``KafkaError``, also for a single partition; ``is_passing`` says whether to ask again.
        """
        with partition_list(partitions) as wanted:
            check(self._library.committed(self._client, wanted, wait_ms))
            check(first_error(wanted))
            return {partition: offset for partition, offset in read_list(wanted).items() if offset >= 0}

    def seek(self, offsets: Mapping[TopicPartition, int], wait_ms: int = 30_000) -> None:
        """Continue at these offsets; what was fetched before is dropped.

        Waits for partitions that were just assigned: librdkafka starts to read them on another thread.
        """
        give_up_at = time.monotonic() + wait_ms / 1000
        while True:
            with partition_list(offsets) as wanted:
                check_object(self._library.seek_partitions(self._client, wanted, wait_ms))
                error = first_error(wanted)
            if error != ERR_STATE or time.monotonic() >= give_up_at:
                check(error)
                return
            time.sleep(SEEK_SECONDS)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions until they are resumed; they stay assigned."""
        with partition_list(partitions) as wanted:
            check(self._library.pause_partitions(self._client, wanted))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Read from these partitions again."""
        with partition_list(partitions) as wanted:
            check(self._library.resume_partitions(self._client, wanted))

    def close(self, seconds: float = 30.0, *, hands_over: bool = False) -> None:
        """Leave the group, which revokes the partitions, and free the client.

        Waits at most ``seconds`` for a broker that does not answer; the group then removes this member when its
        session ends. With ``hands_over`` the member stays in the group, and the next run of the task removes it when
        it joins: until then no other member gets the partitions, and the group is never empty.
        """
        if self._client is None:
            return
        give_up_at = time.monotonic() + seconds
        # the last revocation runs in here or in _shut, and may still commit
        has_left = hands_over or self._membership.leave(self._client)
        has_subscribed = self._is_subscribed
        self._shut(seconds)
        if has_subscribed and not has_left and time.monotonic() < give_up_at:
            self._membership.retire(self._topics)
        self._reraise()

    def _shut(self, seconds: float) -> None:
        """Free the client, after an orderly close if that takes no longer than ``seconds``."""
        self._admission, self._assignment.is_closing = None, True
        left = self._library.queue_new(self._client)
        error = self._library.consumer_close_queue(self._client, left)
        if error:  # fatal: an orderly close is not possible
            self._library.error_destroy(error)
        give_up_at = time.monotonic() + seconds
        while not (error or self._library.consumer_closed(self._client)) and time.monotonic() < give_up_at:
            self._messages.drop(left)
        is_closed = self._library.consumer_closed(self._client)
        self._assignment.lose_what_is_left()
        client, self._client = self._client, None
        self._library.queue_destroy(left)
        self._messages.close()
        self._commits.close()
        self._log.close()
        self._library.destroy_flags(client, 0 if is_closed else DESTROY_IMMEDIATE)
        self._assignment.is_closing = False

    def _note(self, client: int, number: int, reason: bytes | None, _: Any) -> None:
        """Handle an error of the whole client; wrong credentials do not become right by waiting."""
        text = (reason or b"").decode("utf-8", "replace")
        has_worked = self._assignment.has_joined
        is_final = is_refusal(number, text, has_worked=has_worked)
        if has_worked and desk.has_ended(self._source):
            return  # wait for the next token
        if is_final and not self._assignment.is_closing:
            self._fail(KafkaError(number, text or None))

    def _fail(self, error: BaseException) -> None:
        """Keep the first error raised inside a C callback, for the next call that can raise it."""
        self._raised = self._raised or error

    def _reraise(self) -> None:
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
