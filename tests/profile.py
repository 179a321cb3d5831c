"""How far tests search by chance: the suite's profile, and the long one that ``--long`` asks for."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUICK, SUITE, LONG = "quick", "suite", "long"

EXAMPLES = {QUICK: 8, SUITE: 40, LONG: 10_000}
"""Examples of a property in each profile."""
MACHINE_EXAMPLES = {QUICK: 20, SUITE: 1_000, LONG: 200_000}
"""Runs of a state machine in each profile."""
DECODER_EXAMPLES = {QUICK: 10, SUITE: 60, LONG: 100_000}
"""How many foreign bytes a decoder is given in each profile."""
CRASHES = {QUICK: 1, SUITE: 1, LONG: 10}
"""How often a crash test kills or stops what it is about, each time at another moment."""


def load_profile(name: str) -> None:
    """Make one of the profiles the one that tests without settings of their own run in.

    Every run draws other examples, by the seed that its summary tells. How long it takes to draw one says what else
    the machine does, so nothing goes by that.
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
    """Return the settings of a state machine's test case, to be asked for when its module is imported.

    ``steps`` is the most steps of one run. A machine draws its own data, so slow draws and large choices are no
    sign of anything there.
    """
    return settings(
        max_examples=MACHINE_EXAMPLES[settings.get_current_profile_name()],
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


def decoder_settings() -> settings:
    """Return the settings of a test that gives a decoder foreign bytes, asked for when its module is imported."""
    return settings(max_examples=DECODER_EXAMPLES[settings.get_current_profile_name()], deadline=None)


def crashes() -> int:
    """Return how often a crash test is to kill or stop what it is about."""
    return CRASHES[settings.get_current_profile_name()]
