"""librdkafka's C functions, as the record path calls them.

The library is the one bundled with confluent-kafka, so both use the same code and version. Names, arguments and
structures follow ``rdkafka.h`` of librdkafka 2.x.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from importlib import metadata
from pathlib import Path
from typing import Any

from hearth_api import ConnectError

PRODUCER, CONSUMER = 0, 1

EVENT_DELIVERY, EVENT_LOG, EVENT_ERROR, EVENT_COMMIT, EVENT_STATISTICS = 0x1, 0x4, 0x8, 0x20, 0x40

PARTITION_ANY = -1
OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID = -2, -1, -1001

OK = 0
ERR_ASSIGN_PARTITIONS, ERR_REVOKE_PARTITIONS = -175, -174
ERR_QUEUE_FULL, ERR_FATAL, ERR_NO_ENTITY, ERR_STATE = -184, -150, -156, -172

DESTROY_IMMEDIATE = 0x4
"""``RD_KAFKA_DESTROY_F_IMMEDIATE``: do not wait for brokers' answers; the threads end later, by themselves."""
ERR_PARTITION_EOF = -191
ERR_AUTHENTICATION, ERR_SSL = -169, -181
ERR_UNKNOWN_TOPIC, ERR_UNKNOWN_PARTITION, ERR_UNKNOWN_TOPIC_OR_PART = -188, -190, 3
ERR_DESTROY, ERR_PURGE_QUEUE, ERR_PURGE_INFLIGHT = -197, -152, -151
ERR_INVALID_DIFFERENT_RECORD, ERR_MSG_SIZE_TOO_LARGE = -138, 10
ERR_TIMED_OUT, ERR_PARTIAL = -185, -158
ERR_FENCED_INSTANCE_ID = 82
ERR_FENCED, ERR_INVALID_PRODUCER_EPOCH, ERR_PRODUCER_FENCED = -144, 47, 90

ADMIN_DELETE_GROUPS, ADMIN_DESCRIBE_GROUPS = 7, 13
ADMIN_DELETE_OFFSETS, ADMIN_LIST_OFFSETS, ADMIN_ALTER_OFFSETS = 8, 14, 15
"""``RD_KAFKA_ADMIN_OP_DELETEGROUPS``, ``DESCRIBECONSUMERGROUPS``, and three of ``CONSUMERGROUPOFFSETS``."""


class TopicPartitionStruct(ctypes.Structure):
    """``rd_kafka_topic_partition_t``."""

    _fields_ = [
        ("topic", c_char_p),
        ("partition", c_int32),
        ("offset", c_int64),
        ("metadata", c_void_p),
        ("metadata_size", c_size_t),
        ("opaque", c_void_p),
        ("error", c_int),
        ("private", c_void_p),
    ]


class TopicPartitionListStruct(ctypes.Structure):
    """``rd_kafka_topic_partition_list_t``."""

    _fields_ = [("count", c_int), ("size", c_int), ("elements", ctypes.POINTER(TopicPartitionStruct))]


class TopicMetadataStruct(ctypes.Structure):
    """``rd_kafka_metadata_topic_t``."""

    _fields_ = [("name", c_char_p), ("partition_count", c_int), ("partitions", c_void_p), ("error", c_int)]


class MetadataStruct(ctypes.Structure):
    """``rd_kafka_metadata_t``."""

    _fields_ = [
        ("broker_count", c_int),
        ("brokers", c_void_p),
        ("topic_count", c_int),
        ("topics", ctypes.POINTER(TopicMetadataStruct)),
        ("origin", c_int32),
        ("origin_name", c_char_p),
    ]


class GroupMemberStruct(ctypes.Structure):
    """``struct rd_kafka_group_member_info``."""

    _fields_ = [
        ("member_id", c_char_p),
        ("client_id", c_char_p),
        ("client_host", c_char_p),
        ("metadata", c_void_p),
        ("metadata_size", c_int),
        ("assignment", c_void_p),
        ("assignment_size", c_int),
    ]


class GroupStruct(ctypes.Structure):
    """``struct rd_kafka_group_info``."""

    _fields_ = [
        ("broker_id", c_int32),
        ("broker_host", c_char_p),
        ("broker_port", c_int),
        ("group", c_char_p),
        ("error", c_int),
        ("state", c_char_p),
        ("protocol_type", c_char_p),
        ("protocol", c_char_p),
        ("members", ctypes.POINTER(GroupMemberStruct)),
        ("member_count", c_int),
    ]


class GroupListStruct(ctypes.Structure):
    """``struct rd_kafka_group_list``."""

    _fields_ = [("groups", ctypes.POINTER(GroupStruct)), ("count", c_int)]


TopicPartitionList = ctypes.POINTER(TopicPartitionListStruct)
RebalanceCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int, TopicPartitionList, c_void_p)
ErrorCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
StatisticsCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
StartCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t)
SendCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
TokenCallback = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
LogCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)


def _group_request(request: str, kind: str, arguments: list[Any]) -> dict[str, tuple[Any, list[Any]]]:
    """Return the functions of a request about one group; ``arguments`` follow the group's name."""
    return {
        f"{kind}_new": (c_void_p, [c_char_p, *arguments]),
        f"{kind}_destroy": (None, [c_void_p]),
        request: (None, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]),
        f"event_{request}_result": (c_void_p, [c_void_p]),
        f"{request}_result_groups": (ctypes.POINTER(c_void_p), [c_void_p, c_void_p]),
    }


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_int, []),
    "conf_new": (c_void_p, []),
    "conf_destroy": (None, [c_void_p]),
    "conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "conf_set_events": (None, [c_void_p, c_int]),
    "conf_set_rebalance_cb": (None, [c_void_p, RebalanceCallback]),
    "conf_set_error_cb": (None, [c_void_p, ErrorCallback]),
    "conf_set_stats_cb": (None, [c_void_p, StatisticsCallback]),
    "conf_interceptor_add_on_new": (c_int, [c_void_p, c_char_p, StartCallback, c_void_p]),
    "interceptor_add_on_send": (c_int, [c_void_p, c_char_p, SendCallback, c_void_p]),
    "conf_set_oauthbearer_token_refresh_cb": (None, [c_void_p, TokenCallback]),
    "conf_enable_sasl_queue": (None, [c_void_p, c_int]),
    "queue_get_sasl": (c_void_p, [c_void_p]),
    "sasl_background_callbacks_enable": (c_void_p, [c_void_p]),
    "oauthbearer_set_token": (
        c_int,
        [c_void_p, c_char_p, c_int64, c_char_p, c_void_p, c_size_t, c_char_p, c_size_t],
    ),
    "oauthbearer_set_token_failure": (c_int, [c_void_p, c_char_p]),
    "conf_set_log_cb": (None, [c_void_p, LogCallback]),
    "new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "destroy_flags": (None, [c_void_p, c_int]),
    "err2str": (c_char_p, [c_int]),
    "err2name": (c_char_p, [c_int]),
    "fatal_error": (c_int, [c_void_p, c_char_p, c_size_t]),
    "last_error": (c_int, []),
    "topic_new": (c_void_p, [c_void_p, c_char_p, c_void_p]),
    "topic_destroy": (None, [c_void_p]),
    "topic_name": (c_char_p, [c_void_p]),
    "produce_batch": (c_int, [c_void_p, c_int32, c_int, c_void_p, c_int]),
    "produceva": (c_void_p, [c_void_p, c_void_p, c_size_t]),
    "error_code": (c_int, [c_void_p]),
    "error_string": (c_char_p, [c_void_p]),
    "error_is_fatal": (c_int, [c_void_p]),
    "error_is_retriable": (c_int, [c_void_p]),
    "error_destroy": (None, [c_void_p]),
    "init_transactions": (c_void_p, [c_void_p, c_int]),
    "begin_transaction": (c_void_p, [c_void_p]),
    "commit_transaction": (c_void_p, [c_void_p, c_int]),
    "abort_transaction": (c_void_p, [c_void_p, c_int]),
    "flush": (c_int, [c_void_p, c_int]),
    "purge": (c_int, [c_void_p, c_int]),
    "outq_len": (c_int, [c_void_p]),
    "queue_new": (c_void_p, [c_void_p]),
    "set_log_queue": (c_void_p, [c_void_p, c_void_p]),
    "event_log": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "queue_get_main": (c_void_p, [c_void_p]),
    "queue_get_consumer": (c_void_p, [c_void_p]),
    "queue_destroy": (None, [c_void_p]),
    "queue_poll": (c_void_p, [c_void_p, c_int]),
    "queue_yield": (None, [c_void_p]),
    "event_type": (c_int, [c_void_p]),
    "event_message_count": (c_size_t, [c_void_p]),
    "event_message_array": (c_size_t, [c_void_p, c_void_p, c_size_t]),
    "event_error": (c_int, [c_void_p]),
    "event_error_string": (c_char_p, [c_void_p]),
    "event_error_is_fatal": (c_int, [c_void_p]),
    "event_stats": (c_char_p, [c_void_p]),
    "event_opaque": (c_void_p, [c_void_p]),
    "event_topic_partition_list": (TopicPartitionList, [c_void_p]),
    "event_DescribeConsumerGroups_result": (c_void_p, [c_void_p]),
    "event_destroy": (None, [c_void_p]),
    "AdminOptions_new": (c_void_p, [c_void_p, c_int]),
    "AdminOptions_set_request_timeout": (c_int, [c_void_p, c_int, c_char_p, c_size_t]),
    "AdminOptions_destroy": (None, [c_void_p]),
    "DescribeConsumerGroups": (None, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]),
    "DescribeConsumerGroups_result_groups": (ctypes.POINTER(c_void_p), [c_void_p, c_void_p]),
    "ConsumerGroupDescription_error": (c_void_p, [c_void_p]),
    "ConsumerGroupDescription_member_count": (c_size_t, [c_void_p]),
    "ConsumerGroupDescription_member": (c_void_p, [c_void_p, c_size_t]),
    "MemberDescription_group_instance_id": (c_char_p, [c_void_p]),
    "MemberDescription_consumer_id": (c_char_p, [c_void_p]),
    **{
        function: signature
        for request in ("ListConsumerGroupOffsets", "AlterConsumerGroupOffsets", "DeleteConsumerGroupOffsets")
        for function, signature in _group_request(request, request, [TopicPartitionList]).items()
    },
    **_group_request("DeleteGroups", "DeleteGroup", []),
    "group_result_error": (c_void_p, [c_void_p]),
    "group_result_partitions": (TopicPartitionList, [c_void_p]),
    "list_groups": (c_int, [c_void_p, c_char_p, c_void_p, c_int]),
    "group_list_destroy": (None, [c_void_p]),
    "memberid": (c_void_p, [c_void_p]),
    "mem_malloc": (c_void_p, [c_void_p, c_size_t]),
    "mem_free": (None, [c_void_p, c_void_p]),
    "poll_set_consumer": (c_int, [c_void_p]),
    "subscribe": (c_int, [c_void_p, TopicPartitionList]),
    "unsubscribe": (c_int, [c_void_p]),
    "assign": (c_int, [c_void_p, TopicPartitionList]),
    "incremental_assign": (c_void_p, [c_void_p, TopicPartitionList]),
    "incremental_unassign": (c_void_p, [c_void_p, TopicPartitionList]),
    "rebalance_protocol": (c_char_p, [c_void_p]),
    "assignment_lost": (c_int, [c_void_p]),
    "offsets_for_times": (c_int, [c_void_p, TopicPartitionList, c_int]),
    "committed": (c_int, [c_void_p, TopicPartitionList, c_int]),
    "commit_queue": (c_int, [c_void_p, TopicPartitionList, c_void_p, c_void_p, c_void_p]),
    "seek_partitions": (c_void_p, [c_void_p, TopicPartitionList, c_int]),
    "pause_partitions": (c_int, [c_void_p, TopicPartitionList]),
    "resume_partitions": (c_int, [c_void_p, TopicPartitionList]),
    "metadata": (c_int, [c_void_p, c_int, c_void_p, c_void_p, c_int]),
    "metadata_destroy": (None, [c_void_p]),
    "consumer_close_queue": (c_void_p, [c_void_p, c_void_p]),
    "consumer_closed": (c_int, [c_void_p]),
    "consumer_poll": (c_void_p, [c_void_p, c_int]),
    "consume_batch_queue": (ctypes.c_ssize_t, [c_void_p, c_int, c_void_p, c_size_t]),
    "message_destroy": (None, [c_void_p]),
    "messages_count": (c_size_t, [c_void_p]),
    "messages_get": (c_void_p, [c_void_p, c_size_t]),
    "messages_destroy": (None, [c_void_p]),
    "message_errstr": (c_char_p, [c_void_p]),
    "message_timestamp": (c_int64, [c_void_p, c_void_p]),
    "message_headers": (c_int, [c_void_p, c_void_p]),
    "header_get_all": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "topic_partition_list_new": (TopicPartitionList, [c_int]),
    "topic_partition_list_destroy": (None, [TopicPartitionList]),
    "topic_partition_list_add": (c_void_p, [TopicPartitionList, c_char_p, c_int32]),
}


_PER_MESSAGE = frozenset({"message_timestamp", "message_headers", "message_destroy", "produceva"})
_RECENT = frozenset({"messages_count", "messages_get", "messages_destroy"})
"""Functions that an older librdkafka of the system may lack; called only for known versions."""


class Library:
    """The functions of librdkafka, without their ``rd_kafka_`` prefix.

    Those called once per message never wait, so they keep the GIL: releasing it costs more than the call.
    """

    def __init__(self, path: str) -> None:
        waiting, quick = ctypes.CDLL(path), ctypes.PyDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            if name in _RECENT and not hasattr(waiting, f"rd_kafka_{name}"):
                continue
            function = getattr(quick if name in _PER_MESSAGE else waiting, f"rd_kafka_{name}")
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"librdkafka's {name!r} is not declared in {__name__}")


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """Return the librdkafka that confluent-kafka uses; raises ``ConnectError`` if it cannot be found."""
    path = _packaged_path() or _loaded_path()
    if path is None:
        raise ConnectError("librdkafka was not found next to confluent-kafka", hint="reinstall confluent-kafka")
    return Library(path)


def _loaded_path() -> str | None:
    """Return the system's library, for a confluent-kafka that was built on this machine."""
    import confluent_kafka  # noqa: F401  -- loads it

    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    paths = (line.split(maxsplit=5)[-1].strip() for line in maps.read_text().splitlines() if "librdkafka" in line)
    return next(paths, None)


def _packaged_path() -> str | None:
    """Return the library of a confluent-kafka wheel, without loading its Python modules (6 MB)."""
    files = metadata.files("confluent-kafka") or []
    return next((str(file.locate()) for file in files if "librdkafka" in file.name), None)
