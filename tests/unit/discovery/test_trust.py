"""A worker takes the bundles that its configuration trusts, and no other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.config.plugin_key import ANY_BUNDLE, HASHED, SIGNED
from hearth.discovery import BundleError, discover, read
from hearth.discovery.python_bundle import PythonBundle
from hearth.discovery.trust import Trust, trust_of
from hearth.isolation.environment_store import EnvironmentStore
from hearth.packaging.sign import new_key, sign
from hearth_api import ConfigError
from tests.bundles import build


def _at(location: Path) -> PythonBundle:
    found = read(location)
    assert isinstance(found, PythonBundle)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a key and a bundle that it has signed."""
    folder = tmp_path_factory.mktemp("trust")
    shutil.copy(build.packed("greeting_source"), folder / "signed.zip")
    new_key(folder / "key")
    sign(folder / "signed.zip", folder / "key")
    return folder


@pytest.mark.parametrize(
    ("level", "refused"),
    [
        (ANY_BUNDLE, []),
        (HASHED, ["its files have no hashes"]),
        (SIGNED, ["so nothing in it can be signed", "it is not signed"]),
    ],
)
def test_each_level_takes_less(level: str, refused: list[str], folder: Path) -> None:
    """A wheel without a manifest, a packed bundle, a signed one; what is refused says by which key of the worker."""
    trust = Trust(level, [str(folder / "key.pub")])
    reasons = []
    for location in (build.wheel("greeting_transform"), build.packed("greeting_source"), folder / "signed.zip"):
        try:
            trust.admit(_at(location))
        except BundleError as error:
            reasons.append(str(error))
    assert len(reasons) == len(refused)
    assert all(words in reason and f"plugin.trust is {level}" in reason for words, reason in zip(refused, reasons))


def test_lock_has_hashes_as_well(folder: Path) -> None:
    """Nothing is installed with it whose hash it does not say; who wrote it, it does not say."""
    locked = replace(_at(build.wheel("greeting_transform")), has_lock=True)
    Trust(HASHED).admit(locked)
    with pytest.raises(BundleError, match="so nothing in it can be signed"):
        Trust(SIGNED, [str(folder / "key.pub")]).admit(locked)


def test_a_bundle_that_replaces_an_admitted_one_is_checked_again(folder: Path, tmp_path: Path) -> None:
    """By its content, not by its name."""
    trust = Trust(SIGNED, [str(folder / "key.pub")])
    place = tmp_path / "bundle.zip"
    shutil.copy(folder / "signed.zip", place)
    trust.admit(_at(place))
    trust.admit(_at(place))
    shutil.copy(build.packed("greeting_source"), tmp_path / "other.zip")
    (tmp_path / "other.zip").replace(place)
    with pytest.raises(BundleError, match="it is not signed"):
        trust.admit(_at(place))


@pytest.mark.parametrize(
    ("level", "keys", "words"),
    [
        (SIGNED, [], r"plugin\.trust\.keys names no key"),
        (SIGNED, ["/nowhere.pub"], "no such file"),
    ],
)
def test_trust_that_cannot_be_kept_is_refused(level: str, keys: list[str], words: str) -> None:
    """When a worker starts, not when a bundle comes."""
    with pytest.raises(ConfigError, match=words):
        Trust(level, keys)


def test_worker_settings_determine_trust(folder: Path) -> None:
    """Nothing but them; a level there is not is a mistake and no leave."""
    props = {"plugin.trust": "signed", "plugin.trust.keys": f"{folder}/key.pub"}
    trust_of(props).admit(_at(folder / "signed.zip"))
    with pytest.raises(BundleError, match=r"plugin\.trust is signed"):
        trust_of(props).admit(_at(build.packed("greeting_source")))
    trust_of({}).admit(_at(build.wheel("greeting_transform")))
    with pytest.raises(ConfigError, match=r"Invalid value none for configuration plugin\.trust"):
        trust_of({"plugin.trust": "none"})


def test_a_missing_requirement_is_not_installed_from_the_index(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unsigned and would run next to signed code; this also holds for a cached lock."""
    lacking = build.lacking(tmp_path)
    sign(lacking, folder / "key")
    monkeypatch.setenv("UV_DEFAULT_INDEX", build.index(tmp_path / "index", {build.wheel("greeting_1"): ""}))
    trust = Trust(SIGNED, [str(folder / "key.pub")])
    for before in (False, True):
        if before:
            EnvironmentStore(tmp_path / "environments").ensure(_at(lacking))
        store = EnvironmentStore(tmp_path / "environments", trust)
        with pytest.raises(BundleError, match=r"it needs greeting==1\.0, which is not in it") as raised:
            store.ensure(_at(lacking))
        assert raised.value.code == "bundle.trust"
    assert store.ensure(_at(folder / "signed.zip")).key


def test_untrusted_bundle_is_in_no_catalogue_and_gets_no_environment(folder: Path, tmp_path: Path) -> None:
    """None of its code runs; the other bundle is found."""
    trust = Trust(SIGNED, [str(folder / "key.pub")])
    shutil.copy(build.packed("greeting_transform"), tmp_path)
    shutil.copy(folder / "signed.zip", tmp_path)
    catalogue = discover([tmp_path], include_host=False, admit=trust.admit)
    assert {each.location for each in catalogue.plugins} == {str(tmp_path / "signed.zip")}
    (rejected,) = catalogue.rejected
    assert rejected.reason == "it is not signed (plugin.trust is signed)"
    with pytest.raises(BundleError, match="it is not signed"):
        EnvironmentStore(tmp_path / "environments", trust).ensure(_at(build.packed("greeting_transform")))
    assert not (tmp_path / "environments").exists()
