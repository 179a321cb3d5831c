"""The interpreter of an environment, which runs its stages and the programs that their plugins start.

It is a virtual environment created on the machine that runs the stage: a link to the Python and one ``.pth`` line
that adds the environment's directories to ``sys.path`` and nothing else. So a plugin's ``sys.executable`` starts a
Python that sees the same packages, with every option but ``-S``, and its ``bin`` directory, the first on PATH, holds
the bundle's programs. It is a cache: a machine that lacks it creates it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hearth.foundation.user_file import cache_directory, make_directory
from hearth.isolation.fingerprint import close_to_others

_FORMAT = 1
_SITE = "site"
"""Link to the environment's first directory; if that was removed, this interpreter can be removed as well."""
_COMMAND = re.compile(r"(?!python[\d.]*$)\w[\w.+-]*")
_OBJECT = re.compile(r"([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)([\w.]*)\s*(?:\[.*\])?")
_FIRST_LINES = re.compile(rb"(#!/bin/sh\n'''exec' [^\n]*\n' '''|#![^\n]*python[^\n]*)\n")
_EXEC = "#!/bin/sh\n'''exec' \"${0%/*}/python\" \"$0\" \"$@\"\n' '''\n"
"""First lines of a script, valid for a shell and for Python: a ``#!`` line has no room for a long path."""


def own_python(key: str, python: str, tag: str, sites: Sequence[str], base: Sequence[str]) -> str:
    """Return the path of an environment's interpreter; creates it from ``python`` if it does not exist.

    ``sites`` are the directories of the environment, ``base`` those of the host's packages, the stage's first. Raises
    ``OSError`` if this machine lacks that Python or disk space.
    """
    real = os.path.realpath(python)
    if not os.path.isfile(real):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), python)
    facts = json.dumps([_FORMAT, key, real, tag, *sites, "--", *base])
    folder = _root() / hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()[:24]
    if not (folder / "pyvenv.cfg").is_file():
        _make(folder, real, tag, sites, base)
    return str(folder / "bin" / "python")


@cache
def _root() -> Path:
    """Return the directory of this user's interpreters, a temporary one for a user without a home."""
    with contextlib.suppress(OSError, RuntimeError):
        root = cache_directory("interpreters")
        make_directory(root)
        if os.access(root, os.W_OK):
            close_to_others(root, is_deep=False)
            return root
    return Path(tempfile.mkdtemp(prefix="hearth-interpreters-"))


def _make(folder: Path, python: str, tag: str, sites: Sequence[str], base: Sequence[str]) -> None:
    _sweep(folder.parent)
    fresh = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
    try:
        fresh.chmod(0o755)
        if sites:
            (fresh / _SITE).symlink_to(sites[0])
        _fill(fresh, folder, python, tag, sites, base)
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was first
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _fill(fresh: Path, folder: Path, python: str, tag: str, sites: Sequence[str], base: Sequence[str]) -> None:
    version = re.sub(r"^\D*(\d)(\d+)$", r"\1.\2", tag)
    packages = Path("lib", f"python{version}", "site-packages")
    (fresh / packages).mkdir(parents=True)
    line = (
        f"import sys; sys.path.append({base[0]!a}); from hearth_stage import import_path; sys.path.pop(); "
        f"import_path.see({[*sites]!a}, {[*base]!a}, {str(folder / packages)!a})\n"
    )
    (fresh / packages / "hearth.pth").write_text(line, encoding="ascii")
    (fresh / "bin").mkdir()
    for site in sites:
        _put_programs(Path(site), fresh / "bin")
    for name in ("python", "python3", f"python{version}"):
        (fresh / "bin" / name).symlink_to(python)
    settings = f"home = {os.path.dirname(python)}\ninclude-system-site-packages = false\n"
    (fresh / "pyvenv.cfg").write_text(settings, encoding="utf-8", errors="surrogateescape")


def _put_programs(site: Path, target: Path) -> None:
    """Create the console scripts that a directory's packages declare, and link or copy its installed programs."""
    for distribution in importlib.metadata.distributions(path=[str(site)]):
        for command in distribution.entry_points.select(group="console_scripts"):
            found = _OBJECT.fullmatch(command.value.strip())
            if found and _COMMAND.fullmatch(command.name) and not (target / command.name).exists():
                module, name, rest = found.groups()
                text = f"{_EXEC}import sys\n\nfrom {module} import {name}\n\nsys.exit({name}{rest}())\n"
                _put(target / command.name, text.encode())
    for program in site.glob("bin/*"):
        if program.is_file() and _COMMAND.fullmatch(program.name) and not (target / program.name).exists():
            with contextlib.suppress(OSError):  # a file that cannot be read cannot be run
                with program.open("rb") as file:
                    is_script = file.read(2) == b"#!"
                words = _FIRST_LINES.match(program.read_bytes()) if is_script else None
                if words is None:
                    (target / program.name).symlink_to(program)
                else:
                    _put(target / program.name, _EXEC.encode() + program.read_bytes()[words.end() :])


def _put(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    path.chmod(0o755)


def _sweep(root: Path) -> None:
    """Remove the interpreters of removed environments."""
    for each in root.iterdir():
        if (each / _SITE).is_symlink() and not (each / _SITE).exists():
            shutil.rmtree(each, ignore_errors=True)
