"""A place in HDFS, on a real name node and data node."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hdfs_native import Client

from hearth_api import ConnectError, NotFoundError, RetriableError
from hearth_storage.place.hdfs_place import HdfsPlace
from hearth_storage.place.place import NameTaken
from tests.hdfs_cluster import HdfsCluster

pytestmark = pytest.mark.slow
_numbers = itertools.count()


@pytest.fixture
def url(hdfs: HdfsCluster) -> str:
    """Provide the address of a cluster."""
    return hdfs.url


@pytest.fixture
def place(url: str) -> HdfsPlace:
    """Provide an empty directory."""
    return HdfsPlace(f"{url}/test{next(_numbers)}")


def names(place: HdfsPlace, *given: str) -> list[str]:
    """Return the names that a place lists."""
    return [entry.name for page in place.list(*given) for entry in page]


def all_paths(url: str) -> list[str]:
    """Return every file of the cluster, also those that no place lists."""
    return [each.path for each in Client(url).list_status("/", recursive=True) if not each.isdir]


def test_a_file_is_written_and_read(place: HdfsPlace, tmp_path: Path) -> None:
    """Of bytes or of a local file, in ranges that may reach beyond its end."""
    place.check()
    place.put("topics/t/t+0+0+2.bin", b"abcdef")
    (tmp_path / "large").write_bytes(bytes(range(256)) * 40_000)
    place.put("topics/t/t+0+3+5.bin", tmp_path / "large")
    assert place.read("topics/t/t+0+0+2.bin") == b"abcdef"
    assert place.read("topics/t/t+0+0+2.bin", 2, 2) == b"cd"
    assert place.read("topics/t/t+0+0+2.bin", 4, 100) == b"ef"
    assert place.read("topics/t/t+0+0+2.bin", 100) == b""
    with place.reader("topics/t/t+0+3+5.bin") as file:
        assert file.read() == (tmp_path / "large").read_bytes()
    head = place.head("topics/t/t+0+3+5.bin")
    assert head is not None
    assert head.size == 256 * 40_000
    assert head.changed > 1_700_000_000_000


def test_an_absent_file(place: HdfsPlace) -> None:
    """It has no facts, cannot be read, and may be deleted."""
    assert place.head("none") is None
    assert names(place) == []
    for read in (place.read, place.reader):
        with pytest.raises(NotFoundError):
            read("none")
    place.delete("none")


def test_a_name_is_taken_once(place: HdfsPlace, url: str) -> None:
    """The rename decides, and no temporary file stays."""
    place.put("a/b", b"first")
    with pytest.raises(NameTaken, match="a/b exists already"):
        place.put("a/b", b"second", if_absent=True)
    assert place.read("a/b") == b"first"
    place.put("a/b", b"third")
    assert place.read("a/b") == b"third"
    place.put("c", b"other")
    with pytest.raises(NameTaken):
        place.rename("c", "a/b")
    place.rename("c", "d/e")
    assert names(place) == ["a/b", "d/e"]
    assert [path for path in all_paths(url) if "+tmp" in path] == []


def test_names_are_listed_in_order(place: HdfsPlace) -> None:
    """As an object store lists them, from a prefix, after a name, without hidden and temporary ones."""
    given = ["a/x", "a-b", "a/y/z", "b", "é", "+tmp/u", "topics/+tmp/t/u_tmp.avro", ".hidden", "_SUCCESS"]
    for name in given:
        place.put(name, b"")
    assert names(place) == ["a-b", "a/x", "a/y/z", "b", "é"]
    assert names(place, "a/") == ["a/x", "a/y/z"]
    assert names(place, "", "a/x") == ["a/y/z", "b", "é"]
    assert names(place, "a", "a-b") == ["a/x", "a/y/z"]


def test_errors_have_one_line(place: HdfsPlace, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words of the name node, and a remedy."""
    place.put("file", b"")
    with pytest.raises(ConnectError, match=r"is not a directory") as caught:
        place.put("file/below", b"")
    assert "\n" not in str(caught.value)
    assert "\\n" not in str(caught.value)
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    with pytest.raises(ConnectError, match="Permission denied: user=nobody") as denied:
        HdfsPlace(f"{url}/other").put("x", b"")
    assert denied.value.hint is not None
    with pytest.raises(ConnectError, match="is no name of a file"):
        place.head("../x")


def test_a_name_node_that_does_not_answer_is_found_within_seconds() -> None:
    """Where the address has a port."""
    with pytest.raises(RetriableError, match="Connection refused"):
        HdfsPlace("hdfs://127.0.0.1:9/x").check()
