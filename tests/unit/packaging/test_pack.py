"""A project becomes a bundle with all it needs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import sys_tags

from hearth.discovery import BundleError
from hearth.discovery.manifest import BILL_OF_MATERIALS, MANIFEST, Manifest
from hearth.packaging.pack import pack
from hearth.packaging.wheel_target import WheelTarget
from tests.bundles import build


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep uv from the network: everything comes from the folders of wheels."""
    monkeypatch.setenv("UV_OFFLINE", "1")


def _project(name: str, folder: Path) -> Path:
    shutil.copytree(build.SOURCES / name, folder / name)
    return folder / name


def _pack(project: Path, out: Path) -> Path:
    libraries = [build.wheel(library).parent for library in build.LIBRARIES]
    return pack(project, out, build.environments(), libraries, offline=True)


def test_bundle_holds_the_wheels_and_their_hashes() -> None:
    """The zip file has the manifest first, then the project's wheel and those it needs, as the manifest says."""
    with zipfile.ZipFile(build.packed("greeting_transform")) as archive:
        assert archive.namelist() == [
            MANIFEST,
            "wheels/greeting-2.0-py3-none-any.whl",
            "wheels/greeting_transform-1.2-py3-none-any.whl",
            BILL_OF_MATERIALS,
        ]
        manifest = Manifest.from_text(archive.read(MANIFEST).decode())
        for file in manifest.files:
            content = archive.read(file.path)
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.size)
    assert (manifest.name, manifest.version, manifest.requires_python) == ("greeting-transform", "1.2", ">=3.10")


def test_manifest_contains_the_descriptions_of_plugins() -> None:
    """Version and configuration definition were asked for in a process of their own when packing."""
    with zipfile.ZipFile(build.packed("greeting_source")) as archive:
        (plugin,) = Manifest.from_text(archive.read(MANIFEST).decode()).plugins
    assert (plugin.class_name, plugin.version) == ("org.example.greeting.GreetingSourceConnector", "1.1")
    assert plugin.definitions is not None
    assert [(key["name"], key["type"], key["required"]) for key in plugin.definitions] == [
        ("topic", "STRING", True),
        ("count", "INT", False),
    ]


def test_plugin_without_a_version_has_that_of_its_package() -> None:
    """A class that does not state its version is listed with the version of the wheel."""
    with zipfile.ZipFile(build.packed("marks_on_import")) as archive:
        (plugin,) = Manifest.from_text(archive.read(MANIFEST).decode()).plugins
    assert plugin.version == "1.0"


def test_packing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """A copy of the source in another place and at another time makes the same bundle."""
    again = _pack(_project("greeting_source", tmp_path), tmp_path)
    assert again.name == build.packed("greeting_source").name
    assert again.read_bytes() == build.packed("greeting_source").read_bytes()


def test_steps_are_reported_in_order(tmp_path: Path) -> None:
    """A failed step is not reported as done."""
    steps: list[str] = []

    @contextlib.contextmanager
    def step(name: str) -> Iterator[None]:
        yield
        steps.append(name)

    project = _project("raises_on_import", tmp_path)
    with pytest.raises(BundleError):
        pack(project, tmp_path, build.environments(), offline=True, step=step)
    assert steps == [f"the wheel of {project}", "what it needs"]


def test_bundle_for_several_platforms_has_the_wheels_of_all(tmp_path: Path) -> None:
    """Of compiled packages; an error names one that lacks a wheel for a platform."""
    links = tmp_path / "links"
    links.mkdir()
    for tags in (str(next(sys_tags())), "cp312-cp312-manylinux_2_17_aarch64"):
        build.plain_wheel(links, "compiled", code=tags).rename(links / f"compiled-1.0-{tags}.whl")
    code = "from hearth_api import Predicate\nclass Demo(Predicate):\n    def configure(self, configs): pass\n"
    code += "    def test(self, record): return True\n    def close(self): pass\n"
    build.plain_wheel(
        links, "demo", groups={"hearth.predicates": {"a.Demo": "demo:Demo"}}, requires=("compiled",), code=code
    )
    arm, windows = WheelTarget("3.12", "linux-aarch64"), WheelTarget("3.12", "windows-amd64")
    wanted = Requirement("demo")
    bundle = pack(wanted, tmp_path, build.environments(), [links], offline=True, targets=[arm])
    with zipfile.ZipFile(bundle) as archive:
        assert "wheels/compiled-1.0-cp312-cp312-manylinux_2_17_aarch64.whl" in archive.namelist()
    with pytest.raises(BundleError, match=r"for Python 3\.12 on windows-amd64 cannot be gathered"):
        pack(wanted, tmp_path, build.environments(), [links], offline=True, targets=[windows])


def test_packing_leaves_the_project_as_it_was(tmp_path: Path) -> None:
    """Nothing is built into the source."""
    project = _project("greeting_source", tmp_path)
    before = sorted(project.rglob("*"))
    _pack(project, tmp_path / "out.zip")
    assert sorted(project.rglob("*")) == before
    assert (tmp_path / "out.zip").is_file()


BACKEND = """
import pathlib, zipfile

def get_requires_for_build_wheel(config_settings=None):
    return ["greeting==1.0"]

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import greeting
    pathlib.Path("build").mkdir(exist_ok=True)  # as setuptools does
    name = "other-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.writestr(zipfile.ZipInfo("other.py"), pathlib.Path("other.py").read_text())
        for path in ("METADATA", "WHEEL", "entry_points.txt", "RECORD"):
            wheel.writestr(zipfile.ZipInfo("other-1.0.dist-info/" + path), pathlib.Path(path).read_text())
    return name
"""
"""A build backend that needs more than its project says, and leaves something behind."""


def _project_with_backend(folder: Path) -> Path:
    """Write a project that nothing of the host's builds."""
    points = {"hearth.predicates": {"a.Other": "other:Other"}}
    files = {path.rpartition("/")[2]: text for path, text in build.dist_info("other", "1.0", points).items()}
    code = "from hearth_api import Predicate\nclass Other(Predicate):\n    def configure(self, configs): pass\n"
    code += "    def test(self, record): return True\n    def close(self): pass\n"
    described = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    folder.mkdir()
    for name, text in {
        **files,
        "RECORD": "",
        "other.py": code,
        "backend.py": BACKEND,
        "pyproject.toml": described,
    }.items():
        (folder / name).write_text(text)
    return folder


def test_any_backend_builds_the_wheel_with_its_requirements(tmp_path: Path) -> None:
    """A backend may name requirements when it is called, as setuptools does; the project stays unchanged."""
    project = _project_with_backend(tmp_path / "other")
    before = sorted(project.rglob("*"))
    bundle = _pack(project, tmp_path)
    assert sorted(project.rglob("*")) == before
    with zipfile.ZipFile(bundle) as archive:
        assert "wheels/other-1.0-py3-none-any.whl" in archive.namelist()


def test_bill_of_materials_names_all_parts_and_is_part_of_the_bundle() -> None:
    """Its hashes are those of the manifest, which has its own as well."""
    with zipfile.ZipFile(build.packed("greeting_source")) as archive:
        bill = json.loads(archive.read(BILL_OF_MATERIALS))
        files = {each.path: each for each in Manifest.from_text(archive.read(MANIFEST).decode()).files}
        assert hashlib.sha256(archive.read(BILL_OF_MATERIALS)).hexdigest() == files[BILL_OF_MATERIALS].sha256
    (part,) = bill["components"]
    assert part["purl"] == "pkg:pypi/greeting@1.0"
    assert part["hashes"] == [{"alg": "SHA-256", "content": files["wheels/greeting-1.0-py3-none-any.whl"].sha256}]
    assert bill["metadata"]["component"]["name"] == "greeting-source"
    assert bill["dependencies"] == [
        {"ref": "pkg:pypi/greeting@1.0", "dependsOn": []},
        {"ref": "pkg:pypi/greeting-source@1.1", "dependsOn": ["pkg:pypi/greeting@1.0"]},
    ]


def test_a_missing_output_directory_is_created(tmp_path: Path) -> None:
    """As with pip wheel -w and uv build --out-dir: the first bundle is next to the second."""
    name = build.packed("greeting_source").name
    project = _project("greeting_source", tmp_path)
    for out in (tmp_path / "new" / "bundles", tmp_path / "with.dots-1.0"):
        assert _pack(project, out) == out / name
        assert (out / name).read_bytes() == build.packed("greeting_source").read_bytes()


def test_a_file_is_no_place_for_a_bundle(tmp_path: Path) -> None:
    """It is left as it is, and nothing is built before it is refused."""
    taken = tmp_path / "bundles"
    taken.write_text("mine")
    with pytest.raises(BundleError, match="bundles' is a file") as raised:
        _pack(tmp_path, taken)
    assert "a directory, or a file whose name ends with .zip" in str(raised.value.hint)
    assert taken.read_text() == "mine"


def test_directory_without_a_project_is_refused(tmp_path: Path) -> None:
    """The error names the directory."""
    with pytest.raises(BundleError, match=r"has no pyproject\.toml"):
        _pack(tmp_path, tmp_path)


def test_project_without_plugins_is_refused(tmp_path: Path) -> None:
    """What declares no plugin is no bundle."""
    with pytest.raises(BundleError, match=r"no plugin is declared: no-entry-points 1\.0"):
        _pack(_project("no_entry_points", tmp_path), tmp_path)


def test_project_with_a_bad_entry_point_is_refused(tmp_path: Path) -> None:
    """When packing, one bad entry point is one too many."""
    with pytest.raises(BundleError, match=r"'org\.example\.BadConverter'") as raised:
        _pack(_project("bad_entry_points", tmp_path), tmp_path)
    assert "entry points" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing_class", "has no attribute 'Missing'"),
        ("raises_on_import", r'Traceback.*\n  File ".*/raises_on_import/__init__.py", line \d+, in <module>\n'),
    ],
)
def test_project_whose_plugin_cannot_be_described_is_refused(name: str, words: str, tmp_path: Path) -> None:
    """The error has the plugin's own trace and not that of its stage or of an import, and no bundle is left."""
    with pytest.raises(BundleError, match=words) as raised:
        _pack(_project(name, tmp_path), tmp_path)
    assert not any(name in str(raised.value) for name in ("hearth_stage", "importlib"))
    assert not list(tmp_path.glob("*.zip"))


def test_dependency_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    """Without its folder of wheels the library is missing, and the hint says where to name it."""
    with pytest.raises(BundleError, match="greeting") as raised:
        pack(_project("greeting_source", tmp_path), tmp_path, build.environments(), offline=True)
    assert "--find-links" in str(raised.value.hint)


def test_source_that_does_not_build_is_refused(tmp_path: Path) -> None:
    """What the build backend says is passed on."""
    project = _project("greeting_source", tmp_path)
    (project / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'"
    )
    with pytest.raises(BundleError, match="cannot be built"):
        _pack(project, tmp_path)
