"""`hearth explain` on a running host."""

from __future__ import annotations

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.timeouts import TIMEOUT, eventually


def test_a_connector_is_explained(cli: Cli, host: Host, pair: tuple[str, str]) -> None:
    """With its condition, and findings that have evidence, cause and remedy."""
    cli("connectors", "pause", pair[0])
    assert eventually(lambda: cli("explain", pair[0]).out.startswith(f"{pair[0]}: paused\n"), TIMEOUT)
    document = cli("explain", pair[0], "--json").json
    assert document["condition"] == "paused"
    assert document["findings"][0]["remedy"]


def test_an_unknown_connector_offers_the_nearest(cli: Cli, pair: tuple[str, str]) -> None:
    """As every command does."""
    refused = cli("explain", f"{pair[0]}x")
    assert (refused.code, f"did you mean '{pair[0]}'" in refused.err) == (2, True)
