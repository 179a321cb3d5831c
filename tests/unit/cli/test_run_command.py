"""`hearth run` restarts a connector when its project changes."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hearth.cli import run_command
from hearth.cli.local import LocalHost
from hearth.cli.written_records import WrittenRecords
from hearth.client.connector_file import read_connector_file
from hearth.foundation.terminal import Terminal
from hearth_api import ConnectError


class RecordingHost(LocalHost):
    """Records requests, and answers with the given states."""

    def __init__(self, folder: Path) -> None:
        """Begin with an empty log."""
        super().__init__(folder, 0, {})
        self.fault: ConnectError | None = None
        self.requests: list[tuple[str, str]] = []
        self.states = ["RUNNING", "RUNNING"]
        self.trace = "boom"
        self.type = "sink"
        self.log.write_text("")

    @property
    def is_running(self) -> bool:
        """Run always."""
        return True

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Answer a status; keep all else."""
        if path.partition("?")[0].endswith("/topics"):
            return {"a b": {"topics": ["t"]}}
        if not path.partition("?")[0].endswith("/status"):
            self.requests.append((method, path))
            if self.fault is not None:
                raise self.fault
        connector, task = self.states
        tasks = [{"id": 0, "state": task, "trace": self.trace}]
        return {"connector": {"state": connector}, "tasks": tasks, "type": self.type}


class RecordingRecords(WrittenRecords):
    """Records the topics that are looked at, and the restarts."""

    def __init__(self) -> None:
        """Begin without any."""
        self.topics: list[list[str]] = []
        self.restarts = 0

    def restart(self) -> None:
        """Count it."""
        self.restarts += 1

    def look(self, topics: Iterable[str]) -> None:
        """Record the topics."""
        self.topics.append(list(topics))


class Loop(run_command._Loop):
    """A loop whose packing only counts."""

    packed = 0
    fault: ConnectError | None = None

    def _pack(self) -> None:
        if self.fault is not None:
            raise self.fault
        self.packed += 1


@pytest.fixture
def stream() -> io.StringIO:
    """Provide what a person sees."""
    return io.StringIO()


@pytest.fixture
def loop(tmp_path: Path, stream: io.StringIO) -> Loop:
    """Provide a loop whose connector runs on a host that only records requests."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "code.py").write_text("1")
    (project / "a.properties").write_text("name=a b\nconnector.class=X\n")
    found = Loop(project, project / "a.properties", tmp_path, Terminal(stream))
    found._host = RecordingHost(tmp_path)
    found._records = RecordingRecords()
    found._connector = read_connector_file(project / "a.properties")
    found._put()
    requests(found).clear()
    found._seen = found._files()
    return found


def requests(loop: Loop) -> list[tuple[str, str]]:
    """Return the requests to the host."""
    host = loop._host
    assert isinstance(host, RecordingHost)
    return host.requests


def test_nothing_happens_while_nothing_changes(loop: Loop, tmp_path: Path) -> None:
    """What tools leave in a project is no change of it."""
    for name in ("__pycache__/x.pyc", ".hearth/host.log", "build/lib/code.py", "dist/x.zip", "code.egg-info/PKG-INFO"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True)
        path.write_text("")
    loop.look()
    assert (loop.packed, requests(loop)) == (0, [])


@pytest.mark.parametrize("name", ["src/code.py", "src/more.py", "a.properties"])
def test_change_packs_the_project_again(name: str, loop: Loop, tmp_path: Path, stream: io.StringIO) -> None:
    """Once per change, and names the file; only a changed configuration is sent to the host."""
    (tmp_path / "project" / name).write_text("name=a b\nconnector.class=Y\n")
    loop.look()
    loop.look()
    assert loop.packed == 1
    assert requests(loop) == ([("PUT", "/hearth/connectors/config?name=a%20b")] if name == "a.properties" else [])
    assert f"{Path(name).name} changed: restart" in stream.getvalue()


def test_error_is_shown_and_the_next_change_retries(loop: Loop, tmp_path: Path, stream: io.StringIO) -> None:
    """The connector continues to run as before the error."""
    loop.fault = ConnectError("no good", hint="mend it")
    (tmp_path / "project" / "src" / "code.py").write_text("2 2")
    loop.look()
    assert "error: no good\nhint: mend it\n" in stream.getvalue()
    assert requests(loop) == []
    loop.fault = None
    (tmp_path / "project" / "src" / "code.py").write_text("3 3 3")
    loop.look()
    assert loop.packed == 1


def test_refused_configuration_is_sent_again_after_the_next_change(loop: Loop, stream: io.StringIO) -> None:
    """Also if the change is one of the code: a setting there has a default now, for example."""
    host = loop._host
    assert isinstance(host, RecordingHost)
    host.fault = ConnectError("HTTP 400: no topic")
    (loop._project / "a.properties").write_text("name=a b\nconnector.class=Y\n")
    loop.look()
    assert "error: HTTP 400: no topic\n" in stream.getvalue()
    requests(loop).clear()
    host.fault = None
    (loop._project / "src" / "code.py").write_text("2 2")
    loop.look()
    loop.look()
    assert requests(loop) == [("PUT", "/hearth/connectors/config?name=a%20b")]


def test_first_error_ends_nothing(loop: Loop, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration is refused at the start, and accepted after an edit."""
    host = loop._host
    assert isinstance(host, RecordingHost)
    host.fault, loop._accepted = ConnectError("HTTP 400: no topic"), None
    monkeypatch.setattr(host, "start", lambda on_wait: None)
    monkeypatch.setattr(run_command, "LocalHost", lambda *given: host)
    with ExitStack() as running:
        loop.start(running, "localhost:9092")
        assert "error: HTTP 400: no topic\nedit " in stream.getvalue()
        host.fault = None
        requests(loop).clear()
        (loop._project / "src" / "code.py").write_text("2 2")
        loop.look()
    assert len(requests(loop)) == 1


def test_log_and_failure_of_the_connector_are_shown_once(loop: Loop, stream: io.StringIO, tmp_path: Path) -> None:
    """Lines about others are not."""
    loop._host.log.write_text("[1] INFO [a b|task-0] mine\n[1] INFO [other|task-0] not mine\n[1] INFO [a b|task-0] ha")
    loop.look()
    loop.look()
    assert stream.getvalue().count("mine") == 1
    host = loop._host
    assert isinstance(host, RecordingHost)
    host.states = ["RUNNING", "FAILED"]
    loop.look()
    loop.look()
    assert stream.getvalue().count("task 0 is FAILED\nboom") == 1


def test_records_of_a_source_are_shown(loop: Loop) -> None:
    """In full again whenever a task starts; those that a sink reads are not."""
    host, records = loop._host, loop._records
    assert isinstance(host, RecordingHost)
    assert isinstance(records, RecordingRecords)
    loop.look()
    assert records.topics == []
    host.type = "source"
    loop.look()
    assert records.topics == [["t"]]
    restarts = records.restarts
    loop.look()
    assert records.restarts == restarts
    host.states = ["RUNNING", "UNASSIGNED"]
    loop.look()
    assert records.restarts == restarts + 1


def test_traces_name_the_files_of_the_project(loop: Loop, stream: io.StringIO, tmp_path: Path) -> None:
    """Not the copies that run, in a status and in the log; a file that was changed since has other lines."""
    copies = tmp_path / "cache" / "site"
    own = loop._project / "src"
    files = {"one/task.py": "same", "two/task.py": "same", "code.py": "1", "library.py": "somebody else's"}
    for name, text in files.items():
        for root in (copies, own) if name != "library.py" else (copies,):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    loop._seen = loop._files()
    host = loop._host
    assert isinstance(host, RecordingHost)
    host.states = ["RUNNING", "FAILED"]
    host.trace = "".join(f'  File "{copies / name}", line 3, in poll\n' for name in files)
    host.log.write_text(f'[a b|task-0]   File "{copies / "two/task.py"}", line 3, in poll\n')
    loop.look()
    loop.fault = ConnectError(f'File "{copies / "code.py"}", line 3')
    (own / "new.py").write_text("")
    loop.look()
    shown = stream.getvalue()
    assert f'error: File "{own / "code.py"}", line 3' in shown
    for name in ("one/task.py", "two/task.py", "code.py"):
        assert f'  File "{own / name}", line 3, in poll' in shown
        assert str(copies / name) not in shown
    assert f'  File "{copies / "library.py"}", line 3, in poll' in shown
    assert shown.count(str(own / "two/task.py")) == 2
    (own / "code.py").write_text("2")
    assert loop._named(f'File "{copies / "code.py"}", line 3') == f'File "{copies / "code.py"}", line 3'
