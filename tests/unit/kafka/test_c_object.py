"""Lists of topic partitions, to librdkafka and back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.kafka.c_object import first_error, partition_list, read_list
from hearth.kafka.library import OFFSET_INVALID
from hearth_api import TopicPartition

PARTITIONS = st.builds(
    TopicPartition,
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1),
    st.integers(0, 2**31 - 1),
)


@settings(deadline=None)  # the first call imports
@given(st.dictionaries(PARTITIONS, st.integers(0, 2**62), max_size=20))
def test_partitions_and_offsets_come_back(offsets: dict[TopicPartition, int]) -> None:
    """What is written into a C list is read from it."""
    with partition_list(offsets) as pointer:
        assert read_list(pointer) == offsets


def test_partitions_without_offsets_have_none() -> None:
    """A list of partitions alone, each of them once, asks librdkafka for its own choice of offset."""
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    with partition_list([first, second, first]) as pointer:
        assert read_list(pointer) == {first: OFFSET_INVALID, second: OFFSET_INVALID}


def test_empty_list_is_a_list() -> None:
    """Nothing assigned is an answer, too."""
    with partition_list([]) as pointer:
        assert read_list(pointer) == {}
        assert first_error(pointer) == 0


def test_error_of_any_partition_is_found() -> None:
    """A commit can fail for a single partition of many."""
    with partition_list([TopicPartition("a", number) for number in range(3)]) as pointer:
        assert first_error(pointer) == 0
        pointer.contents.elements[2].error = 25
        pointer.contents.elements[1].error = 22
        assert first_error(pointer) == 22
