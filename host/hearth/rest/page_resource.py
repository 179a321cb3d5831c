"""The web page at `/ui`: static files of the package, and the settings that they read."""

from __future__ import annotations

from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hearth.config import WorkerConfig
from hearth.rest.answer import JsonAnswer

_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
_INDEX = "index.html"


class PageResource:
    """Serves the page, whose scripts use the same API as any client."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._settings = {
            "is_read_only": worker.ui_readonly,
            "is_protected": bool(worker.rest_extension_classes) or worker.ssl_client_auth == "required",
        }
        folder = resources.files("hearth.rest").joinpath("page")
        self._files = {each.name: each for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES}

    async def index(self, request: Request) -> Response:
        """Show the page."""
        return self._file(_INDEX)

    async def file(self, request: Request) -> Response:
        """Return a script or style of the page."""
        return self._file(request.path_params["file"])

    async def settings(self, request: Request) -> Response:
        """Show what the page may do, and whether anything checks who asks."""
        return JsonAnswer(self._settings, headers=_HEADERS)

    def _file(self, name: str) -> Response:
        if name not in self._files:
            raise HTTPException(404)
        kind = _TYPES[name.rpartition(".")[2]]
        return Response(self._files[name].read_bytes(), headers={**_HEADERS, "content-type": kind})
