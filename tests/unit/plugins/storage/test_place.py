"""The contract of places: a directory, and the stores of Amazon, Google and Azure."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from obstore.store import AzureStore, GCSStore, S3Store

from hearth_api import ConnectError, NotFoundError, RetriableError
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.place.object_place import ObjectPlace
from hearth_storage.place.place import NameTaken, Place
from tests.object_store import AZURE_ACCOUNT, AZURE_KEY, StoreServer, google_credentials
from tests.unit.plugins.storage.world import names

PART = 5 * 1024 * 1024
HTTP: dict[str, bool] = {"allow_http": True}
_numbers = itertools.count()


def s3_store(server: StoreServer, bucket: str = "data", secret: str = "secret") -> S3Store:
    """Return the client of a bucket."""
    return S3Store(
        bucket, endpoint=server.url, access_key_id="key", secret_access_key=secret, region="us-east-1",
        client_options={"allow_http": True}, retry_config={"max_retries": 0},
    )  # fmt: skip


@pytest.fixture(params=["local", *(pytest.param(each, marks=pytest.mark.slow) for each in ("s3", "google", "azure"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Provide a place of each kind."""
    if request.param == "local":
        return LocalPlace(tmp_path)
    server: StoreServer = request.getfixturevalue(request.param)
    if request.param == "s3":
        return ObjectPlace(s3_store(server), "s3://data", part_size=PART)
    if request.param == "google":
        google = GCSStore("data", service_account_key=google_credentials(server), client_options={"allow_http": True})
        return ObjectPlace(google, "gs://data", part_size=PART)
    azure = AzureStore(
        "data", account_name=AZURE_ACCOUNT, account_key=AZURE_KEY, endpoint=server.url,
        client_options={"allow_http": True},
    )  # fmt: skip
    return ObjectPlace(azure, "az://data", part_size=PART)


@pytest.fixture
def folder() -> str:
    """Provide a directory of the test's own, because tests share the buckets."""
    return f"test{next(_numbers)}"


def test_a_file_has_content_and_facts(place: Place, folder: str, tmp_path: Path) -> None:
    """Of bytes as of a local file; parts of it can be read."""
    place.check()
    name = f"{folder}/orders+0+0000000000.json"
    place.put(name, b"hello", facts={"endOffset": "12"})
    source = tmp_path / ".source"
    source.write_bytes(b"0123456789")
    place.put(f"{folder}/b", source)
    assert place.read(name) == b"hello"
    assert place.read(f"{folder}/b", 3, 4) == b"3456"
    assert place.read(f"{folder}/b", 8, 4) == b"89"
    with place.reader(f"{folder}/b") as file:
        file.seek(-3, 2)
        assert (file.read(), file.tell(), file.seek(1), file.read(2)) == (b"789", 10, 1, b"12")
    entry = place.head(name)
    assert entry is not None
    assert (entry.name, entry.size) == (name, 5)
    assert {key.lower(): value for key, value in entry.facts.items()}["endoffset"] == "12"
    assert entry.version == next(each.version for page in place.list(folder) for each in page if each.name == name)


def test_a_name_that_exists_is_refused_by_the_store(place: Place, folder: str) -> None:
    """And replaced where that is asked for."""
    place.put(f"{folder}/a", b"first", if_absent=True)
    with pytest.raises(NameTaken, match=f"{folder}/a exists already"):
        place.put(f"{folder}/a", b"second", if_absent=True)
    assert place.read(f"{folder}/a") == b"first"
    place.put(f"{folder}/a", b"third")
    assert place.read(f"{folder}/a") == b"third"


def test_a_large_file_goes_in_parts(place: Place, folder: str, tmp_path: Path) -> None:
    """With its facts; a name that exists is refused."""
    content = bytes(range(256)) * (2 * PART // 256 + 10)
    source = tmp_path / ".source"
    source.write_bytes(content)
    place.put(f"{folder}/large", source, if_absent=True, facts={"endOffset": "7"})
    assert place.read(f"{folder}/large") == content
    entry = place.head(f"{folder}/large")
    assert entry is not None
    assert {key.lower(): value for key, value in entry.facts.items()}["endoffset"] == "7"
    with pytest.raises(NameTaken):
        place.put(f"{folder}/large", source, if_absent=True)


def test_names_are_listed_in_order(place: Place, folder: str) -> None:
    """Below a directory, with a beginning, and after a name; unfinished files are not seen."""
    for name in ("b/2", "a/1", "a/10", "ab", "a/2", "c"):
        place.put(f"{folder}/{name}", b"")
    assert names(place, f"{folder}/") == [f"{folder}/{name}" for name in ("a/1", "a/10", "a/2", "ab", "b/2", "c")]
    assert names(place, f"{folder}/a") == [f"{folder}/{name}" for name in ("a/1", "a/10", "a/2", "ab")]
    after = [each.name for page in place.list(f"{folder}/", after=f"{folder}/a/2") for each in page]
    assert after == [f"{folder}/{name}" for name in ("ab", "b/2", "c")]


def test_what_is_absent(place: Place, folder: str) -> None:
    """Has no facts, cannot be read, and may be deleted."""
    assert place.head(f"{folder}/a") is None
    assert names(place, folder) == []
    with pytest.raises(NotFoundError):
        place.read(f"{folder}/a")
    place.put(f"{folder}/a", b"1")
    place.delete(f"{folder}/a")
    place.delete(f"{folder}/a")
    assert place.head(f"{folder}/a") is None


def test_a_directory_can_rename(tmp_path: Path) -> None:
    """But not onto a name that exists; an object store cannot."""
    place = LocalPlace(tmp_path)
    place.put("a", b"1")
    place.put("b", b"2")
    with pytest.raises(NameTaken):
        place.rename("a", "b")
    place.rename("a", "c/d")
    assert names(place) == ["b", "c/d"]
    with pytest.raises(ConnectError, match="no name of a file"):
        place.put("../a", b"")


def test_errors_say_what_to_do(s3: StoreServer, tmp_path: Path) -> None:
    """No such bucket, no directory; no answer may pass."""
    with pytest.raises(NotFoundError, match="NoSuchBucket") as found:
        ObjectPlace(s3_store(s3, "none"), "s3://none").check()
    assert found.value.hint == "create the bucket, or correct its name"
    with pytest.raises(RetriableError, match="s3://data"):
        ObjectPlace(s3_store(StoreServer("http://127.0.0.1:9")), "s3://data").put("a", b"")
    with pytest.raises(NotFoundError, match="no directory"):
        LocalPlace(tmp_path / "none").check()
