"""Endpoints for bundles: list plugin.path with rejected bundles, install and remove."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hearth.config import WorkerConfig
from hearth.discovery import Bundle
from hearth.herder.plugin.directory import PluginDirectory
from hearth.rest.answer import Forbidden, JsonAnswer
from hearth.rest.body import media_type
from hearth.rest.endpoint import Query
from hearth_api import ConfigError, ConflictError

if TYPE_CHECKING:
    from hearth.packaging.installed import Change, InstalledBundles

ARCHIVE = "application/octet-stream"
ARCHIVES = (ARCHIVE, "application/zip", "application/gzip", "application/x-gzip", "application/x-tar")
"""Accepted content types of bundles. HTML forms can send none of them, so browsers send a preflight first."""
MAX_BUNDLE = 4 << 30
"""Maximum size in bytes of an uploaded bundle."""
FILE = Query("file", "The file name, whose extension gives the format; a wheel needs its complete name.", "bundle.zip")
VERSION = Query("version", "The version, if there are several.", "")


class BundlesResource:
    """One method for each route below `/plugins`."""

    def __init__(self, worker: WorkerConfig, directory: PluginDirectory) -> None:
        self._worker = worker
        self._directory = directory

    async def list(self, request: Request) -> Response:
        """List the bundles on plugin.path with their plugins, and the rejected ones with the reason."""
        catalogue = self._directory.catalogue
        bundles = {each.bundle.location: each.bundle for each in catalogue.plugins if each.bundle is not None}
        rejected = [vars(each) for each in (*catalogue.rejected, *catalogue.shadowed)]
        return JsonAnswer({"bundles": [_bundle(each) for each in bundles.values()], "rejected": rejected})

    async def install(self, request: Request) -> Response:
        """Install a bundle on plugin.path, replacing another version of it."""
        self._refuse_unless_enabled()
        given = media_type(request)
        if given is None or given.name not in ARCHIVES:
            raise HTTPException(415)
        with tempfile.TemporaryDirectory(prefix="hearth-install-") as folder:
            source = Path(folder, _file_name(FILE.text(request) or ""))
            with source.open("wb") as file:
                async for piece in request.stream():
                    if file.tell() + len(piece) > MAX_BUNDLE:
                        raise ConfigError(f"the bundle has more than {MAX_BUNDLE} bytes", code="bundle.size")
                    file.write(piece)
            change = await self._change(lambda installed: installed.upgrade(source))
        return JsonAnswer(change, 201 if change["action"] == "install" else 200)

    async def remove(self, request: Request) -> Response:
        """Remove a bundle from plugin.path; its running plugins are not affected, and a rollback restores it."""
        self._refuse_unless_enabled()
        name, version = str(request.path_params["bundle"]), VERSION.text(request) or None
        return JsonAnswer(await self._change(lambda installed: installed.remove(name, version)))

    async def rollback(self, request: Request) -> Response:
        """Replace the present version of a bundle with the previous one."""
        self._refuse_unless_enabled()
        name = str(request.path_params["bundle"])
        return JsonAnswer(await self._change(lambda installed: installed.rollback(name)))

    async def _change(self, act: Callable[[InstalledBundles], Change]) -> dict[str, Any]:
        """Change plugin.path and have it scanned.

        The response waits until the environment is built, however long that takes: only bundles that can run are
        installed.
        """

        def change() -> dict[str, Any]:
            made = act(self._installed())
            self._directory.look()
            shown = {"action": made.action, "name": made.name, "before": made.before, "after": made.after}
            return {**shown, "location": str(made.location)}

        return await asyncio.to_thread(change)

    def _installed(self) -> InstalledBundles:
        from hearth.packaging.installed import InstalledBundles

        folders = [each for each in self._directory.catalogue.plugin_path if each.is_dir()]
        if not folders:
            raise ConflictError("no element of plugin.path is a directory", hint="add one, and restart the host")
        return InstalledBundles(folders[0], self._directory.environments)

    def _refuse_unless_enabled(self) -> None:
        if not self._worker.plugin_rest_install_enable:
            raise Forbidden(
                "this worker does not install bundles over REST: plugin.rest.install.enable is false",
                hint="put the bundle on plugin.path, or set the key to true",
            )


def _file_name(given: str) -> str:
    if (
        not given
        or not given.isprintable()
        or given.startswith(".")
        or "/" in given
        or "\\" in given
        or len(given) > 200
    ):
        raise ConfigError("file", given, "a plain file name is expected")
    return given


def _bundle(bundle: Bundle) -> dict[str, Any]:
    plugins = [
        {"class": each.class_name, "type": each.type.value, "version": each.version} for each in bundle.declarations
    ]
    return {
        "name": bundle.name,
        "version": bundle.version,
        "location": str(bundle.location),
        "plugins": plugins,
    }
