"""A first-party bundle on the plugin.path of the running host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hearth.cli.main import run
from tests.integration.conftest import Host
from tests.page import ROOT
from tests.timeouts import TIMEOUT, eventually


@contextmanager
def installed(host: Host, folder: Path, name: str, plugin: str) -> Iterator[None]:
    """Pack the project `plugins/NAME` with its packages and install it until the block ends.

    `plugin` is the name of a class by which the host is seen to have it.
    """
    assert run(["bundle", "pack", str(ROOT / "plugins" / name), "--output", str(folder)]) == 0
    (bundle,) = folder.iterdir()
    assert run(["bundle", "install", str(bundle), "--plugin-path", str(host.plugins)]) == 0
    assert eventually(lambda: plugin in host.rest.call("GET", "/connector-plugins").text, TIMEOUT)
    yield
    assert run(["bundle", "remove", f"hearth-{name}", "--plugin-path", str(host.plugins)]) == 0
