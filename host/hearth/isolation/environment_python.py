"""The interpreter of an environment, on which its stages run and whatever their plugins start.

It is what Python calls a virtual environment, made where the stage runs: a link to the Python, and one line that
Python reads whenever it starts there, which opens the environment to it and nothing besides. So ``sys.executable`` of
a plugin starts what sees what the plugin sees, with every option of Python's but ``-S``, and its directory, which
leads the PATH, holds the programs of the bundle. Nothing in it is worth keeping: who lacks one makes it.
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
"""The link to the environment's first directory: where that is gone, so may be what was made for it."""
_COMMAND = re.compile(r"(?!python[\d.]*$)\w[\w.+-]*")
_OBJECT = re.compile(r"([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)([\w.]*)\s*(?:\[.*\])?")
_FIRST_LINES = re.compile(rb"(#!/bin/sh\n'''exec' [^\n]*\n' '''|#![^\n]*python[^\n]*)\n")
_EXEC = "#!/bin/sh\n'''exec' \"${0%/*}/python\" \"$0\" \"$@\"\n' '''\n"
"""The first lines of a program, to a shell and to Python: one line of a script has no room for a long path."""


def own_python(key: str, python: str, tag: str, sites: Sequence[str], base: Sequence[str]) -> str:
    """Return the path of an environment's interpreter, made of another one unless it is there.

    ``sites`` are the directories of the environment, ``base`` those of the host's packages, the stage's first.
    Raises ``OSError`` where this machine lacks that Python, or room.
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
    """Return where this user's interpreters are kept; those of a user without a home end up among temporary files."""
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
        if not folder.is_dir():  # else somebody was first
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
    """Put there what the packages of a directory declare as commands, and what was installed with them beside that."""
    for distribution in importlib.metadata.distributions(path=[str(site)]):
        for command in distribution.entry_points.select(group="console_scripts"):
            found = _OBJECT.fullmatch(command.value.strip())
            if found and _COMMAND.fullmatch(command.name) and not (target / command.name).exists():
                module, name, rest = found.groups()
                text = f"{_EXEC}import sys\n\nfrom {module} import {name}\n\nsys.exit({name}{rest}())\n"
                _put(target / command.name, text.encode())
    for program in site.glob("bin/*"):
        if program.is_file() and _COMMAND.fullmatch(program.name) and not (target / program.name).exists():
            with contextlib.suppress(OSError):  # one that cannot be read cannot be run either
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
    """Remove the interpreters of environments that were removed."""
    for each in root.iterdir():
        if (each / _SITE).is_symlink() and not (each / _SITE).exists():
            shutil.rmtree(each, ignore_errors=True)
