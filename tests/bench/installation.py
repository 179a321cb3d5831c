"""Case n: the time from a bundle's file to a listed plugin, and from nothing to a stage's first message.

Only Hearth, whose figures have absolute goals: a bundle with twenty wheels is installed without a network, and again
when its environment exists; a bundle is dropped into a plugin.path of a thousand while a host runs; a hundred stages
of one environment start, the first of them without a fork server.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hearth.isolation.environment_store import host_environment
from hearth.isolation.stage import Stage
from hearth.isolation.stage_connection import TASKS
from tests.bench.bench import Bench, running, settle
from tests.bench.meter import private
from tests.bench.plugin_list import MANY, many_bundles
from tests.bench.result import Metric, Result
from tests.bundles.build import plain_wheel
from tests.peer.hearth_connect import hearth_environment, run_hearth
from tests.peer.rest import RestClient
from tests.timeouts import eventually

WHEELS = 20
STAGES = 100
_STARTED = 2
"""The first stage starts without a fork server; the second starts one, from which all others are forked."""
_METRICS = (
    Metric("install", f"s, a bundle of {WHEELS} wheels installed", "lower", 3.0, absolute=True, format="{:.2f}"),
    Metric("again", "s, another one with an equal lock", "lower", 0.3, absolute=True, format="{:.2f}"),
    Metric("dropped", f"s, dropped in beside {MANY:,} to listed", "lower", 2.0, absolute=True, format="{:.2f}"),
    Metric("cold", "s, a stage by itself until it speaks", "lower", 0.3, absolute=True, format="{:.3f}"),
    Metric("forked", "s, a forked one, median", "lower", 0.05, absolute=True, format="{:.3f}"),
    Metric("memory", f"MB of its own for each of {STAGES} stages", "lower", 15.0, absolute=True, format="{:.1f}"),
)


def measure(bench: Bench) -> Result:
    """Measure everything once for each pair."""
    result = Result("n", "bundles and stages", _METRICS)
    if "hearth" not in bench.sides:
        return result
    bundle = _packed(bench.folder / "n-project")
    for pair in range(1, bench.pairs + 1):
        settle()
        found = {**_install(bundle, bench.folder / bench.fresh("n")), "dropped": _dropped(bench), **_stages()}
        result.add("hearth", **found)
        summary = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
        bench.say(f"n {pair}/{bench.pairs}: {summary}")
    return result


def _packed(folder: Path) -> Path:
    """Pack a project that requires all wheels but one: the last is its own."""
    wheels, project = folder / "wheels", folder / "orders"
    wheels.mkdir(parents=True)
    names = [f"part-{number}" for number in range(WHEELS - 1)]
    for name in names:
        plain_wheel(wheels, name, code="VALUE = 1\n" * 1000)
    run_hearth("bundle", "new", str(project), "--type", "source")
    settings = project / "pyproject.toml"
    wanted = "".join(f'    "{name}==1.0",\n' for name in names)
    settings.write_text(settings.read_text().replace("dependencies = [\n", f"dependencies = [\n{wanted}"))
    links = ["--find-links", str(wheels), "--offline"]
    return Path(run_hearth("bundle", "pack", str(project), "-o", str(folder), *links).strip())


def _install(bundle: Path, folder: Path) -> dict[str, float]:
    """Install a bundle without any environment, and again on another plugin.path."""
    seconds = {}
    environment = {**hearth_environment(), "HEARTH_HOME": str(folder / "home"), "UV_OFFLINE": "1"}
    for name in ("install", "again"):
        command = ["bundle", "install", str(bundle), "--offline", "--plugin-path", str(folder / name)]
        seconds[name] = _timed(command, environment)
    shutil.rmtree(folder)
    return seconds


def _timed(arguments: Sequence[str], environment: dict[str, str]) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "hearth", *arguments], env=environment, check=True, capture_output=True)
    return time.monotonic() - started


def _dropped(bench: Bench) -> float:
    """Return the seconds from adding a bundle, while a host runs, to the listing of its plugins."""
    plugins = bench.folder / bench.fresh("n-plugins")
    many_bundles(plugins, MANY)
    worker = bench.worker("hearth", {"plugin.path": str(plugins)})
    points = {"hearth.transformations": {"org.example.Dropped": "dropped:Dropped"}}
    fresh = plain_wheel(bench.folder, "dropped", groups=points)
    with running(worker):
        assert "org.example.Dropped" not in _listed(worker.rest)
        started = time.monotonic()
        os.replace(fresh, plugins / fresh.name)
        assert eventually(lambda: "org.example.Dropped" in _listed(worker.rest), 30, every=0.02)
        return time.monotonic() - started


def _listed(rest: RestClient) -> str:
    return rest.call("GET", "/connector-plugins?connectorsOnly=false").text


def _stages() -> dict[str, float]:
    """Start stages as tasks do, one after the other, and measure their memory."""
    stages, seconds = [], []
    try:
        for number in range(STAGES):
            started = time.monotonic()
            stages.append(Stage.start(host_environment(), f"n-{number}", kind=TASKS))
            seconds.append(time.monotonic() - started)
        memory = statistics.median(private(stage.pid) for stage in stages[_STARTED:]) / 1e6
    finally:
        for stage in stages:
            stage.close()
    return {"cold": seconds[0], "forked": statistics.median(seconds[_STARTED:]), "memory": memory}
