"""Arrow is loaded on first use and not before."""

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


def test_first_use_loads_arrow_and_caches_the_name() -> None:
    """Inspecting the module, as tools and the import system do, does not load it."""
    path = ":".join(filter(None, sys.path))
    ended = subprocess.run([sys.executable, "-c", LATE], env={"PYTHONPATH": path}, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()


def test_module_has_exactly_pyarrows_names() -> None:
    """A wrong name raises Python's usual error."""
    assert arrow.RecordBatch is pa.RecordBatch
    assert arrow.compute is pyarrow.compute
    with pytest.raises(AttributeError, match="nonsense"):
        _ = arrow.nonsense
