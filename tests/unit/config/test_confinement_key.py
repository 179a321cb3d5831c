"""What plugins see of a machine: what the worker says, and what it lets a connector say."""

from __future__ import annotations

import pytest

from hearth.config import StandaloneConfig
from hearth.config.confinement_key import AS_HOST, BY_DEFAULT, Confinement, refused
from hearth_api import ConfigError
from tests.unit.config.test_worker_key import MINIMAL

ALLOWED = {"plugin.environment.override.allow": "AWS_PROFILE,APP_*"}
MACHINE = {
    "PATH": "/bin",
    "LC_ALL": "C",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "https_proxy": "http://proxy:3128",
    "HTTPS_PROXY": "http://me:secret@proxy:3128",
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
        "PATH": "/bin", "LC_ALL": "C", "https_proxy": "http://proxy:3128",
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
        ("plugin.environment", "Invalid value geheim for configuration plugin.environment: it is for the worker to"),
        ("plugin.environment.override.allow", "it is for the worker to say what plugins see of its machines"),
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


def test_a_worker_names_variables_that_can_be() -> None:
    """It does not start with others."""
    with pytest.raises(ConfigError, match=r"plugin.environment.A-B: 'A-B' is no name of an environment variable"):
        StandaloneConfig({**MINIMAL, "plugin.environment.A-B": "1"})


def test_nothing_that_prints_it_tells_a_value() -> None:
    """Plans and environments are printed in tracebacks and logs."""
    assert "secret" not in repr(Confinement(variables={"A": "secret"}))
