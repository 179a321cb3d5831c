"""Converts a ``pylock.toml`` (PEP 751), as other tools write it, to a ``Lock``."""

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
    """A bundle's own lock cannot be used; the argument gives the reason."""

    code = "environment.lock"
    hint = "create it again with `uv export --format pylock.toml --no-emit-project` or `pip lock`"


def from_pylock(text: str, roots: Sequence[str], wheels: Path, interpreter: Interpreter) -> Lock:
    """Return the lock that a ``pylock.toml`` describes for an interpreter, with the SHA-256 of each file.

    ``roots`` (``name==version``) are the projects the lock was made for, which it may omit: they come from the folder
    of wheels. Raises ``LockRefused`` for a malformed lock, or one that does not fix the content of a package.
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
    """Return the hashes of the files from which a package may be installed."""
    files = [*(package.wheels or ()), *([package.sdist] if package.sdist else ())]
    if package.version is None or not files:
        raise LockRefused(
            f"its pylock.toml installs {package.name} from a directory or a repository, not from a wheel"
        )
    without = next((each for each in files if SHA256 not in each.hashes), None)
    if without is not None:
        raise LockRefused(f"its pylock.toml has no sha256 for {without.filename}")
    return tuple(sorted(f"{SHA256}:{each.hashes[SHA256]}" for each in files))
