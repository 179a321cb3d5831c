"""A spare of Spark's Python daemon, which preloads modules while Spark's JVM starts.

Spark starts its daemon for the first task, and the task waits until the daemon has loaded everything. If executors run
inside the driver's JVM, the host starts a spare beforehand (``SpareDaemon``). Spark's daemon hands over to it
(``hand_over``) its standard input and output, by which Spark communicates with it, its variables and arguments. From
then on the spare is Spark's daemon (``take_place``); the other process waits for its end, so that Spark notices it.
Without a spare, Spark's own daemon does the work, as on a cluster.
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
    """The host's handle of a spare, which ends when this is closed unless it has become Spark's daemon."""

    def __init__(self, python: str, variables: Mapping[str, str]) -> None:
        """Start the spare with Spark's arguments; its output is discarded until it becomes Spark's daemon."""
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
        """End the spare; repeated calls are harmless."""
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables for Spark's daemon: an abstract socket address with ``@`` for its zero byte."""
        return {ADDRESS: self.address.replace("\0", "@", 1)}


def is_wanted(settings: Mapping[str, str], spark_home: str | None, installed: str) -> bool:
    """Return whether Spark will start this daemon on this machine, with the installed pyspark."""
    is_here = settings["spark.master"].partition("[")[0] == "local"
    is_ours = settings["spark.python.daemon.module"] == MODULE and spark_home in (None, installed)
    return is_here and is_ours and sys.platform == "linux" and settings.get("spark.python.use.daemon") != "false"


def take_place() -> int:
    """Wait in the spare until Spark's daemon hands over; returns the process id of the JVM that started that daemon.

    Exits when the host closes the spare. The variables of Spark's daemon are known only after the call.
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
    os.register_at_fork(after_in_child=control.close)  # or the connection would stay open until all workers end
    return parent


def _take(control: socket.socket) -> int:
    """Take over standard streams, variables and arguments of the peer, after acknowledging the hand-over."""
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
    """Shield the spare from signals meant for the host, as Spark's JVM does for its daemon."""
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
