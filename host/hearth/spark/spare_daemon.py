"""A spare of the process that Spark forks Python workers from: it loads what they need while Spark's JVM starts.

Spark starts that process, its daemon, for the first task, and the task waits until it has loaded everything. Where
executors run inside the driver's JVM the host starts another one beforehand (``SpareDaemon``). The one that Spark
starts hands its place over (``hand_over``): its standard input and output, by which Spark speaks with it, its
variables and arguments. From then on the spare is Spark's daemon (``take_place``), and the other waits for its end, by
which Spark sees it. Where there is no spare any more Spark's own goes on, as on a cluster.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping

from hearth.spark.hand_over import ADDRESS, LIFE, STANDARD, TAKEN
from hearth_stage.peer_user import is_own

MODULE = "hearth.spark.daemon"
_READ_BYTES = 1 << 16


class SpareDaemon:
    """The host's end of a spare: it ends when it is closed, unless it is Spark's daemon by then."""

    def __init__(self, python: str, variables: Mapping[str, str]) -> None:
        """Start it with Spark's own arguments; whatever it prints before it is Spark's is of no use to anybody."""
        self.address = f"\0hearth-spare-{os.urandom(16).hex()}"
        life, self._life = os.pipe()
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(self.address)
                listener.listen()
                process = subprocess.Popen(
                    [python, "-m", MODULE, "pyspark.worker"],
                    env={**variables, LIFE: str(life)},
                    stdin=listener.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[life],
                )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(life)
        threading.Thread(target=process.wait, name="spare-daemon", daemon=True).start()

    def close(self) -> None:
        """Want it no more; may be called again."""
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)

    @property
    def variables(self) -> dict[str, str]:
        """Return by which variables Spark's daemon finds it: an address of Linux, with a sign for its zero."""
        return {ADDRESS: self.address.replace("\0", "@", 1)}


def is_wanted(settings: Mapping[str, str], spark_home: str | None, installed: str) -> bool:
    """Return whether Spark will start such a daemon on this machine, with the pyspark that is installed here."""
    is_here = settings["spark.master"].partition("[")[0] == "local"
    is_ours = settings["spark.python.daemon.module"] == MODULE and spark_home in (None, installed)
    return is_here and is_ours and sys.platform == "linux" and settings.get("spark.python.use.daemon") != "false"


def take_place() -> int:
    """Wait in the spare for the place of Spark's daemon; returns the process id of the JVM that has started that.

    Ends this process where nobody wants it. What Spark's daemon is told by its variables is only known now.
    """
    life = int(os.environ.pop(LIFE))
    listener = socket.socket(fileno=os.dup(0))
    watch = select.poll()
    for each in (listener.fileno(), life):
        watch.register(each, select.POLLIN)
    while True:
        if any(number == life for number, _ in watch.poll()):
            os._exit(0)
        control, _ = listener.accept()
        if is_own(control):
            with contextlib.suppress(OSError, ValueError):
                parent = _take(control)
                break
        control.close()
    listener.close()
    os.close(life)
    os.register_at_fork(after_in_child=control.close)  # or the end of this process would be that of all its workers
    return parent


def _take(control: socket.socket) -> int:
    """Become what the process at the other end was, once that knows that it need not go on."""
    first, descriptors, _, _ = socket.recv_fds(control, 1, len(STANDARD))
    try:
        rest = iter(lambda: control.recv(_READ_BYTES), b"")
        parent, arguments, variables = json.loads(b"".join([first, *rest]))
        control.send(TAKEN, socket.MSG_NOSIGNAL)
        for given, standard in zip(descriptors, STANDARD, strict=True):
            os.dup2(given, standard)
    finally:
        for given in descriptors:
            os.close(given)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[:] = arguments
    return int(parent)


def begin_apart() -> None:
    """Keep signals that are meant for the host from the spare, as Spark's JVM does from its daemon."""
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
