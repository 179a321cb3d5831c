"""What the host loads of the plugins that are installed with it: their definitions, and no Arrow."""

from __future__ import annotations

import subprocess
import sys

_DEFINE_ALL = """
import importlib.metadata, sys
groups = [group for group in importlib.metadata.entry_points().groups if group.startswith("hearth.")]
loaded = [point.load() for group in groups for point in importlib.metadata.entry_points(group=group)]
definitions = [plugin().config() for plugin in loaded if hasattr(plugin, "config")]
assert len(definitions) > 10, (groups, loaded)
print(*sorted({"numpy", "pyarrow", "pandas"} & set(sys.modules)))
"""


def test_definitions_of_plugins_need_no_arrow() -> None:
    """The host validates configurations; batches, and the 25 MB that belong to them, it never sees."""
    ended = subprocess.run([sys.executable, "-c", _DEFINE_ALL], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr
