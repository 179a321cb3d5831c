"""What plugins may access: set by the worker, and by connectors if the worker allows it."""

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
    """Return a connector's confinement; underscores in the worker's keys replace dots."""
    settings = {name.replace("_", "."): value for name, value in worker.items()}
    return StandaloneConfig({**MINIMAL, **ALLOWED, **settings}).confinement(config)


def test_variables_that_may_be_secret_are_not_inherited_by_default() -> None:
    """Spark's own secret is never inherited."""
    assert confinement({}) == BY_DEFAULT
    assert BY_DEFAULT.passed_of(MACHINE) == {
        "PATH": "/bin", "LC_ALL": "C", "https_proxy": "http://proxy:3128", "LC_TIME": "de_DE@euro",
    }  # fmt: skip
    named = confinement({}, plugin_environment="AWS_*,HTTPS_PROXY,PYSPARK_*")
    assert {*named.passed_of(MACHINE)} == {"AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY"}
    assert {*AS_HOST.passed_of(MACHINE)} == MACHINE.keys() - {"PYSPARK_GATEWAY_SECRET"}
    assert confinement({}, plugin_environment="").passed_of(MACHINE) == {}


def test_variables_are_set_by_the_worker_and_by_allowed_connectors() -> None:
    """A connector overrides its worker; its other variables stay."""
    worker = {"plugin.environment.APP_X": "1", "plugin.environment.LD_PRELOAD": "/a.so"}
    config = {"plugin.environment.APP_X": "2", "plugin.environment.AWS_PROFILE": "mine", "file": "x"}
    settings = StandaloneConfig({**MINIMAL, **ALLOWED, **worker})
    assert settings.confinement({}).variables == {"APP_X": "1", "LD_PRELOAD": "/a.so"}
    assert settings.confinement(config).variables == {"APP_X": "2", "LD_PRELOAD": "/a.so", "AWS_PROFILE": "mine"}
    assert settings.unknown_keys() == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("plugin.environment", "Invalid value geheim for configuration plugin.environment: only the worker may set"),
        ("plugin.environment.override.allow", "only the worker may set what plugins see of its machines"),
        ("plugin.environment.LD_PRELOAD", "plugin.environment.LD_PRELOAD: the worker lets no connector set this"),
        (
            "plugin.environment.APP X",
            "plugin.environment.APP X: 'APP X' is not a valid name of an environment variable",
        ),
        ("plugin.environment.", "'' is not a valid name of an environment variable"),
    ],
)
def test_a_connector_cannot_set_forbidden_keys(key: str, says: str) -> None:
    """The error has the key, but not the value of a variable, which may be secret."""
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


def test_a_connector_may_lower_its_limits() -> None:
    """The worker's limit is the default; without either there is none."""
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
def test_a_connector_may_not_raise_its_limits(name: str, value: str, says: str) -> None:
    """The error has the key, the value and the maximum."""
    worker = StandaloneConfig({**MINIMAL, **LIMITS})
    with pytest.raises(ConfigError) as caught:
        worker.confinement({name: value})
    assert str(caught.value) == f"Invalid value {value} for configuration {name}: {says}"
    assert [str(each) for each in refused(worker, {name: value}).values()] == [str(caught.value)]
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
def test_an_invalid_limit_is_reported_to_worker_and_connector(name: str, value: str, says: str) -> None:
    """With Kafka's message; a connector gets it from its validation, which defines these keys if they are used."""
    for ask in (lambda: StandaloneConfig({**MINIMAL, name: value}), lambda: confinement({name: value})):
        with pytest.raises(ConfigError) as caught:
            ask()
        assert str(caught.value).startswith("Invalid value ")
        assert str(caught.value).endswith(f" for configuration {name}: {says}")
    assert refused(StandaloneConfig(MINIMAL), {name: value}) == {}


def test_a_connector_with_limits_shares_no_process() -> None:
    """Exceeding a limit would kill the process of all tenants; variables do not prevent sharing."""
    worker = StandaloneConfig({**MINIMAL, **ALLOWED, "task.isolation": "environment"})
    configs = [{}, {"plugin.environment.APP_X": "1"}, {"plugin.limits.cpus": "1"}, {"plugin.network": "none"}]
    configs.append({"plugin.processes": "own"})
    assert [worker.is_apart(each) for each in configs] == [False, False, True, True, True]
    assert [worker.shares_processes(each) for each in configs] == [True, True, False, False, False]


def test_a_variable_with_a_nul_character_is_rejected() -> None:
    """JSON allows it, but the system would refuse to start the process."""
    with pytest.raises(ConfigError, match=r"plugin.environment.APP_X: an environment variable cannot contain NUL"):
        confinement({"plugin.environment.APP_X": "gehe\0im"})


def test_an_invalid_variable_name_is_rejected() -> None:
    """The worker does not start."""
    with pytest.raises(
        ConfigError, match=r"plugin.environment.A-B: 'A-B' is not a valid name of an environment variable"
    ):
        StandaloneConfig({**MINIMAL, "plugin.environment.A-B": "1"})


def test_values_of_variables_are_not_printed() -> None:
    """Plans and environments are printed in tracebacks and logs."""
    assert "secret" not in repr(Confinement(variables={"A": "secret"}))
