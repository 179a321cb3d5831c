"""`hearth export` on a running host: what it writes is what `hearth diff` finds unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli


@pytest.mark.parametrize("form", ["json", "properties", "yaml", "strimzi"])
def test_exported_files_equal_what_runs(cli: Cli, pair: tuple[str, str], name: str, tmp_path: Path, form: str) -> None:
    """In every format, with the state of a stopped connector."""
    folder = tmp_path / "exported"
    exported = cli("export", "--match", f"{name}-.*", "-o", form, "--to", str(folder))
    assert (exported.code, len(exported.out.splitlines())) == (0, 2)
    compared = cli("diff", "-f", str(folder), "--exit-code")
    assert (compared.code, compared.out[:27]) == (0, "0 to change, 2 unchanged; p")


def test_one_connector_goes_to_standard_output(cli: Cli, pair: tuple[str, str], name: str) -> None:
    """Several only where the format holds several."""
    one = cli("export", pair[0], "-o", "properties").out
    assert one.startswith(f"name={pair[0]}\nconnector.class=")
    several = cli("export", *pair)
    assert (several.code, "hint: --to DIR" in several.err) == (2, True)
    resources = cli("export", *pair, "-o", "strimzi", "--cluster-label", "connect").out
    assert resources.count("kind: KafkaConnector") == 2
    assert resources.count("strimzi.io/cluster: connect") == 2
