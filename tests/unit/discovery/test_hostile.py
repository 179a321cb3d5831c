"""No bundle, whatever its bytes, ends a listing or holds it up; each that is turned away has its reason."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.discovery import Bundle, BundleError, python_bundle, tree
from hearth.discovery.archive import TarTree, ZipTree
from hearth.discovery.bundle_kind import read_bundle
from hearth.discovery.bundle_limits import bundle_limits
from hearth.discovery.catalogue import read
from hearth.discovery.tree import DirectoryTree, Opener
from tests.bundles import build
from tests.bundles.build import dist_info
from tests.bundles.hostile import HOSTILE, ODD, Make, candidate, deflated, zip_of

LIMITED = """
import resource, sys
for what, limit in (
    (resource.RLIMIT_AS, 1 << 30),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_FSIZE, 256 << 20),
    (resource.RLIMIT_NOFILE, 64),
):
    resource.setrlimit(what, (limit, limit))
from hearth.cli.main import run
"""
"""A process with a gigabyte, twenty seconds, files of 256 MiB and 64 descriptors, however busy the machine is."""
FIRST, LAST = "org.example.greeting.GreetingSourceConnector", "org.example.Last"


@dataclass(frozen=True)
class PluginPath:
    """A directory with all hostile bundles between two healthy wheels."""

    folder: Path
    hostile: dict[str, Path]
    odd: dict[str, Path]


@pytest.fixture(scope="module")
def plugin_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginPath]:
    """Make all candidates, and remove them by a program that goes as deep as they do."""
    root = tmp_path_factory.mktemp("hostile")
    folder = root / "plugin_path"
    folder.mkdir()
    shutil.copy(build.packed("greeting_source"), folder / "000-first.zip")
    last = build.plain_wheel(root, "last", groups={"hearth.converters": {LAST: "last:Converter"}})
    shutil.move(last, folder / f"999-{last.name}")
    yield PluginPath(folder, _made(root, folder, HOSTILE, 1), _made(root, folder, ODD, 500))
    subprocess.run(["rm", "-rf", str(root)], check=True)


def _made(root: Path, folder: Path, table: Mapping[str, tuple[Make, str]], start: int) -> dict[str, Path]:
    """Make candidates and link to each from the directory; returns the links."""
    links = {}
    for number, (name, (make, _)) in enumerate(table.items(), start):
        made = candidate(root, number, make)
        links[name] = folder / f"{number:03}-{made.name}"
        links[name].symlink_to(made)
    return links


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "UV_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-c", LIMITED + program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_listing_shows_valid_bundles_and_a_reason_for_each_rejected_one(plugin_path: PluginPath) -> None:
    """The command ends well within the limits of its process, in its three forms."""
    path = str(plugin_path.folder)
    listed = _run("sys.exit(run(['plugins', 'list', '--json', '--plugin-path', sys.argv[1]]))", path)
    assert listed.returncode == 0, listed.stderr[-2000:]
    classes = {each["class"] for each in json.loads(listed.stdout) if each["location"] != "classpath"}
    assert classes == {FIRST, LAST} | {words for _, words in ODD.values()}
    turned_away = _run(
        "sys.exit(run(['plugins', 'list', '--json', '--rejected', '--plugin-path', sys.argv[1]]))", path
    )
    assert turned_away.returncode == 0, turned_away.stderr[-2000:]
    reasons = {each["location"]: each for each in json.loads(turned_away.stdout)}
    assert reasons.keys() == {str(location) for location in plugin_path.hostile.values()}
    for name, (_, words) in HOSTILE.items():
        found = reasons[str(plugin_path.hostile[name])]
        assert words in found["reason"], name
        assert "its bundle format failed" not in found["reason"]
        assert len(found["reason"]) < 400
        assert found["hint"]


def test_a_table_of_them_steers_no_terminal(plugin_path: PluginPath) -> None:
    """Names of files and what bundles say of themselves are spelled out where they are not plain text."""
    listed = _run("sys.exit(run(['plugins', 'list', '--plugin-path', sys.argv[1]]))", str(plugin_path.folder))
    assert listed.returncode == 0, listed.stderr[-2000:]
    assert {each for each in listed.stdout if not each.isprintable()} == {"\n"}
    assert "bell\\x07\\x1b[31m\\n.whl" in listed.stdout


def test_a_valid_plugin_among_hostile_bundles_is_described(plugin_path: PluginPath) -> None:
    """What is asked for is found, or is not, in a sentence."""
    program = "sys.exit(run(['plugins', 'describe', sys.argv[2], '--plugin-path', sys.argv[1]]))"
    known = _run(program, str(plugin_path.folder), "GreetingSource")
    assert known.returncode == 0, known.stderr[-2000:]
    assert FIRST in known.stdout
    unknown = _run(program, str(plugin_path.folder), "nothing.of.the.kind" * 1000)
    assert unknown.returncode == 2
    assert "Traceback" not in unknown.stderr


def test_a_host_reads_them(plugin_path: PluginPath) -> None:
    """A host reads its plugins on a thread of its own, which has less room on its stack."""
    program = (
        "from pathlib import Path\nfrom hearth.cli.host import _in_background\nfrom hearth.discovery import discover\n"
        "found = _in_background(lambda: discover([Path(sys.argv[1])], include_host=False)).result()\n"
        "print(len(found.plugins), len(found.rejected))"
    )
    ended = _run(program, str(plugin_path.folder))
    assert ended.stdout.split() == [str(2 + len(ODD)), str(len(HOSTILE))], ended.stderr[-2000:]


def test_each_of_them_is_refused_when_it_is_verified(plugin_path: PluginPath) -> None:
    """Exit code 2 or 3 and a sentence; none of them gets as far as an environment."""
    program = (
        "for each in sys.argv[1:]:\n"
        "    try:\n        print('code', run(['bundle', 'verify', '--json', each]))\n"
        "    except BaseException as error:\n        print('code', repr(error), each)"
    )
    verified = _run(program, *map(str, plugin_path.hostile.values()))
    codes = [line.partition(" ")[2] for line in verified.stdout.splitlines() if line.startswith("code")]
    assert codes == ["2"] * len(HOSTILE), verified.stderr[-2000:]
    assert "Traceback" not in verified.stderr


def test_a_bundle_that_only_looks_hostile_is_unpacked(plugin_path: PluginPath, tmp_path: Path) -> None:
    """Names with dots, a link in a zip file, pipes next to packages."""
    for name, location in plugin_path.odd.items():
        found = read(location)
        assert isinstance(found, Bundle), name
        found.unpack(tmp_path / name)
        assert found.digest()
        assert any((tmp_path / name).iterdir())
    assert (tmp_path / "linked.zip" / "linked.py").is_file()
    assert (tmp_path / "linked.zip" / "inner" / "again.py").is_file()
    assert not (tmp_path / "linked.zip" / "lib64").exists()


def test_a_directory_of_too_many_files_is_no_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be it that a link in it leads to the whole disk."""
    monkeypatch.setattr(tree, "MAX_FILES", 20)
    for number in range(30):
        (tmp_path / "bundle" / str(number // 10)).mkdir(parents=True, exist_ok=True)
        (tmp_path / "bundle" / str(number // 10) / str(number)).touch()
    with pytest.raises(BundleError, match="it holds more than 20 files"):
        read_bundle(tmp_path / "bundle", partial(DirectoryTree, tmp_path / "bundle"))


def test_many_wheels_together_declare_no_more_than_one_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is the bundle's, not that of each of its distributions."""
    monkeypatch.setattr(python_bundle, "MAX_PLUGINS", 5)
    for number in range(3):
        points = {f"a.B{number}{each}": "a:B" for each in range(2)}
        build.plain_wheel(tmp_path, f"demo{number}", groups={"hearth.converters": points})
    with pytest.raises(BundleError, match="it declares more than"):
        read_bundle(tmp_path, partial(DirectoryTree, tmp_path))


def test_a_wheel_that_unpacks_to_far_more_never_reaches_an_installer(tmp_path: Path) -> None:
    """A packed bundle is believed its manifest when it is listed; what leaves it is looked at."""
    bomb = build.plain_wheel(tmp_path, "demo", groups={"hearth.converters": {"a.B": "demo:B"}})
    bundle = read_bundle(bomb, partial(DirectoryTree, tmp_path))
    bomb.write_bytes(zip_of(("demo.py", b""), size=bundle_limits(100) + 1))
    with pytest.raises(BundleError, match="which is more than the limit"):
        bundle.unpack(tmp_path / "out")


@pytest.mark.parametrize("says", [300, 100_000])
def test_a_wheel_that_declares_a_false_size_never_reaches_an_installer(says: int, tmp_path: Path) -> None:
    """A file that is longer than its declared size would be written before an installer notices."""
    wheel = build.plain_wheel(tmp_path, "demo", groups={"hearth.converters": {"a.B": "demo:B"}})
    bundle = read_bundle(wheel, partial(DirectoryTree, tmp_path))
    wheel.write_bytes(zip_of(("demo.py", deflated(1 << 30)), method=8, size=says, crc=zlib.crc32(bytes(says))))
    with pytest.raises(BundleError, match=f"demo.py|more than the limit of {says} bytes"):
        bundle.unpack(tmp_path / "out")


# --- random bytes


@cache
def _healthy(form: str) -> bytes:
    if form == "zip":
        return build.packed("greeting_source").read_bytes()
    if form == "wheel":
        return build.wheel("greeting_transform").read_bytes()
    if form == "site zip":
        inside = build.site(build.scratch() / "healthy", "demo", groups={"hearth.converters": {"a.B": "demo:B"}})
        return Path(shutil.make_archive(str(inside), "zip", inside)).read_bytes()
    target = build.scratch() / "healthy.tar.gz"
    with tarfile.open(target, "w:gz") as archive:
        archive.add(build.wheel("greeting_transform"), arcname="demo/" + build.wheel("greeting_transform").name)
    return target.read_bytes()


FORMS = {
    "zip": (".zip", ZipTree),
    "site zip": (".zip", ZipTree),
    "wheel": (".whl", None),
    "tar.gz": (".tar.gz", TarTree),
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_changed_bytes_never_raise_anything_but_a_reason(
    form: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Flipped bits, lost ends, lost and doubled pieces: it is read, or refused as a bundle is."""
    changed = data.draw(_changes(_healthy(form)))
    folder = _folder(tmp_path_factory, form)
    ending, kind = FORMS[form]
    location = folder / f"changed{ending}"
    location.write_bytes(changed)
    opener: Opener = partial(DirectoryTree, folder) if kind is None else partial(kind, location)
    with contextlib.suppress(BundleError):
        found = read_bundle(location, opener)
        found.digest()
        shutil.rmtree(folder / "out", ignore_errors=True)
        found.unpack(folder / "out")
    shutil.rmtree(folder / "out", ignore_errors=True)


_FOLDERS: dict[str, Path] = {}


def _folder(factory: pytest.TempPathFactory, form: str) -> Path:
    """Return one directory for all examples of a form."""
    if form not in _FOLDERS:
        _FOLDERS[form] = factory.mktemp("changed")
    return _FOLDERS[form]


@st.composite
def _changes(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a change of a content; half of the places lie near its end, where the index of a zip file is."""
    changed = bytearray(content)
    anywhere = st.integers(0, len(content) - 1)
    near_end = st.integers(max(0, len(content) - 600), len(content) - 1)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.one_of(anywhere, near_end)) % max(1, len(changed))
        how = draw(st.sampled_from(("flip", "set", "cut", "drop", "double")))
        length = draw(st.integers(1, 64))
        if how == "flip":
            changed[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "set":
            changed[place] = draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF)))
        elif how == "cut":
            del changed[place:]
        elif how == "drop":
            del changed[place : place + length]
        else:
            changed[place:place] = changed[place : place + length]
        if not changed:
            break
    return bytes(changed)


# --- random names and links

_PARTS = st.sampled_from(("a", "A", "b", "..", ".", "", "C:", "\\", "demo-1.0.dist-info", "\u00e9", "x" * 300))
_NAMES = st.one_of(st.lists(_PARTS, max_size=4).map("/".join), st.sampled_from(("/etc/x", "..\\x", "\0")))
_ENTRIES = st.lists(st.tuples(_NAMES, st.sampled_from(("file", "link", "hard link")), _NAMES), min_size=1, max_size=5)


@pytest.mark.parametrize("form", ["zip", "tar"])
@settings(max_examples=60, deadline=None)
@given(entries=_ENTRIES)
def test_no_name_and_no_link_leads_out_of_where_a_bundle_is_unpacked(
    form: str, entries: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever an archive calls its files, they arrive below the folder that was named, or it is refused."""
    home = _folder(tmp_path_factory, f"names in a {form}")
    location = home / f"names.{form}"
    healthy = dist_info("demo", "1.0", {"hearth.converters": {"a.B": "demo:B"}})
    (_zip_with if form == "zip" else _tar_with)(location, healthy, entries)
    out = home / "inner" / "out"
    with contextlib.suppress(BundleError):
        read_bundle(location, partial(ZipTree if form == "zip" else TarTree, location)).unpack(out)
    assert {*home.rglob("*")} - {*out.rglob("*")} <= {location, out, out.parent}
    assert not any(each.is_symlink() for each in out.rglob("*"))
    assert all(each.read_bytes() == b"x" for each in out.rglob("*") if each.is_file() and len(each.name) < 3)
    shutil.rmtree(home / "inner", ignore_errors=True)


def _zip_with(location: Path, healthy: Mapping[str, str], entries: list[tuple[str, str, str]]) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(location, "w") as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for path, text in healthy.items():
            archive.writestr(path, text)
        for name, kind, target in entries:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100644 if kind == "file" else 0o120777) << 16
            archive.writestr(entry, "x" if kind == "file" else target)


def _tar_with(location: Path, healthy: Mapping[str, str], entries: list[tuple[str, str, str]]) -> None:
    kinds = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "hard link": tarfile.LNKTYPE}
    with tarfile.open(location, "w") as archive:
        for name, kind, target, text in [
            *((path, "file", "", text) for path, text in healthy.items()),
            *((*entry, "x") for entry in entries),
        ]:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kinds[kind], target, len(text) if kind == "file" else 0
            archive.addfile(entry, io.BytesIO(text.encode()))
