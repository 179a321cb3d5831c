"""Arrow is loaded by its first use and not before."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute
import pytest

from hearth_api.batch import arrow

LATE = """
import inspect, sys
from hearth_api import STRING_SCHEMA
from hearth_api.batch import arrow, values_to_column
inspect.getmembers(arrow)
assert not hasattr(arrow, "__path__") and "pyarrow" not in sys.modules
values_to_column(STRING_SCHEMA, ["a"])
assert "pyarrow" in sys.modules and "array" in vars(arrow)
"""


def test_the_first_use_loads_it_and_is_remembered() -> None:
    """What looks at a module, as tools and the import system do, is no use of it."""
    path = ":".join(filter(None, sys.path))
    ended = subprocess.run([sys.executable, "-c", LATE], env={"PYTHONPATH": path}, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()


def test_it_has_what_pyarrow_has_and_nothing_else() -> None:
    """The error of a wrong name is Python's own."""
    assert arrow.RecordBatch is pa.RecordBatch
    assert arrow.compute is pyarrow.compute
    with pytest.raises(AttributeError, match="nonsense"):
        _ = arrow.nonsense
