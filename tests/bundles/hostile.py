"""Malicious and odd bundles as data: how each is made, and the reason for its rejection.

``HOSTILE`` maps the name of a candidate to the function that makes it and words of the reason for its rejection. The
candidates in ``ODD`` look as bad but are valid. All of them are small on disk, whatever they unpack to.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import lzma
import os
import socket
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bundles.build import dist_info, plain_wheel, site
from tests.bundles.java import SINK, TRANSFORMATION, jar_bytes, java_class

GIB = 1 << 30
POINTS = {"hearth.source_connectors": {"org.example.Evil": "evil:Evil"}}
WHEEL = "evil-1.0-py3-none-any.whl"

Make = Callable[[Path], object]


# --- small files that unpack to very large ones


@functools.cache
def _zeros(wbits: int) -> tuple[bytes, bytes]:
    """Return a piece of a deflate stream that yields 64 MiB of zeros, and the end of such a stream."""
    engine = zlib.compressobj(9, zlib.DEFLATED, wbits)
    return engine.compress(bytes(64 << 20)) + engine.flush(zlib.Z_FULL_FLUSH), engine.flush()


def deflated(size: int) -> bytes:
    piece, end = _zeros(-15)
    return piece * (size >> 26) + end


def _gzipped(start: bytes, size: int) -> bytes:
    """Return a gzip file of some bytes and that many zeros after them, with one stream for each 64 MiB."""
    return gzip.compress(start) + gzip.compress(bytes(64 << 20)) * (size >> 26)


def zip_of(*members: tuple[str, bytes], **changes: Any) -> bytes:
    """Return a zip file; ``changes`` replace fields of all of its entries: ``method``, ``size``, ``packed``, ``flags``."""
    body, index = b"", b""
    for name, content in members:
        encoded = name.encode()
        crc = changes.get("crc", zlib.crc32(content))
        size, method, flags = changes.get("size", len(content)), changes.get("method", 0), changes.get("flags", 0)
        wide = size >= 0xFFFFFFFF
        extra = struct.pack("<HHQ", 1, 8, size) if wide else b""
        shared = struct.pack(
            "<HHIIIIHH", flags, method, 33 << 16, crc, len(content), 0xFFFFFFFF if wide else size, len(encoded), len(extra)
        )  # fmt: skip
        mode = changes.get("mode", 0o100644) << 16
        index += b"PK\1\2" + struct.pack("<HH", 45, 45) + shared + struct.pack("<HHHII", 0, 0, 0, mode, len(body)) + encoded + extra
        body += b"PK\3\4" + struct.pack("<H", 45) + shared + encoded + extra + content
    return body + index + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(members) & 0xFFFF, len(members) & 0xFFFF, len(index), len(body), 0)


def tar_entry(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, **changes: Any) -> bytes:
    """Return the header of a tar entry that declares a size."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = size, kind
    for key, value in changes.items():
        setattr(entry, key, value)
    return entry.tobuf(tarfile.GNU_FORMAT)


END = bytes(1024)


# --- candidates


def wheel(folder: Path, **changes: Any) -> Path:
    """Write a wheel that would be valid without the changes."""
    return plain_wheel(folder, "evil", groups=changes.pop("groups", POINTS), **changes)


def _wheel_of(files: dict[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**dist_info("evil", "1.0", POINTS), **files}.items():
            archive.writestr(name, content)
    return target.getvalue()


def _points(text: str) -> Make:
    return file(WHEEL, lambda: _wheel_of({"evil-1.0.dist-info/entry_points.txt": text}))


def _metadata(text: str) -> Make:
    return file(WHEEL, lambda: _wheel_of({"evil-1.0.dist-info/METADATA": text}))


def file(name: str, content: Callable[[], bytes]) -> Make:
    """Return a function that writes a file."""
    return lambda folder: (folder / name).write_bytes(content())


def manifest(change: Callable[[dict[str, Any]], object] | None = None, text: str | None = None) -> Make:
    """Return a function that writes a packed bundle with a changed or replaced manifest."""

    def make(folder: Path) -> None:
        members: dict[str, Any] = {
            "format": 1,
            "name": "evil",
            "version": "1.0",
            "requires_python": ">=3.10",
            "files": [{"path": f"wheels/{WHEEL}", "sha256": "0" * 64, "size": 1}],
            "plugins": [{"class": "a.Evil", "type": "sink", "version": "1.0", "reference": "evil:Evil", "config": [KEY]}],
        }
        if change is not None:
            change(members)
        with zipfile.ZipFile(folder / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("hearth-bundle.json", json.dumps(members) if text is None else text)
            archive.writestr(f"wheels/{WHEEL}", _wheel_of({}))

    return make


KEY = {
    "name": "topic", "type": "STRING", "required": True, "default_value": None, "importance": "HIGH",
    "documentation": "", "group": None, "order_in_group": -1, "width": "NONE", "display_name": "topic", "dependents": [],
}  # fmt: skip


def plugin(**changes: Any) -> Make:
    """Return a function that writes a packed bundle whose only plugin is changed."""
    return manifest(lambda members: members["plugins"][0].update(changes))


def key(**changes: Any) -> Make:
    """Return a function that writes a packed bundle whose plugin has a changed key."""
    return plugin(config=[{**KEY, **changes}])


def damaged(name: str, how: Callable[[bytearray, int, int], None]) -> Make:
    """Return a function that writes a wheel in which the packed bytes of one file are changed."""

    def make(folder: Path) -> None:
        content = bytearray(_wheel_of({name: "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n" * 40}))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entry = archive.getinfo(name)
        how(content, entry.header_offset + 30 + len(name), entry.compress_size)
        (folder / WHEEL).write_bytes(content)

    return make


def _scramble(content: bytearray, start: int, size: int) -> None:
    for place in range(start + 2, start + size):
        content[place] ^= 0xA5


def _bad_checksum(content: bytearray, start: int, size: int) -> None:
    end = content.rindex(b"PK\1\2", 0, content.rindex(b"evil-1.0.dist-info/METADATA"))
    content[end + 16] ^= 0xFF  # CRC-32 of the last entry before, METADATA's own in the index


def pipe(name: str) -> Make:
    """Return a function that makes a named pipe without a writer."""
    return lambda folder: os.mkfifo(folder / name)


def link(name: str, to: str) -> Make:
    """Return a function that makes a link."""
    return lambda folder: (folder / name).symlink_to(to)


def _socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket.zip")
    finally:
        os.chdir(here)


def _deep(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        os.mkdir("deep")
        os.chdir("deep")
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)


def _mutual_links(folder: Path) -> None:
    """Make thirty directories, each of which links to all others: 2**30 paths through them."""
    for number in range(30):
        (folder / "mesh" / str(number)).mkdir(parents=True)
        for other in range(30):
            (folder / "mesh" / str(number) / f"to{other}").symlink_to(f"../{other}")


def _halves(make: Make) -> Make:
    def cut(folder: Path) -> None:
        make(folder)
        (found,) = folder.iterdir()
        found.write_bytes(found.read_bytes()[: found.stat().st_size // 2])

    return cut


def _tar(name: str, *content: bytes) -> Make:
    return file(name, lambda: b"".join(content))


def _pax(size: int) -> bytes:
    return tar_entry("header", size, tarfile.XHDTYPE)


def _pax_on_disk(folder: Path) -> None:
    """Write the header of an entry whose data the archive contains, as a hole on the disk."""
    (folder / "pax.tar").write_bytes(_pax(40 << 20))
    os.truncate(folder / "pax.tar", 41 << 20)


def _old_sparse() -> bytes:
    entry = bytearray(tar_entry(WHEEL, 0, tarfile.GNUTYPE_SPARSE))
    entry[386:410] = b"%011o\0%011o\0" % (0, 0)
    entry[483:495] = b"%011o\0" % (7 * GIB)
    entry[148:156] = b"%06o\0 " % (sum(entry[:148]) + 8 * 32 + sum(entry[156:512]))
    return bytes(entry)


def _back_to_itself() -> bytes:
    """Return an entry of negative size: the next entry is itself."""
    entry = bytearray(tar_entry("back", 0))
    entry[124:136] = (b"\xff" * 4 + (-512).to_bytes(8, "big", signed=True))
    entry[148:156] = b"%06o\0 " % (sum(entry[:148]) + 8 * 32 + sum(entry[156:512]))
    return bytes(entry)


def _xz_of_much_memory() -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    content = bytearray(lzma.compress(tar_entry(WHEEL) + END, filters=filters))
    # the block's header has the dictionary size; the header has its own checksum
    place = content.index(b"\x21\x01", 12) + 2
    content[place] = 39  # three gigabytes
    length = (content[12] + 1) * 4
    content[12 + length - 4 : 12 + length] = struct.pack("<I", zlib.crc32(content[12 : 12 + length - 4]))
    return bytes(content)


def _names(count: int) -> Callable[[], bytes]:
    """Return a zip file with that many empty files."""

    def make() -> bytes:
        one = struct.pack("<HHHHHHIIIHHHHHII", 45, 45, 0, 0, 0, 33, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0)
        index = b"".join(b"PK\1\2" + one + b"%07d" % number for number in range(count))
        head = b"PK\3\4" + struct.pack("<HHHHHIIIHH", 45, 0, 0, 0, 33, 0, 0, 0, 7, 0) + b"0000000"
        shown = min(count, 0xFFFF)
        end = struct.pack("<HHHHIIH", 0, 0, shown, shown, len(index), len(head), 0)
        return head + index + b"PK\5\6" + end

    return make


def _nested(depth: int, what: str) -> str:
    return what[0] * depth + what[1] * depth


def _zip_with_a_link(folder: Path) -> None:
    """Write a zip file whose wheel would be unpacked through a link in the archive."""
    link = zipfile.ZipInfo("wheels")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(folder / "link.zip", "w") as archive:
        archive.writestr(link, "/etc")
        archive.writestr(f"wheels/{WHEEL}", _wheel_of({}))


def _for_elsewhere(folder: Path) -> None:
    wheel(folder).rename(folder / "evil-1.0-cp311-cp311-win_amd64.whl")


MALFORMED = "hearth-bundle.json is malformed ("

HOSTILE: dict[str, tuple[Make, str]] = {
    # not regular files
    "pipe.zip": (pipe("pipe.zip"), "it is a named pipe"),
    "pipe.whl": (pipe("pipe.whl"), "it is a named pipe"),
    "pipe.tar": (pipe("pipe.tar"), "it is a named pipe"),
    "pipe.tar.gz": (pipe("pipe.tar.gz"), "it is a named pipe"),
    "socket.zip": (_socket, "it is a socket"),
    "zeros.tar": (link("zeros.tar", "/dev/zero"), "it is a device"),
    "zeros.zip": (link("zeros.zip", "/dev/zero"), "it is a device"),
    "zeros.whl": (link("zeros.whl", "/dev/zero"), "it is a device"),
    "endless.tar.gz": (link("endless.tar.gz", "/dev/urandom"), "it is a device"),
    "itself.zip": (link("itself.zip", "itself.zip"), "too many levels of symbolic links"),
    "itself": (link("itself", "itself"), "too many levels of symbolic links"),
    "nowhere.zip": (link("nowhere.zip", "there/is/nothing"), "which does not exist"),
    "deep": (_deep, "folders more than 64 deep"),
    "mesh": (_mutual_links, "no metadata"),
    # bombs
    "wheel of 10 GiB.zip": (
        file("wheel of 10 GiB.zip", lambda: zip_of((f"w/{WHEEL}", deflated(10 * GIB)), method=8, size=10 * GIB)),
        "unpack to 10737418240",
    ),
    "wheel that says little.zip": (
        file("wheel that says little.zip", lambda: zip_of((f"w/{WHEEL}", deflated(3 * GIB)), method=8, size=1000)),
        "it unpacks to more than the limit of 1000 bytes",
    ),
    "points that say little": (
        lambda folder: (folder / WHEEL).write_bytes(
            zip_of(
                ("evil-1.0.dist-info/METADATA", deflated(2 * GIB)),
                ("evil-1.0.dist-info/entry_points.txt", deflated(2 * GIB)),
                method=8,
                size=300,
            )
        ),
        "it unpacks to more than the limit of 300 bytes",
    ),
    "points of 60 MiB": (
        _points("[hearth.converters]\n" + "a = b\n" * (10 << 20)),
        "more than the 4194304 that are read of it",
    ),
    "metadata of 57 MiB": (_metadata("Name: evil\nVersion: 1\n" * (5 << 19)), "that are read of it"),
    "manifest of 40 MiB": (manifest(text=" " * (40 << 20) + "{}"), "more than the 8388608 that are read of it"),
    "tar of 10 GiB.tar.gz": (
        file("tar of 10 GiB.tar.gz", lambda: _gzipped(tar_entry(f"w/{WHEEL}", 10 * GIB), 10 * GIB)),
        "it unpacks to more than",
    ),
    "tar of zeros.tgz": (file("tar of zeros.tgz", lambda: _gzipped(b"", 3 * GIB)), "it unpacks to more than"),
    "memory.tar.xz": (file("memory.tar.xz", _xz_of_much_memory), "truncated or not a tar archive (Memory usage limit"),
    "method.zip": (file("method.zip", lambda: zip_of(("a.whl", b"x"), method=14)), "compressed with method 14"),
    "secret.zip": (file("secret.zip", lambda: zip_of(("a.whl", b"x"), flags=1)), "is encrypted"),
    "120000 names.zip": (file("120000 names.zip", _names(120_000)), "it holds more than 100000 files"),
    "400000 names.zip": (file("400000 names.zip", _names(400_000)), "more than the limit of 16777216"),
    "3000 wheels.zip": (
        file("3000 wheels.zip", lambda: zip_of(*((f"{n}.whl", b"") for n in range(3000)))),
        "it holds more than 2000 wheels",
    ),
    # damage
    "checksum": (damaged("evil-1.0.dist-info/METADATA", _bad_checksum), "METADATA does not match the archive's index"),
    "deflate": (damaged("evil-1.0.dist-info/METADATA", _scramble), "METADATA is damaged (Error"),
    "half a wheel": (_halves(wheel), "truncated or not a zip file"),
    "half a tar": (
        _halves(file("half.tar.gz", lambda: gzip.compress(tar_entry(WHEEL, 5000) + os.urandom(5120) + END))),
        "truncated or not a tar archive",
    ),
    "nothing.zip": (file("nothing.zip", lambda: b""), "truncated or not a zip file"),
    "nothing.tar.gz": (file("nothing.tar.gz", lambda: b""), "truncated or not a tar archive"),
    "text.tar.bz2": (file("text.tar.bz2", lambda: b"BZh9 is a text"), "truncated or not a tar archive"),
    "text.tar.xz": (file("text.tar.xz", lambda: b"\xfd7zXZ\0 is a text"), "truncated or not a tar archive"),
    # tar archives
    "pax.tar": (_tar("pax.tar", _pax(2 * GIB), END), "truncated or not a tar archive"),
    "pax of 40 MiB.tar": (_pax_on_disk, "it has an entry of 41943040 bytes, more than the limit of 16777216"),
    "pax.tar.gz": (
        file("pax.tar.gz", lambda: _gzipped(_pax(60 << 20), 64 << 20)),
        "it unpacks to more than",
    ),
    "long chain.tar": (
        file("long chain.tar", lambda: (tar_entry("x", 1, tarfile.GNUTYPE_LONGNAME) + bytes(512)) * 5000 + END),
        "truncated or not a tar archive",
    ),
    "sparse.tar": (_tar("sparse.tar", _old_sparse(), END), "is a sparse file"),
    "back.tar": (_tar("back.tar", _back_to_itself(), END), ""),
    "short.tar": (_tar("short.tar", tar_entry(WHEEL, 1 << 40), END), "truncated or not a tar archive"),
    "device.tar": (_tar("device.tar", tar_entry(WHEEL, 0, tarfile.CHRTYPE), END), "it is empty"),
    "link.tar": (
        _tar("link.tar", tar_entry(WHEEL, 0, tarfile.SYMTYPE, linkname="/etc/passwd"), END),
        f"it holds the link '{WHEEL}' to '/etc/passwd', which points outside the archive",
    ),
    "link up.tar": (
        _tar("link up.tar", tar_entry(f"a/b/{WHEEL}", 0, tarfile.SYMTYPE, linkname="../../../x"), END),
        f"it holds the link 'a/b/{WHEEL}' to '../../../x', which points outside the archive",
    ),
    "hard link.tar": (
        _tar("hard link.tar", tar_entry(f"a/b/{WHEEL}", 0, tarfile.LNKTYPE, linkname="../x"), END),
        f"it holds the link 'a/b/{WHEEL}' to '../x', which points outside the archive",
    ),
    "circle.tar": (
        _tar(
            "circle.tar",
            tar_entry("a.whl", 0, tarfile.SYMTYPE, linkname="b.whl"),
            tar_entry("b.whl", 0, tarfile.SYMTYPE, linkname="a.whl"),
            END,
        ),
        "it is empty",
    ),
    "twice.tar": (_tar("twice.tar", tar_entry("a.whl"), tar_entry("./a.whl"), END), "it holds 'a.whl' twice"),
    # names
    "nameless.zip": (file("nameless.zip", lambda: zip_of(("", b"x"))), "it holds a file without a name"),
    "twice.zip": (file("twice.zip", lambda: zip_of(("a.whl", b""), ("./a.whl", b""))), "it holds 'a.whl' twice"),
    "case.zip": (
        file("case.zip", lambda: zip_of(("w/a.whl", b""), ("w/A.whl", b""))),
        "it holds 'w/a.whl' and 'w/A.whl', which are one file on some machines",
    ),
    "case.tar": (
        _tar("case.tar", tar_entry("stra\u00dfe.whl"), tar_entry("STRASSE.whl"), END),
        "it holds 'stra\u00dfe.whl' and 'STRASSE.whl', which are one file on some machines",
    ),
    "link.zip": (_zip_with_a_link, "it holds the link 'wheels' to '/etc', which points outside the archive"),
    "elsewhere": (_for_elsewhere, "was built for 'win_amd64', and this machine is '"),
    "packed elsewhere": (
        manifest(lambda m: m["files"][0].update(path="wheels/evil-1.0-cp311-cp311-macosx_11_0_arm64.whl")),
        "was built for 'macosx_11_0_arm64', and this machine is '",
    ),
    "both.zip": (
        file("both.zip", lambda: zip_of(("a.whl", b""), ("a.whl/b.whl", b""))),
        "it holds 'a.whl' as a file and as a folder",
    ),
    "3000 folders.zip": (
        file("3000 folders.zip", lambda: zip_of(("d/" * 3000 + "a.whl", b""))),
        "folders more than 64 deep",
    ),
    "long.zip": (file("long.zip", lambda: zip_of(("a" * 300 + ".whl", b""))), "longer than a file system can hold"),
    "no utf-8.tar": (
        file("no utf-8.tar", lambda: tar_entry(os.fsdecode(b"\xff.whl")) + END),
        "it holds the path '\\udcff.whl', which is not UTF-8",
    ),
    os.fsdecode(b"no utf-8 \xff.zip"): (
        file(os.fsdecode(b"no utf-8 \xff.zip"), lambda: _wheel_of({})),
        "its name is not UTF-8",
    ),
    # metadata
    "requirement": (_metadata("Name: evil @ file:///etc/passwd\nVersion: 1.0\n"), "its name is 'evil @ file:///etc/passwd'"),
    "option": (_metadata("Name: --index-url=x\nVersion: 1.0\n"), "its name is '--index-url=x'"),
    "version": (_metadata("Name: evil\nVersion: 1 @ file:///x\n"), "its version is '1 @ file:///x'"),
    "long version": (_metadata(f"Name: evil\nVersion: {'1.' * 100_000}0\n"), "its version is '1.1.1."),
    "python": (_metadata("Name: evil\nVersion: 1.0\nRequires-Python: >3; evil\n"), "its Requires-Python is '>3; evil'"),
    "100000 points": (
        _points("[hearth.sink_connectors]\n" + "".join(f"a.B{n} = evil:B{n}\n" for n in range(100_000))),
        "it declares more than 1000 plugins",
    ),
    "100000 bad points": (
        _points("[hearth.sink_connectors]\n" + "".join(f"a.B{n} = evil\n" for n in range(100_000))),
        "it declares more than 1000 plugins",
    ),
    "long point": (
        _points(f"[hearth.sink_connectors]\na.B = {'a.' * 1_000_000}b:B\n"),
        "entry point 'a.B' of hearth.sink_connectors is 'a.a.a.",
    ),
    "bell": (_points("[hearth.sink_connectors]\na\x07\x1b[2J = evil:B\n"), "entry point 'a\\x07\\x1b[2J' of"),
    "digit": (_points("[hearth.sink_connectors]\na.B = evil:B\n[hearth.plugin_versions]\n1\x00 = evil\n"), "has the version"),
    # manifests
    "deep manifest": (manifest(text=_nested(100_000, "[]")), MALFORMED + "it is nested too deep"),
    "deep config": (plugin(config=json.loads(_nested(900, "[]"))), MALFORMED + "expected an object with 'name'"),
    "deep dependents": (key(dependents=json.loads(_nested(900, "[]"))), MALFORMED + "'dependents' holds"),
    "no object": (manifest(text="[]"), MALFORMED + "expected an object with 'format', found a list"),
    "number of digits": (manifest(text='{"format": ' + "9" * 100_000 + "}"), MALFORMED + "ValueError"),
    "format is true": (manifest(lambda m: m.update(format=True)), MALFORMED + "'format' is True"),
    "format 2": (manifest(lambda m: m.update(format=2)), "has format 2, this Hearth reads format 1"),
    "plugins null": (manifest(lambda m: m.update(plugins=None)), MALFORMED + "'plugins' is None"),
    "plugins 1": (manifest(lambda m: m.update(plugins=[1])), MALFORMED + "expected an object with 'config', found 1"),
    "plugins text": (manifest(lambda m: m.update(plugins=["x"])), MALFORMED + "expected an object with 'config'"),
    "plugins of null": (manifest(lambda m: m.update(plugins=[None])), MALFORMED + "expected an object with 'config'"),
    "1001 plugins": (manifest(lambda m: m.update(plugins=m["plugins"] * 1001)), "it declares more than 1000 plugins"),
    "name of a requirement": (manifest(lambda m: m.update(name="evil @ file:///x")), "its name is 'evil @ file:///x'"),
    "name null": (manifest(lambda m: m.update(name=None)), MALFORMED + "'name' is None"),
    "name of surrogates": (manifest(lambda m: m.update(name="\ud800")), MALFORMED + "'name' is '\\ud800', which is not valid text"),
    "class null": (plugin(**{"class": None}), MALFORMED + "'class' is None"),
    "class number": (plugin(**{"class": 5}), MALFORMED + "'class' is 5"),
    "class list": (plugin(**{"class": ["a"]}), MALFORMED + "'class' is a list"),
    "class of surrogates": (plugin(**{"class": "a.\udcff"}), MALFORMED + "'class' is 'a.\\udcff', which is not valid text"),
    "class of a bell": (plugin(**{"class": "a\x07"}), MALFORMED + "the plugin 'a\\x07' has no printable name"),
    "class of megabytes": (plugin(**{"class": "a" * 3_000_000}), MALFORMED + "the plugin 'aaa"),
    "type": (plugin(type="evil"), MALFORMED + "'type' is 'evil'"),
    "reference up": (plugin(reference="../../../../x:y"), MALFORMED + "the plugin 'a.Evil' is '../../../../x:y', not module:Class"),
    "reference 5": (plugin(reference=5), MALFORMED + "'reference' is 5"),
    "reference null": (plugin(reference=None), MALFORMED + "'reference' is None"),
    "reference word": (plugin(reference="evil"), MALFORMED + "the plugin 'a.Evil' is 'evil', not module:Class"),
    "version null": (plugin(version=None), MALFORMED + "'version' is None"),
    "config text": (plugin(config="x"), MALFORMED + "'config' is 'x'"),
    "key without members": (plugin(config=[{}]), MALFORMED + "'name' is missing"),
    "key of a number": (plugin(config=[1]), MALFORMED + "expected an object with 'name', found 1"),
    "key of a type": (key(type="EVIL"), MALFORMED + "'type' is 'EVIL'"),
    "key of no name": (key(name=None), MALFORMED + "'name' is None"),
    "key of importance": (key(importance="x"), MALFORMED + "'importance' is 'x'"),
    "key of NaN": (key(order_in_group=float("nan")), MALFORMED + "ValueError: NaN"),
    "key of surrogates": (key(documentation="\ud800"), MALFORMED + "'documentation' is"),
    "files text": (manifest(lambda m: m.update(files="x")), MALFORMED + "'files' is 'x'"),
    "file path list": (manifest(lambda m: m["files"][0].update(path=[])), MALFORMED + "'path' is a list"),
    "file path up": (manifest(lambda m: m["files"][0].update(path="../x")), "which points outside the archive"),
    "file path of megabytes": (manifest(lambda m: m["files"][0].update(path="/x" * 3_000_000)), "points outside the archive"),
    "file size text": (manifest(lambda m: m["files"][0].update(size="1")), MALFORMED + "'size' is '1'"),
    "file missing": (manifest(lambda m: m["files"][0].update(path="x")), "x is listed in hearth-bundle.json but missing"),
}  # fmt: skip


def _zip_with_dots(folder: Path) -> None:
    content = plain_wheel(folder, "dots", groups={"hearth.converters": {"a.Dots": "dots:Dots"}}, code="class Dots: ...")
    (folder / "dots.zip").write_bytes(zip_of((f"./wheels/.//{content.name}", content.read_bytes())))
    content.unlink()


def _zip_with_links_inside(folder: Path) -> None:
    """Write a site directory as Unix tools pack it: one of its files and one of its folders are links."""
    files = {**dist_info("linked", "1.0", {"hearth.converters": {"a.Linked": "linked:Linked"}}), "inner/linked.py": ""}
    with zipfile.ZipFile(folder / "linked.zip", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        for path, target in {"linked.py": "inner/linked.py", "inner/again.py": "../linked.py", "lib64": "inner"}.items():
            entry = zipfile.ZipInfo(path)
            entry.create_system, entry.external_attr = 3, 0o120777 << 16
            archive.writestr(entry, target)


def _folder_with_pipes(folder: Path) -> None:
    inside = site(folder / "pipes", "pipes", groups={"hearth.converters": {"a.Pipes": "pipes:Pipes"}})
    os.mkfifo(inside / "pipe.whl")
    (inside / "itself.whl").symlink_to("itself.whl")
    (inside / "zero.dist-info").symlink_to("/dev/zero")


def _name_of_a_bell(folder: Path) -> None:
    made = plain_wheel(folder, "bell", groups={"hearth.converters": {"a.Bell": "bell:Bell"}})
    made.rename(folder / "bell\x07\x1b[31m\n.whl")


def _jar(*classes: bytes, **files: bytes) -> bytes:
    """Return a jar that has a usable plugin, and what is given."""
    good = java_class("org/example/Evil", SINK)
    return jar_bytes(
        {
            "org/example/Evil.class": good,
            **{f"org/example/N{n}.class": each for n, each in enumerate(classes)},
            **files,
        }
    )


def _jar_of(changes: dict[str, bytes]) -> Make:
    return file("evil.jar", lambda: _jar(**changes))


def _class_of_interfaces(number: int, count: int) -> bytes:
    return java_class(f"org/example/N{number}", interfaces=[TRANSFORMATION] * count)


def _jar_in_zip(content: Callable[[], bytes]) -> Make:
    return file("evil.zip", lambda: zip_of(("evil/lib/evil.jar", content())))


def _nested_jars(folder: Path) -> None:
    home = folder.joinpath("evil", *["d"] * 70)
    home.mkdir(parents=True)
    (home / "evil.jar").write_bytes(_jar())


def _many_jars(folder: Path) -> None:
    (folder / "jars").mkdir()
    for number in range(2001):
        (folder / "jars" / f"{number}.jar").touch()


def _bombs(folder: Path) -> None:
    """Write jars of which each alone is within the limits."""
    (folder / "bombs").mkdir()
    content = zip_of(*((f"a/{each}.class", deflated(1 << 26)) for each in range(20)), method=8, size=1 << 26)
    for number in range(3):
        (folder / "bombs" / f"{number}.jar").write_bytes(content)


def _chain(length: int) -> dict[str, bytes]:
    """Return a hierarchy deeper than any stack, of which the last class alone is a plugin."""
    first = {"a/D0.class": java_class("a/D0", interfaces=[TRANSFORMATION], flags=0)}
    below = {f"a/D{n}.class": java_class(f"a/D{n}", f"a/D{n - 1}", flags=0) for n in range(1, length)}
    return {**first, **below, "a/Deep.class": java_class("a/Deep", f"a/D{length - 1}")}


def _jars_with_links(folder: Path) -> None:
    """Write a directory whose folders and jars lead to each other."""
    inside = folder / "jar links"
    (inside / "lib").mkdir(parents=True)
    (inside / "lib" / "odd.jar").write_bytes(jar_bytes({"a/JarLinks.class": java_class("a/JarLinks", SINK)}))
    (inside / "again.jar").symlink_to("lib/odd.jar")
    (inside / "itself.jar").symlink_to("itself.jar")
    (inside / "lib" / "up").symlink_to(inside)
    os.mkfifo(inside / "pipe.jar")


_PLUGIN = java_class("A", interfaces=[TRANSFORMATION])
_LONG = "a" * 300
SINKS = f"META-INF/services/{SINK.replace('/', '.')}"
HOSTILE |= {
    "empty.jar": (file("empty.jar", lambda: b""), "empty.jar is truncated or not a Java archive"),
    "cut.jar": (file("cut.jar", lambda: _jar()[:-30]), "cut.jar is truncated or not a Java archive"),
    "class cut short.jar": (_jar_of({"A.class": java_class("A")[:40]}), "A.class: it is no class file"),
    "no class.jar": (_jar_of({"A.class": b"MZ"}), "A.class: it is no class file"),
    "lying size.jar": (
        file("evil.jar", lambda: zip_of(("A.class", java_class("A")), size=9)),
        "does not match the archive's index",
    ),
    "lying large size.jar": (
        file("evil.jar", lambda: zip_of(("A.class", java_class("A")), size=1 << 40)),
        "more than the limit",
    ),
    "bomb.jar": (
        file("evil.jar", lambda: zip_of(("A.class", deflated(GIB)), method=8, size=GIB)),
        "more than the limit",
    ),
    "lying bomb.jar": (
        file("evil.jar", lambda: zip_of(("A.class", deflated(GIB)), method=8, size=1000)),
        "does not match the archive's index",
    ),
    "bomb in a zip": (
        _jar_in_zip(lambda: zip_of(("A.class", deflated(GIB)), method=8, size=GIB)),
        "more than the limit",
    ),
    "encrypted.jar": (file("evil.jar", lambda: zip_of(("A.class", java_class("A")), flags=1)), "is encrypted"),
    "odd method.jar": (
        file("evil.jar", lambda: zip_of(("A.class", java_class("A")), method=93)),
        "is encrypted or compressed",
    ),
    "class twice.jar": (
        file("evil.jar", lambda: zip_of(("A.class", java_class("A")), ("A.class", java_class("A", release=21)))),
        "evil.jar holds 'A.class' twice",
    ),
    "120000 classes.jar": (file("evil.jar", _names(120_000)), "it holds more than 100000 files"),
    "400000 classes.jar": (file("evil.jar", _names(400_000)), "evil.jar"),
    "1001 plugins.jar": (
        _jar_of({f"org/example/P{n}.class": java_class(f"org/example/P{n}", SINK) for n in range(1001)}),
        "it declares more than 1000 plugins",
    ),
    "million interfaces.jar": (
        file("evil.jar", lambda: _jar(*(_class_of_interfaces(number, 60_000) for number in range(20)))),
        "its classes extend more than 1000000 others",
    ),
    "cycle.jar": (
        file(
            "evil.jar",
            lambda: jar_bytes({"A.class": java_class("A", "B"), "B.class": java_class("B", "A", ["A", "B"])}),
        ),
        "none of its Java classes is a plugin",
    ),
    "long class name.jar": (_jar_of({"A.class": java_class("a" * 60_000)}), "it has a name of 60000 bytes"),
    "names nothing.jar": (
        file("evil.jar", lambda: jar_bytes({SINKS: b"org.example.Gone"})),
        "names 'org.example.Gone', which is not in",
    ),
    "names no class.jar": (file("evil.jar", lambda: jar_bytes({SINKS: b"\x1b[31m;rm -rf"})), "which is no class"),
    "names a million.jar": (_jar_of({SINKS: b"a b\n" * 1_000_000}), "it declares more than 1000 plugins"),
    "endless service.jar": (_jar_of({SINKS: b"#" * (5 << 20)}), "more than the limit of 4194304"),
    "class path out.jar": (
        _jar_of({"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\nClass-Path: lib/a.jar ../\r\n ../other.jar\r\n"}),
        "names '../../other.jar', which is outside the bundle",
    ),
    "class path to the root.jar": (
        _jar_of({"META-INF/MANIFEST.MF": b"Class-Path: /etc/evil.jar"}),
        "outside the bundle",
    ),
    "class path to the web.jar": (
        _jar_of({"META-INF/MANIFEST.MF": b"Class-Path: https://x.org/a.jar"}),
        "outside the bundle",
    ),
    "class of 60 MiB.jar": (_jar_of({"A.class": bytes(60 << 20)}), "A.class has 62914560 bytes, more than the limit"),
    "manifest of 60 MiB.jar": (_jar_of({"META-INF/MANIFEST.MF": bytes(60 << 20)}), "more than the limit of 4194304"),
    "bombs in jars": (_bombs, "its classes unpack from"),
    "2001 jars": (_many_jars, "it holds more than 2000 Java archives"),
    "wrong checksum.jar": (
        file("evil.jar", lambda: zip_of(("A.class", _PLUGIN), crc=1)),
        "does not match the archive's index",
    ),
    "constructor cut short.jar": (_jar_of({"A.class": _PLUGIN[:-6]}), "it is no class file that Java can load"),
    "constants that lie.jar": (
        _jar_of({"A.class": _PLUGIN[:8] + b"\xff\xff" + _PLUGIN[10:]}),
        "it is no class file that Java can load",
    ),
    "class elsewhere.jar": (
        file("evil.jar", lambda: jar_bytes({"b/A.class": _PLUGIN})),
        "none of its Java classes is a plugin",
    ),
    "class of a bell.jar": (
        file("evil.jar", lambda: jar_bytes({"\x07\x1b.class": java_class("\x07\x1b", SINK)})),
        "the class '\\x07\\x1b' has no printable name",
    ),
    "class of 300 letters.jar": (
        file("evil.jar", lambda: jar_bytes({f"{_LONG}.class": java_class(_LONG, SINK)})),
        "has no printable name of up to 200 bytes",
    ),
    "jar in a jar": (file("evil.jar", lambda: jar_bytes({"lib/inner.jar": _jar()})), "none of its Java classes is a plugin"),
    "hub of no name": (
        file("evil.zip", lambda: zip_of(("evil/manifest.json", b'{"name": "\\u001b"}'), ("evil/a.jar", _jar()))),
        "manifest.json has no valid name and version",
    ),
    "jar at the bottom": (_nested_jars, "folders more than 64 deep"),
    "hub without end": (
        file("evil.zip", lambda: zip_of(("evil/manifest.json", b"[" * 100_000), ("evil/a.jar", _jar()))),
        "manifest.json is not JSON",
    ),
}

ODD: dict[str, tuple[Make, str]] = {
    "dots.zip": (_zip_with_dots, "a.Dots"),
    "linked.zip": (_zip_with_links_inside, "a.Linked"),
    "pipes": (_folder_with_pipes, "a.Pipes"),
    "bell": (_name_of_a_bell, "a.Bell"),
    "cyclic.jar": (
        file(
            "cyclic.jar",
            lambda: jar_bytes(
                {
                    "a/Cycle.class": java_class("a/Cycle", "a/B", [TRANSFORMATION]),
                    "a/B.class": java_class("a/B", "a/Cycle", flags=0),
                }
            ),
        ),
        "a.Cycle",
    ),
    "chain.jar": (file("chain.jar", lambda: jar_bytes(_chain(3000))), "a.Deep"),
    "jar links": (_jars_with_links, "a.JarLinks"),
    "releases.jar": (
        file(
            "releases.jar",
            lambda: jar_bytes({"a/Old.class": java_class("a/Old", SINK), "META-INF/versions/99/a/Old.class": b"no class"}),
        ),
        "a.Old",
    ),
    "native.jar": (
        file(
            "native.jar",
            lambda: jar_bytes(
                {"a/Native.class": java_class("a/Native", SINK), "../../evil.so": b"", "x": b"", "X": b""}
            ),
        ),
        "a.Native",
    ),
}


def candidate(folder: Path, number: int, make: Make) -> Path:
    """Make one candidate in its own folder, from which it can be linked or moved, and return its path."""
    home = folder / f"{number:03}"
    home.mkdir(parents=True)
    make(home)
    (made,) = home.iterdir()
    return made
