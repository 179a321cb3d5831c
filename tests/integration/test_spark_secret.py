"""Other users of the machine learn nothing of a host's Spark, neither from command lines nor from its ports."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from tests.crash.process import Process, tree
from tests.integration.conftest import Host

PASSWORD = "the-password-of-the-connector"
RPC_REQUEST, RPC_FAILURE = 3, 5
SILENT_SECONDS = 10.0
"""How long to wait for a response, in seconds; one port of the gateway has another protocol and sends none."""


def test_secrets_are_on_no_command_line_and_ports_require_one(host: Host, name: str, tmp_path: Path) -> None:
    """Spark's keys and the connectors' reach their processes unseen; clients without the secret are rejected.

    Plugins do not see the environment of Spark and its workers either.
    """
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": name}
    host.run({"name": name, **source, "database.password": PASSWORD})
    processes = tree(host.pid)
    assert len(processes) >= 5
    for process in processes:
        assert not [each for each in (PASSWORD, host.key_of_the_store) if each in process.command]
    jvm = next(each for each in processes if "org.apache.spark.deploy.SparkSubmit" in each.command)
    assert any("SPARK_" in each.environment for each in tree(jvm.pid))
    daemons = [each for each in processes if "hearth.spark.daemon" in each.command]
    of_plugins = [each for daemon in daemons for each in tree(daemon.pid) if "hearth_stage" in each.command]
    assert of_plugins
    assert not [each for each in of_plugins if "SPARK" in each.environment or "PYTHON_WORKER" in each.environment]
    ports = [port for address, port in listeners(jvm) if address == "127.0.0.1"]
    assert len(ports) == len(listeners(jvm))
    refusals = [refusal_of(port) for port in ports]
    assert len([each for each in refusals if "SaslMessage" in each or "challenge" in each]) == 2, refusals


def refusal_of(port: int) -> str:
    """Send a message to one of Spark's transports without authentication, and return its response."""
    body = b"hello"
    head = struct.pack(">bqi", RPC_REQUEST, 1, len(body))
    with socket.create_connection(("127.0.0.1", port), timeout=SILENT_SECONDS) as connection:
        connection.sendall(struct.pack(">q", 8 + len(head) + len(body)) + head + body)
        try:
            answer = connection.recv(1 << 16)
        except OSError:
            return ""
    return answer.decode(errors="replace") if len(answer) > 8 and answer[8] == RPC_FAILURE else ""


def listeners(process: Process) -> list[tuple[str, int]]:
    """Return the addresses on which a process listens."""
    own = {os.readlink(entry) for entry in Path(f"/proc/{process.pid}/fd").iterdir() if entry.is_symlink()}
    found = []
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                address, port = fields[1].split(":")
                last = bytes.fromhex(address[-8:])[::-1]
                found.append((".".join(map(str, last)), int(port, 16)))
    return found
