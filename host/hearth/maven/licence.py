"""Licences of Maven artifacts, which their poms state or inherit from their parents."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.foundation.user_file import cache_directory, replace_text
from hearth.maven.ivy import Coordinates, JarsUnavailable, Progress, run_ivy
from hearth.maven.jar import FETCH_PREFIX, only_one_process

_LICENCE = re.compile(r'<license name="([^"]*)"')


def fetch_licences(
    artifacts: Sequence[Coordinates],
    is_offline: bool = False,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> dict[Coordinates, list[str]]:
    """Return the names of the licences of each artifact; those whose pom cannot be fetched are left out.

    Poms are fetched once; with ``is_offline`` only those that were fetched before count.
    """
    cache = cache_directory("jars") if cache is None else cache
    absent = [] if is_offline else [each for each in artifacts if not _place(cache, each).exists()]
    if absent:
        progress = Progress(title="the licences in poms") if progress is None else progress
        with only_one_process(cache), TemporaryDirectory(prefix=FETCH_PREFIX, dir=cache) as folder:
            _fetch(absent, Path(folder), cache, progress)
    return {
        each: _place(cache, each).read_text(encoding="utf-8").splitlines()
        for each in artifacts
        if _place(cache, each).exists()
    }


def _fetch(absent: Sequence[Coordinates], folder: Path, cache: Path, progress: Progress) -> None:
    """Let Ivy read the poms and those of their parents, and keep the licences that it found."""
    progress.start(len(absent))
    poms = [Coordinates(each.group, each.artifact, each.version, "", "pom") for each in absent]
    with contextlib.suppress(JarsUnavailable):  # a missing pom hides the licence of one artifact alone
        run_ivy(poms, folder, progress, transitive=False, is_locked=False, reads_poms=True)
    for each in absent:
        found = folder / "cache" / each.group / each.artifact / f"ivy-{each.version}.xml"
        if found.exists():
            names = map(unescape, _LICENCE.findall(found.read_text(encoding="utf-8", errors="replace")))
            replace_text(_place(cache, each), "".join(f"{' '.join(name.split())}\n" for name in names))


def _place(cache: Path, one: Coordinates) -> Path:
    return cache / "licences" / f"{one.group}.{one.artifact}-{one.version}.txt"
