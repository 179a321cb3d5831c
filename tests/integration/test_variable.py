"""Config variables on a real host: only the task has the value."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from tests.integration.conftest import Host
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually


def test_a_task_on_spark_has_the_values_of_variables(host: Host, name: str, topics: Topics, tmp_path: Path) -> None:
    """REST, the log and Spark's web UI show the variables."""
    secret = tmp_path / "a-secret-place.txt"
    secret.write_text("a line\n")
    (host.secrets / name).write_text(str(secret))
    variable = f"${{dir:{host.secrets}:{name}}}"
    host.run({"name": name, "connector.class": "FileStreamSource", "file": variable, "topic": name, "tpoic": "x"})
    assert eventually(lambda: topics.count(name) == 1, TIMEOUT)
    shown = [host.rest.call("GET", f"/connectors/{name}{path}").text for path in ("", "/status", "/tasks")]
    assert variable in shown[0]
    assert variable in shown[2]
    with urllib.request.urlopen(f"{host.spark_page()}/environment/") as page:
        shown.append(page.read().decode())
    log = host.last_words()
    assert not [text for text in (*shown, log) if "a-secret-place" in text]
    assert f"[{name}|validate]" in next(line for line in log.splitlines() if "tpoic: no plugin declares" in line)
    assert "Spark has no setting 'spark.executor.memroy', did you mean 'spark.executor.memory'?" in log
