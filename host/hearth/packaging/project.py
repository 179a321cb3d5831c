"""From the source of a project to wheels: its own, and those of everything it needs."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from hearth.discovery import BundleError
from hearth.isolation import lock, uv
from hearth.isolation.environment_refused import UvFailed
from hearth.isolation.interpreter import Interpreter, host
from hearth.isolation.lock import Lock

_REQUIRES = re.compile(r"^\[build-system\][^\[]*?^requires\s*=\s*\[(.*?)\]", re.MULTILINE | re.DOTALL)
_REPRODUCIBLE = {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1577836800")}


def build_wheel(project: Path, out: Path, offline: bool = False) -> Path:
    """Build the wheel of the project in a directory; the same source gives the same bytes.

    The build backend comes from the host's own packages when they satisfy the project, else uv fetches it.
    """
    if not (project / "pyproject.toml").is_file():
        raise BundleError(f"{project} has no pyproject.toml", hint="name the directory of a Python project")
    command = ["build", "--wheel", "--out-dir", str(out), "--no-create-gitignore", "--python", host().path]
    command += ["--no-build-isolation"] if _has_backend(project) else []
    command += ["--offline"] if offline else []
    try:
        uv.run(*command, str(project.absolute()), environment=_REPRODUCIBLE)
    except UvFailed as error:
        hint = f"`uv build --wheel {project}` shows all of it"
        raise BundleError(f"the wheel of {project} cannot be built: {error}", hint=hint) from error
    return next(out.glob("*.whl"))


def gather_wheels(
    wheel: Path, interpreter: Interpreter, out: Path, find_links: Sequence[Path] = (), offline: bool = False
) -> None:
    """Put every wheel that ``wheel`` needs, and the host does not provide, into ``out``."""
    options = [option for folder in find_links for option in ("--find-links", str(folder.absolute()))]
    name = wheel.name.split("-")[0]
    try:
        needed = lock.resolve([f"{name} @ {wheel.absolute().as_uri()}"], interpreter, offline=offline, options=options)
        missing = _copy_local(needed, find_links, out)
        if missing.pins:
            _fetch(missing, interpreter, out, options)
    except UvFailed as error:
        raise BundleError(
            f"what {name} needs cannot be gathered: {error}",
            hint="correct its dependencies, or name folders of wheels with --find-links",
        ) from error


def _copy_local(needed: Lock, folders: Sequence[Path], out: Path) -> Lock:
    """Copy the pinned wheels that lie in ``folders``; returns what is still missing."""
    pins = dict(needed.pins)
    for folder in folders:
        for pin, hashes in list(pins.items()):
            found = [wheel for wheel in lock.wheels_of(folder, pin) if lock.hash_of(wheel) in hashes]
            for wheel in found:
                shutil.copy(wheel, out)
            if found:
                del pins[pin]
    return Lock(pins)


def _fetch(missing: Lock, interpreter: Interpreter, out: Path, options: Sequence[str]) -> None:
    """Let pip fetch what uv has pinned: uv installs wheels, it cannot keep them. Each must have its hash."""
    with tempfile.TemporaryDirectory(prefix="hearth-fetch-") as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text(missing.text, encoding="utf-8")
        pip = ["run", "--no-project", "--python", interpreter.path, "--with", "pip", "python", "-m", "pip"]
        pip += ["wheel", "--quiet", "--no-deps", "--require-hashes", "--wheel-dir", str(out), *options]
        uv.run(*pip, "--requirement", str(pinned), folder=Path(folder), environment=_index())


def _index() -> dict[str, str]:
    """Hand uv's index to pip, unless pip has one of its own."""
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    return {"PIP_INDEX_URL": index} if index and "PIP_INDEX_URL" not in os.environ else {}


def _has_backend(project: Path) -> bool:
    """Return whether the host's own packages satisfy the project's build requirements."""
    found = _REQUIRES.search((project / "pyproject.toml").read_text(encoding="utf-8"))
    if found is None:
        return False
    try:
        wanted = [Requirement(text) for text in re.findall(r"[\"']([^\"']+)[\"']", found[1])]
        return all(each.specifier.contains(metadata.version(each.name), prereleases=True) for each in wanted)
    except (InvalidRequirement, metadata.PackageNotFoundError):
        return False
