"""A revoked bundle is rejected with the reason as soon as the list names it."""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path

import pytest

from hearth.discovery import BundleError, PluginScanner, read
from hearth.discovery.python_bundle import PythonBundle
from hearth.discovery.revocation import read_revocations
from hearth.discovery.trust import Trust, trust_of
from hearth.isolation.environment_store import EnvironmentStore
from hearth_api import ConfigError
from tests.bundles import build


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """Provide a list of packages that do not exist."""
    path = tmp_path / "revoked.txt"
    path.write_text("# what is not to be used\n\nnobody-has-this<9\n")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Provide a directory with a packed bundle and a wheel."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    shutil.copy(build.packed("greeting_source"), folder / "source.zip")
    shutil.copy(build.wheel("greeting_transform"), folder)
    return folder


def bundle_at(location: Path) -> PythonBundle:
    """Return the bundle there."""
    found = read(location)
    assert isinstance(found, PythonBundle)
    return found


def test_a_bundle_disappears_when_it_is_revoked_and_returns_when_it_is_not(place: Path, listed: Path) -> None:
    """A host scans every second and needs no restart; the other bundle is not read again."""
    trust = trust_of({"plugin.revoked": str(listed)})
    scanner = PluginScanner([place], include_host=False, admit=trust.admit, rules=lambda: trust.stamp)
    before = scanner.look()
    assert (len(before.plugins), before.rejected, scanner.look() is before) == (2, (), True)
    listed.write_text("greeting_source==1.1  # leaks passwords\n")
    after = scanner.look()
    assert [each.location for each in after.plugins] == [str(place / "greeting_transform-1.2-py3-none-any.whl")]
    assert [(each.location, each.reason) for each in after.rejected] == [
        (str(place / "source.zip"), "greeting-source 1.1 is revoked: leaks passwords")
    ]
    assert "plugin.revoked" in after.rejected[0].hint
    assert scanner.look() is after
    listed.write_text("")
    assert len(scanner.look().plugins) == 2


def test_packages_in_a_bundle_and_files_count_as_well(place: Path, listed: Path) -> None:
    """By the name of a package that it brings, by the hash of a wheel in it, by its own."""
    bundle = bundle_at(place / "source.zip")
    assert bundle.hashes is not None
    own = hashlib.sha256((place / "source.zip").read_bytes()).hexdigest()
    wheel = bundle.hashes["wheels/greeting-1.0-py3-none-any.whl"]
    for line in ("Greeting<2", f"sha256:{wheel}", f"sha256:{own}"):
        listed.write_text(f"{line}\n")
        with pytest.raises(BundleError, match="is revoked: no reason is given") as caught:
            Trust(revoked=[str(listed)]).admit(bundle)
        assert caught.value.code == "bundle.revoked"
    listed.write_text(f"greeting>=2\nsha256:{'0' * 64}\n")
    Trust(revoked=[str(listed)]).admit(bundle)


def test_packages_from_the_index_are_checked_for_revocation(place: Path, listed: Path) -> None:
    """It is in no bundle, and runs with one: by its version, and by the hash that a lock says."""
    listed.write_text(f"requests<3  # old\nsha256:{'1' * 64}\n")
    trust, bundle = Trust(revoked=[str(listed)]), bundle_at(place / "source.zip")
    with pytest.raises(BundleError, match=r"requests 2\.1, which it needs, is revoked: old"):
        trust.admit_packages(bundle, {"urllib3==2.0": [], "requests==2.1": ["sha256:x"]})
    with pytest.raises(BundleError, match="other 1, which it needs, is revoked"):
        trust.admit_packages(bundle, {"other==1": [f"sha256:{'1' * 64}"]})
    trust.admit_packages(bundle, {"requests==3.0": []})


def test_a_bundle_revoked_while_it_runs_gets_no_new_environment(place: Path, listed: Path, tmp_path: Path) -> None:
    """A restart is refused although the bundle was read before."""
    trust, bundle = Trust(revoked=[str(listed)]), bundle_at(place / "source.zip")
    store = EnvironmentStore(tmp_path / "environments", trust)
    store.ensure(bundle)
    listed.write_text("greeting_source\n")
    with pytest.raises(BundleError, match=r"greeting-source 1\.1 is revoked"):
        store.ensure(bundle)


@pytest.mark.parametrize("harm", ["removed", "nonsense"])
def test_a_list_that_becomes_unreadable_stays_in_force(
    harm: str, place: Path, listed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Removing the list does not lift a revocation; the log reports it once."""
    listed.write_text("greeting_source\n")
    trust, bundle = Trust(revoked=[str(listed)]), bundle_at(place / "source.zip")
    if harm == "removed":
        listed.unlink()
    else:
        listed.write_text("not so\n")
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            with pytest.raises(BundleError, match="is revoked"):
                trust.admit(bundle)
    (record,) = caplog.records
    assert "its last content stays in force" in record.getMessage()


def test_a_missing_list_is_reported_with_its_key(tmp_path: Path) -> None:
    """A host does not begin without it."""
    with pytest.raises(ConfigError, match=r"plugin\.revoked: .*nowhere\.txt: no such file") as caught:
        trust_of({"plugin.revoked": str(tmp_path / "nowhere.txt")})
    assert caught.value.hint


def test_line_that_makes_no_sense_is_named(listed: Path) -> None:
    """A list that is half understood would be worse than none."""
    listed.write_text("# what is not to be used\n\nnot so\n")
    with pytest.raises(ConfigError, match=r"revoked\.txt, line 3: 'not so' is neither"):
        read_revocations(listed)
    listed.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_revocations(listed)
