"""A lock from another tool defines exactly what an environment holds, with which content."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from hearth.discovery import Bundle, discover
from hearth.discovery.catalogue import read
from hearth.isolation import uv
from hearth.isolation.environment_refused import EnvironmentRefused
from hearth.isolation.environment_store import EnvironmentStore
from hearth.isolation.interpreter import host
from hearth.isolation.lock import hash_of
from hearth.isolation.pylock import LockRefused, from_pylock
from tests.bundles import build

HEAD = 'lock-version = "1.0"\ncreated-by = "test"\n'
DIGEST = "0" * 64


def _package(name: str, more: str = "", digest: str = f'sha256 = "{DIGEST}"') -> str:
    wheel = f'{{ url = "https://example.org/{name.replace("-", "_")}-1.0-py3-none-any.whl", hashes = {{ {digest} }} }}'
    return f'[[packages]]\nname = "{name}"\nversion = "1.0"\n{more}\nwheels = [{wheel}]\n'


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A directory of wheels: a plugin, and two versions of its dependency."""
    folder = tmp_path / "demo"
    folder.mkdir()
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    build.plain_wheel(folder, "demo", groups=points, requires=("shared", "hearth-api"))
    for version in ("1.0", "1.1"):
        build.plain_wheel(folder, "shared", version, code=f"VERSION = {version!r}")
    return folder


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep uv from the network: only packages of the bundle are available."""
    monkeypatch.setenv("UV_OFFLINE", "1")


def _bundle(location: Path) -> Bundle:
    found = read(location)
    assert isinstance(found, Bundle), found
    return found


def _lock_with_uv(wheels: Path) -> Path:
    """Lock the older of the two versions, with another tool."""
    wanted = wheels.parent / "wanted.txt"
    wanted.write_text("demo\nshared<1.1\n")
    uv.run(
        "pip", "compile", str(wanted), "--find-links", str(wheels), "--no-index", "--no-cache", "--no-header",
        "--no-emit-package", "hearth-api", "--excludes", str(_excluded(wheels.parent)), "--python", sys.executable,
        "--format", "pylock.toml", "--output-file", str(wheels / "pylock.toml"),
    )  # fmt: skip
    return wheels / "pylock.toml"


def _excluded(folder: Path) -> Path:
    path = folder / "excluded.txt"
    path.write_text("hearth-api\n")
    return path


def test_environment_has_the_packages_of_the_lock(wheels: Path, tmp_path: Path) -> None:
    """Not the newest version; a changed lock gives another environment."""
    store = EnvironmentStore(tmp_path / "environments")
    newest = store.ensure(_bundle(wheels))
    _lock_with_uv(wheels)
    locked = store.ensure(_bundle(wheels))
    assert locked.key != newest.key
    installed = {each.name for each in Path(locked.paths[0]).glob("*.dist-info")}
    assert installed == {"demo-1.0.dist-info", "shared-1.0.dist-info"}
    assert store.ensure(_bundle(wheels)) == locked


def test_directory_with_a_lock_is_one_bundle(wheels: Path) -> None:
    """Otherwise each of its wheels would be a bundle, and its dependencies would be rejected."""
    _lock_with_uv(wheels)
    found = discover([wheels], include_host=False)
    assert [each.class_name for each in found.plugins] == ["a.Demo"]
    assert found.rejected == ()


def test_wheel_other_than_the_locked_one_is_rejected(wheels: Path, tmp_path: Path) -> None:
    """The hash decides, not the name."""
    _lock_with_uv(wheels)
    build.plain_wheel(wheels, "shared", "1.0", code="evil = True")
    with pytest.raises(EnvironmentRefused, match="Hash mismatch"):
        EnvironmentStore(tmp_path / "environments").ensure(_bundle(wheels))


def test_roots_come_from_the_bundle_and_markers_count(wheels: Path) -> None:
    """The lock of a project has the project as a directory; packages for other machines are ignored."""
    text = HEAD + '[[packages]]\nname = "demo"\ndirectory = { path = "." }\n'
    text += _package("wanted", "marker = \"python_version >= '3.10'\"")
    text += _package("other", "marker = \"sys_platform == 'win32'\"") + _package("hearth-api")
    found = from_pylock(text, ["demo==1.0"], wheels, host())
    own = hash_of(wheels / "demo-1.0-py3-none-any.whl")
    assert found.pins == {"demo==1.0": (own,), "wanted==1.0": (f"sha256:{DIGEST}",)}
    newer = dataclasses.replace(host(), version="3.99.1")
    marker = "marker = \"python_full_version >= '3.99.1'\""
    assert "late==1.0" in from_pylock(HEAD + _package("late", marker), ["demo==1.0"], wheels, newer).pins


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lock-version = ", "malformed"),
        ('created-by = "x"', "malformed"),
        (HEAD + 'requires-python = ">=3.99"\npackages = []', "is for Python >=3.99, not"),
        (HEAD + _package("x", digest='md5 = "0"'), "no sha256 for x-1.0-py3-none-any.whl"),
        (HEAD + '[[packages]]\nname = "x"\ndirectory = { path = "x" }', "installs x from a directory or a repository"),
    ],
)
def test_incomplete_lock_is_rejected(text: str, words: str, wheels: Path) -> None:
    """With the reason, and how to create a valid one."""
    with pytest.raises(LockRefused, match=words) as raised:
        from_pylock(text, ["demo==1.0"], wheels, host())
    assert "pylock.toml" in str(raised.value.hint)
