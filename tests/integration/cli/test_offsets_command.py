"""`hearth offsets` on a running host."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.integration.thread_host import file_source
from tests.timeouts import TIMEOUT, eventually


def test_offsets_are_shown_set_copied_and_reset(
    cli: Cli, host: Host, pair: tuple[str, str], name: str, tmp_path: Path
) -> None:
    """What --json prints is what set reads; a running connector is stopped for it and runs again."""
    source = pair[0]
    assert eventually(lambda: "position=4" in cli("offsets", "get", source).out, TIMEOUT)
    found = cli("offsets", "get", source, "--json").json
    assert found["offsets"][0]["offset"] == {"position": 4}
    found["offsets"][0]["offset"]["position"] = 0
    refused = cli("offsets", "reset", source)
    assert (refused.code, "hint: --stop" in refused.err) == (2, True)
    (tmp_path / "offsets.json").write_text(json.dumps(found))
    moved = cli("offsets", "set", source, str(tmp_path / "offsets.json"), "--stop")
    assert (moved.code, "altered successfully" in moved.out) == (0, True)
    host.wait_for_state(source, "RUNNING")
    assert eventually(lambda: (tmp_path / "out.txt").read_text() == "one\none\n", TIMEOUT)
    other = f"{name}-copy"
    host.run(file_source(other, tmp_path / "in.txt", f"{name}-copied"))
    assert cli("offsets", "copy", source, other, "--stop").code == 0
    reset = cli("offsets", "reset", other, "--stop")
    assert (reset.code, "reset successfully" in reset.out) == (0, True)


def test_a_file_without_offsets_is_refused(cli: Cli, pair: tuple[str, str], tmp_path: Path) -> None:
    """With its form; the connector is not stopped for it."""
    for text in ("{", "[]", "{}", json.dumps({"offsets": [1]})):
        (tmp_path / "offsets.json").write_text(text)
        refused = cli("offsets", "set", pair[0], str(tmp_path / "offsets.json"), "--stop")
        assert (refused.code, "holds no offsets" in refused.err) == (2, True), text
    assert cli("status", pair[0], "--json").json["items"][0]["state"] == "RUNNING"
