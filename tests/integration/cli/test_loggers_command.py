"""`hearth loggers` on a running host."""

from __future__ import annotations

from tests.integration.cli.conftest import Cli


def test_a_level_is_set_and_shown(cli: Cli) -> None:
    """For this worker or the whole cluster."""
    assert cli("loggers", "set", "org.example.client", "debug").out.startswith("org.example.client is DEBUG")
    rows = [line.split() for line in cli("loggers", "list").out.splitlines()]
    assert ["org.example.client", "DEBUG"] in rows
    assert cli("loggers", "set", "org.example.client", "INFO", "--scope", "cluster").code == 0
    found = {each["name"]: each["level"] for each in cli("loggers", "list", "--json").json["items"]}
    assert found["org.example.client"] == "INFO"


def test_a_wrong_level_offers_the_nearest(cli: Cli) -> None:
    """Before anything is sent."""
    refused = cli("loggers", "set", "root", "DEBGU")
    assert (refused.code, "did you mean 'DEBUG'" in refused.err) == (2, True)
