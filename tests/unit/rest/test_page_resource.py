"""The files of the web page; `tests/integration/test_page.py` opens it in a browser."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from tests.unit.rest.client import Client, serve

FILES = sorted(each.name for each in resources.files("hearth.rest").joinpath("page").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_under_a_strict_policy(client: Client, name: str) -> None:
    """Nothing but the page's own files may run or be shown."""
    answer = client.call("GET", f"/ui/{name}")
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_is_at_its_address_with_or_without_a_slash(client: Client) -> None:
    """Its files have absolute paths."""
    pages = [client.call("GET", path) for path in ("/ui", "/ui/", "/ui/index.html")]
    assert {page.status for page in pages} == {200}
    assert len({page.text for page in pages}) == 1
    assert pages[0].headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", ["/ui/other.js", "/ui/..%2Fapp.py", "/ui/__init__.py", "/ui/a/b"])
def test_other_files_are_not_served(client: Client, path: str) -> None:
    """Neither those of the package nor any outside it."""
    assert client.call("GET", path).status in (400, 404)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_scripts_make_no_markup_of_values(client: Client, name: str) -> None:
    """Texts of connectors become text nodes; each imported file exists."""
    text = client.call("GET", f"/ui/{name}").text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    assert set(re.findall(r'"/ui/([\w.]+)"', text)) <= {*FILES, "settings.json"}


def test_settings_tell_whether_anything_checks_who_asks(client: Client, tmp_path: Path) -> None:
    """And whether the page only shows."""
    assert client.call("GET", "/ui/settings.json").json == {"is_read_only": False, "is_protected": False}
    for read_only in serve(tmp_path, {"ui.readonly": "true"}):
        assert read_only.call("GET", "/ui/settings.json").json["is_read_only"] is True


def test_the_page_can_be_turned_off(tmp_path: Path) -> None:
    """The API stays."""
    for client in serve(tmp_path, {"ui.enabled": "false"}):
        assert client.call("GET", "/ui").status == 404
        assert client.call("GET", "/connectors").status == 200
