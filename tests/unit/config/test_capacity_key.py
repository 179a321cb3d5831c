"""The keys for the number of executors."""

from __future__ import annotations

import pytest

from hearth.config.capacity_key import COUNT, IN, LEAST, MOST, OUT, Capacity, CapacityConfig
from hearth_api import ConfigError

BETWEEN = {LEAST: "1", MOST: "4"}


def test_no_number_is_set_by_default() -> None:
    """Spark then decides."""
    assert CapacityConfig({}).capacity is None


def test_a_fixed_count_is_minimum_and_maximum() -> None:
    """The load does not change it."""
    assert CapacityConfig({COUNT: "3"}).capacity == Capacity(3, 3, 0.2, 0.8)


def test_a_range_has_default_thresholds() -> None:
    """Those of managed services."""
    assert CapacityConfig(BETWEEN).capacity == Capacity(1, 4, 0.2, 0.8)
    assert CapacityConfig({**BETWEEN, IN: "5", OUT: "50"}).capacity == Capacity(1, 4, 0.05, 0.5)
    assert CapacityConfig({LEAST: "2", MOST: "2"}).capacity == Capacity(2, 2, 0.2, 0.8)


@pytest.mark.parametrize(
    ("props", "key", "remedy"),
    [
        ({COUNT: "0"}, COUNT, "at least 1"),
        ({COUNT: "two"}, COUNT, "two"),
        ({COUNT: "2", **BETWEEN}, LEAST, "remove one of the two"),
        ({COUNT: "2", OUT: "70"}, OUT, "remove one of the two"),
        ({LEAST: "2"}, MOST, "must be set together"),
        ({MOST: "2"}, LEAST, "must be set together"),
        ({LEAST: "3", MOST: "2"}, LEAST, f"must not be greater than {MOST}=2"),
        ({**BETWEEN, IN: "80"}, IN, f"less than {OUT}=80"),
        ({**BETWEEN, OUT: "101"}, OUT, "no more than 100"),
        ({**BETWEEN, IN: "0"}, IN, "at least 1"),
        ({IN: "10"}, IN, f"no effect without {LEAST}"),
        ({COUNT: "2", "spark.executor.instances": "3"}, "spark.executor.instances", COUNT),
        (
            {**BETWEEN, "spark.dynamicAllocation.enabled": "True"},
            "spark.dynamicAllocation.enabled",
            "remove one of the two",
        ),
    ],
)
def test_contradictory_keys_are_rejected_with_a_remedy(props: dict[str, str], key: str, remedy: str) -> None:
    """Two autoscalers would work against each other."""
    with pytest.raises(ConfigError) as caught:
        CapacityConfig(props)
    assert key in str(caught.value)
    assert remedy in str(caught.value)


def test_dynamic_allocation_is_allowed_without_these_keys() -> None:
    """Spark's own keys are passed on unchanged."""
    assert CapacityConfig({"spark.dynamicAllocation.enabled": "true"}).capacity is None
