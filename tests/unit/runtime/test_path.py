"""A record passes the modules that the runtime's docstring names, and not more than a reader can follow."""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import hearth.runtime
import hearth_stage
from hearth.broker import KafkaBroker
from hearth.isolation.environment import Environment
from tests.integration.thread_host import ThreadHost, file_sink, file_source
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

HOST = Path(hearth_stage.__file__).parent.parent
TRACED = Path(__file__).with_name("traced_stage.py")
MOST = 12
NOTES = hearth.runtime.__doc__ or ""


def documented(beginning: str) -> list[str]:
    """Return the modules that a paragraph of the docstring names, by its first words."""
    (paragraph,) = (each for each in NOTES.split("\n\n") if each.startswith(beginning))
    short = re.findall(r"``([\w.]+)``", paragraph)
    own = {path.stem for path in Path(hearth.runtime.__file__ or "").parent.glob("*.py")}
    return [f"hearth.runtime.{name}" if name in own else name for name in short]


PATHS = {"source": documented("A record of a source"), "sink": documented("A record of a sink")}
CARRIERS = documented("Below these")
AT_TIMES = {
    "hearth_execution.retry", "hearth_execution.order", "hearth_execution.column_run", "hearth_stage.missing_module",
    "hearth_stage.import_path",
}  # fmt: skip
"""What a batch of one record goes through as well, and one that is cut or has several schemas: the broker hands over
records as it likes; and what is asked by the import of a module, which some libraries try again and again."""


def module_of(path: str) -> str | None:
    """Return which module of the host a file is; ``None`` for others, and for the author API, which is not counted."""
    if not path.startswith(f"{HOST}/"):
        return None
    name = Path(path).relative_to(HOST).with_suffix("").as_posix().replace("/", ".")
    return None if name.startswith("hearth_api") else name


class Trace:
    """Notes which modules of the host run, in threads of this process and in stages, while it is on."""

    def __init__(self, folder: Path) -> None:
        self._mark, self._out = folder / "mark", folder / "out"
        self._seen: dict[str, set[str]] = {}

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note the module of a function that is called; a profile function, for threads."""
        if event == "call" and self._mark.exists() and (name := module_of(frame.f_code.co_filename)):
            self._seen.setdefault(threading.current_thread().name, set()).add(name)

    def found(self, environment: Environment) -> Environment:
        """Return an environment whose stage notes what it runs."""
        at = environment.command.index("{stage}")
        words = (str(TRACED), str(self._mark), f"{self._out}-{environment.key}")
        return replace(environment, command=(*environment.command[:at], *words, *environment.command[at:]))

    @contextmanager
    def on(self) -> Iterator[None]:
        """Be on for a while."""
        self._mark.touch()
        yield
        self._mark.unlink()

    def of(self, *threads: str) -> set[str]:
        """Return what ran in these threads."""
        return set().union(*(self._seen.get(each, set()) for each in threads))

    def of_stages(self) -> set[str]:
        """Return what ran in stages."""
        paths = [path for out in self._out.parent.glob(f"{self._out.name}-*") for path in out.read_text().split("\n")]
        return {name for name in map(module_of, paths) if name}


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    """Provide a trace of the threads that are started from now on."""
    made = Trace(tmp_path)
    threading.setprofile(made.note)
    yield made
    threading.setprofile(None)


def committed(broker: KafkaBroker, connector: str, topic: str) -> int:
    """Return how far a sink has committed a topic of one partition."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": f"connect-{connector}"}
    with closing(Consumer(settings)) as consumer:
        (place,) = consumer.committed([TopicPartition(topic, 0)], TIMEOUT)
        return int(place.offset)


def test_records_pass_the_documented_modules(broker: KafkaBroker, trace: Trace, tmp_path: Path) -> None:
    """Without failures, in the run's thread, its stage's reader and its stage; with real plugins and a broker.

    The trace has all files of the documented path, and no others but the carriers.
    """
    name = "the-way-of-a-record"
    Topics(broker.bootstrap_servers).create(name)
    lines, copy = tmp_path / "lines", tmp_path / "copy"
    lines.write_text("a\n")
    with ThreadHost(broker.bootstrap_servers, trace.found) as host:

        def is_there() -> bool:
            (offset,) = host.offsets.get("source", [{"filename": str(lines)}])
            is_stored = offset is not None and offset["position"] == lines.stat().st_size
            return is_stored and committed(broker, "sink", name) == len(lines.read_text()) / 2

        def grow(text: str) -> None:
            with lines.open("a") as out:
                out.write(text)
            assert eventually(is_there, TIMEOUT)

        host.run(file_source("source", lines, name))
        host.run(file_sink("sink", copy, name))
        grow("b\n")
        with trace.on():
            grow("c\nd\ne\n" * 20)
    stages = trace.of_stages()
    ran = {
        "source": trace.of("task-source-0", "source-0-reader") | stages - {"hearth_stage.sink"},
        "sink": trace.of("task-sink-0", "sink-0-reader")
        | stages - {"hearth_stage.source", "hearth_stage.poll_buffer"},
    }
    for kind, path in PATHS.items():
        assert sorted(ran[kind] - {*path, *CARRIERS} - AT_TIMES) == [], f"not told of a {kind}"
        assert sorted({*path} - ran[kind]) == [], f"told of a {kind}, and not so"
    assert sorted({*CARRIERS} - ran["source"] - ran["sink"]) == []


@pytest.mark.parametrize("kind", PATHS)
def test_documented_paths_are_short(kind: str) -> None:
    """Each module once, and each exists."""
    path = PATHS[kind]
    assert len(path) == len(set(path)) <= MOST
    assert all(importlib.util.find_spec(module) for module in path)
