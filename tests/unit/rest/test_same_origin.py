"""Pages of other origins change nothing: their requests, which browsers mark with the origin, are rejected."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.config import WorkerConfig
from hearth.rest.same_origin import SameOrigin, own_names
from tests.unit.herder.catalogue import WORKER
from tests.unit.rest.client import Client, serve

EVIL = "http://evil.example"
CHANGES = [
    ("POST", "/connectors/c/restart"),
    ("POST", "/connectors/c/tasks/0/restart"),
    ("POST", "/connectors"),
    ("PUT", "/connectors/c/pause"),
    ("PUT", "/connectors/c/stop"),
    ("PATCH", "/connectors/c/config"),
    ("DELETE", "/connectors/c"),
    ("DELETE", "/connectors/c/offsets"),
    ("PUT", "/admin/loggers/root"),
]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve one connector, with a separate admin listener."""
    for client in serve(tmp_path_factory.mktemp("plain"), {"admin.listeners": "http://127.0.0.1:0"}):
        assert client.create("c").status == 201
        yield client


@pytest.mark.parametrize(("method", "path"), CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"},
        {"Origin": EVIL},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_origin_changes_nothing(
    plain: Client, method: str, path: str, headers: dict[str, str]
) -> None:
    """With or without a body, and for any content type; the rejection has a remedy."""
    port = plain.ports[1] if path.startswith("/admin") else plain.ports[0]
    answer = plain.call(method, path, headers=headers, port=port)
    assert answer.status == 403
    assert "access.control.allow.origin" in answer.json["message"]
    assert plain.call("GET", "/connectors/c/config").status == 200


def test_the_browser_hides_responses_from_other_origins(plain: Client) -> None:
    """Reads are served without CORS headers, as by every server that sets none."""
    assert plain.call("GET", "/connectors", headers={"Origin": EVIL, "Sec-Fetch-Site": "cross-site"}).status == 200


def test_clients_that_send_neither_header_are_served_by_any_name(plain: Client) -> None:
    """They are not browsers, and act for their user."""
    assert plain.call("PUT", "/connectors/c/resume", headers={"Host": "connect.example"}).status == 202


@pytest.mark.parametrize(
    ("origin", "host", "site", "status"),
    [
        ("http://localhost:8083", "localhost:8083", "same-origin", 202),
        ("http://127.0.0.1:8083", "127.0.0.1:8083", None, 202),
        ("https://[::1]:8083", "[::1]:8083", "same-origin", 202),
        ("http://sub.localhost:1", "sub.localhost:1", "same-origin", 202),
        (None, "localhost:8083", "none", 202),
        ("http://evil.example:8083", "evil.example:8083", None, 403),
        ("http://evil.example:8083", "evil.example:8083", "same-origin", 403),
        ("http://localhost:8083", "localhost:8084", None, 403),
        ("http://localhost.evil.example", "localhost.evil.example", None, 403),
    ],
)
def test_a_page_of_this_server_must_use_one_of_its_names(
    plain: Client, origin: str | None, host: str, site: str | None, status: int
) -> None:
    """A name that was made to resolve to this server (DNS rebinding) is not one."""
    headers = {"Host": host, **({"Origin": origin} if origin else {}), **({"Sec-Fetch-Site": site} if site else {})}
    answer = plain.call("PUT", "/connectors/c/resume", headers=headers)
    assert answer.status == status
    if status == 403:
        assert "access.control.allow.origin" in answer.json["message"]


def test_an_allowed_origin_may_make_changes(tmp_path: Path) -> None:
    """By the patterns that also allow reading; other origins are rejected."""
    for client in serve(tmp_path, {"access.control.allow.origin": "http://a\\.example, http://b\\.example:\\d+"}):
        assert client.create("c").status == 201
        for origin, status in (("http://a.example", 202), ("http://b.example:81", 202), (EVIL, 403)):
            headers = {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Host": "connect.example"}
            assert client.call("PUT", "/connectors/c/resume", headers=headers).status == status


def test_the_names_of_a_worker_are_those_of_listeners_and_machine() -> None:
    """And the advertised one."""
    worker = {**WORKER, "listeners": "http://connect.example:8083,https://:8443", "rest.advertised.host.name": "told"}
    names = own_names(WorkerConfig(worker))
    assert {"connect.example", "told"} <= {*names}
    app = SameOrigin(None, names, [])  # type: ignore[arg-type]
    assert app._is_own("Connect.example:8083")
    assert app._is_own("told")
    assert not app._is_own("other.example")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_real_browser_is_rejected(plain: Client, tmp_path: Path, host: str) -> None:
    """A page of another port or site posts a form without a body."""
    restart = f"http://127.0.0.1:{plain.ports[0]}/connectors/c/restart"

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            form = f"<form method=post action='{restart}'></form><script>document.forms[0].submit()</script>"
            self.wfile.write(form.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path}", "--virtual-time-budget=5000", "--dump-dom",
        f"http://{host}:{pages.server_address[1]}/",
    ]  # fmt: skip
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    finally:
        pages.shutdown()
        pages.server_close()
    assert '"error_code":403' in shown
    assert "access.control.allow.origin" in shown
