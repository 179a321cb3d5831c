"""The process Spark forks its Python workers from, with the heavy modules already in memory.

``spark.python.daemon.module`` names this module. A fork of a warm process starts at once and shares its memory;
``gc.freeze`` keeps the collector from writing to the shared pages. Nothing imported here may have started a thread.
"""

from __future__ import annotations

import gc

import confluent_kafka  # noqa: F401
import pyarrow.compute  # noqa: F401
from pyspark.daemon import manager

import hearth.runtime.task
import hearth.spark.executor  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
