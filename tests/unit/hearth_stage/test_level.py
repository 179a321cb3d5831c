"""Levels: log4j's names for Python's numbers, and the loggers of a process."""

from __future__ import annotations

import logging

import pytest

from hearth_stage.level import LEVELS, level_of, loggers, set_level, set_levels, threshold_of


def test_every_name_stands_for_one_number() -> None:
    """Both ways; a line cannot be as unimportant as ALL nor as important as OFF."""
    assert [threshold_of(number) for number in LEVELS.values()] == list(LEVELS)
    shown = ["TRACE", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "FATAL"]
    assert [level_of(number) for number in LEVELS.values()] == shown


def test_numbers_of_pythons_own_have_a_name() -> None:
    """A line is as important as the level it reaches; a logger lets through nothing that its level's name hides."""
    assert (level_of(25), threshold_of(25)) == ("INFO", "WARN")
    assert (level_of(0), threshold_of(0)) == ("TRACE", "ALL")
    assert (level_of(99), threshold_of(99)) == ("FATAL", "OFF")


@pytest.mark.usefixtures("restored_levels")
def test_level_of_a_namespace_is_that_of_all_below_it() -> None:
    """Whatever they had; those that begin like it count as below it, and those that had it are not named."""
    for name in ("lev.a", "lev.a.b", "lev.ab", "lev.c"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("lev.a.same").setLevel(LEVELS["TRACE"])
    assert set_level("lev.a", "TRACE") == ["lev.a", "lev.a.b", "lev.ab"]
    assert [logging.getLogger(f"lev.{name}").level for name in ("a", "a.b", "ab", "c")] == [5, 5, 5, 40]


@pytest.mark.usefixtures("restored_levels")
def test_logger_that_is_not_there_is_made_and_root_is_all() -> None:
    """What is made below it later has its level as well."""
    assert set_level("lev.new", "OFF") == ["lev.new"]
    assert set_level("lev.new", "OFF") == ["lev.new"]  # what is off has no level that could be the same
    assert logging.getLogger("lev.new.later").getEffectiveLevel() == LEVELS["OFF"]
    assert {"root", "lev.new"} <= set(set_level("Root", "FATAL"))
    assert {each.level for each in loggers().values()} == {logging.CRITICAL}


@pytest.mark.usefixtures("restored_levels")
def test_levels_are_set_in_their_order() -> None:
    """A level that nobody knows comes of a newer host, and changes nothing."""
    set_levels({"lev": "ERROR", "lev.a": "DEBUG", "lev.b": "LOUD"})
    assert [logging.getLogger(name).getEffectiveLevel() for name in ("lev.x", "lev.a", "lev.b")] == [40, 10, 40]
