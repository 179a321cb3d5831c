"""What is fetched came over https on each step of its way, or is looked at afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.discovery import BundleError
from hearth.packaging.download import download
from hearth_api import ConfigError, ConnectError
from tests.web_server import certificate, web_server


@pytest.fixture
def identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a key and a certificate that this process trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate(tmp_path / "server.pem")))
    return tmp_path / "server.pem"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a folder with a file."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.zip").write_bytes(b"content")
    return tmp_path / "files"


@pytest.fixture
def plain(folder: Path) -> Iterator[str]:
    """Provide the address of a server without https."""
    with web_server(folder) as address:
        yield address


def test_way_is_protected_on_each_step(folder: Path, plain: str, identity: Path, tmp_path: Path) -> None:
    """Without https an attacker controls the redirect, even one back to https."""
    with web_server(folder, identity) as https:
        moved = {"/there.zip": f"{https}/a.zip", "/back.zip": f"{plain}/a.zip"}
        with web_server(folder, identity, moved) as address:
            assert download(f"{address}/there.zip", tmp_path / "a", False, 100).read_bytes() == b"content"
            with pytest.raises(ConfigError, match="the download from http://"):
                download(f"{address}/back.zip", tmp_path / "b", False, 100)
            assert download(f"{address}/back.zip", tmp_path / "c", True, 100).read_bytes() == b"content"
    assert not (tmp_path / "b").exists()


def test_untrusted_certificate_is_refused(
    folder: Path, identity: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be anybody's."""
    monkeypatch.delenv("SSL_CERT_FILE")
    with web_server(folder, identity) as address, pytest.raises(ConnectError, match="certificate verify failed"):
        download(f"{address}/a.zip", tmp_path / "a", False, 100)


def test_endless_download_is_aborted(plain: str, tmp_path: Path) -> None:
    """A disk is not filled by an address."""
    with pytest.raises(BundleError, match="is longer than 3 bytes"):
        download(f"{plain}/a.zip", tmp_path / "a", True, 3)


def test_full_disk_is_not_the_networks_fault(plain: str) -> None:
    """So the user knows that the file is elsewhere."""
    with pytest.raises(OSError, match="No space left"):
        download(f"{plain}/a.zip", Path("/dev/full"), True, 100)
