"""The profiles of property tests: the suite's, and the long one for ``--long``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUICK, SUITE, LONG = "quick", "suite", "long"

EXAMPLES = {QUICK: 8, SUITE: 12, LONG: 10_000}
"""Examples of a property in each profile."""
MACHINE_EXAMPLES = {QUICK: 20, SUITE: 60, LONG: 200_000}
"""Runs of a state machine in each profile."""
DECODER_EXAMPLES = {QUICK: 10, SUITE: 20, LONG: 100_000}
"""How many foreign bytes a decoder is given in each profile."""
CRASHES = {QUICK: 1, SUITE: 1, LONG: 10}
"""How often a crash test kills or stops what it is about, each time at another moment."""
CRASH_LINES = {QUICK: 50, SUITE: 50, LONG: 250}
"""How many lines a crash test appends every 25 ms; a killed task has hundreds of them in flight either way."""


def load_profile(name: str) -> None:
    """Make one of the profiles the one that tests without settings of their own run in.

    Every run draws other examples; the summary prints the seed. Drawing times depend on the machine's load, so they
    are no health check.
    """
    for each, examples in EXAMPLES.items():
        settings.register_profile(
            each,
            deadline=None,
            max_examples=examples,
            derandomize=False,
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile(name)


def machine_settings(steps: int = 50) -> settings:
    """Return a state machine's settings; call it when the test module is imported.

    ``steps`` is the maximum number of steps in a run. A machine draws its own data, so slow draws and large choices
    are normal there.
    """
    return settings(
        max_examples=MACHINE_EXAMPLES[settings.get_current_profile_name()],
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


def decoder_settings() -> settings:
    """Return the settings of a test with malformed input for a decoder; call it when the test module is imported."""
    return settings(max_examples=DECODER_EXAMPLES[settings.get_current_profile_name()], deadline=None)


def crashes() -> int:
    """Return how often a crash test kills or stops its target."""
    return CRASHES[settings.get_current_profile_name()]


def crash_lines() -> int:
    """Return how many lines a crash test appends at once."""
    return CRASH_LINES[settings.get_current_profile_name()]
