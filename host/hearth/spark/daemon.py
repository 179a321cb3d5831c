"""The process Spark forks its Python workers from, with the heavy modules already in memory.

``spark.python.daemon.module`` names this module. A fork of a warm process starts at once and shares its memory;
``gc.freeze`` keeps the collector from writing to the shared pages. Nothing imported here may have started a thread.
"""

from __future__ import annotations

import gc

import confluent_kafka  # noqa: F401
import numpy as np
import pyarrow.compute
from pyspark.daemon import manager

import hearth.runtime.task
import hearth.spark.executor  # noqa: F401

if __name__ == "__main__":
    # The first array looks for pandas. Where that is installed, it is loaded here and not for a second in every fork.
    pyarrow.array(np.zeros(1))
    gc.collect()
    gc.freeze()
    manager()
