"""Rows for a producer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hearth.kafka.outgoing import Outgoing, apart


def test_rows_for_several_topics_are_those_for_each() -> None:
    """With all their columns, and with their numbers; those for one topic stay as they are."""
    values = pa.array([b"a", b"b", b"c"], pa.binary())
    one = Outgoing("one", values)
    several = Outgoing("", values, None, np.arange(3), np.arange(7, 10), spans=[("t", 0, 1), ("u", 1, 3)])
    assert one.by_topic == (("one", 0, 3),)
    assert several.by_topic == [("t", 0, 1), ("u", 1, 3)]
    found = [*apart([(one, np.arange(3)), (several, np.array([2, 0, 1]))])]
    assert found[0][0] is one
    assert [(own.topic, own.value.to_pylist(), numbers.tolist()) for own, numbers in found[1:]] == [
        ("t", [b"a"], [2]),
        ("u", [b"b", b"c"], [0, 1]),
    ]
    assert [(own.partition.tolist(), own.timestamp.tolist(), own.spans) for own, _ in found[1:]] == [
        ([0], [7], ()),
        ([1, 2], [8, 9], ()),
    ]
