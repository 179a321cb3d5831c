"""Builds a project's wheel and gathers the wheels of its requirements."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import importlib_metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from hearth.discovery import Bundle, BundleError, read
from hearth.discovery.archive import TarTree
from hearth.discovery.tree import DirectoryTree, blocks
from hearth.isolation import lock, uv
from hearth.isolation.environment_refused import UvFailed
from hearth.isolation.interpreter import Interpreter, host
from hearth.isolation.lock import Lock
from hearth.packaging.wheel_target import WheelTarget

_REQUIRES = re.compile(r"^\[build-system\][^\[]*?^requires\s*=\s*\[(.*?)\]", re.MULTILINE | re.DOTALL)
_HATCHLING = re.compile(r"^build-backend\s*=\s*[\"']hatchling\.build[\"']", re.MULTILINE)
_REPRODUCIBLE = {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1577836800")}
_SDIST = (".tar.gz", ".tgz")
_PROJECT = ("pyproject.toml", "setup.py")
_MADE = ("build", "dist", "*.egg-info", "__pycache__", ".venv", "venv", ".tox", ".nox", ".hearth")
"""Files that builds and tools leave in a project, which a build could mistake for source."""


def build_wheel(project: Path, out: Path, find_links: Sequence[Path] = (), offline: bool = False) -> Path:
    """Build the wheel of a project, a directory or a source distribution; equal source gives equal bytes.

    Any build backend works. The host's own Hatchling is used if it satisfies the project; other backends run in an
    isolated environment whose requirements uv takes from ``find_links`` and the index. The project is not modified.
    """
    command = ["build", "--wheel", "--out-dir", str(out), "--no-create-gitignore", "--python", host().path]
    command += [*_links(find_links), *(["--offline"] if offline else [])]
    with _source(project) as source:
        isolation = ["--no-build-isolation"] if _is_built_here(source) else []
        try:
            uv.run(*command, *isolation, str(source), environment=_REPRODUCIBLE)
        except UvFailed as error:
            hint = f"`uv build --wheel {project}` shows all of it"
            raise BundleError(f"the wheel of {project} cannot be built: {error}", hint=hint) from error
    return next(out.glob("*.whl"))


def fetch_wheel(wanted: Requirement, out: Path, find_links: Sequence[Path] = (), offline: bool = False) -> Path:
    """Download the wheel of a package for this host from the index or ``find_links`` to ``out``."""
    try:
        locked = lock.resolve([str(wanted)], host(), offline=offline, options=_links(find_links))
        name = canonicalize_name(wanted.name)
        own = Lock(
            {pin: hashes for pin, hashes in locked.pins.items() if canonicalize_name(pin.split("==")[0]) == name}
        )
        missing = _copy_local(own, find_links, out)
        if missing.pins:
            _fetch(missing, host(), out, _links(find_links))
    except UvFailed as error:
        hint = "correct the name, or name directories of bundles with --index, or folders of wheels with --find-links"
        raise BundleError(f"{wanted} cannot be downloaded: {error}", hint=hint) from error
    return next(out.glob("*.whl"))


def is_source(path: Path) -> bool:
    """Return whether a path is a project, a directory or a source distribution, and not a bundle."""
    try:
        if path.is_dir():
            files = DirectoryTree(path).children()[0]
        elif path.name.endswith(_SDIST):
            with TarTree(path) as tree:
                files = [file for folder in tree.children()[1] for file in tree.children(folder)[0]]
        else:
            return False
    except (BundleError, OSError):
        return False
    is_project = any(file.rpartition("/")[2] in _PROJECT for file in files)
    return is_project and not isinstance(read(path), Bundle)


@contextlib.contextmanager
def _source(project: Path) -> Iterator[Path]:
    """Yield the build directory: the project if its backend writes nothing there, else a temporary copy."""
    if project.is_dir() and _is_built_here(project):
        yield project.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="hearth-source-") as folder:
        copy = Path(folder, "source")
        if project.is_dir():
            shutil.copytree(project, copy, symlinks=True, ignore=shutil.ignore_patterns(*_MADE))
        elif project.name.endswith(_SDIST):
            copy = _unpacked(project, copy)
        if not any((copy / name).is_file() for name in _PROJECT):
            raise BundleError(
                f"{project} has no pyproject.toml",
                hint="name the directory of a Python project, or its source distribution (.tar.gz)",
            )
        yield copy


def _unpacked(sdist: Path, target: Path) -> Path:
    """Unpack a source distribution and return its single folder, or ``target`` if it has none or several."""
    with TarTree(sdist) as tree:
        for path in tree.walk():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(tree.open(path)) as source, (target / path).open("wb") as copy:
                copy.writelines(blocks(source))
    found = list(target.iterdir())
    return found[0] if len(found) == 1 else target


def _links(folders: Sequence[Path]) -> list[str]:
    """Return the options for folders of wheels."""
    return [option for folder in folders for option in ("--find-links", str(folder.absolute()))]


def gather_wheels(
    wheel: Path,
    interpreter: Interpreter,
    out: Path,
    find_links: Sequence[Path] = (),
    offline: bool = False,
    targets: Sequence[WheelTarget] = (),
) -> None:
    """Collect in ``out`` every wheel that ``wheel`` requires and the host lacks, for this machine and the targets."""
    name = wheel.name.split("-")[0]
    for target in (None, *targets):
        try:
            _gather(f"{name} @ {wheel.absolute().as_uri()}", interpreter, out, find_links, offline, target)
        except UvFailed as error:
            where = "" if target is None else f" for Python {target.python} on {target.platform}"
            raise BundleError(
                f"what {name} needs{where} cannot be gathered: {error}",
                hint="correct its dependencies, or name folders of wheels with --find-links",
            ) from error


def _gather(
    wanted: str,
    interpreter: Interpreter,
    out: Path,
    find_links: Sequence[Path],
    offline: bool,
    target: WheelTarget | None,
) -> None:
    options = [*_links(find_links), *([] if target is None else target.resolving)]
    needed = lock.resolve([wanted], interpreter, offline=offline, options=options)
    missing = _copy_local(needed, find_links, out, target)
    if missing.pins and offline:
        raise UvFailed(f"there is no wheel of {', '.join(missing.pins)} in the folders of --find-links")
    if missing.pins:
        _fetch(missing, interpreter, out, _links(find_links), target)


def _copy_local(needed: Lock, folders: Sequence[Path], out: Path, target: WheelTarget | None = None) -> Lock:
    """Copy the pinned wheels in ``folders`` that run on a target; return the pins that are still missing."""
    pins = dict(needed.pins)
    for folder in folders:
        for pin, hashes in list(pins.items()):
            found = [wheel for wheel in lock.wheels_of(folder, pin) if lock.hash_of(wheel) in hashes]
            fitting = [wheel for wheel in found if target is None or target.takes(wheel)]
            for wheel in fitting:
                shutil.copy(wheel, out)
            if fitting:
                del pins[pin]
    return Lock(pins)


def _fetch(
    missing: Lock, interpreter: Interpreter, out: Path, links: Sequence[str], target: WheelTarget | None = None
) -> None:
    """Download pinned wheels with pip, since uv cannot keep wheels. Each must match its hash."""
    with tempfile.TemporaryDirectory(prefix="hearth-fetch-") as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text(missing.text, encoding="utf-8")
        pip = ["run", "--no-project", "--python", interpreter.path, "--with", "pip", "python", "-m", "pip"]
        way = (
            ["wheel", "--wheel-dir", str(out)]
            if target is None
            else ["download", "--dest", str(out), *target.fetching]
        )
        pip += [*way, "--quiet", "--no-deps", "--require-hashes", *links]
        uv.run(*pip, "--requirement", str(pinned), folder=Path(folder), environment=_index())


def _index() -> dict[str, str]:
    """Return pip's environment variables for uv's index, unless pip is configured itself."""
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    return {"PIP_INDEX_URL": index} if index and "PIP_INDEX_URL" not in os.environ else {}


def _is_built_here(project: Path) -> bool:
    """Return whether the host's own Hatchling can build a project.

    Hatchling needs only the requirements that the project names and leaves no files; other backends may need more.
    """
    described = project / "pyproject.toml"
    text = described.read_text(encoding="utf-8") if described.is_file() else ""
    found = _REQUIRES.search(text)
    if found is None or not _HATCHLING.search(text):
        return False
    try:
        wanted = [Requirement(each) for each in re.findall(r"[\"']([^\"']+)[\"']", found[1])]
        return all(each.specifier.contains(importlib_metadata.version(each.name), prereleases=True) for each in wanted)
    except (InvalidRequirement, importlib_metadata.PackageNotFoundError):
        return False
