"""`hearth hosts` on a running host."""

from __future__ import annotations

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.reservation import reserve_port


def test_workers_have_their_health_and_what_they_run(cli: Cli, host: Host, pair: tuple[str, str]) -> None:
    """The worker is known by its address and by the statuses, once."""
    shown = cli("hosts")
    assert shown.code == 0
    (row,) = (line.split() for line in shown.out.splitlines()[1:])
    assert row[:3] == [f"http://127.0.0.1:{host.port}", "healthy", "4.3.1"]
    (item,) = cli("hosts", "--json").json["items"]
    assert item["connectors"] >= 2
    assert item["tasks"] >= 2
    assert cli("hosts", "--wait").code == 0


def test_a_worker_that_does_not_answer_is_shown(cli: Cli, host: Host) -> None:
    """Next to the one that does; waiting for it ends with its own code."""
    gone = f"http://127.0.0.1:{reserve_port()}"
    urls = ("--url", f"http://127.0.0.1:{host.port},{gone}")
    shown = cli("hosts", *urls, "--json")
    assert shown.code == 1
    assert {each["url"]: each["health"] for each in shown.json["items"]}[gone] == "unreachable"
    assert cli("hosts", *urls, "--wait", "--timeout", "100ms").code == 5
