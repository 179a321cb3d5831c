"""Bundles that need another Python than the host's, for every supported Python on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.isolation import uv
from hearth.isolation.environment_refused import UvFailed
from tests.bundles import build
from tests.integration.conftest import Host
from tests.integration.test_pipeline import greetings, values
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
PYTHONS = re.findall(r"Programming Language :: Python :: (3\.[0-9]+)", PROJECT.read_text())
KINDS = ("Alone", "Together")
CODE = """
import sys
import pyarrow as pa
import pyarrow.compute as pc
from hearth_api import Transformation
from hearth_api.batch import BatchTransformation

class Alone(Transformation):
    def configure(self, configs):
        self.told = f" {sys.implementation.cache_tag}"

    def apply(self, record):
        return record.new_record(value=record.value + self.told)

class Together(BatchTransformation, Alone):
    def apply_batch(self, batch):
        told = pc.binary_join_element_wise(batch.column("value"), pa.scalar("in columns"), f"{self.told} ")
        return [batch.with_columns(value=told)]
"""


def is_here(python: str) -> bool:
    """Return whether this machine has a Python where Hearth looks for one."""
    try:
        return bool(uv.run("python", "find", "--no-project", f"=={python}.*"))
    except UvFailed:
        return False


@pytest.fixture
def pythons(host: Host) -> Iterator[list[str]]:
    """Provide the installed Pythons; each has a bundle that requires it on the plugin.path, with two steps."""
    found = [python for python in PYTHONS if is_here(python)]
    if len(found) < 2:
        pytest.skip("this machine has no Python but the host's, among those that Hearth supports")
    wheels = []
    for python in found:
        points = {"hearth.transformations": {f"{kind}{python[2:]}": f"on_{python[2:]}:{kind}" for kind in KINDS}}
        wanted = f"=={python}.*"
        wheels.append(build.plain_wheel(host.plugins, f"on-{python[2:]}", "1.0", points, wanted, code=CODE))
    yield found
    for wheel in wheels:
        wheel.unlink()


@pytest.mark.long  # their packages come from the index once, 60 MB for each
def test_one_pipeline_has_plugins_on_every_python(host: Host, topics: Topics, name: str, pythons: list[str]) -> None:
    """Records and columns pass through all of them, each with the Arrow version that Hearth requires there."""
    steps = [f"{kind}{python[2:]}" for python in pythons for kind in KINDS]
    assert eventually(
        lambda: f'"{steps[-1]}"' in host.rest.call("GET", "/connector-plugins?connectorsOnly=false").text, TIMEOUT
    )
    types = {f"transforms.{step}.type": step for step in steps}
    host.run(greetings(name, 3, transforms=",".join(steps), **types))
    joined = "".join(f" cpython-3{python[2:]} cpython-3{python[2:]} in columns" for python in pythons)
    assert values(topics, name, 3) == [f"hello record {number} from greeting 1.0{joined}" for number in range(3)]
