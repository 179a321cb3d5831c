"""Only ``--long`` selects the long search."""

from __future__ import annotations

from hypothesis import settings

from tests.profile import LONG, MACHINE_EXAMPLES, SUITE, load_profile, machine_settings


def test_a_state_machine_uses_the_profiles_limits() -> None:
    """The suite's profile runs a hundred examples, the long one two hundred thousand."""
    before = settings.get_current_profile_name()
    try:
        load_profile(LONG)
        long = machine_settings()
        load_profile(SUITE)
        suite = machine_settings(steps=20)
    finally:
        settings.load_profile(before)
    assert (suite.max_examples, suite.stateful_step_count) == (MACHINE_EXAMPLES[SUITE], 20)
    assert long.max_examples == MACHINE_EXAMPLES[LONG] == 200_000
