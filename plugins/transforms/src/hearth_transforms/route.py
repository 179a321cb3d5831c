"""Changes the topics of batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hearth_api.batch import Batch


def rerouted(batch: Batch, topic: str | None) -> Batch:
    """Return the batch with another topic; a sink's original topic is kept."""
    original = batch.original_topic
    if original is None and batch.column("offset") is not None:  # only a batch read from Kafka has offsets
        original = batch.topic
    return batch.replace(topic=topic, original_topic=original)


def routed(batch: Batch, topics: Sequence[str | None]) -> list[Batch]:
    """Return a batch for each run of rows with the same new topic; ``topics`` has the topic of each row."""
    parts = []
    start = 0
    for topic, rows in groupby(topics):
        count = sum(1 for _ in rows)
        parts.append(rerouted(batch.slice(start, count), topic))
        start += count
    return parts
