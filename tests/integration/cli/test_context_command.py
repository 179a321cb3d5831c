"""`hearth context`: set, use, list and remove, and that commands use them."""

from __future__ import annotations

import pytest

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host


def test_commands_use_the_current_context(cli: Cli, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one that is made, until another is chosen."""
    monkeypatch.delenv("HEARTH_URL")
    url = f"http://127.0.0.1:{host.port}"
    assert cli("context", "set", "dev", "--url", url).out == f"context dev is {url}\n"
    cli("context", "set", "prod", "--url", "https://connect:8083", "--user", "me", "--header", "X-Token: t0p")
    assert cli("connectors", "list").code == 0
    listed = cli("context", "list").out
    assert [line.split()[:3] for line in listed.splitlines()[1:]] == [
        ["*", "dev", url],
        ["prod", "https://connect:8083", "me"],
    ]
    assert cli("context", "use", "prod").code == 0
    shown = cli("context", "list", "--json")
    assert [each["current"] for each in shown.json["items"]] == [False, True]
    assert "t0p" not in shown.out
    assert cli("connectors", "list", "--context", "dev").code == 0
    assert cli("context", "remove", "prod").code == 0
    assert cli("context", "list", "-o", "name").out == "dev\n"


def test_a_context_keeps_what_is_not_named(cli: Cli) -> None:
    """An empty value removes a member."""
    cli("context", "set", "a", "--url", "http://a", "--user", "me", "--ca", "ca.pem")
    cli("context", "set", "a", "--user", "")
    (item,) = cli("context", "list", "--json").json["items"]
    assert (item["urls"], item["user"], item["ca"]) == (["http://a"], None, "ca.pem")


def test_wrong_names_and_values_are_refused(cli: Cli) -> None:
    """With what to do."""
    cli("context", "set", "prod", "--url", "http://a")
    assert "did you mean 'prod'" in cli("context", "use", "prd").err
    assert cli("context", "set", "b", "--url", "nowhere").code == 2
    assert cli("context", "set", "b", "--header", "x").code == 2
    assert cli("status", "--context", "nosuch").code == 2
