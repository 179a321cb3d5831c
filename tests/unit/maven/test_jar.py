"""Rules of the jar cache: whole jars only, checked, fetched once."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hearth.broker.broker import BROKER_LOCK
from hearth.maven import jar
from hearth.maven.ivy import Coordinates, JarsUnavailable, Progress

_CONTENTS = {"one": b"first jar", "two": b"second jar"}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Provide a lock file of two jars."""
    lines = ["# a comment"]
    for name, data in _CONTENTS.items():
        lines.append(f"{hashlib.sha256(data).hexdigest()} {len(data)} org.example:{name}:1.0")
    path = tmp_path / "lock.txt"
    path.write_text("\n".join(lines))
    return path


class _Repository:
    """Replaces Ivy and counts the requests."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self.contents = contents
        self.asked: list[list[str]] = []

    def download(self, wanted: Sequence[Coordinates], folder: Path, _progress: Progress) -> dict[Coordinates, Path]:
        self.asked.append([coordinates.artifact for coordinates in wanted])
        for coordinates in wanted:
            (folder / coordinates.file_name).write_bytes(self.contents[coordinates.artifact])
        return {coordinates: folder / coordinates.file_name for coordinates in wanted}


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> _Repository:
    """Provide a repository that has both jars."""
    made = _Repository(dict(_CONTENTS))
    monkeypatch.setattr(jar, "download", made.download)
    return made


def _fetch(lock: Path, cache: Path) -> list[Path]:
    return jar.fetch_jars(lock, cache, Progress(io.StringIO()))


def test_jars_come_in_the_order_of_the_lock(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """The lock's order is the class path."""
    jars = _fetch(lock, tmp_path / "cache")
    assert [path.read_bytes() for path in jars] == list(_CONTENTS.values())


def test_second_time_nothing_is_downloaded(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """What is in the cache is not asked for again."""
    _fetch(lock, tmp_path / "cache")
    _fetch(lock, tmp_path / "cache")
    assert repository.asked == [["one", "two"]]


def test_only_what_is_missing_or_cut_short_is_downloaded(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """A jar of the wrong size counts as missing, the others stay."""
    jars = _fetch(lock, tmp_path / "cache")
    jars[1].write_bytes(b"sec")
    assert _fetch(lock, tmp_path / "cache")[1].read_bytes() == _CONTENTS["two"]
    assert repository.asked == [["one", "two"], ["two"]]


def test_altered_jar_never_enters_the_cache(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """A jar with another hash is refused by name, and asking again asks the repository again."""
    repository.contents["two"] = b"second jaR"
    with pytest.raises(JarsUnavailable, match=r"org\.example:two:1\.0 arrived with SHA-256"):
        _fetch(lock, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*two*"))
    repository.contents["two"] = _CONTENTS["two"]
    assert len(_fetch(lock, tmp_path / "cache")) == 2


def test_files_of_a_killed_download_are_removed(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """The folder that a killed process left next to the jars is removed."""
    remains = tmp_path / "cache" / ".fetch-killed"
    remains.mkdir(parents=True)
    _fetch(lock, tmp_path / "cache")
    assert not remains.exists()


def test_concurrent_callers_download_once(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """Those who come while one downloads wait and then find the jars."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: _fetch(lock, tmp_path / "cache"), range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert repository.asked == [["one", "two"]]


def test_cache_that_cannot_be_written_is_named(lock: Path, tmp_path: Path, repository: _Repository) -> None:
    """The message names the directory, the hint the variable that moves it."""
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(JarsUnavailable, match=r"the jar cache .*cache cannot be used") as caught:
        _fetch(lock, tmp_path / "cache")
    assert "HEARTH_HOME" in str(caught.value.hint)


def test_committed_lock_names_the_broker_and_its_version() -> None:
    """The lock in the package is readable and pins Kafka 4.3.1."""
    jars = jar.read_lock(BROKER_LOCK)
    assert Coordinates("org.apache.kafka", "kafka_2.13", "4.3.1") in [locked.coordinates for locked in jars]
    assert len({locked.file_name for locked in jars}) == len(jars)
