"""Passwords that stand in configurations are shown to nobody where the worker wants that."""

from __future__ import annotations

from typing import Any

from hearth.herder.password_mask import PasswordMask


def result(**types: str) -> dict[str, Any]:
    """Return a ConfigInfos with keys of types."""
    keys = [{"definition": {"name": name, "type": kind}} for name, kind in types.items()]
    return {"configs": [*keys, {"definition": None}]}


def mask() -> PasswordMask:
    """Return one that knows a connector."""
    made = PasswordMask(True)
    made.learn("c", result(user="STRING", password="PASSWORD"))
    return made


def test_passwords_are_hidden_and_variables_are_not() -> None:
    """Nor is any other key."""
    config = {"user": "u", "password": "geheim"}
    assert mask().shown("c", config) == {"user": "u", "password": "[hidden]"}
    assert mask().shown("c", {"password": "${file:/s:p}"}) == {"password": "${file:/s:p}"}
    assert PasswordMask(False).shown("c", config) == config


def test_what_comes_back_hidden_is_what_was_stored() -> None:
    """So that a configuration may be read, changed and sent; a new password is a new one."""
    stored = {"user": "[hidden]", "password": "geheim"}
    assert mask().meant("c", {"password": "[hidden]", "user": "[hidden]", "more": "[hidden]"}, stored) == {
        "password": "geheim",
        "user": "[hidden]",
        "more": "[hidden]",
    }
    assert mask().meant("c", {"password": "new"}, stored) == {"password": "new"}
    assert mask().meant("c", {"password": "[hidden]"}, {}) == {"password": "[hidden]"}


def test_a_key_that_was_a_password_once_stays_one() -> None:
    """Of another class it may be one no more, and what is stored is still that of the first."""
    known = mask()
    known.learn("c", result(password="STRING"))
    assert known.shown("c", {"password": "geheim"}) == {"password": "[hidden]"}


def test_of_a_connector_nobody_knows_everything_is_hidden() -> None:
    """But what it is; nobody has said yet which of its keys are passwords."""
    config = {"name": "d", "connector.class": "C", "password": "geheim", "user": "u"}
    hidden = {"name": "d", "connector.class": "C", "password": "[hidden]", "user": "[hidden]"}
    assert mask().shown("d", config) == hidden
    known = mask()
    known.forget("c")
    assert known.shown("c", {"user": "u"}) == {"user": "[hidden]"}
