"""Environments are listed with their bundles, and removed when no bundle needs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from hearth.discovery import Bundle
from hearth.discovery.catalogue import read
from hearth.isolation.environment_inventory import DAY, EnvironmentInventory, KnownEnvironment
from hearth.isolation.environment_store import EnvironmentStore
from tests.bundles import build


class Shelf:
    """A store of environments for bundles of packages, which build quickly."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "environments"
        self.store = EnvironmentStore(self.root)

    def use(self, name: str, version: str = "1.0") -> str:
        """Install a bundle, build its environment, and return the key."""
        site = build.site(self.folder / version / name, name, version, {"hearth.predicates": {"a.A": "a:A"}})
        packed = build.zip_folder(site, self.folder / f"{name}.zip")
        found = read(packed)
        assert isinstance(found, Bundle), found
        return self.store.ensure(found).key

    def age(self, key: str, days: float) -> None:
        """Set the last use of an environment to some days ago."""
        for note in (self.root / "uses" / key).iterdir():
            moment = note.stat().st_mtime - days * DAY
            os.utime(note, (moment, moment))

    def of(self, key: str) -> KnownEnvironment:
        """Return what is known of an environment."""
        return next(each for each in self.store.inventory.all() if each.key == key)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """An empty store."""
    return Shelf(tmp_path)


def test_environments_are_listed_with_their_bundles(shelf: Shelf) -> None:
    """The most recently used comes first."""
    one, two = shelf.use("one"), shelf.use("two")
    shelf.age(two, 1)
    found = shelf.store.inventory.all()
    assert [(each.key, [use.bundle for use in each.uses]) for each in found] == [(one, ["one"]), (two, ["two"])]
    assert all(each.is_needed and not each.is_running and each.size > 0 for each in found)
    assert found[0].uses[0].location == str(shelf.folder / "one.zip")


def test_a_use_is_noted_each_time(shelf: Shelf) -> None:
    """So an environment that is used rarely does not count as unused."""
    key = shelf.use("one")
    shelf.age(key, 30)
    before = shelf.of(key).last_used
    assert shelf.use("one") == key
    assert shelf.of(key).last_used > before + 29 * DAY


def test_unneeded_environment_is_removed_and_built_again_on_request(shelf: Shelf) -> None:
    """That of a replaced bundle, and of a removed one; a dry run removes nothing."""
    old, other, lost = shelf.use("one"), shelf.use("other"), shelf.use("lost")
    new = shelf.use("one", "1.1")
    (shelf.folder / "lost.zip").unlink()
    for key in (old, other, lost, new):
        shelf.age(key, 8 if key != new else 7.5)
    inventory = shelf.store.inventory
    assert {each.key for each in inventory.prune(7, is_dry_run=True)} == {old, lost}
    assert (shelf.root / old).is_dir()
    assert inventory.prune(9) == []
    assert {each.key for each in inventory.prune(7)} == {old, lost}
    assert {each.key for each in inventory.all()} == {other, new}
    assert not (shelf.root / "uses" / old).exists()
    assert shelf.use("one") == old
    assert (shelf.root / old / "site" / "one.py").is_file()


def test_environment_of_a_running_process_is_kept(shelf: Shelf) -> None:
    """Even if its bundle is removed: its modules may still have to be loaded."""
    key = shelf.use("one")
    (shelf.folder / "one.zip").unlink()
    shelf.age(key, 30)
    command = [sys.executable, "-c", "input(print(flush=True))", str(shelf.root / key / "site")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert shelf.of(key).is_running
        assert shelf.store.inventory.prune(0) == []
        process.communicate(b"\n")
    assert [each.key for each in shelf.store.inventory.prune(0)] == [key]


def test_leftover_directories_are_removed_unless_a_build_runs(shelf: Shelf) -> None:
    """A killed builder or remover leaves a directory that is not an environment."""
    key = shelf.use("one")
    left = [shelf.root / f"{key}.building-x", shelf.root / f"{key}.removed-7"]
    for each in left:
        (each / "site").mkdir(parents=True)
    with FileLock(shelf.root / f"{key}.lock"):
        shelf.store.inventory.prune(7)
        assert all(each.is_dir() for each in left)
    shelf.store.inventory.prune(7)
    assert not any(each.exists() for each in left)
    assert shelf.of(key).is_needed


def test_inventory_may_be_empty(tmp_path: Path) -> None:
    """Before the first bundle is used."""
    inventory = EnvironmentInventory(tmp_path / "nothing")
    assert (inventory.all(), inventory.prune(0)) == ([], [])
