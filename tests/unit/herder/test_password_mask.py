"""Literal passwords in configurations are masked if the worker enables it."""

from __future__ import annotations

from typing import Any

from hearth.herder.password_mask import PasswordMask


def result(**types: str) -> dict[str, Any]:
    """Return a ConfigInfos with keys of these types."""
    keys = [{"definition": {"name": name, "type": kind}} for name, kind in types.items()]
    return {"configs": [*keys, {"definition": None}]}


def mask() -> PasswordMask:
    """Return a mask that knows a connector."""
    made = PasswordMask(True)
    made.learn("c", result(user="STRING", password="PASSWORD"))
    return made


def test_passwords_are_masked_and_variables_are_not() -> None:
    """Nor are other keys."""
    config = {"user": "u", "password": "geheim"}
    assert mask().shown("c", config) == {"user": "u", "password": "[hidden]"}
    assert mask().shown("c", {"password": "${file:/s:p}"}) == {"password": "${file:/s:p}"}
    assert PasswordMask(False).shown("c", config) == config


def test_a_masked_value_is_replaced_by_the_stored_one() -> None:
    """So a configuration can be read, changed and submitted; a new password replaces the old."""
    stored = {"user": "[hidden]", "password": "geheim"}
    assert mask().unmasked("c", {"password": "[hidden]", "user": "[hidden]", "more": "[hidden]"}, stored) == {
        "password": "geheim",
        "user": "[hidden]",
        "more": "[hidden]",
    }
    assert mask().unmasked("c", {"password": "new"}, stored) == {"password": "new"}
    assert mask().unmasked("c", {"password": "[hidden]"}, {}) == {"password": "[hidden]"}


def test_a_password_key_remains_one() -> None:
    """In a new class it may not be one, but the stored value is still the old class's."""
    known = mask()
    known.learn("c", result(password="STRING"))
    assert known.shown("c", {"password": "geheim"}) == {"password": "[hidden]"}


def test_all_values_of_an_unvalidated_connector_are_masked() -> None:
    """Except its name and class, because its password keys are unknown."""
    config = {"name": "d", "connector.class": "C", "password": "geheim", "user": "u"}
    hidden = {"name": "d", "connector.class": "C", "password": "[hidden]", "user": "[hidden]"}
    assert mask().shown("d", config) == hidden
    known = mask()
    known.forget("c")
    assert known.shown("c", {"user": "u"}) == {"user": "[hidden]"}
