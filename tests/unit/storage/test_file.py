"""The offset file: its format, and what happens if the disk fails."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth.storage import FileOffsetStore, OffsetClaim
from hearth.storage.file import OffsetsClaimed
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


def test_the_format_matches_the_golden_file(tmp_path: Path) -> None:
    """A stored format must not change unnoticed."""
    path = tmp_path / "offsets"
    FileOffsetStore(path).put("source", [({"filename": "in.txt"}, {"position": 42})])
    assert path.read_text() == GOLDEN


def test_a_term_is_written_before_it_is_returned(tmp_path: Path) -> None:
    """Next to the offsets, so readers of the older format still find them."""
    path = tmp_path / "offsets"
    path.write_text(GOLDEN)
    assert FileOffsetStore(path).begin_term() == 1
    assert path.read_text() == GOLDEN.replace('"format": 1,', '"format": 1,\n "term": 1,')


def test_terms_grow_across_processes_and_writes(tmp_path: Path) -> None:
    """A host that starts again has a greater term, whatever happened to the last one."""
    path = tmp_path / "offsets"
    before = FileOffsetStore(path)
    terms = [before.begin_term(), before.begin_term()]
    before.put("c", [({"p": 1}, {"o": 1})])
    after = FileOffsetStore(path)
    terms.append(after.begin_term())
    assert terms == [1, 2, 3]
    assert after.get("c", [{"p": 1}]) == [{"o": 1}]


def test_a_term_that_cannot_be_written_is_not_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next host would get the same one."""
    store = FileOffsetStore(tmp_path / "offsets")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(RetriableError, match="No space left"):
            store.begin_term()
    assert store.begin_term() == 1


@pytest.mark.parametrize("term", ["-1", '"1"', "true", "1.5", "null"])
def test_an_invalid_term_is_rejected(tmp_path: Path, term: str) -> None:
    """Such a file was not written by Hearth."""
    path = tmp_path / "offsets"
    path.write_text(f'{{"format": 1, "term": {term}, "offsets": {{}}}}')
    with pytest.raises(ConfigError, match="its term is"):
        FileOffsetStore(path)


def test_offsets_outlive_the_process(tmp_path: Path) -> None:
    """Everything for which put has returned can be read."""
    path = tmp_path / "offsets"
    path.write_text(GOLDEN)
    assert FileOffsetStore(path).get("source", [{"filename": "in.txt"}]) == [{"position": 42}]


@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_missing_or_empty_file_holds_no_offsets(tmp_path: Path, content: bytes | None) -> None:
    """As Kafka Connect reads a missing or empty file (EOFException); white space alone holds none either."""
    path = tmp_path / "offsets"
    if content is not None:
        path.write_bytes(content)
    assert FileOffsetStore(path).partitions("source") == []


def test_the_rename_happens_between_two_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 5: the new content is synced before the rename, the rename before put returns."""
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
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The old file remains, readers see it, no other file is left, and the next write works."""
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
            patch.setattr(os, "open", full)
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
    """Only the rename makes the content effective."""
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
        (b"not json", "not a Hearth offset file"),
        (b"[]", "not a Hearth offset file"),
        (b'{"format": 2, "offsets": {}}', "it has format 2, known is 1"),
        (b'{"format": 1, "offsets": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion"),
        (b'{"format": 1, "offsets": {"c": [[1, 2]]}}', "not a Hearth offset file"),
        (b'{"format": 1, "offsets": {"c": [[{}, "x"]]}}', "not a Hearth offset file"),
    ],
)
def test_a_file_in_another_format_is_rejected_and_kept(tmp_path: Path, content: bytes, says: str) -> None:
    """Starting without offsets would repeat every record, and overwriting the file would lose them."""
    path = tmp_path / "offsets"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        FileOffsetStore(path)
    assert "offset.storage.file.filename" in str(caught.value)
    assert caught.value.hint is not None
    assert path.read_bytes() == content


def test_a_missing_directory_is_found_at_start(tmp_path: Path) -> None:
    """Not minutes later with the first commit."""
    with pytest.raises(ConfigError, match="does not exist"):
        FileOffsetStore(tmp_path / "missing" / "offsets")


def test_a_directory_instead_of_the_file_is_found_at_start(tmp_path: Path) -> None:
    """The error has the key."""
    with pytest.raises(ConfigError, match="is not readable"):
        FileOffsetStore(tmp_path)


HOLDER = """
import sys
from hearth.storage import OffsetClaim
claim = OffsetClaim(sys.argv[1])
print("claimed", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_host(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Claim a file in another process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        try:
            yield process
        finally:
            process.kill()


def test_an_offset_file_has_one_host(tmp_path: Path) -> None:
    """A second host gets the key, file and holder; another path to the same file does not help."""
    path, link = tmp_path / "offsets", tmp_path / "link"
    path.write_text(GOLDEN)
    link.symlink_to(path)
    with another_host(path) as holder:
        for name in (path, link):
            with pytest.raises(OffsetsClaimed) as caught:
                OffsetClaim(name)
            assert f"offset.storage.file.filename={str(name)!r} is in use by a running host" in str(caught.value)
            assert f"process {holder.pid} on {socket.gethostname()}" in str(caught.value)
            assert caught.value.code.startswith("environment.")
        assert FileOffsetStore(path).get("source", [{"filename": "in.txt"}]) == [{"position": 42}]


def test_the_claim_of_a_killed_host_is_released(tmp_path: Path) -> None:
    """No file has to be removed before the next start."""
    with another_host(tmp_path / "offsets") as holder:
        holder.kill()
        holder.wait()
        OffsetClaim(tmp_path / "offsets").release()


def test_a_claim_is_released_for_the_next_host(tmp_path: Path) -> None:
    """Within one process as between two, and from any thread."""
    claim = OffsetClaim(tmp_path / "offsets")
    with pytest.raises(OffsetsClaimed):
        OffsetClaim(tmp_path / "offsets")
    thread = threading.Thread(target=claim.release)
    thread.start()
    thread.join()
    OffsetClaim(tmp_path / "offsets").release()


def test_a_claim_in_a_missing_directory_names_the_key(tmp_path: Path) -> None:
    """Not the name of the lock file."""
    with pytest.raises(ConfigError, match=r"offset\.storage\.file\.filename.*does not exist"):
        OffsetClaim(tmp_path / "missing" / "offsets")


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    """Something else exists at the path of the lock file."""
    (tmp_path / "offsets.lock").mkdir()
    with pytest.raises(ConfigError, match="cannot be locked"):
        OffsetClaim(tmp_path / "offsets")
