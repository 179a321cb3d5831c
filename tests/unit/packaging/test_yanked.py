"""What the package index says to be yanked is found; what it does not have is not; silence is no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.cli.main import run
from hearth.packaging.yanked import yanked
from hearth_api import ConnectError
from tests.bundles import build

POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


@pytest.fixture(autouse=True)
def _index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let uv ask an index of its own, and forget what it heard."""
    marks = {"1.0": 'data-yanked="leaks passwords"', "1.1": "data-yanked", "2.0": ""}
    wheels = {build.plain_wheel(tmp_path, "demo", version, POINTS): mark for version, mark in marks.items()}
    monkeypatch.setenv("UV_DEFAULT_INDEX", build.index(tmp_path / "index", wheels))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.delenv("UV_OFFLINE", raising=False)


def test_yanked_versions_are_found_with_their_reason() -> None:
    """A missing reason is stated; releases that are not yanked, or not in the index, are omitted."""
    pins = ["demo==1.0", "demo==1.1", "demo==2.0", "demo==3.0", "private==1.0"]
    assert yanked(pins) == {"demo==1.0": "leaks passwords", "demo==1.1": "no reason is given"}


def test_audit_reports_yanked_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only on request, so that the audit needs no network by default."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        build.plain_wheel(folder, "demo", version, POINTS)
    build.truncated(tmp_path).rename(folder / "broken-1.0-py3-none-any.whl")
    assert run(["bundle", "audit", "--plugin-path", str(folder), "--yanked"]) == 2
    out = capsys.readouterr().out
    assert [line.split()[1:] for line in out.splitlines() if " yanked " in line] == [
        ["yanked", "demo", "1.0:", "leaks", "passwords"]
    ]


@pytest.mark.parametrize("is_offline", [True, False])
def test_unreachable_index_is_reported(is_offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence would read as no yanked packages."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    if is_offline:
        monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(ConnectError, match=r"cannot determine whether demo==1\.0 is yanked") as raised:
        yanked(["demo==1.0"])
    assert raised.value.code == "environment.index"
