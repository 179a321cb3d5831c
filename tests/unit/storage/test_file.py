"""The offset file: what stands on the disk, and what happens when the disk does not want it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hearth.storage import FileOffsetStore
from hearth.storage import file as module
from hearth_api import ConfigError, RetriableError

GOLDEN = """{
 "format": 1,
 "offsets": {
  "source": [
   [
    {
     "filename": "in.txt"
    },
    {
     "position": 42
    }
   ]
  ]
 }
}
"""


def test_the_format_is_the_golden_one(tmp_path: Path) -> None:
    """A stored format may not change unnoticed."""
    path = tmp_path / "offsets"
    FileOffsetStore(path).put("source", [({"filename": "in.txt"}, {"position": 42})])
    assert path.read_text() == GOLDEN


def test_offsets_outlive_the_process(tmp_path: Path) -> None:
    """What put has returned for is read again."""
    path = tmp_path / "offsets"
    path.write_text(GOLDEN)
    assert FileOffsetStore(path).get("source", [{"filename": "in.txt"}]) == [{"position": 42}]


@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_missing_or_empty_file_holds_no_offsets(tmp_path: Path, content: bytes | None) -> None:
    """Kafka Connect tolerates both."""
    path = tmp_path / "offsets"
    if content is not None:
        path.write_bytes(content)
    assert FileOffsetStore(path).partitions("source") == []


def test_the_rename_happens_between_two_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 5: the new content is on the disk before it takes the name, the name before put returns."""
    calls: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor: int) -> None:
        calls.append("directory" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        real_sync(descriptor)

    def replace(source: Path, target: Path) -> None:
        calls.append("replace")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    FileOffsetStore(tmp_path / "offsets").put("c", [({}, {})])
    assert calls == ["file", "replace", "directory"]


@pytest.mark.parametrize("step", ["write", "open", "replace"])
def test_a_full_disk_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The file of before stays, readers see it, nothing else is left behind, and the next write works."""
    path = tmp_path / "offsets"
    store = FileOffsetStore(path)
    store.put("c", [({"p": 1}, {"o": 1})])
    before = path.read_bytes()

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if step == "replace":
            patch.setattr(os, "replace", full)
        elif step == "open":
            patch.setattr(module, "_write_through", full)
        else:
            patch.setattr(os, "fsync", full)
        with pytest.raises(RetriableError, match=r"offset\.storage\.file\.filename.*No space left") as caught:
            store.put("c", [({"p": 1}, {"o": 2})])
    assert caught.value.hint is not None
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["offsets"]
    assert store.get("c", [{"p": 1}]) == [{"o": 1}]
    store.put("c", [({"p": 1}, {"o": 3})])
    assert json.loads(path.read_text())["offsets"] == {"c": [[{"p": 1}, {"o": 3}]]}


def test_a_half_written_file_of_a_killed_process_is_ignored(tmp_path: Path) -> None:
    """Only the rename makes content count."""
    path = tmp_path / "offsets"
    path.write_text(GOLDEN)
    (tmp_path / "offsets.new").write_text('{"format": 1, "offs')
    store = FileOffsetStore(path)
    assert store.get("source", [{"filename": "in.txt"}]) == [{"position": 42}]
    store.put("source", [({"filename": "in.txt"}, {"position": 43})])
    assert not (tmp_path / "offsets.new").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", "offset file of Kafka Connect for Java"),
        (b"not json", "not an offset file of this program"),
        (b"[]", "not an offset file of this program"),
        (b'{"format": 2, "offsets": {}}', "it has format 2, known is 1"),
    ],
)
def test_a_file_of_another_kind_is_named_and_left_alone(tmp_path: Path, content: bytes, says: str) -> None:
    """Starting over silently would repeat every record, writing over it would lose the offsets."""
    path = tmp_path / "offsets"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        FileOffsetStore(path)
    assert "offset.storage.file.filename" in str(caught.value)
    assert caught.value.hint is not None
    assert path.read_bytes() == content


def test_a_missing_directory_is_found_at_start(tmp_path: Path) -> None:
    """Not minutes later, when the first commit fails."""
    with pytest.raises(ConfigError, match="does not exist"):
        FileOffsetStore(tmp_path / "missing" / "offsets")


def test_a_directory_in_the_place_of_the_file_is_found_at_start(tmp_path: Path) -> None:
    """The key names a file."""
    with pytest.raises(ConfigError, match="is not readable"):
        FileOffsetStore(tmp_path)
