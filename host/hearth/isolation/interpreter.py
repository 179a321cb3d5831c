"""The Python that a bundle runs on."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import importlib_metadata
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from hearth.isolation import uv
from hearth.isolation.environment_refused import InterpreterMissing, UvFailed

COMPILE_SECONDS = 600
_BASE_LAYER = ("numpy", "pyarrow")
_QUESTION = (
    "import json, platform, sys, sysconfig; print(json.dumps([sys.executable, platform.python_version(),"
    " sys.implementation.cache_tag, sysconfig.get_platform()]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python: its path, and the facts that decide which wheels it can use."""

    path: str
    version: str
    tag: str
    """Implementation and minor version, ``cpython-311``, which compiled packages are built for."""
    platform: str

    @property
    def suits_host_packages(self) -> bool:
        """Return whether it can use the host's compiled packages, including the base layer."""
        return self.tag == host().tag and self.platform == host().platform


@lru_cache(maxsize=1)
def host() -> Interpreter:
    """Return the interpreter that runs the host."""
    tag = sys.implementation.cache_tag or sys.implementation.name
    return Interpreter(sys.executable, platform.python_version(), tag, sysconfig.get_platform())


def choose(requires_python: str, name: str) -> Interpreter:
    """Return the host's interpreter if ``requires_python`` admits it, else another one on this machine.

    Only a Python that Hearth itself supports qualifies, because a stage is a Hearth program. Raises
    ``InterpreterMissing``, naming the bundle ``name``, if there is none.
    """
    try:
        wanted = SpecifierSet(requires_python)
    except InvalidSpecifier as error:
        message = f"{name} has Requires-Python {requires_python!r}, which is not a version specifier"
        raise InterpreterMissing(message, hint="correct requires-python in its pyproject.toml") from error
    if wanted.contains(host().version, prereleases=True):
        return host()
    own = importlib_metadata.metadata("hearth-api")["Requires-Python"]
    try:
        return _ask(uv.run("python", "find", "--no-project", f"{requires_python},{own}").strip())
    except UvFailed as error:
        raise InterpreterMissing(
            f"{name} needs Python {requires_python}, there is none here that is {own}, which Hearth needs (the host "
            f"runs on {host().version})",
            hint=f"install one, for example with `uv python install '{requires_python}'`",
        ) from error


def base_layer(python: Interpreter) -> list[str]:
    """Return the requirements of a stage on an interpreter that cannot use the host's packages.

    It is the Arrow version that Hearth requires on such a Python, which may differ from the host's.
    """
    facts = {"python_version": ".".join(python.version.split(".")[:2]), "python_full_version": python.version}
    wanted = map(Requirement, importlib_metadata.requires("hearth-connect") or ())
    return [
        f"{each.name}{each.specifier}"
        for each in wanted
        if each.name in _BASE_LAYER and (each.marker is None or each.marker.evaluate(facts))
    ]


def compile_all(python: Interpreter, site: Path) -> None:
    """Compile all modules below a directory, as installers do; skips files that are not Python."""
    command = [python.path, "-I", "-S", "-m", "compileall", "-q", str(site)]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=COMPILE_SECONDS)


@lru_cache(maxsize=16)
def _ask(path: str) -> Interpreter:
    """Return what an interpreter reports about itself."""
    answer = subprocess.run(
        [path, "-I", "-S", "-c", _QUESTION], capture_output=True, text=True, check=True, timeout=60
    )
    return Interpreter(*json.loads(answer.stdout))
