"""Locks: the exact packages of an environment, each with the hashes of its files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import importlib_metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, canonicalize_version

from hearth.foundation.digest import sha256_of
from hearth.isolation import uv
from hearth.isolation.environment_refused import UvFailed
from hearth.isolation.interpreter import Interpreter

API = "hearth-api"
PROVIDED = (API, "hearth-connect")
"""What the host provides to every stage: the author API and itself. Never part of an environment."""

_ENTRY = re.compile(r"^(?P<pin>[A-Za-z0-9._-]+==\S+)(?: ;[^\\]*)?(?P<hashes>(?:\s*\\?\s*--hash=\S+)*)", re.MULTILINE)
_HASH = re.compile(r"--hash=(\S+)")


@dataclass(frozen=True)
class Lock:
    """Pins (``name==version``) with their hashes, sorted by name."""

    pins: Mapping[str, tuple[str, ...]]

    @property
    def text(self) -> str:
        """Return the lock as a requirements file; equal locks give equal text."""
        return "".join(
            " \\\n".join([pin, *(f"    --hash={each}" for each in sorted(hashes))]) + "\n"
            for pin, hashes in sorted(self.pins.items())
        )

    @classmethod
    def from_text(cls, text: str) -> Lock:
        """Read a requirements file with hashes."""
        return cls({entry["pin"]: tuple(_HASH.findall(entry["hashes"])) for entry in _ENTRY.finditer(text)})

    def is_covered_by(self, wheels: Path) -> bool:
        """Return whether every pinned package is among a folder's wheels."""
        return all(wheels_of(wheels, pin) for pin in self.pins)

    def preferring(self, wheels: Path) -> Lock:
        """Return the lock with a folder's own files only, for each pinned package the folder has.

        A file of the same name and version in the index is another build than the one in the bundle.
        """
        own = {pin: tuple(map(hash_of, wheels_of(wheels, pin))) for pin in self.pins}
        return Lock({pin: own[pin] or hashes for pin, hashes in self.pins.items()})


def resolve(
    requirements: Sequence[str],
    interpreter: Interpreter,
    wheels: Path | None = None,
    offline: bool = False,
    options: Sequence[str] = (),
    preferred: Sequence[str] = (),
) -> Lock:
    """Resolve ``requirements`` from a folder of wheels and, unless ``offline``, the index.

    Chooses the ``preferred`` (``name==version``) of several suitable versions, else the newest. Raises ``UvFailed``
    with uv's explanation if the requirements cannot be met.
    """
    with tempfile.TemporaryDirectory(prefix="hearth-lock-") as folder:
        wanted, provided, known = (Path(folder, name) for name in ("requirements.in", "provided.txt", "known.txt"))
        wanted.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        provided.write_text("".join(f"{name}\n" for name in PROVIDED), encoding="utf-8")
        known.write_text("".join(f"{pin}\n" for pin in preferred), encoding="utf-8")  # as if locked before
        command = ["pip", "compile", str(wanted), "--generate-hashes", "--no-header", "--no-annotate"]
        command += ["--output-file", str(known)]
        command += ["--excludes", str(provided), "--python", interpreter.path, *options]
        return Lock.from_text(uv.run(*command, *sources(wheels, offline)))


def resolve_preferring(wheels: Path, requirements: Sequence[str], interpreter: Interpreter) -> Lock:
    """Return the lock of a folder of wheels; only missing packages come from the index."""
    try:
        return resolve(requirements, interpreter, wheels, offline=True)
    except UvFailed as alone:
        try:
            return resolve(requirements, interpreter, wheels, preferred=_pins(wheels)).preferring(wheels)
        except UvFailed as error:
            raise error from alone


def _pins(folder: Path) -> list[str]:
    """Return the pins of a folder's wheels."""
    return sorted({_pin_of(wheel) for wheel in folder.glob("*.whl")})


def install(lock: Lock, target: Path, interpreter: Interpreter, wheels: Path | None, offline: bool) -> None:
    """Install exactly the packages of a lock into a directory; rejects a file with another hash."""
    with tempfile.TemporaryDirectory(prefix="hearth-lock-") as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text(lock.text, encoding="utf-8")
        command = ["pip", "install", "--target", str(target), "--python", interpreter.path]
        command += ["--require-hashes", "--no-deps", "--link-mode", "copy", "--compile-bytecode"]
        uv.run(*command, *sources(wheels, offline), "--requirement", str(pinned))
        (target / ".lock").unlink(missing_ok=True)  # a file that uv leaves behind


def sources(wheels: Path | None, offline: bool) -> list[str]:
    """Return uv's options for the package sources."""
    found = [] if wheels is None else ["--find-links", str(wheels)]
    # Without uv's cache: a temporary folder of wheels would leave entries in it.
    return [*found, "--offline", "--no-index", "--no-cache"] if offline else found


def wheels_of(folder: Path, pin: str) -> list[Path]:
    """Return the wheels of a pinned package in a folder, not in its subfolders."""
    return [wheel for wheel in sorted(folder.glob("*.whl")) if _pin_of(wheel) == _canonical(pin)]


def hash_of(file: Path) -> str:
    """Return the hash of a file in the form of a lock."""
    return f"sha256:{sha256_of(file)}"


def _pin_of(wheel: Path) -> str:
    name, _, rest = wheel.name.partition("-")
    return _canonical(f"{name}=={rest.partition('-')[0]}")


def _canonical(pin: str) -> str:
    """Return a pin with normalized name and version."""
    name, _, version = pin.partition("==")
    return f"{canonicalize_name(name)}=={canonicalize_version(version)}"


def read(path: Path) -> Lock | None:
    """Return the lock stored in a file; ``None`` if there is none or it holds no pins."""
    try:
        found = Lock.from_text(path.read_text(encoding="utf-8"))
    except OSError:
        return None
    return found if found.pins else None


def unmet_api(wanted: Iterable[Requirement]) -> list[Requirement]:
    """Return the requirements on the author API that this host does not meet."""
    own = importlib_metadata.version(API)
    named = (each for each in wanted if canonicalize_name(each.name) == API)
    return [each for each in named if not each.specifier.contains(own, prereleases=True)]
