"""Downloads Maven artifacts with the Ivy inside pyspark, so that Maven need not be installed.

The artifacts are requested one by one and without their POMs: the lock file is already the result of a resolution,
and without POMs a first start takes seconds instead of more than a minute.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from hearth.foundation.java import find_java
from hearth_api import ConnectError

MIRROR_VARIABLE = "HEARTH_MAVEN_MIRROR"
_LAST_LINES = 12


class JarsUnavailable(ConnectError):
    """The jars of Kafka are not in the cache and cannot be fetched."""

    code = "environment.jars"


@dataclass(frozen=True)
class Coordinates:
    """The Maven coordinates of a jar or, with a classifier, of a file with another extension."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    ending: str = "jar"

    @classmethod
    def parse(cls, text: str) -> Coordinates:
        """Parse coordinates written as group:artifact:version, optionally followed by :classifier@ending."""
        name, _, ending = text.partition("@")
        group, artifact, version, *classifier = name.split(":")
        return cls(group, artifact, version, "".join(classifier), ending or "jar")

    @property
    def file_name(self) -> str:
        """Return the name of the artifact's file in a repository."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{classifier}.{self.ending}"

    def __str__(self) -> str:
        classifier = f":{self.classifier}" if self.classifier else ""
        ending = f"@{self.ending}" if classifier or self.ending != "jar" else ""
        return f"{self.group}:{self.artifact}:{self.version}{classifier}{ending}"


class Progress:
    """Shows the progress of a download on stderr; on a terminal it updates one line."""

    def __init__(self, stream: TextIO | None = None, title: str = "Kafka's jars") -> None:
        self._stream = sys.stderr if stream is None else stream
        self.title = title
        self._live = self._stream.isatty()
        self._started = self._shown = time.monotonic()

    def start(self, total: int) -> None:
        """Announce the download."""
        self._write(f"fetching {self.title} ({total} file{'s' if total != 1 else ''}), once for this user")

    def step(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` files are complete."""
        if self._live:
            self._stream.write(f"\r  {done} of {total}")
            self._stream.flush()
        elif time.monotonic() - self._shown > 5:
            self._write(f"  {done} of {total}")

    def finish(self, files: int, size: int, place: Path) -> None:
        """Report what was fetched and where it is kept."""
        end = "\r" if self._live else ""
        seconds = time.monotonic() - self._started
        self._write(f"{end}  {files} files, {size / 1e6:.0f} MB in {seconds:.0f} s, kept in {place}")

    def _write(self, line: str) -> None:
        self._shown = time.monotonic()
        print(line, file=self._stream, flush=True)


def download(wanted: Sequence[Coordinates], folder: Path, progress: Progress) -> dict[Coordinates, Path]:
    """Download exactly these artifacts into a folder and return their paths."""
    progress.start(len(wanted))
    run_ivy(wanted, folder, progress, transitive=False)
    files = {each: folder / "lib" / each.group / each.artifact / each.version / each.file_name for each in wanted}
    absent = [str(coordinates) for coordinates, file in files.items() if not file.is_file()]
    if absent:
        raise JarsUnavailable(f"not downloaded: {', '.join(absent)}", hint=_remedy())
    return files


def run_ivy(
    wanted: Sequence[Coordinates],
    folder: Path,
    progress: Progress,
    transitive: bool,
    excluded: Sequence[str] = (),
    is_locked: bool = True,
    reads_poms: bool = False,
) -> None:
    """Run Ivy once; with `transitive` it also follows the artifacts' POMs, except to those ``excluded``.

    Without a lock, files are compared with the checksums that their repository has. With ``reads_poms`` Ivy's cache
    has what the POMs and those of their parents say.
    """
    (folder / "settings.xml").write_text(_settings(folder, transitive or reads_poms, is_locked), encoding="utf-8")
    (folder / "ivy.xml").write_text(_module(wanted, transitive, excluded), encoding="utf-8")
    command = [
        str(find_java().executable), *proxy_options(os.environ),
        "-jar", str(ivy_jar()), "-settings", str(folder / "settings.xml"), "-ivy", str(folder / "ivy.xml"),
        "-retrieve", f"{folder}/lib/[organisation]/[artifact]/[revision]/[artifact]-[revision](-[classifier]).[ext]",
    ]  # fmt: skip
    _watch(command, len(wanted), progress)


def _watch(command: Sequence[str], total: int, progress: Progress) -> None:
    """Run a command, count the files it reports, and raise JarsUnavailable if it fails."""
    lines: list[str] = []
    done = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if text := line.strip(": \n"):
                lines = [*lines[1 - _LAST_LINES :], text]
            if "[SUCCESSFUL" in line:
                done += 1
                progress.step(done, total)
    if process.returncode:
        raise JarsUnavailable("\n".join([f"{progress.title} cannot be downloaded", *lines]), hint=_remedy())


def ivy_jar() -> Path:
    """Return the Ivy jar among pyspark's own, found without importing pyspark."""
    spec = importlib.util.find_spec("pyspark")
    for location in (spec.submodule_search_locations or []) if spec else []:
        for jar in sorted(Path(location, "jars").glob("ivy-*.jar")):
            return jar
    raise JarsUnavailable(
        "pyspark is not installed with hearth, or has no Ivy jar", hint="pip install 'pyspark==4.3.0'"
    )


def proxy_options(environ: Mapping[str, str]) -> list[str]:
    """Return Java's options for the proxy in the environment, which Java does not read itself."""
    proxy = environ.get("https_proxy") or environ.get("HTTPS_PROXY")
    if not proxy:
        return []
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return [f"-Dhttps.proxyHost={parts.hostname}", f"-Dhttps.proxyPort={parts.port or 8080}"]


def _settings(folder: Path, reads_poms: bool, is_locked: bool) -> str:
    """Return Ivy's settings, without the repository's checksums if a lock has better ones."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    root = f" root={quoteattr(mirror)}" if mirror else ""
    poms = "true" if reads_poms else "false"
    resolver = f'<ibiblio name="maven" m2compatible="true" usepoms="{poms}"{root}/>'
    return (
        f'<ivysettings><property name="ivy.checksums" value="{"" if is_locked else "sha1,md5"}"/>'
        '<settings defaultResolver="maven"/>'
        f"<caches defaultCacheDir={quoteattr(str(folder / 'cache'))}/>"
        f"<resolvers>{resolver}</resolvers></ivysettings>"
    )


def _module(wanted: Sequence[Coordinates], transitive: bool, excluded: Sequence[str]) -> str:
    """Return the Ivy module that depends on these artifacts."""
    left_out = "".join(
        f"<exclude org={quoteattr(group)} module={quoteattr(artifact)}/>"
        for group, artifact in (each.split(":") for each in excluded)
    )
    rows = (
        f"<dependency org={quoteattr(one.group)} name={quoteattr(one.artifact)} rev={quoteattr(one.version)}"
        f' transitive="{str(transitive).lower()}" conf="*->default">{_file(one)}{left_out}</dependency>'
        for one in wanted
    )
    names = 'xmlns:m="http://ant.apache.org/ivy/extra"'
    head = f'<ivy-module version="2.0" {names}><info organisation="hearth" module="jars"/>'
    return f"{head}<dependencies>{''.join(rows)}</dependencies></ivy-module>"


def _file(one: Coordinates) -> str:
    """Return the Ivy element for an artifact that is not a plain jar."""
    if not one.classifier and one.ending == "jar":
        return ""
    kind = quoteattr(one.ending)
    classifier = f" m:classifier={quoteattr(one.classifier)}" if one.classifier else ""
    return f"<artifact name={quoteattr(one.artifact)} type={kind} ext={kind}{classifier}/>"


def _remedy() -> str:
    return f"check the network and https_proxy, or set {MIRROR_VARIABLE} to the URL of a Maven repository"
