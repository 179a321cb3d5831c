"""A bundle is verified from its structure to what its plugins say."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery.manifest import BILL_OF_MATERIALS, MANIFEST
from hearth.packaging import description
from hearth.packaging.verify import Check, verify
from tests.bundles import build
from tests.peer.plugin_list import place


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep uv from the network."""
    monkeypatch.setenv("UV_OFFLINE", "1")


def _failed(location: Path) -> list[Check]:
    return [check for check in verify(location) if not check.is_ok]


def _changed(folder: Path, change: Callable[[dict[str, object]], None]) -> Path:
    """Return an unpacked bundle whose manifest was changed."""
    target = folder / "unpacked"
    shutil.unpack_archive(build.packed("greeting_source"), target)
    members = json.loads((target / MANIFEST).read_text())
    change(members)
    (target / MANIFEST).write_text(json.dumps(members))
    return target


def test_good_bundle_passes_every_check() -> None:
    """A packed bundle is right in structure, hashes, environment, imports and configuration definitions."""
    checks = verify(build.packed("greeting_source"))
    assert [check.name for check in checks] == [
        "structure",
        "hashes",
        "licences",
        "size",
        "environment",
        "import",
        "configuration",
        "rules",
    ]
    assert all(check.is_ok for check in checks)


def test_good_wheel_passes_every_check() -> None:
    """A bundle needs no manifest to be good."""
    assert _failed(build.wheel("marks_on_import")) == []


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (build.truncated, "structure", "truncated"),
        (build.traversal, "structure", "points outside the archive"),
        (build.without_metadata, "structure", "no METADATA"),
        (lambda _: build.wheel("no_entry_points"), "structure", "no plugin is declared"),
        (lambda _: build.wheel("bad_entry_points"), "structure", "not module:Class"),
        (lambda _: build.wheel("raises_on_import"), "import", "RuntimeError: this bundle cannot be imported"),
        (lambda _: build.wheel("wrong_type"), "import", "is not a "),
        (lambda _: build.wheel("missing_class"), "import", "has no attribute 'Missing'"),
        (lambda folder: folder / "nowhere", "structure", "does not exist"),
    ],
)
def test_bad_bundle_fails_with_a_reason(make: Callable[[Path], Path], name: str, words: str, tmp_path: Path) -> None:
    """The first thing that is wrong is named, with what to do about it."""
    (failed,) = _failed(make(tmp_path))
    assert failed.name == name
    assert words in failed.detail
    assert failed.hint
    assert not failed.is_environment


def test_changed_file_fails_the_hashes(tmp_path: Path) -> None:
    """A wheel that is not the one that was packed is found before anything of it runs."""
    target = _changed(tmp_path, lambda members: None)
    next((target / "wheels").glob("greeting-*")).write_bytes(build.wheel("greeting_2").read_bytes())
    (failed,) = _failed(target)
    assert (failed.name, failed.is_environment) == ("hashes", False)
    assert "is not the file that was packed" in failed.detail


def test_file_that_is_not_listed_fails_the_hashes(tmp_path: Path) -> None:
    """Nothing may travel in a bundle that its manifest does not know."""
    target = tmp_path / "more.zip"
    shutil.copy(build.packed("greeting_source"), target)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr("extra.py", "")
    (failed,) = _failed(target)
    assert (failed.name, failed.subject) == ("hashes", "extra.py")


def test_other_configuration_definition_fails(tmp_path: Path) -> None:
    """A manifest that describes other keys than the plugin has would make validation lie."""

    def change(members: dict[str, object]) -> None:
        members["plugins"][0]["config"].pop()  # type: ignore[index]

    (failed,) = _failed(_changed(tmp_path, change))
    assert failed.name == "configuration"


def test_other_version_fails(tmp_path: Path) -> None:
    """With another version than the plugin's, the manifest would list a version that does not exist."""

    def change(members: dict[str, object]) -> None:
        members["plugins"][0]["version"] = "9"  # type: ignore[index]

    (failed,) = _failed(_changed(tmp_path, change))
    assert failed.detail == "declared with version '9', version() returns '1.1'"


def test_bundle_for_another_python_fails_for_this_machine(tmp_path: Path) -> None:
    """A missing Python is distinguished from a bad bundle."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    (failed,) = _failed(build.plain_wheel(tmp_path, "demo", groups=points, requires_python=">=3.99"))
    assert failed.name == "environment"
    assert failed.is_environment


@pytest.mark.parametrize("package", ["hearth-api", "hearth-connect"])
def test_bundle_that_brings_the_author_api_fails_the_contract(tmp_path: Path, package: str) -> None:
    """The API comes from the host; a copy in the bundle would be another API."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    build.plain_wheel(tmp_path, "demo", groups=points)
    build.plain_wheel(tmp_path, package)
    assert [check.name for check in _failed(tmp_path)] == ["contract"]


HOSTILE = {
    "exits": ("import os; os._exit(7)", "exited with 7"),
    "hangs": ("import threading; threading.Event().wait()", "did not answer 'describe' within 1 s"),
    "forks": ("import os, time; os.fork() or (time.sleep(9), os._exit(0))", "loading it starts a process"),
    "steals": (
        "import os, socket\nfor each in range(3, 64):\n"
        "    try:\n        socket.socket(fileno=os.dup(each)).sendall(bytes(64))\n    except OSError:\n        pass",
        "broke the protocol",
    ),
}
"""Modules that do harm when they are loaded, and what is said of it."""


def test_side_effects_of_loading_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each such plugin is refused with the reason, and the others of the bundle are looked at all the same."""
    monkeypatch.setattr(description, "SECONDS", 1)
    groups = {"hearth.predicates": {f"a.{name}": f"{name}:Demo" for name in [*HOSTILE, "sound"]}}
    site = build.site(tmp_path, "demo", groups=groups)
    sound = (
        "from hearth_api import Predicate\nclass Demo(Predicate):\n"
        "    def configure(self, configs): pass\n    def test(self, record): return True\n"
    )
    for name, (code, _) in {**HOSTILE, "sound": ("", "")}.items():
        (site / f"{name}.py").write_text(f"{code}\n{sound}")
    failed = {check.subject: check for check in _failed(site)}
    assert failed.keys() == {f"a.{name}" for name in HOSTILE}
    for name, (_, words) in HOSTILE.items():
        assert words in failed[f"a.{name}"].detail, failed[f"a.{name}"]
        assert (failed[f"a.{name}"].name, bool(failed[f"a.{name}"].hint)) == ("import", True)


def test_requirements_that_contradict_each_other_are_both_named(tmp_path: Path) -> None:
    """No environment can hold two versions of one package: the reason names the requirements."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    build.plain_wheel(tmp_path, "demo", groups=points, requires=("shared==1.0", "other"))
    build.plain_wheel(tmp_path, "other", requires=("shared>=2",))
    for version in ("1.0", "2.0"):
        build.plain_wheel(tmp_path, "shared", version)
    (failed,) = _failed(tmp_path)
    assert failed.name == "environment"
    detail = " ".join(failed.detail.split())
    assert "shared==1.0" in detail
    assert "shared>=2" in detail


def test_bundle_for_another_api_fails_the_contract(tmp_path: Path) -> None:
    """Before any of its code runs, with the required and the present version."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    (failed,) = _failed(build.plain_wheel(tmp_path, "demo", groups=points, requires=("hearth-api>=7",)))
    assert (failed.name, failed.subject) == ("contract", "demo 1.0")
    assert failed.detail.startswith("it requires hearth-api>=7, this host provides hearth-api ")


def test_changed_bill_of_materials_fails_the_hashes(tmp_path: Path) -> None:
    """What is not installed counts as well."""
    target = _changed(tmp_path, lambda members: None)
    (target / BILL_OF_MATERIALS).write_text("{}")
    (failed,) = _failed(target)
    assert (failed.name, failed.subject) == ("hashes", BILL_OF_MATERIALS)


def test_connector_that_a_configuration_names_is_run() -> None:
    """In memory, by the rules that need settings as well; what breaks one is named with it."""
    checks = verify(build.packed("greeting_source"), {"connector.class": "GreetingSource", "topic": ""})
    (rule, *_) = [check for check in checks if not check.is_ok]
    assert (rule.name, rule.detail.partition(":")[0]) == ("rules", "records_fit_their_schemas")


def test_unknown_connector_licences_and_size_are_reported(tmp_path: Path) -> None:
    """An unknown connector cannot run. A missing licence is reported and not refused."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    wheel = build.plain_wheel(tmp_path, "demo", groups=points)
    found = {check.name: check for check in reversed(verify(wheel, {"connector.class": "Other"}))}
    assert (found["rules"].is_ok, found["rules"].detail) == (False, "it has no connector 'Other'")
    assert (found["licences"].is_ok, found["licences"].detail) == (True, "not stated by demo 1.0")
    assert found["size"].detail == f"1 package, {wheel.stat().st_size} B"


def test_good_java_bundle_passes_every_check(tmp_path: Path) -> None:
    """Each plugin is described in a JVM; the rules are those of Python's API."""
    checks = verify(place("connect-file", tmp_path))
    assert [check for check in checks if not check.is_ok] == []
    assert {check.detail for check in checks if check.name == "rules"} == {"there are none for Java"}
    assert {check.detail for check in checks if check.name == "configuration"} == {"1 key", "3 keys"}


def test_java_bundle_without_its_libraries_names_the_missing_class(tmp_path: Path) -> None:
    """It is what Java says, without its frames."""
    checks = verify(place("kafka-connect-transform-common", tmp_path))
    missing = {check.detail for check in checks if not check.is_ok}
    assert missing >= {"java.lang.ClassNotFoundException: com.google.common.base.CaseFormat"}
    assert all(detail.startswith("java.lang.ClassNotFoundException: com.") for detail in missing)
