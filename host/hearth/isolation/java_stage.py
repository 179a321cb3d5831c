"""The class path of the Java stage: jars of Kafka, Arrow and Jackson, and the stage compiled from its sources.

Only environments of Java bundles request it: without one nothing is fetched, compiled or started. Each version of the
sources is compiled once for this user, and its classes are archived for faster starts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.foundation.class_archive import ClassArchive
from hearth.foundation.java import MINIMUM_VERSION, find_java
from hearth.foundation.user_file import cache_directory
from hearth.maven.ivy import JarsUnavailable
from hearth.maven.jar import fetch_jars

STAGE_LOCK = Path(__file__).with_name("stage_jars.txt")
COMPILER_LOCK = Path(__file__).with_name("compiler_jars.txt")
SOURCES = Path(__file__).parents[2] / "hearth_java"
_OF_SPARK = (
    "arrow-format", "arrow-memory-core", "arrow-memory-netty", "arrow-memory-netty-buffer-patch", "arrow-vector",
    "flatbuffers-java", "jackson-annotations", "jackson-core", "jackson-databind", "jackson-datatype-jsr310",
    "netty-buffer", "netty-common", "slf4j-api",
)  # fmt: skip
"""Jars that pyspark has, without their versions."""
_SERVICES = "META-INF"
_STAGE = "hearth-stage"
_REHEARSAL = "hearth.isolation.java_rehearsal"
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of the compiler's JVM, which halve its CPU time."""
_ECLIPSE = "org.eclipse.jdt.internal.compiler.batch.Main"


def stage_directory(sources: Path = SOURCES, root: Path | None = None) -> Path:
    """Return a directory with all jars of the stage; fetches and compiles what is missing.

    Raises ``JarsUnavailable`` if a jar cannot be fetched or the sources cannot be compiled, and ``JavaMissing``.
    """
    jars = [*fetch_jars(STAGE_LOCK), *spark_jars()]
    key = _key(sources, jars)
    target = (cache_directory("java_stage") if root is None else root).resolve() / key
    if not target.is_dir():
        _build(sources, jars, target)
    _archive(target)
    return target


def _build(sources: Path, jars: Sequence[Path], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{target.name}.building-", dir=target.parent) as folder:
        built = Path(folder, target.name)
        compile_stage(sources, jars, Path(folder, "classes"))
        built.mkdir()
        shutil.make_archive(str(built / _STAGE), "zip", Path(folder, "classes"))
        (built / f"{_STAGE}.zip").rename(built / f"{_STAGE}.jar")  # an archive of classes accepts no directory
        for jar in jars:
            shutil.copyfile(jar, built / jar.name)
        with contextlib.suppress(OSError):  # another process was faster
            built.rename(target)


@cache
def _archive(stage: Path) -> None:
    """Make the class archive of a stage if it is missing; without one a stage starts more slowly."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        ClassArchive(find_java().executable, [stage]).make([sys.executable, "-m", _REHEARSAL, str(stage)])


def spark_jars() -> list[Path]:
    """Return the jars of the stage that pyspark has, found without importing pyspark.

    The pyspark that Spark's own processes import first is an archive without jars.
    """
    folders = [Path(each, "pyspark", "jars") for each in sys.path]
    if home := os.environ.get("SPARK_HOME"):
        folders.append(Path(home, "jars"))
    return [_found(name, folders) for name in _OF_SPARK]


def _found(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        for jar in sorted(folder.glob(f"{name}-[0-9]*.jar")):
            return jar
    raise JarsUnavailable(f"pyspark has no jar {name}, which Java plugins need", hint="pip install 'pyspark==4.3.0'")


def compile_stage(sources: Path, jars: Sequence[Path], classes: Path) -> None:
    """Compile the sources, with the JDK's compiler or else with Eclipse's, which runs on a JRE."""
    classes.mkdir(parents=True)
    class_path = os.pathsep.join(map(str, jars))
    options = ["--release", str(MINIMUM_VERSION), "-nowarn", "-encoding", "UTF-8", "-cp", class_path]
    command = [*_compiler(), *options, "-d", str(classes), *map(str, sorted(sources.rglob("*.java")))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().split("\n")[-12:])
        raise JarsUnavailable(f"the Java stage cannot be compiled:\n{last}", hint="install a JDK, or set JAVA_HOME")
    shutil.copytree(sources / _SERVICES, classes / _SERVICES)


def _compiler() -> Iterator[str]:
    java = find_java().executable.resolve()
    javac = java.with_name("javac")
    if javac.exists():
        yield from (str(javac), *(f"-J{each}" for each in _SHORT_LIVED))
    else:
        yield from (str(java), *_SHORT_LIVED, "-cp", str(fetch_jars(COMPILER_LOCK)[0]), _ECLIPSE)


def _key(sources: Path, jars: Sequence[Path]) -> str:
    found = hashlib.sha256(_STAGE.encode())
    for path in sorted(each for each in sources.rglob("*") if each.is_file()):
        found.update(f"{path.relative_to(sources)}\0".encode() + path.read_bytes())
    for jar in jars:
        found.update(f"{jar.name} {jar.stat().st_size}\0".encode())
    return found.hexdigest()[:16]
