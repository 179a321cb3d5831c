"""One Spark session for the tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.datasource.writing import session

_COMPILE_LITTLE = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""The session lives for a minute, and nothing is measured."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Provide a local session, which finds the format by itself."""
    with session("local[2,2]", _COMPILE_LITTLE) as opened:
        yield opened
