"""Locks as other tools write them: ``pylock.toml`` of PEP 751, made a lock of ours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import cast

from packaging.markers import default_environment
from packaging.pylock import Package, Pylock, PylockValidationError
from packaging.utils import canonicalize_name

from hearth.isolation.environment_refused import EnvironmentRefused
from hearth.isolation.interpreter import Interpreter
from hearth.isolation.lock import PROVIDED, Lock, hash_of, wheels_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHA256 = "sha256"


class LockRefused(EnvironmentRefused):
    """A bundle's own lock cannot be followed; the argument says why."""

    code = "environment.lock"
    hint = "make it anew, with `uv export --format pylock.toml --no-emit-project` or `pip lock`"


def from_pylock(text: str, roots: Sequence[str], wheels: Path, interpreter: Interpreter) -> Lock:
    """Return what a ``pylock.toml`` says for an interpreter: exactly its packages, with the SHA-256 of each file.

    ``roots`` (``name==version``) are what the lock was made for and may not have itself: they are taken from
    the folder of wheels. Raises ``LockRefused`` for a lock that is none, or lets a package have any content.
    """
    try:
        found = Pylock.from_dict(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, PylockValidationError) as error:
        raise LockRefused(f"its pylock.toml is malformed: {error}") from error
    if found.requires_python is not None and not found.requires_python.contains(interpreter.version, prereleases=True):
        raise LockRefused(f"its pylock.toml is for Python {found.requires_python}, not {interpreter.version}")
    own = {root: tuple(map(hash_of, wheels_of(wheels, root))) for root in roots}
    names = {canonicalize_name(root.partition("==")[0]) for root in roots}
    environment: dict[str, str | AbstractSet[str]] = {
        **cast("dict[str, str]", default_environment()),
        "python_full_version": interpreter.version,
        "python_version": ".".join(interpreter.version.split(".")[:2]),
        "extras": set(),
        "dependency_groups": set(),
    }
    pins = {
        f"{each.name}=={each.version}": _hashes(each)
        for each in found.packages
        if each.name not in names
        and each.name not in PROVIDED
        and (each.marker is None or each.marker.evaluate(environment, "lock_file"))
    }
    return Lock({**pins, **own})


def _hashes(package: Package) -> tuple[str, ...]:
    """Return the hashes of the files that a package may be installed from."""
    files = [*(package.wheels or ()), *([package.sdist] if package.sdist else ())]
    if package.version is None or not files:
        raise LockRefused(f"its pylock.toml takes {package.name} from a directory or a repository, not from a wheel")
    without = next((each for each in files if SHA256 not in each.hashes), None)
    if without is not None:
        raise LockRefused(f"its pylock.toml has no sha256 for {without.filename}")
    return tuple(sorted(f"{SHA256}:{each.hashes[SHA256]}" for each in files))
