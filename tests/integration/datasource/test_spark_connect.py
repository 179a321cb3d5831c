"""DataFrames of a Spark Connect client: a real server finds the format, which the client does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker.process import QUICK_START
from hearth.foundation.child import start_child, stop_child
from hearth.foundation.port import LOOPBACK, is_free
from hearth.spark.gateway import installed_spark
from tests.peer.hearth_connect import file_bundle
from tests.reservation import reserve_port
from tests.spark_python import spark_python
from tests.timeouts import eventually

HERE = Path(__file__).parent
START_SECONDS = 120


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Provide the address of a server that is configured with nothing but its Python."""
    port = reserve_port()
    settings = {
        "spark.master": "local[2]", "spark.ui.enabled": "false",
        "spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK,
        "spark.connect.grpc.binding.address": LOOPBACK, "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": " ".join(QUICK_START), "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }  # fmt: skip
    command = [str(installed_spark() / "bin" / "spark-submit")]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    variables = {**os.environ, "PYSPARK_PYTHON": spark_python(), "SPARK_LOCAL_IP": LOOPBACK}
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        process = start_child(
            command, env=variables, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        assert eventually(lambda: not is_free(port) or process.poll() is not None, START_SECONDS), log.read_text()
        assert process.poll() is None, log.read_text()
        yield f"sc://{LOOPBACK}:{port}"
    finally:
        stop_child(process, 20)


@pytest.mark.long
def test_a_client_of_spark_connect_reads_and_writes(server: str, tmp_path: Path) -> None:
    """As batches, and as streams whose tasks run in either place; errors reach the client as well."""
    packages, folder = tmp_path / "packages", tmp_path / "folder"
    folder.mkdir()
    install = ["install", "-q", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--target", str(packages)]
    subprocess.run([sys.executable, "-m", "pip", *install, "-r", str(HERE / "connect_client.txt")], check=True)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "connect_client.py"), server, str(file_bundle()), str(folder)],
        env={**os.environ, "PYTHONPATH": str(packages)}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    expected = [f"line {number}" for number in range(1000)]
    assert found["columns"][:3] == ["topic", "key", "value"]
    assert (found["rows"], found["driver"], found["executors"]) == (1000, True, True)
    assert found["first"] in expected
    assert "NoSuchSource" in found["error"]
    for name in ("out.txt", "driver.txt", "executors.txt"):
        assert sorted((folder / name).read_text().splitlines()) == sorted(expected)
