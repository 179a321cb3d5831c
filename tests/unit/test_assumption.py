"""Undocumented behaviour of Arrow and librdkafka on which the record path relies (decision 0018).

Neither library promises it, so pyproject.toml pins the versions for which these tests, and those of the clients, ran.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth.kafka import library as rdkafka
from hearth.kafka.c_memory import FETCHED, MESSAGE, locate, message_list, message_type, messages
from hearth.kafka.c_object import new_client, new_configuration

ROOT = Path(__file__).parents[2]
POOL = pa.proxy_memory_pool(pa.default_memory_pool())
"""Has to outlive the results."""


@pytest.mark.parametrize("name", ["pyarrow", "confluent-kafka"])
def test_the_installed_versions_are_the_pinned_ones(name: str) -> None:
    """To change a version, read the decision, run these tests and update the version."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pinned = re.findall(rf'^    "{name}==([0-9.]+)(?: ;[^"]*)?"', project, re.MULTILINE)
    assert version(name) in pinned


def pieces(content: bytes, *spans: tuple[int, int], width: Any = np.int64) -> Any:
    """Return an array whose every second element is a slice of the content; the elements between them are the gaps."""
    offsets = [edge for start, size in spans for edge in (start, start + size)]
    buffers = [None, pa.py_buffer(np.array([*offsets, len(content)], width)), pa.py_buffer(content)]
    type_ = pa.large_binary() if width is np.int64 else pa.binary()
    return pa.Array.from_buffers(type_, 2 * len(spans), buffers)


def every_second(array: Any) -> Any:
    """Take the slices."""
    return array.take(pa.array(np.arange(0, len(array), 2)))


@pytest.mark.parametrize("width", [np.int64, np.int32])
def test_take_ignores_offsets_of_elements_it_skips(width: Any) -> None:
    """Slices may have any order and overlap: then the elements between them end before they start."""
    taken = every_second(pieces(b"0123456789", (7, 3), (0, 2), (1, 4), (5, 0), width=width))
    assert taken.to_pylist() == [b"789", b"01", b"1234", b""]


@pytest.mark.parametrize("width", [np.int64, np.int32])
def test_take_packs_slices_contiguously_from_the_start(width: Any) -> None:
    """So their memory is an array of structures if all are of one size, or rows of several slices."""
    taken = every_second(pieces(b"0123456789", (6, 2), (0, 2), (4, 2), width=width))
    assert (taken.offset, taken.null_count) == (0, 0)
    assert taken.buffers()[2].to_pybytes()[:6] == b"670145"
    assert np.frombuffer(taken.buffers()[1], width, 4).tolist() == [0, 2, 4, 6]


UNREADABLE = """
import ctypes, mmap
import numpy as np, pyarrow as pa
size = mmap.PAGESIZE
memory = mmap.mmap(-1, 3 * size)
memory[:3], memory[-3:] = b"one", b"two"
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(base + size), ctypes.c_size_t(size), 0) == 0
offsets = np.array([0, 3, 3 * size - 3, 3 * size, 3 * size])
whole = pa.foreign_buffer(base, 3 * size)
array = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 4, [None, pa.py_buffer(offsets), whole])
print(array.take(pa.array([0, 2])).to_pylist())
"""


def test_take_reads_nothing_between_the_slices() -> None:
    """The gap may be foreign memory, or none: an unreadable page in the middle does no harm."""
    ended = subprocess.run([sys.executable, "-c", UNREADABLE], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "[b'one', b'two']"), ended.stderr


def test_take_reserves_memory_by_the_last_offset() -> None:
    """It uses the mean size of all elements, and reads only the first and the last offset for that."""
    content = bytes(1 << 20)
    offsets = np.array([0, 1, len(content) - 1, len(content), 8])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    array = pa.Array.from_buffers(pa.large_binary(), 4, buffers)
    taken = pa.compute.take(array, pa.array([0, 2]), memory_pool=POOL)
    assert taken.to_pylist() == [b"\0", b"\0"]
    assert POOL.max_memory() < 1 << 12


def test_a_cast_to_small_offsets_moves_no_bytes() -> None:
    """Data copied once out of librdkafka's memory is not copied again."""
    taken = every_second(pieces(b"0123456789", (6, 2), (0, 2)))
    assert taken.cast(pa.binary()).buffers()[2].address == taken.buffers()[2].address


def test_librdkafka_error_numbers_match_their_names() -> None:
    """They are an enumeration of its header, which no function returns."""
    numbers = {name: number for name, number in vars(rdkafka).items() if name.startswith("ERR_")}
    known_names = {name: rdkafka.library().err2name(number).decode().lstrip("_") for name, number in numbers.items()}
    ours = {name: name.removeprefix("ERR_") for name in numbers}
    assert known_names == {**ours, "ERR_NO_ENTITY": "NOENT"}


def test_struct_layouts_are_known_for_the_installed_librdkafka() -> None:
    """With other versions its public functions are called, and a timestamp of 0 cannot be written (decision 0006)."""
    assert message_type(rdkafka.library()) is FETCHED


def test_a_message_list_is_a_count_and_addresses() -> None:
    """One call frees the whole list; librdkafka's own functions, which rely on it, read it too."""
    lib = rdkafka.library()
    numbers = [8, 1 << 40, 16]
    made = message_list(lib, np.array(numbers, np.int64))
    assert [lib.messages_get(made, index) for index in range(lib.messages_count(made))] == numbers
    lib.mem_free(None, made)
    lib.messages_destroy(message_list(lib, np.array([], np.int64)))


def test_a_batch_is_not_copied_and_refuses_single_messages_when_its_queue_is_full() -> None:
    """Therefore columns are kept until their delivery, and the producer itself enforces the bounds."""
    lib = rdkafka.library()
    configuration = new_configuration(
        {"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": "2", "log_level": "0"}
    )
    lib.conf_set_events(configuration, rdkafka.EVENT_DELIVERY)
    client = new_client(rdkafka.PRODUCER, configuration)
    queue, topic = lib.queue_get_main(client), lib.topic_new(client, b"t", None)
    values = pa.array([b"first", b"second", b"third"])
    rows = np.zeros(3, MESSAGE)
    rows["value"], rows["value_size"] = locate(values)
    rows["opaque"] = [7, 8, 9]
    assert lib.produce_batch(topic, 0, 0, rows.ctypes.data, 3) == 2
    assert rows["error"].tolist() == [0, 0, rdkafka.ERR_QUEUE_FULL]
    assert lib.purge(client, 0x1 | 0x2) == rdkafka.OK
    found = delivered(queue)
    lib.topic_destroy(topic)
    lib.queue_destroy(queue)
    lib.destroy_flags(client, rdkafka.DESTROY_IMMEDIATE)
    assert found["opaque"].tolist() == [7, 8]
    assert found["value"].tolist() == rows["value"][:2].tolist()
    assert set(found["error"].tolist()) == {rdkafka.ERR_PURGE_QUEUE}


def delivered(queue: int) -> Any:
    """Return the messages of the next delivery event, which has pointers to them."""
    lib = rdkafka.library()
    while lib.event_type(event := lib.queue_poll(queue, 10_000)) == rdkafka.EVENT_ERROR:
        lib.event_destroy(event)  # no broker listens at that address
    pointers = np.empty(lib.event_message_count(event), np.int64)
    lib.event_message_array(event, pointers.ctypes.data, len(pointers))
    found = messages(pointers)
    lib.event_destroy(event)
    return found
