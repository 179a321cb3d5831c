"""Bundles that need another Python than the host's, on every one that Hearth supports and this machine has."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hearth.discovery import Bundle
from hearth.discovery.catalogue import read
from hearth.isolation import uv
from hearth.isolation.environment_refused import UvFailed
from hearth.isolation.environment_store import user_environments
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_api import STRING_SCHEMA
from hearth_api.batch import Batch, column_to_headers
from hearth_execution.order import number_rows
from hearth_execution.transformation import Step
from hearth_stage.plugin_call import Configure, Load, WantedPlugin
from hearth_stage.transformation_call import Apply
from tests.bundles import build

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
PYTHONS = re.findall(r"Programming Language :: Python :: (3\.[0-9]+)", PROJECT.read_text())
CODE = """
import sys
import pyarrow.compute as pc
from hearth_api import Header, STRING_SCHEMA, Transformation
from hearth_api.batch import BatchTransformation

class Alone(Transformation):
    def configure(self, configs): ...
    def apply(self, record):
        record.headers.add(Header("python", STRING_SCHEMA, sys.implementation.cache_tag))
        return record.new_record(value=f"{record.value}, alone")

class Together(BatchTransformation, Alone):
    def apply_batch(self, batch):
        return [batch.with_columns(value=pc.binary_join_element_wise(batch.column("value"), "together", ", "))]
"""


def needing(folder: Path, python: str) -> Bundle:
    """Return a bundle that needs a Python, where this machine has it."""
    try:
        uv.run("python", "find", "--no-project", f"=={python}.*")
    except UvFailed:
        pytest.skip(f"this machine has no Python {python}")
    points = {"hearth.transformations": {f"a.{name}": f"demo:{name}" for name in ("Alone", "Together")}}
    build.plain_wheel(folder, "demo", groups=points, requires_python=f"=={python}.*", code=CODE)
    found = read(folder)
    assert isinstance(found, Bundle)
    return found


@pytest.mark.long  # where a Python is not the host's, 60 MB come from the index once
@pytest.mark.parametrize("python", PYTHONS)
def test_plugins_run_on_the_python_that_their_bundle_needs(python: str, tmp_path: Path) -> None:
    """Records and columns go there and back; Arrow is the one that Hearth asks for there."""
    environment = user_environments().ensure(needing(tmp_path, python))
    assert (environment.command_line()[0] == sys.executable) is (host().version.startswith(f"{python}."))
    data = pa.RecordBatch.from_arrays(
        [pa.array(["a", "b"]), pa.array([0, 0], pa.int32())], names=["value", "partition"]
    )
    batch = number_rows(Batch("t", None, STRING_SCHEMA, data))
    stage = Stage.start(environment, f"python-{python}")
    try:
        stage.call(Configure("source", 0, 0))
        stage.call(
            Load([WantedPlugin(f"transforms.{name}", f"a.{name}", f"demo:{name}") for name in ("Alone", "Together")])
        )
        outcome = stage.call(Apply([Step("transforms.Alone"), Step("transforms.Together")], [batch]))
    finally:
        stage.close()
    assert outcome.failures == []
    (changed,) = outcome.batches
    assert changed.column("value").to_pylist() == ["a, alone, together", "b, alone, together"]
    tag = f"cpython-{python.replace('.', '')}"
    assert [[each.value for each in own or ()] for own in column_to_headers(changed.column("headers"))] == [[tag]] * 2
