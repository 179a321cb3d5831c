"""Contexts are kept in a file of the user, and a command's own choice comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.client.client_context import DEFAULT_URL, ClientContext, ContextFile, choose_context, parse_urls
from hearth_api import ConfigError, NotFoundError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a home without contexts."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    for name in ("HEARTH_URL", "HEARTH_CONTEXT", "KAFKA_CONNECT_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def saved(**contexts: ClientContext) -> ContextFile:
    """Return the file with these contexts; the first is the current one."""
    file = ContextFile()
    file.contexts, file.current = contexts, next(iter(contexts))
    file.save()
    return file


def test_a_context_is_read_as_it_was_saved(home: Path) -> None:
    """All members, and only this user may read the file."""
    whole = ClientContext(("https://a:1", "http://b/connect"), "u", "echo x", "ca", "crt", "key", {"X": "y"}, "w")
    saved(whole=whole, plain=ClientContext())
    read = ContextFile()
    assert (read.contexts, read.current) == ({"whole": whole, "plain": ClientContext()}, "whole")
    assert (home / "contexts.json").stat().st_mode & 0o777 == 0o600


def test_without_anything_the_worker_of_this_machine_is_used() -> None:
    """At Kafka Connect's default port."""
    assert choose_context() == ClientContext((DEFAULT_URL,))


def test_options_come_before_the_environment_and_that_before_the_current_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--url, --context, HEARTH_URL, HEARTH_CONTEXT, KAFKA_CONNECT_URL, the current context."""
    saved(current=ClientContext(("http://current",)), other=ClientContext(("http://other",), user="u"))
    assert choose_context().urls == ("http://current",)
    monkeypatch.setenv("KAFKA_CONNECT_URL", "http://kafka/")
    assert choose_context().urls == ("http://kafka",)
    monkeypatch.setenv("HEARTH_CONTEXT", "other")
    assert choose_context().urls == ("http://other",)
    monkeypatch.setenv("HEARTH_URL", "http://variable")
    assert choose_context().urls == ("http://variable",)
    assert choose_context("other").urls == ("http://other",)
    assert choose_context(None, "http://option,http://second") == ClientContext(("http://option", "http://second"))
    assert choose_context("other", "http://option") == ClientContext(("http://option",), user="u")


def test_an_unknown_context_offers_the_nearest() -> None:
    """As every wrong name does."""
    saved(production=ClientContext())
    with pytest.raises(NotFoundError, match="no context 'prodution', did you mean 'production'"):
        choose_context("prodution")


@pytest.mark.parametrize("text", ["", "localhost:8083", "ftp://a", "http://", "http://a?b", "http://[", "http://a:0"])
def test_a_wrong_address_is_refused(text: str) -> None:
    """The error says how to write one."""
    with pytest.raises(ConfigError) as caught:
        parse_urls(text)
    assert caught.value.hint is not None
    assert "https://" in caught.value.hint


def test_an_address_holds_no_user() -> None:
    """It would be shown, and a password would be kept in the file."""
    with pytest.raises(ConfigError, match="contains a user") as caught:
        parse_urls("https://me:secret@connect")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"contexts": {"a": {"nosuch": 1}}}', '{"contexts": {"a": 1}}'])
def test_a_damaged_file_is_named(home: Path, text: str) -> None:
    """Instead of a stack trace."""
    (home / "contexts.json").write_text(text)
    with pytest.raises(ConfigError, match=r"contexts\.json is not a file of contexts"):
        ContextFile()
