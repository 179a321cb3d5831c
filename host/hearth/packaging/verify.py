"""Verifies a bundle before a connector depends on it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import importlib_metadata
from packaging.utils import canonicalize_name

from hearth.config.connector_key import CONNECTOR_CLASS
from hearth.config.plugin_key import SIGNED
from hearth.discovery import PluginType, Rejected, alias
from hearth.discovery.bundle import Bundle
from hearth.discovery.catalogue import read
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.declaration import Declaration
from hearth.discovery.manifest import MANIFEST
from hearth.discovery.refusal import COPY_AGAIN, BundleError
from hearth.discovery.signature import signer, trusted_signers, unlisted_files
from hearth.discovery.trust import Trust
from hearth.isolation.environment import Environment
from hearth.isolation.environment_refused import EnvironmentRefused
from hearth.isolation.environment_store import EnvironmentStore
from hearth.isolation.lock import API, PROVIDED, unmet_api
from hearth.isolation.stage import Stage
from hearth.packaging.description import Description, ask
from hearth.packaging.integrity import altered_files
from hearth_api import UNDEFINED_VERSION, ConnectError, PluginError
from hearth_stage.plugin_call import TryPlugin

TRY_SECONDS = 600
"""Time limit in seconds for a plugin to pass all rules; each call has its own limit within it."""
_KIT = "hearth_api.testing.acceptance_tests"
_UNITS = ("B", "KiB", "MiB", "GiB")


@dataclass(frozen=True)
class Check:
    """The result of one check: its name, the part of the bundle, and the outcome."""

    name: str
    subject: str
    is_ok: bool
    detail: str = ""
    hint: str = ""
    is_environment: bool = False
    """Whether the machine is at fault instead of the bundle."""


def verify(location: Path, config: Mapping[str, str] | None = None, keys: Sequence[Path] = ()) -> list[Check]:
    """Check structure, hashes, contract, licences, environment, imports, definitions and rules, in that order.

    With a connector's configuration, that connector also runs in memory, including its effects on other systems. With
    files of trusted signers, one of them must have signed the bundle and all its requirements.

    Later checks depend on earlier ones and are skipped after a failure. The environment is built for this call and
    removed afterwards.
    """
    bundle = read(location)
    if isinstance(bundle, Rejected):
        return [Check("structure", str(location), False, bundle.reason, bundle.hint)]
    assert bundle is not None, "a named location is read or rejected"
    checks = [*_structure(bundle), *_hashes(bundle), *(_signature(bundle, keys) if keys else ())]
    if all(check.is_ok for check in checks):
        checks += _contents(bundle)
    with tempfile.TemporaryDirectory(prefix="hearth-verify-") as folder:
        if all(check.is_ok for check in checks):
            trust = Trust(SIGNED, list(map(str, keys))) if keys else None
            checks += _running(bundle, EnvironmentStore(Path(folder), trust), config or {})
    return checks


def _structure(bundle: Bundle) -> Iterator[Check]:
    what = f"{bundle.name} {bundle.version}"
    plugins = f"{len(bundle.declarations)} plugin{'s' if len(bundle.declarations) != 1 else ''}"
    yield Check("structure", what, True, f"{bundle.form}, {plugins}")
    for note in bundle.notes:
        yield Check("structure", what, True, note)
    for fault in bundle.faults:
        yield Check("structure", what, bundle.tolerates_faults, fault, bundle.fault_hint)


def _hashes(bundle: Bundle) -> Iterator[Check]:
    """Read every file and compare it with the manifest, if there is one."""
    with tempfile.TemporaryDirectory(prefix="hearth-verify-") as folder:
        try:
            bundle.unpack(Path(folder))
        except BundleError as error:
            yield Check("hashes", str(bundle.location), False, str(error), error.hint or "")
            return
    if bundle.hashes is None:
        yield Check("hashes", str(bundle.location), True, "whole; there is no manifest to compare with")
        return
    for extra in unlisted_files(bundle):
        yield Check("hashes", extra, False, f"it is not listed in {MANIFEST}", "pack the bundle again")
    altered = list(altered_files(bundle))
    for path in altered:
        yield Check("hashes", path, False, f"{path} is not the file that was packed", COPY_AGAIN)
    if not altered:
        yield Check("hashes", str(bundle.location), True, f"{len(bundle.hashes)} files as packed")


def _signature(bundle: Bundle, keys: Sequence[Path]) -> Iterator[Check]:
    try:
        yield Check("signature", str(bundle.location), True, f"by {signer(bundle, trusted_signers(keys))}")
    except BundleError as error:
        yield Check("signature", str(bundle.location), False, str(error), error.hint or "")


def _contents(bundle: Bundle) -> Iterator[Check]:
    """Check the bundle's packages: none of the host's, a supported API version, and their licences."""
    parts = list(bundle.packages())
    for part in parts:
        yield from _contract(part)
    unstated = [f"{part.name} {part.version}" for part in parts if not part.licence]
    licences = sorted({part.licence for part in parts if part.licence})
    detail = "; ".join([*licences, *([f"not stated by {', '.join(unstated)}"] if unstated else [])])
    yield Check("licences", bundle.name, True, detail)
    with bundle.opener() as tree:
        size = sum(tree.size(path) for path in tree.walk(bundle.top))
    yield Check("size", bundle.name, True, f"{len(parts)} package{'s' if len(parts) != 1 else ''}, {_size(size)}")


def _contract(part: CoreMetadata) -> Iterator[Check]:
    """Check that the host does not provide a distribution and that it supports the host's API version."""
    if canonicalize_name(part.name) in PROVIDED:
        yield Check("contract", part.path, False, "the host provides this package", "leave it out of the bundle")
    for wanted in unmet_api(part.requires):
        detail = f"it requires {wanted}, this host provides {API} {importlib_metadata.version(API)}"
        hint = "install a Hearth that provides it, or pack the bundle for this one"
        yield Check("contract", f"{part.name} {part.version}", False, detail, hint)


def _size(size: float) -> str:
    """Return a human-readable size."""
    steps = min(int(math.log(max(size, 1), 1024)), len(_UNITS) - 1)
    return f"{size / 1024**steps:.3g} {_UNITS[steps]}"


def _running(bundle: Bundle, environments: EnvironmentStore, config: Mapping[str, str]) -> Iterator[Check]:
    """Build the environment and describe and test every plugin in its own stage process."""
    try:
        environment = environments.ensure(bundle)
        program = environment.command_line()[0]
    except BundleError as error:
        yield Check("signature", bundle.name, False, str(error), error.hint or "")
        return
    except EnvironmentRefused as error:
        yield Check("environment", bundle.name, False, str(error), error.hint or "", is_environment=True)
        return
    yield Check("environment", bundle.name, True, program)
    chosen = _chosen(bundle, config)
    if config and chosen is None:
        name = config.get(CONNECTOR_CLASS, "")
        yield Check("rules", bundle.name, False, f"it has no connector {name!r}", f"correct {CONNECTOR_CLASS}")
    for declaration in bundle.declarations:
        yield from _plugin(bundle, environment, declaration, dict(config) if declaration is chosen else None)


def _chosen(bundle: Bundle, config: Mapping[str, str]) -> Declaration | None:
    """Return the connector that a configuration names by class or alias."""
    wanted = config.get(CONNECTOR_CLASS)
    connectors = [each for each in bundle.declarations if each.type in (PluginType.SOURCE, PluginType.SINK)]
    return next((each for each in connectors if wanted in (each.class_name, *alias.candidates(each))), None)


def _plugin(
    bundle: Bundle, environment: Environment, declaration: Declaration, config: dict[str, str] | None
) -> Iterator[Check]:
    name = declaration.class_name
    try:
        stage = Stage.start(environment, f"verify {name}")
    except PluginError as error:  # no code of the bundle has run yet
        hint = "check that this Python can start"
        yield Check("environment", name, False, _exception(error), hint, is_environment=True)
        return
    try:
        found = ask(stage, declaration.reference, declaration.type)
    except PluginError as error:
        yield Check("import", name, False, _fact(error), f"make {declaration.reference} importable")
    else:
        if declaration in bundle.undescribed:
            bundle.remember({name: found.version})
        for change in found.changes:
            yield Check("import", name, False, f"loading it {change}", "do that in start() and undo it in stop()")
        if not found.changes:
            yield Check("import", name, True, declaration.reference)
        yield from _compared(declaration, found)
        yield from _check_rules(stage, declaration, config)
    finally:
        stage.close()


def _check_rules(stage: Stage, declaration: Declaration, config: dict[str, str] | None) -> Iterator[Check]:
    """Test a plugin in its stage against the rules for its type; without a configuration only rules that need none."""
    name = declaration.class_name
    try:
        result = stage.call(TryPlugin(declaration.reference, declaration.type.value, config), TRY_SECONDS)
    except PluginError as error:
        yield Check("rules", name, False, _exception(error), f"try it with {_KIT}")
        return
    broken = [each for each in result.outcomes if each.fault]
    for each in broken:
        yield Check("rules", name, False, f"{each.rule}: {each.fault}", f"{each.says} {_KIT} tries it in your tests")
    if not broken:
        detail = (
            f"{len(result.outcomes)} of contract {result.contract}" if result.contract else "there are none for Java"
        )
        yield Check("rules", name, True, detail)


def _compared(declaration: Declaration, found: Description) -> Iterator[Check]:
    """Compare a plugin's packed description with what the plugin returns."""
    name = declaration.class_name
    if declaration.definitions is not None and [*declaration.definitions] != [*found.config]:
        detail = f"the definition in {MANIFEST} is not what config() returns"
        yield Check("configuration", name, False, detail, "pack the bundle again")
    else:
        count = len(found.config)
        yield Check("configuration", name, True, f"{count} key{'s' if count != 1 else ''}")
    if found.version not in (declaration.version, UNDEFINED_VERSION):
        detail = f"declared with version {declaration.version!r}, version() returns {found.version!r}"
        yield Check("version", name, declaration.definitions is None, detail, "pack the bundle again")


def _fact(error: PluginError) -> str:
    """Return how the stage ended or hung, else the exception that the plugin raised."""
    return str(error) if (error.code or "").startswith("stage.") else _exception(error)


def _exception(error: ConnectError) -> str:
    """Return the exception that a trace names: Python's last line, or Java's last cause with its remedy."""
    trace = str(getattr(error, "trace", None) or error).strip() or type(error).__name__
    if "\n\tat " not in trace:
        return trace.splitlines()[-1]
    last_cause = trace.rpartition("\nCaused by: ")[2]
    return "; ".join(line for line in last_cause.splitlines() if not line.startswith("\t"))
