"""Levels: log4j's names for Python's numbers, and the loggers of a process."""

from __future__ import annotations

import logging

import pytest

from hearth_stage.level import LEVELS, level_of, loggers, set_level, set_levels, threshold_of


def test_every_name_maps_to_one_number() -> None:
    """In both directions; no record has the level ALL or OFF."""
    assert [threshold_of(number) for number in LEVELS.values()] == list(LEVELS)
    shown = ["TRACE", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "FATAL"]
    assert [level_of(number) for number in LEVELS.values()] == shown


def test_python_levels_have_a_log4j_name() -> None:
    """A record has the highest level that it reaches; a logger has the lowest that it logs completely."""
    assert (level_of(25), threshold_of(25)) == ("INFO", "WARN")
    assert (level_of(0), threshold_of(0)) == ("TRACE", "ALL")
    assert (level_of(99), threshold_of(99)) == ("FATAL", "OFF")


@pytest.mark.usefixtures("restored_levels")
def test_level_of_a_namespace_is_that_of_all_below_it() -> None:
    """This overrides their levels; names with the same start count as below it; unchanged ones are not returned."""
    for name in ("lev.a", "lev.a.b", "lev.ab", "lev.c"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("lev.a.same").setLevel(LEVELS["TRACE"])
    assert set_level("lev.a", "TRACE") == ["lev.a", "lev.a.b", "lev.ab"]
    assert [logging.getLogger(f"lev.{name}").level for name in ("a", "a.b", "ab", "c")] == [5, 5, 5, 40]


@pytest.mark.usefixtures("restored_levels")
def test_missing_logger_is_created_and_root_sets_all() -> None:
    """Loggers created below it later have its level as well."""
    assert set_level("lev.new", "OFF") == ["lev.new"]
    assert set_level("lev.new", "OFF") == ["lev.new"]  # OFF counts as no level
    assert logging.getLogger("lev.new.later").getEffectiveLevel() == LEVELS["OFF"]
    assert {"root", "lev.new"} <= set(set_level("Root", "FATAL"))
    assert {each.level for each in loggers().values()} == {logging.CRITICAL}


@pytest.mark.usefixtures("restored_levels")
def test_levels_are_set_in_their_order() -> None:
    """An unknown level comes from a newer host, and is ignored."""
    set_levels({"lev": "ERROR", "lev.a": "DEBUG", "lev.b": "LOUD"})
    assert [logging.getLogger(name).getEffectiveLevel() for name in ("lev.x", "lev.a", "lev.b")] == [40, 10, 40]
