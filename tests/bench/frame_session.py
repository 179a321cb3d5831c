"""The program of cases w, x, y and through: a Spark session that reads, and prints its figures as JSON.

``python -m tests.bench.frame_session CASE FOLDER BUNDLE ROWS``, for ``through`` followed by servers and topic.
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
"""Warm-up runs: the JVM compiles code that runs often."""
KAFKA_SOURCE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1"
"""Spark's Kafka source. There is no release for 4.2 or 4.3; this one's batch reads work with those, too."""


class FrameSession:
    """A session with a file of lines to read."""

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
        """Stop it."""
        self._spark.stop()

    def batch(self) -> dict[str, float]:
        """Return the rates of all columns, of values only and of Spark's reader, the time of one row, and CPU time."""
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
        """Return the rate of a streaming read that ends, including its start, and its CPU."""
        self._write(self._rows)
        seconds, cpu = self._timed(self._drain, warm=1)
        return {"rate": self._rows / seconds, "cpu": cpu * 1e6 / self._rows}

    def latency(self) -> dict[str, float]:
        """Return the milliseconds from appending a line to a micro-batch with it."""
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
                started = time.time()
                with self._lines.open("a") as file:
                    file.write("x\n")
                while len(seen) <= number:
                    time.sleep(0.0005)
                    assert time.time() < started + 60, query.exception()
                taken.append((seen[number] - started) * 1000)
        finally:
            query.stop()
        taken = sorted(taken[WARM_UP:])
        return {"p50": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)]}

    def through(self) -> dict[str, float]:
        """Return the rate and the CPU of a batch read of the topic with the lines, with Spark's Kafka source."""
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
        """Return the seconds and CPU seconds of the median of three runs after the warm-up."""
        found = []
        for number in range(warm + 3):
            before, started = self._meter.refreshed().cpu, time.monotonic()
            act()
            seconds = time.monotonic() - started
            if number >= warm:
                found.append((seconds, self._meter.refreshed().cpu - before))
        return sorted(found)[1]


def main(case: str, folder: Path, bundle: str, rows: int, *topic: str) -> None:
    """Run one case and print its figures."""
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
