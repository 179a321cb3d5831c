"""A host and tasks that record what they receive, and a network between them that can be observed and cut."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from dataclasses import replace

from hearth.foundation.certificate import make_identity
from hearth.herder.task_link import TaskEvent, TaskLinkServer
from hearth.kafka.token import Give, no_tokens
from hearth.link.admission import LinkAddress
from hearth.link.link_call import Command
from hearth.runtime.link import TaskLink, Welcome
from hearth.storage.memory import MemoryOffsetStore
from tests.timeouts import TIMEOUT
from tests.unit.runtime.sample import task_plan


class Host:
    """A host that records what it receives."""

    def __init__(self) -> None:
        self.events: queue.Queue[TaskEvent] = queue.Queue()
        self.offsets = MemoryOffsetStore()
        self.server = TaskLinkServer(
            self.events.put, self.offsets, make_identity(), tokens=lambda source: self.give(source)
        )
        self.give: Give = no_tokens
        self.server.start()

    def expect(self, connector: str, task: int, generation: int, is_paused: bool = False) -> LinkAddress:
        """Expect a run of a task, with a short plan."""
        plan = replace(task_plan("source"), connector=connector, task=task)
        return self.server.expect(plan, generation, is_paused)

    def next_event(self) -> TaskEvent:
        """Wait for the next event and return it."""
        return self.events.get(timeout=TIMEOUT)


class Guest:
    """A task that records what it receives."""

    def __init__(self) -> None:
        self.commands: queue.Queue[Command] = queue.Queue()
        self.lost = threading.Event()
        self.link: TaskLink

    @property
    def welcome(self) -> Welcome:
        """Return the answer to its hello."""
        return self.link.welcome

    def close(self) -> None:
        """Disconnect from the host, if connected."""
        if hasattr(self, "link"):
            self.link.close()

    def join(self, address: LinkAddress, connector: str = "c", task: int = 0) -> Guest:
        """Connect to a host."""
        self.link = TaskLink(address, connector, task, self.commands.put, self.lost.set)
        return self


class Wire:
    """A network between tasks and their host that can be observed, and can stop carrying data."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.carried = b""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._sockets = [self._listener]
        self._carries = True
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop everything from now on, without notifying either side."""
        self._carries = False

    def close(self) -> None:
        """Close all connections."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                if self._carries:
                    self.carried += data
                    other.sendall(data)
