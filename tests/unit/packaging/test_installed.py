"""A directory of plugin.path always holds the bundle that was there, or the one that takes its place."""

from __future__ import annotations

import contextlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.discovery import BundleError
from hearth.isolation.environment_store import EnvironmentStore
from hearth.packaging import installed
from hearth.packaging.installed import Change, InstalledBundles
from hearth_api import ConflictError, ConnectError, NotFoundError
from tests.bundles import build

Act = Callable[[], Change]
POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


class NoEnvironments(EnvironmentStore):
    """Notes for which bundles an environment was asked, and builds none."""

    def __init__(self, root: Path) -> None:
        """Begin with none."""
        super().__init__(root)
        self.asked: list[str] = []

    def ensure(self, bundle: object) -> object:  # type: ignore[override]
        """Note the version."""
        self.asked.append(str(getattr(bundle, "version")))  # noqa: B009
        return None


@pytest.fixture
def store(tmp_path: Path) -> NoEnvironments:
    """Provide environments that cost nothing."""
    return NoEnvironments(tmp_path / "environments")


@pytest.fixture
def bundles(tmp_path: Path, store: NoEnvironments) -> InstalledBundles:
    """Provide a directory that does not exist yet."""
    return InstalledBundles(tmp_path / "plugin_path", store)


def made(tmp_path: Path, version: str, name: str = "demo") -> Path:
    """Make a bundle in the simplest form there is, a wheel."""
    (tmp_path / "wheels").mkdir(exist_ok=True)
    return build.plain_wheel(tmp_path / "wheels", name, version, POINTS)


def state(bundles: InstalledBundles) -> list[tuple[str, str]]:
    """Return what is installed, by file."""
    return [(each.location.name, each.version) for each in bundles.all()]


def test_any_form_becomes_one_zip_file_called_like_the_bundle(tmp_path: Path, bundles: InstalledBundles) -> None:
    """A wheel, a directory of installed packages, a packed bundle, which stays as it was to the byte."""
    site = build.site(tmp_path / "site", "other-demo", groups=POINTS)
    packed = build.packed("greeting_source")
    for source, name in (
        (made(tmp_path, "1.0"), "demo.zip"),
        (site, "other_demo.zip"),
        (packed, "greeting_source.zip"),
    ):
        change = bundles.install(source)
        assert (change.action, change.location) == ("install", bundles.folder / name)
    assert [name for name, _ in state(bundles)] == ["demo.zip", "greeting_source.zip", "other_demo.zip"]
    assert (bundles.folder / "greeting_source.zip").read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(bundles.folder / "demo.zip") as archive:
        assert archive.namelist() == ["demo-1.0-py3-none-any.whl"]


def test_slow_steps_are_shown(tmp_path: Path, store: NoEnvironments) -> None:
    """The environment may need minutes, of an index far away; where nothing is done nothing is shown."""
    shown: list[str] = []

    @contextlib.contextmanager
    def step(name: str) -> Iterator[None]:
        shown.append(name)
        yield

    bundles = InstalledBundles(tmp_path / "plugin_path", store, step=step)
    for _ in range(2):
        bundles.install(made(tmp_path, "1.0"))
    assert shown == ["the environment of demo 1.0"]


def test_same_bundle_again_changes_nothing(tmp_path: Path, bundles: InstalledBundles) -> None:
    """Scripts may install a bundle that is already installed."""
    bundles.install(made(tmp_path, "1.0"))
    assert bundles.install(made(tmp_path, "1.0")).action == "keep"
    assert bundles.upgrade(made(tmp_path, "1.0")).action == "keep"
    assert bundles.earlier("demo") == []


def test_second_version_is_installed_only_on_request(tmp_path: Path, bundles: InstalledBundles) -> None:
    """Connectors may name either."""
    bundles.install(made(tmp_path, "1.0"))
    with pytest.raises(ConflictError, match=r"demo 1\.0 is installed already") as raised:
        bundles.install(made(tmp_path, "2.0"))
    assert "upgrade" in str(raised.value.hint)
    bundles.install(made(tmp_path, "2.0"), is_beside=True)
    assert state(bundles) == [("demo.zip", "1.0"), ("demo-2.0.zip", "2.0")]
    acts: list[Act] = [lambda: bundles.remove("demo"), lambda: bundles.upgrade(made(tmp_path, "3.0"))]
    for act in acts:
        with pytest.raises(ConflictError, match=r"several versions of demo are installed: 1\.0, 2\.0"):
            act()
    bundles.upgrade(made(tmp_path, "3.0"), "2.0")
    assert state(bundles) == [("demo.zip", "1.0"), ("demo-3.0.zip", "3.0")]
    with pytest.raises(ConflictError, match=r"demo 3\.0 is installed beside it"):
        bundles.upgrade(made(tmp_path, "3.0"), "1.0")
    bundles.remove("demo", "1.0")
    assert state(bundles) == [("demo-3.0.zip", "3.0")]


def test_each_rollback_goes_back_one_version(tmp_path: Path, bundles: InstalledBundles) -> None:
    """What was rolled back does not come back by another rollback; what was removed does."""
    for version in ("1.0", "2.0", "3.0"):
        bundles.upgrade(made(tmp_path, version))
    assert state(bundles) == [("demo.zip", "3.0")]
    change = bundles.rollback("demo")
    assert (change.before, change.after) == ("3.0", "2.0")
    assert bundles.rollback("demo").after == "1.0"
    with pytest.raises(NotFoundError, match="no earlier version of demo"):
        bundles.rollback("demo")
    bundles.remove("demo")
    assert state(bundles) == []
    assert (bundles.rollback("demo").after, state(bundles)) == ("1.0", [("demo.zip", "1.0")])


def test_earlier_versions_are_kept_in_numbers_that_end(tmp_path: Path, bundles: InstalledBundles) -> None:
    """The disk does not fill up."""
    for number in range(installed.KEPT + 3):
        bundles.upgrade(made(tmp_path, f"{number}.0"))
    assert [each.version for each in bundles.earlier("demo")] == ["2.0", "3.0", "4.0", "5.0", "6.0"]


def test_a_bundle_copied_by_hand_is_upgraded_as_well(tmp_path: Path, bundles: InstalledBundles) -> None:
    """A wheel, a directory and a link; what a link leads to stays."""
    bundles.folder.mkdir()
    site = build.site(tmp_path / "site", "linked", groups=POINTS)
    (bundles.folder / "linked").symlink_to(site)
    shutil.copy(made(tmp_path, "1.0"), bundles.folder)
    build.site(bundles.folder / "folder", "folder", groups=POINTS)
    bundles.upgrade(made(tmp_path, "2.0"))
    bundles.upgrade(made(tmp_path, "2.0", "folder"))
    bundles.remove("linked")
    assert state(bundles) == [("demo.zip", "2.0"), ("folder.zip", "2.0")]
    assert any(site.iterdir())
    bundles.rollback("demo")
    bundles.rollback("folder")
    assert state(bundles) == [("demo.zip", "1.0"), ("folder.zip", "1.0")]


def test_environment_is_built_before_anything_changes(
    tmp_path: Path, bundles: InstalledBundles, store: NoEnvironments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle that cannot run here is not installed, and the old one stays."""
    bundles.install(made(tmp_path, "1.0"))

    def refused(bundle: object) -> object:
        raise ConnectError("no such Python here")

    monkeypatch.setattr(store, "ensure", refused)
    acts: list[Act] = [
        lambda: bundles.upgrade(made(tmp_path, "2.0")),
        lambda: bundles.install(made(tmp_path, "1", "b")),
    ]
    for act in acts:
        with pytest.raises(ConnectError, match="no such Python"):
            act()
    assert state(bundles) == [("demo.zip", "1.0")]


def test_upgrades_that_fail_push_out_no_earlier_version(
    tmp_path: Path, bundles: InstalledBundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often they are tried: there is as much to go back to as before."""
    bundles.install(made(tmp_path, "1.0"))
    bundles.upgrade(made(tmp_path, "2.0"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _no_room)
        for _ in range(installed.KEPT + 1):
            with pytest.raises(OSError, match="No space left") as raised:
                bundles.upgrade(made(tmp_path, "3.0"))
            assert raised.value.filename == str(bundles.folder / "demo.zip")
    assert state(bundles) == [("demo.zip", "2.0")]
    assert [each.version for each in bundles.earlier("demo")] == ["1.0"]


def _no_room(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_missing_bundle_leaves_no_files(tmp_path: Path, bundles: InstalledBundles) -> None:
    """Neither does the upgrade of a bundle that is not installed."""
    acts: list[Act] = [
        lambda: bundles.remove("demo"),
        lambda: bundles.rollback("demo"),
    ]
    for act in acts:
        with pytest.raises(NotFoundError):
            act()
    assert not bundles.folder.exists()
    with pytest.raises(NotFoundError, match=r"demo 7 is not installed"):
        bundles.upgrade(made(tmp_path, "1.0"), "7")
    assert state(bundles) == []


def test_damaged_bundle_is_not_installed(tmp_path: Path, bundles: InstalledBundles) -> None:
    """An invalid bundle is refused with the reason, and no directory is created."""
    for location, words in ((build.truncated(tmp_path), "truncated"), (tmp_path / "nothing.zip", "does not exist")):
        with pytest.raises(BundleError, match=words):
            bundles.install(location)
    assert not bundles.folder.exists()


def test_dry_run_reports_and_changes_nothing(tmp_path: Path, bundles: InstalledBundles, store: NoEnvironments) -> None:
    """The same answers, and the same refusals."""
    trial = InstalledBundles(bundles.folder, store, is_dry_run=True)
    assert trial.install(made(tmp_path, "1.0")) == Change("install", "demo", None, "1.0", bundles.folder / "demo.zip")
    assert not bundles.folder.exists()
    bundles.install(made(tmp_path, "1.0"))
    bundles.upgrade(made(tmp_path, "2.0"))
    before = sorted(bundles.folder.rglob("*"))
    assert trial.upgrade(made(tmp_path, "3.0")).after == "3.0"
    assert trial.rollback("demo").after == "1.0"
    assert trial.remove("demo").before == "2.0"
    with pytest.raises(NotFoundError, match="other is not installed"):
        trial.remove("other")
    assert sorted(bundles.folder.rglob("*")) == before
    assert state(bundles) == [("demo.zip", "2.0")]


@pytest.mark.parametrize("act", ["upgrade", "rollback"])
def test_a_crash_leaves_the_old_bundle_or_the_new_one(
    act: str, tmp_path: Path, bundles: InstalledBundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process ends; repeating the command completes it."""
    calls: dict[str, Act] = {
        "upgrade": lambda: bundles.upgrade(made(tmp_path, "3.0")),
        "rollback": lambda: bundles.rollback("demo"),
    }
    bundles.install(made(tmp_path, "1.0"))
    bundles.upgrade(made(tmp_path, "2.0"))
    whole = shutil.copytree(bundles.folder, tmp_path / "whole")
    wanted = {"upgrade": "3.0", "rollback": "1.0"}[act]
    ends = 0
    for point in range(50):
        shutil.rmtree(bundles.folder)
        shutil.copytree(whole, bundles.folder)
        if not _ended_at(point, calls[act], monkeypatch):
            break
        ends += 1
        assert state(bundles) in ([("demo.zip", "2.0")], [("demo.zip", wanted)])
        if state(bundles) == [("demo.zip", "2.0")]:
            calls[act]()
        assert state(bundles) == [("demo.zip", wanted)]
        if act == "upgrade":
            assert [each.version for each in bundles.earlier("demo")] == ["1.0", "2.0"]
    assert ends >= 2


class Killed(BaseException):
    """Simulates the end of the process."""


def _ended_at(point: int, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Kill the process at the n-th call that changes files, counted from 0; return whether it was reached."""
    count = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            nonlocal count
            count += 1
            if count > point:
                raise Killed
            return function(*arguments, **named)

        return call

    with monkeypatch.context() as patch:
        for name in ("replace", "link", "rename"):
            patch.setattr(os, name, counted(getattr(os, name)))
        for name in ("rmtree", "copyfile"):
            patch.setattr(shutil, name, counted(getattr(shutil, name)))
        try:
            act()
        except Killed:
            return True
    return False
