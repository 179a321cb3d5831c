"""Environments are built once, shared by equal locks and rebuilt when damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.discovery import Bundle, BundleError
from hearth.discovery.catalogue import read
from hearth.foundation.java import find_java
from hearth.isolation.environment import Environment
from hearth.isolation.environment_refused import EnvironmentRefused, InterpreterMissing
from hearth.isolation.environment_store import EnvironmentStore, host_environment, python_environment
from hearth.isolation.interpreter import host
from tests.bundles import build
from tests.bundles.java import TRANSFORMATION, jar, java_class

POINT = {"hearth.sink_connectors": {"a.Demo": "demo:Demo"}}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep uv from the network: only packages of the bundle are available."""
    monkeypatch.setenv("UV_OFFLINE", "1")


@pytest.fixture
def store(tmp_path: Path) -> EnvironmentStore:
    """A new store."""
    return EnvironmentStore(tmp_path / "environments")


def _bundle(location: Path) -> Bundle:
    found = read(location)
    assert isinstance(found, Bundle), found
    return found


def _demo(folder: Path, **wheel: str) -> Bundle:
    folder.mkdir(parents=True, exist_ok=True)
    build.plain_wheel(folder, "demo", groups=POINT, **wheel)  # type: ignore[arg-type]
    return _bundle(folder)


def _greeting_version(environment: Environment) -> str:
    program = f"import sys; sys.path[0:0] = {environment.paths!r}; import greeting; print(greeting.VERSION)"
    return subprocess.check_output([environment.command_line()[0], "-I", "-S", "-c", program], text=True).strip()


def _built(store: EnvironmentStore) -> list[str]:
    return sorted(path.name for path in store._root.iterdir() if path.is_dir() and path.name not in ("locks", "uses"))


def test_environment_holds_the_bundle_and_what_it_needs(store: EnvironmentStore) -> None:
    """The packages of a bundle are in one site directory, and each bundle has its own version of a library."""
    first = store.ensure(_bundle(build.packed("greeting_source")))
    second = store.ensure(_bundle(build.packed("greeting_transform")))
    assert first.command_line()[0] == sys.executable
    assert [Path(path).name for path in first.paths] == ["site"]
    assert (_greeting_version(first), _greeting_version(second)) == ("1.0", "2.0")
    assert first.key != second.key


def test_environment_is_built_once(store: EnvironmentStore) -> None:
    """The second call finds what the first one built, also from the store of another process."""
    bundle = _bundle(build.packed("greeting_source"))
    first = store.ensure(bundle)
    before = Path(first.paths[0]).parent.stat()
    again = EnvironmentStore(store._root).ensure(bundle)
    assert again == first
    after = Path(first.paths[0]).parent.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_equal_locks_share_an_environment(store: EnvironmentStore, tmp_path: Path) -> None:
    """A bundle at another location or in another form, with the same wheels, gets the same environment."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unpacked")
    packed, unpacked = _bundle(build.packed("greeting_source")), _bundle(tmp_path / "unpacked")
    assert store.ensure(packed) == store.ensure(unpacked)
    assert len(_built(store)) == 1


def test_changed_bundle_gets_another_environment(store: EnvironmentStore, tmp_path: Path) -> None:
    """With the same name and version but other content: the hash differs."""
    first = store.ensure(_demo(tmp_path / "one", code="X = 1"))
    second = store.ensure(_demo(tmp_path / "two", code="X = 2"))
    assert first.key != second.key


@pytest.mark.parametrize("damage", ["missing file", "other size", "extra file", "no fingerprint", "bad fingerprint"])
def test_damaged_environment_is_rebuilt(damage: str, store: EnvironmentStore, tmp_path: Path) -> None:
    """A damaged environment is never used, and never a reason to fail."""
    bundle = _demo(tmp_path / "demo", code="X = 1")
    built = store.ensure(bundle)
    module = Path(built.paths[0]) / "demo.py"
    fingerprint = Path(built.paths[0]).parent / "environment.json"
    if damage == "missing file":
        module.unlink()
    elif damage == "other size":
        module.write_text("X = 12345")
    elif damage == "extra file":
        module.with_name("extra.py").touch()
    elif damage == "no fingerprint":
        fingerprint.unlink()
    else:
        fingerprint.write_text("{")
    assert EnvironmentStore(store._root).ensure(bundle) == built
    assert module.read_text() == "X = 1"
    assert not module.with_name("extra.py").exists()
    assert _built(store) == [built.key]


@pytest.fixture
def _no_umask() -> Iterator[None]:
    """Let every new file be writable by everybody, as in some containers."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_recently_checked_environment_is_not_checked_again(tmp_path: Path) -> None:
    """A hundred connectors request it within a second. A removed one is still built at once."""
    now = [0.0]
    store = EnvironmentStore(tmp_path / "environments", look_seconds=1.0, clock=lambda: now[0])
    bundle = _demo(tmp_path / "demo", code="X = 1")
    module = Path(store.ensure(bundle).paths[0]) / "demo.py"
    store.ensure(bundle)
    module.unlink()
    for now[0], is_mended in ((0.9, False), (1.0, True)):
        store.ensure(bundle)
        assert module.exists() is is_mended
    shutil.rmtree(module.parent)
    store.ensure(bundle)
    assert module.exists()


@pytest.mark.usefixtures("_no_umask")
@pytest.mark.parametrize("layout", ["wheels", "packages"])
def test_only_the_owner_may_write_in_an_environment(layout: str, store: EnvironmentStore, tmp_path: Path) -> None:
    """Whatever the umask: its content is executed; compiling by a stage does not change that either."""
    bundle = _demo(tmp_path / "demo", code="class Demo: ...")
    if layout == "packages":
        packages = build.site(tmp_path / "site", "demo", groups=POINT)
        bundle = _bundle(Path(shutil.make_archive(str(tmp_path / "packed"), "zip", packages)))
    environment = store.ensure(bundle)
    subprocess.run([environment.command_line()[0], "-c", "import demo"], cwd=environment.paths[0], check=True)
    everything = [store._root, *store._root.rglob("*")]
    assert [each for each in everything if each.stat().st_mode & 0o022] == []
    inode = Path(environment.paths[0]).stat().st_ino
    assert store.ensure(bundle) == environment
    assert Path(environment.paths[0]).stat().st_ino == inode


@pytest.mark.parametrize("what", ["site", "site/demo.py", "."])
def test_environment_writable_for_others_is_rebuilt(what: str, store: EnvironmentStore, tmp_path: Path) -> None:
    """A file could be replaced by another of the same name and size."""
    bundle = _demo(tmp_path / "demo", code="X = 1")
    built = store.ensure(bundle)
    module = Path(built.paths[0]) / "demo.py"
    module.write_text("X = 2")
    (store._root / built.key / what).chmod(0o777)
    assert store.ensure(bundle) == built
    assert module.read_text() == "X = 1"


def test_directory_of_environments_is_closed_to_others(store: EnvironmentStore, tmp_path: Path) -> None:
    """Anyone with write access could replace an environment; checked also if nothing has to be built."""
    bundle = _demo(tmp_path / "demo")
    built = store.ensure(bundle)
    store._root.chmod(0o777)
    assert store.ensure(bundle) == built
    assert store._root.stat().st_mode & 0o777 == 0o755


def test_compiled_files_do_not_count_as_damage(store: EnvironmentStore, tmp_path: Path) -> None:
    """Python writes and removes ``__pycache__`` at any time."""
    bundle = _demo(tmp_path / "demo")
    built = store.ensure(bundle)
    shutil.rmtree(Path(built.paths[0]) / "__pycache__")
    before = Path(built.paths[0]).stat().st_ino
    store.ensure(bundle)
    assert Path(built.paths[0]).stat().st_ino == before


def test_remains_of_a_killed_builder_are_removed(store: EnvironmentStore, tmp_path: Path) -> None:
    """A killed builder leaves a directory with another name; the next builder removes it."""
    bundle = _demo(tmp_path / "demo")
    key = store.ensure(bundle).key
    shutil.rmtree(store._root / key)
    (store._root / f"{key}.building-abc" / "site").mkdir(parents=True)
    store.ensure(bundle)
    assert _built(store) == [key]


def test_failed_build_leaves_nothing(store: EnvironmentStore, tmp_path: Path) -> None:
    """After a failed build there is no environment, not even a part of one."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unpacked")
    bundle = _bundle(tmp_path / "unpacked")
    next((tmp_path / "unpacked" / "wheels").glob("greeting-*")).write_bytes(b"changed")
    with pytest.raises(BundleError, match="is not the file that was packed"):
        store.ensure(bundle)
    assert not store._root.exists() or _built(store) == []


def test_builders_at_the_same_time_build_one_environment(tmp_path: Path) -> None:
    """Several hosts may start at once: one builds, the others wait and use the result."""
    bundle = _bundle(build.packed("greeting_source"))
    stores = [EnvironmentStore(tmp_path / "shared") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda store: store.ensure(bundle), stores))
    assert len(found) == 1
    assert len(_built(stores[0])) == 1
    assert _greeting_version(found.pop()) == "1.0"


def test_missing_dependency_is_named(store: EnvironmentStore, tmp_path: Path) -> None:
    """A bundle that lacks a package, without an index, is refused with the missing package."""
    build.plain_wheel(tmp_path, "demo", groups=POINT, requires=("nowhere-to-be-found",))
    with pytest.raises(EnvironmentRefused, match="nowhere-to-be-found") as raised:
        store.ensure(_bundle(tmp_path / "demo-1.0-py3-none-any.whl"))
    assert raised.value.code == "environment.refused"
    assert "hearth bundle pack" in str(raised.value.hint)


def test_distributions_that_declare_plugins_come_from_the_bundle_only(
    store: EnvironmentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a wheel's name differs from its content, uv would install a package of that name from the index."""
    (tmp_path / "index").mkdir()
    namesake = build.plain_wheel(tmp_path / "index", "demo", "1.0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", build.index(tmp_path / "simple", {namesake: ""}))
    bundle = _demo(tmp_path / "demo", code="class Demo: ...")
    (wheel,) = bundle.location.iterdir()
    wheel.rename(wheel.with_name("other-1.0-py3-none-any.whl"))
    with pytest.raises(EnvironmentRefused, match=r"none of the wheels of demo .* is named demo==1\.0"):
        store.ensure(_bundle(bundle.location))


def test_index_does_not_replace_packages_of_a_bundle(
    store: EnvironmentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its author has tested it with that version, even if the index has newer ones; of several, the newest counts."""
    (tmp_path / "index").mkdir()
    others = {build.plain_wheel(tmp_path / "index", name, "3.0"): "" for name in ("needed", "known", "twice")}
    monkeypatch.setenv("UV_DEFAULT_INDEX", build.index(tmp_path / "simple", others))
    _demo(tmp_path / "demo", requires=("needed", "known", "twice"))  # type: ignore[arg-type]
    for name, version in (("known", "1.0"), ("twice", "1.0"), ("twice", "2.0")):
        build.plain_wheel(tmp_path / "demo", name, version)
    environment = store.ensure(_bundle(tmp_path / "demo"))
    found = {each.name.rpartition(".")[0] for each in Path(environment.paths[0]).glob("*.dist-info")}
    assert found == {"demo-1.0", "known-1.0", "needed-3.0", "twice-2.0"}


def test_offline_store_does_not_use_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even for packages that another store has locked; a complete bundle is still built."""
    (tmp_path / "index").mkdir()
    needed = build.plain_wheel(tmp_path / "index", "needed", "1.0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", build.index(tmp_path / "simple", {needed: ""}))
    lacking = _demo(tmp_path / "demo", requires=("needed",))  # type: ignore[arg-type]
    store = EnvironmentStore(tmp_path / "environments", is_offline=True)
    with pytest.raises(EnvironmentRefused, match="needed was not found in the provided package locations"):
        store.ensure(lacking)
    other = EnvironmentStore(tmp_path / "environments")
    shutil.rmtree(Path(other.ensure(lacking).paths[0]).parent)
    with pytest.raises(EnvironmentRefused, match="needed"):
        store.ensure(lacking)
    assert store.ensure(_bundle(build.packed("greeting_source"))).key


@pytest.mark.parametrize("required", ["hearth-api>=0.1", "hearth-api[batch]", "hearth-connect>=0.1"])
def test_host_packages_are_not_part_of_an_environment(store: EnvironmentStore, tmp_path: Path, required: str) -> None:
    """The host provides the author API, so a bundle may require it without a download."""
    build.plain_wheel(tmp_path, "demo", groups=POINT, requires=(required,))
    built = store.ensure(_bundle(tmp_path / "demo-1.0-py3-none-any.whl"))
    assert not list(Path(built.paths[0]).glob("hearth*"))


@pytest.mark.parametrize("layout", ["wheels", "dependency", "packed packages", "packages"])
def test_bundle_for_another_author_api_is_refused(store: EnvironmentStore, tmp_path: Path, layout: str) -> None:
    """Its plugins would lack what they need; requirements of extras do not count."""
    newer = ("nonsense ==", "hearth-api>=99; extra == 'test'", "hearth_api >= 99")
    folder = tmp_path / "demo"
    folder.mkdir()
    if layout == "wheels":
        build.plain_wheel(folder, "demo", groups=POINT, requires=newer[1:])
    elif layout == "dependency":
        build.plain_wheel(folder, "demo", groups=POINT, requires=("needed",))
        build.plain_wheel(folder, "needed", requires=newer[1:])
    else:
        build.site(folder, "demo", groups=POINT)
        metadata = next(folder.glob("*.dist-info")) / "METADATA"
        metadata.write_text(metadata.read_text() + "".join(f"Requires-Dist: {each}\n" for each in newer))
    made = folder
    if layout == "packed packages":
        made = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "demo"))
    with pytest.raises(EnvironmentRefused, match=r"requires hearth_api>=99, this host provides hearth-api [0-9]"):
        store.ensure(_bundle(made))


def test_bundle_for_another_python_is_refused(store: EnvironmentStore, tmp_path: Path) -> None:
    """A Requires-Python that no interpreter here meets is an error about this machine."""
    with pytest.raises(InterpreterMissing, match=r"demo needs Python >=3\.99"):
        store.ensure(_demo(tmp_path / "demo", requires_python=">=3.99"))


def test_site_directory_is_used_in_place(store: EnvironmentStore, tmp_path: Path) -> None:
    """A directory of packages is not built; a change in it gives another environment."""
    site = build.site(tmp_path / "site", "demo", groups=POINT)
    first = store.ensure(_bundle(site))
    assert first.paths == (str(site),)
    (site / "demo.py").write_text("changed = True")
    assert store.ensure(_bundle(site)).key != first.key


def test_packed_site_directory_is_unpacked(store: EnvironmentStore, tmp_path: Path) -> None:
    """A zip file of packages becomes a separate environment."""
    site = build.site(tmp_path / "demo-1.0", "demo", groups=POINT)
    packed = shutil.make_archive(str(tmp_path / "demo"), "zip", site.parent, site.name)
    built = store.ensure(_bundle(Path(packed)))
    assert (Path(built.paths[0]) / "demo.py").is_file()
    assert store.ensure(_bundle(Path(packed))) == built


def test_host_environment_is_what_the_host_runs_on() -> None:
    """Plugins installed with the host use its interpreter and its path."""
    host = host_environment()
    assert (host.key, host.command_line()[0]) == ("host", sys.executable)
    assert all(os.path.isdir(path) for path in host.paths)


def test_host_interpreter_is_the_runtimes_on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have another path on executors, which the user configures; any other interpreter keeps its path."""
    own = python_environment("key", host(), ("/site",))
    other = python_environment("key", replace(host(), path="/usr/bin/python3.99"), ("/site",))
    monkeypatch.setattr(sys, "executable", "/opt/executor/python")
    assert own.command_line()[0] == "/opt/executor/python"
    assert other.command_line()[0] == "/usr/bin/python3.99"


def test_java_bundle_has_a_jvm_and_a_directory_of_its_jars(store: EnvironmentStore, tmp_path: Path) -> None:
    """It is unpacked once; a stage runs on the Java of its machine."""
    location = jar(tmp_path / "transform.jar", java_class("org/example/A", interfaces=[TRANSFORMATION]))
    found = store.ensure(_bundle(location))
    assert Path(found.paths[0], "transform.jar").is_file()
    assert found.command_line()[0] == str(find_java().executable)
    assert not found.is_forkable
    assert store.ensure(_bundle(location)) == found


def test_java_bundle_for_a_newer_java_is_refused(store: EnvironmentStore, tmp_path: Path) -> None:
    """The error names the release that its classes need, and the Java that was found."""
    newer = java_class("org/example/A", interfaces=[TRANSFORMATION], release=99)
    with pytest.raises(EnvironmentRefused, match="Java 99 or newer is required") as caught:
        store.ensure(_bundle(jar(tmp_path / "transform.jar", newer))).command_line()
    assert str(caught.value).startswith("the plugins of transform do not run on ")
    assert "plugin.java.home" in str(caught.value.hint)
