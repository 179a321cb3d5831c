"""The program of cases w, x, y and through: one session of Spark that reads, and says in JSON what that took.

``python -m tests.bench.frame_session CASE FOLDER BUNDLE ROWS``, and for ``through`` what servers and which topic.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.bench.meter import Meter

LINE = "{:099}\n"
SAMPLES, WARM_UP = 100, 10
WARM = 3
"""Runs before one counts: the JVM compiles what it runs often."""
KAFKA_SOURCE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1"
"""Spark's own source of Kafka. There is none of 4.2 or 4.3 to be had; batch reads of this one run with those, too."""


class FrameSession:
    """A session with a file of lines to be read."""

    def __init__(self, folder: Path, bundle: str, rows: int, meter: Meter, topic: tuple[str, ...] = ()) -> None:
        self._folder, self._rows, self._meter = folder, rows, meter
        self._bundle, self._topic = bundle, topic
        self._lines = folder / "lines.txt"
        builder = (
            SparkSession.builder.master("local[3]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
        )
        if topic:
            builder = builder.config("spark.jars.packages", KAFKA_SOURCE)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")

    def stop(self) -> None:
        """End it."""
        self._spark.stop()

    def batch(self) -> dict[str, float]:
        """Return rates of rows, read whole, their values alone and by Spark itself; and what the least read costs."""
        self._write(self._rows)
        one = self._folder / "one.txt"
        one.write_text("x\n")
        whole = self._timed(lambda: self._noop(self._read(self._lines)))
        value = self._timed(lambda: self._noop(self._read(self._lines, "value string")))
        text = self._timed(lambda: self._noop(self._spark.read.text(str(self._lines))))
        least = self._timed(lambda: self._noop(self._read(one, "value string")))
        per_row = 1e6 / self._rows
        return {
            "whole": self._rows / whole[0], "value": self._rows / value[0], "text": self._rows / text[0],
            "least": least[0], "cpu": whole[1] * per_row, "text_cpu": text[1] * per_row,
        }  # fmt: skip

    def stream(self) -> dict[str, float]:
        """Return the rate of a streaming read that ends, from its start to its end, and its CPU."""
        self._write(self._rows)
        seconds, cpu = self._timed(self._drain, warm=1)
        return {"rate": self._rows / seconds, "cpu": cpu * 1e6 / self._rows}

    def latency(self) -> dict[str, float]:
        """Return the milliseconds from a line that is appended to a micro-batch that has it."""
        self._lines.touch()
        seen: list[float] = []
        query = (
            self._streamed("latency").writeStream
            .foreachBatch(lambda rows, _: seen.extend(time.time() for _ in rows.collect()))
            .option("checkpointLocation", str(self._folder / "latency-checkpoint")).start()
        )  # fmt: skip
        taken = []
        try:
            for number in range(WARM_UP + SAMPLES):
                time.sleep(random.uniform(0.0, 0.5))
                began = time.time()
                with self._lines.open("a") as file:
                    file.write("x\n")
                while len(seen) <= number:
                    time.sleep(0.0005)
                    assert time.time() < began + 60, query.exception()
                taken.append((seen[number] - began) * 1000)
        finally:
            query.stop()
        taken = sorted(taken[WARM_UP:])
        return {"p50": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)]}

    def through(self) -> dict[str, float]:
        """Return the rate and the CPU of a batch read of a topic that holds the lines, by Spark's own source."""
        servers, topic = self._topic
        reader = self._spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
        seconds, cpu = self._timed(lambda: self._noop(reader.option("subscribe", topic).load()))
        return {"rate": self._rows / seconds, "cpu": cpu * 1e6 / self._rows}

    def _write(self, rows: int) -> None:
        with self._lines.open("w") as file:
            file.writelines(map(LINE.format, range(rows)))

    def _options(self, path: Path) -> dict[str, str]:
        return {"connector.class": "FileStreamSource", "file": str(path), "topic": "t", "plugin.path": self._bundle}

    def _read(self, path: Path, schema: str | None = None) -> DataFrame:
        reader = self._spark.read.format("hearth").options(**self._options(path))
        return (reader if schema is None else reader.schema(schema)).load()

    def _streamed(self, name: str) -> DataFrame:
        reader = self._spark.readStream.format("hearth").options(**self._options(self._lines))
        return reader.option("hearth.spool", str(self._folder / f"{name}-spool")).schema("value string").load()

    def _drain(self) -> None:
        for left in ("drain-spool", "drain-checkpoint"):
            shutil.rmtree(self._folder / left, ignore_errors=True)
        writer = self._streamed("drain").writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(self._folder / "drain-checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    @staticmethod
    def _noop(frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def _timed(self, act: Callable[[], Any], warm: int = WARM) -> tuple[float, float]:
        """Return the seconds and CPU seconds of the middle one of three runs, once it is warm."""
        found = []
        for number in range(warm + 3):
            before, began = self._meter.refreshed().cpu, time.monotonic()
            act()
            seconds = time.monotonic() - began
            if number >= warm:
                found.append((seconds, self._meter.refreshed().cpu - before))
        return sorted(found)[1]


def main(case: str, folder: Path, bundle: str, rows: int, *topic: str) -> None:
    """Run one case and print what it found."""
    with Meter(os.getpid()) as meter:
        session = FrameSession(folder, bundle, rows, meter, topic)
        try:
            acts = {"w": session.batch, "x": session.stream, "y": session.latency, "through": session.through}
            found = acts[case]()
        finally:
            session.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), *sys.argv[5:])
