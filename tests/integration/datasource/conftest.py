"""One Spark session for the tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.datasource.writing import session
from tests.spark_python import short_lived


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Provide a local session, which finds the format by itself."""
    with session("local[2,2]", short_lived()) as opened:
        yield opened
