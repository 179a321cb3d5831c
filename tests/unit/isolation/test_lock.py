"""Locks are requirements files with hashes, and define exactly what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.isolation import lock
from hearth.isolation.environment_refused import UvFailed
from hearth.isolation.interpreter import host
from hearth.isolation.lock import Lock
from tests.bundles import build

_HASHES = st.integers(0, 2**256 - 1).map(lambda number: f"sha256:{number:064x}")
_PINS = st.from_regex(r"[a-z]{1,3}([._-][a-z0-9]{1,3})?==[0-9]\.[0-9](\.post1|rc2|\+local)?", fullmatch=True)


@given(
    st.dictionaries(
        _PINS, st.lists(_HASHES, min_size=1, max_size=3, unique=True).map(lambda all_: tuple(sorted(all_)))
    )
)
def test_lock_is_read_as_it_was_written(pins: dict[str, tuple[str, ...]]) -> None:
    """A round trip changes nothing, and the text depends on the content only."""
    found = Lock.from_text(Lock(pins).text)
    assert found == Lock(pins)
    assert Lock(dict(reversed(pins.items()))).text == Lock(pins).text


def test_lock_of_uv_is_read_with_comments_and_markers() -> None:
    """Whatever ``uv pip compile`` writes around pins and hashes."""
    text = (
        "# a comment\n--index-url https://example.org\ndemo @ file:///demo.whl\n"
        "one==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via demo\n"
        "two==2.0 ; python_version < '4' \\\n    --hash=sha256:cc\n"
    )
    assert Lock.from_text(text).pins == {"one==1.0": ("sha256:aa", "sha256:bb"), "two==2.0": ("sha256:cc",)}


def test_requirements_are_resolved_from_a_folder_of_wheels(tmp_path: Path) -> None:
    """Dependencies are resolved, packages of the host are excluded, and every pin has the file's hash."""
    build.plain_wheel(tmp_path, "top", requires=("middle>=1", "hearth-api[batch]", "hearth-connect"))
    middle = build.plain_wheel(tmp_path, "middle", "1.5")
    build.plain_wheel(tmp_path, "middle", "0.9")
    found = lock.resolve(["top==1.0"], host(), tmp_path, offline=True)
    assert list(found.pins) == ["middle==1.5", "top==1.0"]
    assert found.pins["middle==1.5"] == (lock.hash_of(middle),)
    assert found.is_covered_by(tmp_path)


def test_failed_resolution_has_the_message_of_uv(tmp_path: Path) -> None:
    """The error contains uv's explanation of what is missing."""
    build.plain_wheel(tmp_path, "top", requires=("nowhere-to-be-found>=2",))
    with pytest.raises(UvFailed, match="nowhere-to-be-found") as raised:
        lock.resolve(["top==1.0"], host(), tmp_path, offline=True)
    assert raised.value.code == "environment.uv"


def test_wheel_of_the_bundle_takes_precedence_over_the_index(tmp_path: Path) -> None:
    """If a bundle has a pinned package, only its own file is accepted; names are normalized."""
    wheel = build.plain_wheel(tmp_path, "own-thing")
    found = Lock({"Own.Thing==1.0.0": ("sha256:of-the-index",), "other==1": ("sha256:x",)}).preferring(tmp_path)
    assert found.pins == {"Own.Thing==1.0.0": (lock.hash_of(wheel),), "other==1": ("sha256:x",)}


def test_file_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    """A wheel other than the locked one is rejected."""
    build.plain_wheel(tmp_path, "demo")
    forged = Lock({"demo==1.0": ("sha256:" + "0" * 64,)})
    with pytest.raises(UvFailed, match=r"[Hh]ash"):
        lock.install(forged, tmp_path / "site", host(), tmp_path, offline=True)


def test_damaged_stored_lock_counts_as_missing(tmp_path: Path) -> None:
    """A missing, empty or damaged file counts as no lock."""
    assert lock.read(tmp_path / "missing") is None
    (tmp_path / "damaged").write_text("\0\0\0")
    assert lock.read(tmp_path / "damaged") is None
