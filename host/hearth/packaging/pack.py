"""Packs a project as a bundle: one zip file with all its wheels, a manifest and a bill of materials."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from packaging.requirements import Requirement

from hearth.discovery.bundle import plain_name
from hearth.discovery.bundle_kind import read_bundle
from hearth.discovery.catalogue import read
from hearth.discovery.declaration import Declaration
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.discovery.manifest import BILL_OF_MATERIALS, MANIFEST, Manifest, PackedFile
from hearth.discovery.python_bundle import PythonBundle
from hearth.discovery.refusal import BundleError
from hearth.discovery.tree import DirectoryTree, open_file
from hearth.foundation.digest import sha256_of
from hearth.foundation.terminal import Step
from hearth.foundation.user_file import replacing
from hearth.isolation.environment_store import EnvironmentStore
from hearth.isolation.interpreter import choose
from hearth.isolation.stage import Stage
from hearth.packaging.bill_of_materials import bill_of_materials
from hearth.packaging.description import ask
from hearth.packaging.java_pack import pack_java
from hearth.packaging.project import build_wheel, fetch_wheel, gather_wheels
from hearth.packaging.wheel_target import WheelTarget
from hearth.packaging.zip_file import write_zip
from hearth_api import UNDEFINED_VERSION, PluginError

_WHEELS = "wheels"
_SUFFIX = ".zip"
_NOT_PLUGIN = ("/hearth_stage/", "/hearth_execution/", "/importlib/", "<frozen importlib")


def pack(
    project: Path | Requirement,
    out: Path,
    environments: EnvironmentStore,
    find_links: Sequence[Path] = (),
    offline: bool = False,
    step: Step = nullcontext,
    targets: Sequence[WheelTarget] = (),
) -> Path:
    """Pack a project and return the bundle's path: a file in ``out``, or ``out`` itself if it ends with .zip.

    The project is a directory, a source distribution, a package that is downloaded from the index, or a bundle of
    Java plugins in any form, which gets hashes and a bill of materials. Missing output directories are created. Equal
    source and dependencies give equal bytes. The bundle has wheels for this machine and for each of ``targets``. Each
    step runs inside ``step``, which may show progress. Raises ``BundleError`` if the
    project does not make a valid bundle, ``EnvironmentRefused`` if this machine cannot check it.
    """
    if out.is_file() and out.suffix != _SUFFIX:
        raise BundleError(f"{str(out)!r} is a file", hint="name a directory, or a file whose name ends with .zip")
    if isinstance(project, Path) and isinstance(found := read(project), JavaBundle):
        with step(f"the files of {found.name}"):
            return pack_java(found, out)
    with tempfile.TemporaryDirectory(prefix="hearth-pack-") as folder:
        wheels = Path(folder, _WHEELS)
        wheels.mkdir()
        with step(f"the wheel of {project}"):
            if isinstance(project, Requirement):
                wheel = fetch_wheel(project, wheels, find_links, offline)
            else:
                wheel = build_wheel(project, wheels, find_links, offline)
        own = read_bundle(wheel, partial(DirectoryTree, wheels))
        assert isinstance(own, PythonBundle), "a wheel is read"
        if own.faults:
            raise BundleError("; ".join(own.faults), hint=f"correct the entry points of {project}")
        with step("what it needs"):
            gather_wheels(wheel, choose(own.requires_python, own.name), wheels, find_links, offline, targets)
        with step("what its plugins say of themselves"):
            bundle = _described(Path(folder), own, environments)
        target = out if _is_bundle(out) else out / f"{plain_name(own.name)}-{own.version}{_SUFFIX}"
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, Path(folder), bundle)
        return target


def _is_bundle(out: Path) -> bool:
    """Return whether a path names the bundle file instead of its directory."""
    return out.suffix == _SUFFIX and not out.is_dir()


def _described(folder: Path, own: PythonBundle, environments: EnvironmentStore) -> Manifest:
    """Return the manifest with each plugin's description, obtained in the environment it will run in."""
    bundle = replace(own, location=folder, opener=partial(DirectoryTree, folder))
    stage = Stage.start(environments.ensure(bundle), f"pack {own.name}")
    try:
        plugins = tuple(_describe(stage, declaration) for declaration in own.declarations)
    finally:
        stage.close()
    wheels = [_packed_file(folder, f"{_WHEELS}/{each.name}") for each in sorted((folder / _WHEELS).iterdir())]
    hashes = {each.path: each.sha256 for each in wheels}
    parts = list(bundle.packages())
    declaring = next(part for part in parts if plain_name(part.name) == plain_name(own.name))
    bill = bill_of_materials(declaring, parts, hashes)
    (folder / BILL_OF_MATERIALS).write_text(bill, encoding="utf-8")
    files = (*wheels, _packed_file(folder, BILL_OF_MATERIALS))
    return Manifest(own.name, own.version, own.requires_python, files, plugins)


def _of_plugin(trace: str) -> str:
    """Return a traceback without the frames of the stage and of Python's import system."""
    kept, is_skipped = [], False
    for line in trace.rstrip().splitlines():
        if line.lstrip().startswith("File "):
            is_skipped = any(part in line for part in _NOT_PLUGIN)
        elif not line.startswith("   "):
            is_skipped = False
        if not is_skipped:
            kept.append(line)
    return "\n".join(kept)


def _packed_file(folder: Path, path: str) -> PackedFile:
    return PackedFile(path, sha256_of(folder / path), (folder / path).stat().st_size)


def _describe(stage: Stage, declaration: Declaration) -> Declaration:
    try:
        found = ask(stage, declaration.reference, declaration.type)
    except PluginError as error:
        trace = _of_plugin(error.trace or str(error))
        raise BundleError(
            f"{declaration.class_name} ({declaration.reference}) cannot be described: {trace}",
            hint="make it importable and let version() and config() work on a new instance",
        ) from error
    version = declaration.version if found.version == UNDEFINED_VERSION else found.version
    return replace(declaration, version=version, definitions=found.config)


def _write(target: Path, folder: Path, manifest: Manifest) -> None:
    """Write the zip file: the manifest, then the listed files in order."""
    (folder / MANIFEST).write_text(manifest.to_text(), encoding="utf-8")
    names = [MANIFEST, *(file.path for file in manifest.files)]
    with replacing(target) as fresh:
        write_zip(fresh, [(name, partial(open_file, folder / name)) for name in names])
