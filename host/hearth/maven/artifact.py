"""Fetches a Maven artifact that no lock lists, with what it needs, once for this user.

What came is written to a lock of its own. A later call finds the files without a network, and a file that has to be
downloaded again must have the hash of the first time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.foundation.user_file import cache_directory, replace_text
from hearth.maven.ivy import Coordinates, JarsUnavailable, Progress, run_ivy
from hearth.maven.jar import FETCH_PREFIX, LockedJar, digest, fetch_jars, missing, only_one_process, read_lock
from hearth_api import ConfigError

PREFIX = "maven:"
PROVIDED = (
    "org.apache.kafka:connect-api", "org.apache.kafka:connect-json", "org.apache.kafka:connect-runtime",
    "org.apache.kafka:connect-transforms", "org.apache.kafka:kafka-clients", "org.slf4j:slf4j-api",
)  # fmt: skip
"""Artifacts that each stage of Java plugins has."""
_FORM = f"{PREFIX}GROUP:ARTIFACT:VERSION[:CLASSIFIER][@ENDING]"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")


def coordinates_of(text: str) -> Coordinates:
    """Read ``maven:GROUP:ARTIFACT:VERSION[:CLASSIFIER][@ENDING]``; raise ``ConfigError`` for anything else."""
    parts = re.split("[:@]", text.removeprefix(PREFIX))
    is_whole = text.removeprefix(PREFIX).partition("@")[0].count(":") in (2, 3)
    if not is_whole or text.count("@") > 1 or not all(map(_PART.fullmatch, parts)):
        raise ConfigError(f"{text} names no Maven artifact", hint=f"write {_FORM}")
    return Coordinates.parse(text.removeprefix(PREFIX))


def fetch_artifact(
    wanted: Coordinates, is_offline: bool = False, cache: Path | None = None, progress: Progress | None = None
) -> list[tuple[Coordinates, Path]]:
    """Return the artifact's file, and after it the files that a jar needs and no stage has.

    A file with a classifier or another ending is taken to be complete. Raises ``JarsUnavailable`` if it cannot be
    fetched, or with ``is_offline`` if it has not been fetched before.
    """
    cache = cache_directory("jars") if cache is None else cache
    progress = Progress(title=str(wanted)) if progress is None else progress
    lock = cache / "locks" / f"{wanted.group}.{wanted.file_name}.txt"
    if is_offline and (not lock.exists() or missing(read_lock(lock), cache)):
        raise JarsUnavailable(f"{wanted} has not been fetched before", hint="leave --offline out once")
    if not lock.exists():
        with only_one_process(cache):
            _lock(wanted, cache, lock, progress)
    return list(zip((each.coordinates for each in read_lock(lock)), fetch_jars(lock, cache, progress)))


def _lock(wanted: Coordinates, cache: Path, lock: Path, progress: Progress) -> None:
    """Download an artifact into the cache and write its lock."""
    progress.start(1)
    with TemporaryDirectory(prefix=FETCH_PREFIX, dir=cache) as folder:
        is_jar = wanted.ending == "jar" and not wanted.classifier
        run_ivy([wanted], Path(folder), progress, transitive=is_jar, excluded=PROVIDED, is_locked=False)
        found = dict(_retrieved(Path(folder, "lib")))
        if wanted not in found:
            raise JarsUnavailable(f"{wanted} is not in the repository", hint="correct the coordinates")
        names = [wanted, *sorted(found.keys() - {wanted}, key=str)]
        jars = [LockedJar(each, found[each].stat().st_size, digest(found[each])) for each in names]
        for jar in jars:
            os.replace(found[jar.coordinates], cache / jar.file_name)
    replace_text(lock, "".join(f"{each.sha256} {each.size} {each.coordinates}\n" for each in jars))
    progress.finish(len(jars), sum(each.size for each in jars), cache)


def _retrieved(folder: Path) -> Iterator[tuple[Coordinates, Path]]:
    """Yield what Ivy has put into a folder, by coordinates."""
    for file in folder.glob("*/*/*/*"):
        version, artifact, group = (each.name for each in list(file.parents)[:3])
        rest = file.name.removeprefix(f"{artifact}-{version}")
        classifier, _, ending = rest.partition(".")
        yield Coordinates(group, artifact, version, classifier.removeprefix("-"), ending), file
