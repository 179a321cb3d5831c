"""Compiles the modules through which every record passes, where a wheel is built or installed.

Which ones these are says a `.pxd` beside them: it gives Cython the layout of the classes, and the Python stays as it
is. What is compiled stands beside its source and is found before it, by the interpreter it was compiled for. Where
there is no C compiler, no header of Python, or `HEARTH_NO_EXTENSIONS` is set, the source itself is imported: it does
the same, and takes three to five times as long for it. A `.pyx` has no source that could be imported; who uses it goes
another way then.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("hearth_api", "hearth")
"""Those in which there is something to compile, each of a distribution of its own."""

_SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
_DIRECTIVES = {
    "language_level": 3,
    "nonecheck": True,  # a plugin may hand over None where a record belongs
    "annotation_typing": False,  # what is annotated is judged by the API itself, whose errors say more
    "binding": False,  # methods as those of built-in types, which the interpreter calls faster
    "embedsignature": True,
    "embedsignature.format": "clinic",  # what inspect and help need of them
}


class ExtensionHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles before a wheel is put together, or in place where the source is installed editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put what was made into the wheel, which is then one for this platform."""
        packages = [Path(self.root, each) for each in self.build_config.packages]
        root, names = packages[0].parent, [each.name for each in packages]
        if version == "editable":
            compile_in_place(root, names)
            return
        self._folder = tempfile.mkdtemp(prefix="hearth-compiled-")
        made = compile_modules(root, names, Path(self._folder))
        build_data["pure_python"] = not made
        build_data["infer_tag"] = bool(made)
        build_data["force_include"].update({str(path): str(path.relative_to(self._folder)) for path in made})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the wheel now."""
        if version != "editable":
            shutil.rmtree(self._folder)


def sources(root: Path, packages: Iterable[str] = PACKAGES) -> list[Path]:
    """Return the modules of packages that are compiled; `root` is where the packages are."""
    found = [path for package in packages for path in (root / package).rglob("*.p[xy][dx]")]
    return sorted(path.with_suffix(".py") if path.suffix == ".pxd" else path for path in found)


def parts(source: Path) -> list[Path]:
    """Return the files that a module is compiled of, all `.pxi` beside it among them, which it may include."""
    found = [each for each in (source, source.with_suffix(".pxd")) if each.exists()]
    return found + (sorted(source.parent.glob("*.pxi")) if source.suffix == ".pyx" else [])


def compiled(source: Path) -> Path:
    """Return where stands what this interpreter finds before a module's source."""
    return source.with_suffix(_SUFFIX)


def is_older(made: Path, files: Iterable[Path]) -> bool:
    """Return whether something was made, and before one of the files it is made of was changed."""
    return made.exists() and made.stat().st_mtime_ns < max(each.stat().st_mtime_ns for each in files)


def compile_in_place(root: Path, packages: Iterable[str] = PACKAGES) -> list[Path]:
    """Put what is compiled beside its source; where that cannot be done, what is older than its source is removed."""
    with tempfile.TemporaryDirectory(prefix="hearth-compiled-") as folder:
        made = compile_modules(root, packages, Path(folder))
        if not made:
            for source in sources(root, packages):
                if is_older(compiled(source), parts(source)) or _is_unwanted():
                    compiled(source).unlink(missing_ok=True)
        return [_put(path, root / path.relative_to(folder)) for path in made]


def compile_modules(root: Path, packages: Iterable[str], folder: Path) -> list[Path]:
    """Compile all modules into a folder and return the files; if one fails, print why and return none."""
    if _is_unwanted():
        return []
    modules = [path.relative_to(root) for path in sources(root, packages)]
    try:
        _compile(root, modules, folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - compilers end in many ways, and the source is there
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return []
    return [compiled(folder / path) for path in modules]


def _is_unwanted() -> bool:
    return bool(os.environ.get("HEARTH_NO_EXTENSIONS"))


def _compile(root: Path, modules: list[Path], folder: Path) -> None:
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension  # type: ignore[import-untyped]

    own = os.getcwd()
    os.chdir(root)  # tracebacks name files as they are given here
    try:
        extensions = [
            Extension(".".join(path.with_suffix("").parts), [str(path)], extra_compile_args=["-O2", "-g0"])
            for path in modules
        ]
        made = cythonize(  # type: ignore[no-untyped-call]
            extensions, build_dir=str(folder / "c"), compiler_directives=_DIRECTIVES, quiet=True, force=True
        )
        command: Any = Distribution({"ext_modules": made}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.parallel = str(folder), str(folder / "c"), os.cpu_count()
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(own)


def _put(made: Path, place: Path) -> Path:
    """Move a file to where another may be in use: never is there half of it."""
    beside = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.copy(made, beside)
    return beside.replace(place)


if __name__ == "__main__":
    sys.exit(0 if compile_in_place(Path(__file__).parent) or _is_unwanted() else 1)
