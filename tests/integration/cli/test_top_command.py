"""`hearth top` on a running host."""

from __future__ import annotations

from tests.integration.cli.conftest import Cli


def test_commits_are_counted_between_two_looks(cli: Cli, pair: tuple[str, str]) -> None:
    """The first look has no rate."""
    shown = cli("top", "--count", "2", "--every", "300ms")
    assert shown.code == 0
    first, second = [line.split() for line in shown.out.splitlines() if line.startswith(pair[0])]
    assert (first[1:4], first[-1]) == (["source", "RUNNING", "1"], "-")
    assert second[-1].replace(",", "").isdecimal()
