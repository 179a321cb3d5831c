"""Case e: the time to list the plugins of four bundles and of a thousand, and to list them again."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

from hearth.discovery import PluginScanner
from hearth.foundation.java import find_java
from tests.bench.bench import Bench
from tests.bench.result import Metric, Result
from tests.peer.hearth_connect import ROOT, hearth_environment, run_hearth
from tests.peer.java_connect import connect_jars, link_file_plugin

MANY = 1000
_PROJECTS = ("file", "json", "transforms", "converters")
_METRICS = (
    Metric("four", "s, four bundles", "lower", goal=50, format="{:.3f}"),
    Metric("many", f"s, {MANY:,} bundles", "lower", goal=0.3, absolute=True, format="{:.3f}"),
    Metric("again", f"s, a host looks again at {MANY:,}", "lower", goal=0.1, absolute=True, format="{:.3f}"),
)
_METADATA = "Metadata-Version: 2.1\nName: bench-bundle-{number}\nVersion: 1.0\n"
_ENTRY_POINTS = """\
[hearth.source_connectors]
org.example.bench.Source{number} = bench_bundle_{number}:Source
[hearth.transformations]
org.example.bench.Change{number}$Key = bench_bundle_{number}:Key
org.example.bench.Change{number}$Value = bench_bundle_{number}:Value
"""
_WHEEL = "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def measure(bench: Bench) -> Result:
    """Time Kafka's own tool and Hearth's command on the same four plugins, and Hearth's on a thousand."""
    result = Result("e", "listing plugins", _METRICS)
    java, hearth, many = bench.folder / "e-java", bench.folder / "e-hearth", bench.folder / "e-many"
    jars = java_bundles(java)
    if "hearth" in bench.sides:
        hearth_bundles(hearth)
        many_bundles(many, MANY)
    result.notes.append(f"Java's four bundles are {jars} jars; Hearth's are its four first-party projects, packed")
    for pair, side in bench.runs():
        if side == "java":
            result.add(side, four=timed(java_list(java)))
        else:
            listed = {"four": timed(hearth_list(hearth)), "many": timed(hearth_list(many))}
            result.add(side, **listed, again=_looked_again(many))
        bench.say(f"e {pair}/{bench.pairs} {side}: {result.runs[side]['four'][-1]:.3f} s")
    return result


def java_bundles(folder: Path) -> int:
    """Make Java's plugin.path: file connectors, JSON, transformations, and the runtime with its dependencies."""
    link_file_plugin(folder)
    count = 1
    for jar in connect_jars():
        home = next((name for name in ("connect-json", "connect-transforms") if name in jar.name), "connect-runtime")
        (folder / home).mkdir(parents=True, exist_ok=True)
        (folder / home / jar.name).symlink_to(jar)
        count += 1
    return count


def hearth_bundles(folder: Path) -> None:
    """Pack the four first-party projects."""
    folder.mkdir()
    for project in _PROJECTS:
        run_hearth("bundle", "pack", str(ROOT / "plugins" / project), "-o", str(folder))


def many_bundles(folder: Path, count: int) -> None:
    """Make wheels with three plugins each."""
    folder.mkdir()
    for number in range(count):
        name = f"bench_bundle_{number}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", "raise SystemExit('listing must not import this')\n")
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", _METADATA.format(number=number))
            wheel.writestr(f"{name}-1.0.dist-info/WHEEL", _WHEEL)
            wheel.writestr(f"{name}-1.0.dist-info/entry_points.txt", _ENTRY_POINTS.format(number=number))
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


def java_list(folder: Path) -> Sequence[str]:
    """Return `connect-plugin-path list` as Kafka's script runs it."""
    path = ":".join(map(str, connect_jars()))
    tool = "org.apache.kafka.tools.ConnectPluginPath"
    return [str(find_java().executable), "-Xmx256M", "-cp", path, tool, "list", "--plugin-path", str(folder)]


def hearth_list(folder: Path) -> Sequence[str]:
    return [sys.executable, "-m", "hearth", "plugins", "list", "--plugin-path", str(folder)]


def _looked_again(folder: Path) -> float:
    """Return the seconds of the second scan of an unchanged folder."""
    scanner = PluginScanner([folder])
    found, started = scanner.look(), time.monotonic()
    assert scanner.look() is found
    return time.monotonic() - started


def timed(command: Sequence[str]) -> float:
    """Run a command and return the seconds it took."""
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=hearth_environment(), check=False)
    seconds = time.monotonic() - started
    assert done.returncode == 0, f"{command[-4:]}:\n{done.stdout}{done.stderr}"
    assert done.stdout
    return seconds
