"""Without a C compiler the author API runs from its sources, with the same behaviour."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = (
    *("test_builder", "test_header", "test_record", "test_schema", "test_schema_reference", "test_struct"),
    *("java/test_inner_value", "java/test_scalar_text", "java/test_values"),
)
"""Tests of the compiled modules, without those of batches and layouts."""


@pytest.mark.slow
def test_the_tests_pass_without_compiled_modules(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The same tests pass with a few examples of each property, and none of the API modules is compiled."""
    package = tmp_path / "hearth_api"
    shutil.copytree(ROOT / "host" / "hearth_api", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    paths = [str(tmp_path), *map(str, pytestconfig.getini("pythonpath"))]
    folder = Path("tests", "unit", "hearth_api")
    files = [str(folder / f"{name}.py") for name in (*TESTS, "test_validation")]
    plugin = tmp_path / "only_source.py"
    plugin.write_text(
        "import sys\n"
        "def pytest_sessionfinish():\n"
        "    own = [each for name, each in sys.modules.items() if name.startswith('hearth_api')]\n"
        f"    assert {{each.__file__.rpartition('/hearth_api/')[0] for each in own}} == {{{str(tmp_path)!r}}}\n"
        "    assert all(each.__file__.endswith('.py') for each in own)\n"
    )
    plugins = ("no:xdist", "no:cacheprovider", "only_source")
    options = ["-q", "--quick", *(f"-p{each}" for each in plugins), "-o", f"pythonpath={' '.join(paths)}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files, str(folder / "batch"), str(folder / "layout")],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "CI": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
