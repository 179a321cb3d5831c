"""Verifying: everything that can be known of a bundle before a connector depends on it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.discovery import Rejected
from hearth.discovery.bundle import Bundle, wheels_of
from hearth.discovery.catalogue import read
from hearth.discovery.declaration import Declaration
from hearth.discovery.manifest import MANIFEST
from hearth.discovery.refusal import BundleError
from hearth.isolation.environment import Environment
from hearth.isolation.environment_refused import EnvironmentRefused
from hearth.isolation.environment_store import EnvironmentStore
from hearth.isolation.lock import PROVIDED
from hearth.isolation.stage import Stage
from hearth.packaging.description import Description, ask
from hearth_api import UNDEFINED_VERSION, ConnectError, PluginError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what, of which part of the bundle, and how it is."""

    name: str
    subject: str
    is_ok: bool
    detail: str = ""
    hint: str = ""
    is_environment: bool = False
    """Whether this machine, not the bundle, is what has to change."""


def verify(location: Path) -> list[Check]:
    """Check structure, hashes, environment, imports and configuration definitions, in that order.

    Later checks need the earlier ones, so they are left out after a failure that makes them pointless. The
    environment is built for this call alone and removed after it.
    """
    bundle = read(location)
    if isinstance(bundle, Rejected):
        return [Check("structure", str(location), False, bundle.reason, bundle.hint)]
    assert bundle is not None, "a named location is read or rejected"
    checks = [*_structure(bundle), *_hashes(bundle)]
    with tempfile.TemporaryDirectory(prefix="hearth-verify-") as folder:
        if all(check.is_ok for check in checks):
            checks += _running(bundle, EnvironmentStore(Path(folder)))
    return checks


def _structure(bundle: Bundle) -> Iterator[Check]:
    what = f"{bundle.name} {bundle.version}"
    plugins = f"{len(bundle.declarations)} plugin{'s' if len(bundle.declarations) != 1 else ''}"
    hint = "correct the entry points of the project and pack it anew"
    yield Check("structure", what, True, f"{bundle.layout.value}, {plugins}")
    for fault in bundle.faults:
        yield Check("structure", what, False, fault, hint)
    with bundle.opener() as tree:
        names = [path.rpartition("/")[2] for path in wheels_of(tree, bundle.top)]
    for name in names:
        if name.split("-")[0].replace("_", "-").lower() in PROVIDED:
            yield Check("contract", name, False, "the host provides this package", "leave it out of the bundle")


def _hashes(bundle: Bundle) -> Iterator[Check]:
    """Read every file, and compare it with the manifest where there is one."""
    with tempfile.TemporaryDirectory(prefix="hearth-verify-") as folder:
        try:
            bundle.unpack(Path(folder))
        except BundleError as error:
            yield Check("hashes", str(bundle.location), False, str(error), error.hint or "")
            return
    if bundle.hashes is None:
        yield Check("hashes", str(bundle.location), True, "whole; there is no manifest to compare with")
        return
    with bundle.opener() as tree:
        found = {path[len(bundle.top) :].lstrip("/") for path in tree.walk(bundle.top)}
    for extra in sorted(found - set(bundle.hashes) - {MANIFEST}):
        yield Check("hashes", extra, False, f"it is not listed in {MANIFEST}", "pack the bundle anew")
    yield Check("hashes", str(bundle.location), True, f"{len(bundle.hashes)} files as packed")


def _running(bundle: Bundle, environments: EnvironmentStore) -> Iterator[Check]:
    """Build the environment and let every plugin describe itself in a stage process of its own there."""
    try:
        environment = environments.ensure(bundle)
    except EnvironmentRefused as error:
        yield Check("environment", bundle.name, False, str(error), error.hint or "", is_environment=True)
        return
    yield Check("environment", bundle.name, True, environment.command_line()[0])
    for declaration in bundle.declarations:
        yield from _plugin(environment, declaration)


def _plugin(environment: Environment, declaration: Declaration) -> Iterator[Check]:
    name = declaration.class_name
    try:
        stage = Stage.start(environment, f"verify {name}")
    except PluginError as error:  # no code of the bundle has run yet
        hint = "see whether this Python can start at all"
        yield Check("environment", name, False, _last_line(error), hint, is_environment=True)
        return
    try:
        found = ask(stage, declaration.reference, declaration.type)
    except PluginError as error:
        yield Check("import", name, False, _fact(error), f"make {declaration.reference} importable")
        return
    finally:
        stage.close()
    for change in found.changes:
        yield Check("import", name, False, f"loading it {change}", "do that in start() and undo it in stop()")
    if not found.changes:
        yield Check("import", name, True, declaration.reference)
    yield from _compared(declaration, found)


def _compared(declaration: Declaration, found: Description) -> Iterator[Check]:
    """Compare what the bundle says of a plugin with what the plugin says of itself."""
    name = declaration.class_name
    if declaration.definitions is not None and [*declaration.definitions] != [*found.config]:
        detail = f"the definition in {MANIFEST} is not what config() returns"
        yield Check("configuration", name, False, detail, "pack the bundle anew")
    else:
        yield Check("configuration", name, True, f"{len(found.config)} keys")
    if found.version not in (declaration.version, UNDEFINED_VERSION):
        detail = f"declared with version {declaration.version!r}, version() returns {found.version!r}"
        yield Check("version", name, declaration.definitions is None, detail, "pack the bundle anew")


def _fact(error: PluginError) -> str:
    """Return what became of a stage that ended or hung, else the exception that its plugin raised."""
    return str(error) if (error.code or "").startswith("stage.") else _last_line(error)


def _last_line(error: ConnectError) -> str:
    """Return the line of a trace that names the exception."""
    trace = getattr(error, "trace", None) or str(error)
    return (str(trace).strip().splitlines() or [type(error).__name__])[-1]
