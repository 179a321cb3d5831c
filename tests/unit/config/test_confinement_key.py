"""What plugins see of a machine: what the worker says, and what it lets a connector say."""

from __future__ import annotations

import pytest

from hearth.config import StandaloneConfig
from hearth.config.confinement_key import AS_HOST, BY_DEFAULT, Confinement, refused
from hearth_api import ConfigError
from hearth_stage.limit import NO_LIMITS, Limits
from tests.unit.config.test_worker_key import MINIMAL

ALLOWED = {"plugin.environment.override.allow": "AWS_PROFILE,APP_*"}
MACHINE = {
    "PATH": "/bin",
    "LC_ALL": "C",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "https_proxy": "http://proxy:3128",
    "HTTPS_PROXY": "http://me:secret@proxy:3128",
    "ALL_PROXY": "me:secret@proxy:3128",
    "LC_TIME": "de_DE@euro",
    "PYSPARK_GATEWAY_SECRET": "secret",
}


def confinement(config: dict[str, str], **worker: str) -> Confinement:
    """Return what a worker, in whose keys underscores stand for dots, says of a connector."""
    told = {name.replace("_", "."): value for name, value in worker.items()}
    return StandaloneConfig({**MINIMAL, **ALLOWED, **told}).confinement(config)


def test_what_may_be_secret_is_not_passed_on_unless_somebody_names_it() -> None:
    """What Spark hides from everybody is passed on to nobody."""
    assert confinement({}) == BY_DEFAULT
    assert BY_DEFAULT.passed_of(MACHINE) == {
        "PATH": "/bin", "LC_ALL": "C", "https_proxy": "http://proxy:3128", "LC_TIME": "de_DE@euro",
    }  # fmt: skip
    named = confinement({}, plugin_environment="AWS_*,HTTPS_PROXY,PYSPARK_*")
    assert {*named.passed_of(MACHINE)} == {"AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY"}
    assert {*AS_HOST.passed_of(MACHINE)} == MACHINE.keys() - {"PYSPARK_GATEWAY_SECRET"}
    assert confinement({}, plugin_environment="").passed_of(MACHINE) == {}


def test_variables_are_set_by_the_worker_and_where_it_allows_that_by_a_connector() -> None:
    """The connector goes before the worker, and others keep what the worker says."""
    worker = {"plugin.environment.APP_X": "1", "plugin.environment.LD_PRELOAD": "/a.so"}
    config = {"plugin.environment.APP_X": "2", "plugin.environment.AWS_PROFILE": "mine", "file": "x"}
    told = StandaloneConfig({**MINIMAL, **ALLOWED, **worker})
    assert told.confinement({}).variables == {"APP_X": "1", "LD_PRELOAD": "/a.so"}
    assert told.confinement(config).variables == {"APP_X": "2", "LD_PRELOAD": "/a.so", "AWS_PROFILE": "mine"}
    assert told.unknown_keys() == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("plugin.environment", "Invalid value geheim for configuration plugin.environment: only the worker may set"),
        ("plugin.environment.override.allow", "only the worker may set what plugins see of its machines"),
        ("plugin.environment.LD_PRELOAD", "plugin.environment.LD_PRELOAD: the worker lets no connector set this"),
        ("plugin.environment.APP X", "plugin.environment.APP X: 'APP X' is no name of an environment variable"),
        ("plugin.environment.", "'' is no name of an environment variable"),
    ],
)
def test_a_connector_says_no_more_than_it_may(key: str, says: str) -> None:
    """The key is named; the value of a variable may be secret."""
    with pytest.raises(ConfigError) as raised:
        confinement({key: "geheim"})
    assert says in str(raised.value)
    assert list(refused(StandaloneConfig({**MINIMAL, **ALLOWED}), {key: "geheim"})) == [key]
    assert "geheim" not in str(raised.value) or not key.startswith("plugin.environment.A")


LIMITS = {
    "plugin.limits.memory.bytes": "536870912",
    "plugin.limits.cpus": "1.5",
    "plugin.limits.open.files": "512",
    "plugin.limits.temporary.bytes": "1048576",
    "plugin.network": "none",
    "plugin.processes": "own",
}


def test_a_connector_may_take_less_than_its_worker_says() -> None:
    """What it does not say its worker says; without any of both nothing is limited."""
    limited, free = StandaloneConfig({**MINIMAL, **LIMITS}), StandaloneConfig(MINIMAL)
    assert limited.confinement({}).limits == Limits(
        512 << 20, 1.5, 512, 1 << 20, has_network=False, has_own_processes=True
    )
    less = limited.confinement({"plugin.limits.memory.bytes": " 67108864 ", "plugin.limits.cpus": "0.5"}).limits
    assert less == Limits(64 << 20, 0.5, 512, 1 << 20, has_network=False, has_own_processes=True)
    assert free.confinement({}).limits == NO_LIMITS
    assert free.confinement(LIMITS) == limited.confinement({})


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("plugin.limits.memory.bytes", "536870913", "its worker allows at most 536870912"),
        ("plugin.limits.cpus", "2", "its worker allows at most 1.5"),
        ("plugin.limits.open.files", "513", "its worker allows at most 512"),
        ("plugin.limits.temporary.bytes", "1048577", "its worker allows at most 1048576"),
        ("plugin.network", "host", "its worker allows none"),
        ("plugin.processes", "shared", "its worker allows own"),
    ],
)
def test_a_connector_may_not_take_more_than_its_worker_says(name: str, value: str, says: str) -> None:
    """The key, the value, and what would be."""
    worker = StandaloneConfig({**MINIMAL, **LIMITS})
    with pytest.raises(ConfigError) as told:
        worker.confinement({name: value})
    assert str(told.value) == f"Invalid value {value} for configuration {name}: {says}"
    assert [str(each) for each in refused(worker, {name: value}).values()] == [str(told.value)]
    assert StandaloneConfig(MINIMAL).confinement({name: value}) is not None


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("plugin.limits.memory.bytes", "512m", "Not a number of type LONG"),
        ("plugin.limits.memory.bytes", "1000", "Value must be at least 67108864"),
        ("plugin.limits.cpus", "0.0", "Value must be at least 0.05"),
        ("plugin.limits.cpus", "half", "Not a number of type DOUBLE"),
        ("plugin.limits.cpus", "NaN", "Value must be a number"),
        ("plugin.limits.cpus", "Infinity", "Value must be a number"),
        ("plugin.limits.open.files", "10", "Value must be at least 64"),
        ("plugin.limits.temporary.bytes", "-1", "Value must be at least 65536"),
        ("plugin.network", "no", "String must be one of: host, none"),
        ("plugin.processes", "none", "String must be one of: shared, own"),
    ],
)
def test_a_limit_that_is_none_is_told_to_worker_and_connector(name: str, value: str, says: str) -> None:
    """In Kafka's words; a connector hears of it in its validation, where these keys are defined for who uses them."""
    for ask in (lambda: StandaloneConfig({**MINIMAL, name: value}), lambda: confinement({name: value})):
        with pytest.raises(ConfigError) as told:
            ask()
        assert str(told.value).startswith("Invalid value ")
        assert str(told.value).endswith(f" for configuration {name}: {says}")
    assert refused(StandaloneConfig(MINIMAL), {name: value}) == {}


def test_who_has_limits_shares_no_process_and_who_has_variables_may() -> None:
    """What one of many takes would be ended for all."""
    worker = StandaloneConfig({**MINIMAL, **ALLOWED, "task.isolation": "environment"})
    configs = [{}, {"plugin.environment.APP_X": "1"}, {"plugin.limits.cpus": "1"}, {"plugin.network": "none"}]
    configs.append({"plugin.processes": "own"})
    assert [worker.is_apart(each) for each in configs] == [False, False, True, True, True]
    assert [worker.shares_processes(each) for each in configs] == [True, True, False, False, False]


def test_a_value_that_no_variable_can_have_is_refused() -> None:
    """JSON may have it, and the system would refuse the process."""
    with pytest.raises(ConfigError, match=r"plugin.environment.APP_X: an environment variable cannot contain NUL"):
        confinement({"plugin.environment.APP_X": "gehe\0im"})


def test_a_worker_names_variables_that_can_be() -> None:
    """It does not start with others."""
    with pytest.raises(ConfigError, match=r"plugin.environment.A-B: 'A-B' is no name of an environment variable"):
        StandaloneConfig({**MINIMAL, "plugin.environment.A-B": "1"})


def test_nothing_that_prints_it_tells_a_value() -> None:
    """Plans and environments are printed in tracebacks and logs."""
    assert "secret" not in repr(Confinement(variables={"A": "secret"}))
