"""Users and passwords of the REST API, compared with the answers of Java's extension 4.3.1 to the same requests."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import discover
from hearth.herder.cluster_state import HerderClusterState
from hearth.herder.plugin.directory import PluginDirectory
from hearth.isolation.environment_store import EnvironmentStore
from hearth.rest.extension import Extensions, open_extensions
from hearth_api import ConfigError
from hearth_basic_auth.extension import BasicAuthSecurityRestExtension, credentials
from hearth_basic_auth.jaas import LoginEntry, login_entries, parse
from hearth_basic_auth.login import MODULE, Login
from tests.unit.herder.catalogue import WORKER
from tests.unit.herder.fake import Bench
from tests.unit.rest.client import Client, error, serve

CLASS = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
USERS = "alice=secret\nbob=se:cret\nempty=\numl\u00e4ut=p\u00e4ss\n\\u00fcnicode=x\n"
REFUSED = "User cannot access the resource."


def basic(text: str | bytes) -> str:
    """Return a header's value."""
    data = text if isinstance(text, bytes) else text.encode()
    return "Basic " + base64.b64encode(data).decode()


GOOD = {"Authorization": basic("alice:secret")}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve with the extension, found by its class name among the plugins that are installed with the host."""
    folder = tmp_path_factory.mktemp("auth")
    (folder / "users.properties").write_text(USERS, "latin-1")
    jaas = folder / "jaas.conf"
    jaas.write_text(f'KafkaConnect {{ {MODULE} required file="{folder}/users.properties"; }};')

    def load(bench: Bench) -> Extensions:
        known = discover([])
        directory = PluginDirectory(lambda: known, EnvironmentStore(folder))
        worker = WorkerConfig({**WORKER, "rest.extension.classes": CLASS})
        return open_extensions(worker, directory, HerderClusterState(bench.herder, "cluster"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_OPTS", f"-Xmx1G -Djava.security.auth.login.config={jaas}")
        yield from serve(folder, extensions=load)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("alice:secret", 200), ("bob:se:cret", 200), ("empty:", 200), ("uml\u00e4ut:p\u00e4ss", 200),
        ("\u00fcnicode:x", 200), ("alice:wrong", 401), ("alice", 401), ("alice:", 401), (":secret", 401),
        ("ALICE:secret", 401), (" alice:secret", 401), ("alice:secret ", 401), (b"uml\xe4ut:p\xe4ss", 401),
        ("nobody:x", 401), ("", 401),
    ],
)  # fmt: skip
def test_a_user_with_the_right_password_is_admitted(guarded: Client, header: str | bytes, status: int) -> None:
    """User names and passwords of any letters, passwords with colons."""
    answer = guarded.call("GET", "/connectors", headers={"Authorization": basic(header)})
    assert (answer.status, answer.text) == (status, "[]" if status == 200 else REFUSED)
    assert answer.headers["content-type"] == "application/json"
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("basic " + GOOD["Authorization"][6:], 200), ("BASIC " + GOOD["Authorization"][6:], 200),
        (basic("alice:secret1")[:-1], 401), ("Basic", 401), ("", 401), ("Bearer x", 401),
        (GOOD["Authorization"][6:], 401), ("Basic !!!", 401), ("Basic  " + GOOD["Authorization"][6:], 401),
    ],
)  # fmt: skip
def test_the_header_is_read_as_java_reads_it(guarded: Client, header: str, status: int) -> None:
    """The scheme is case-insensitive; invalid base64 means no user, where Java raises an exception."""
    assert guarded.call("GET", "/connectors", headers={"Authorization": header}).status == status


def test_every_resource_requires_a_password(guarded: Client) -> None:
    """Also the worker's health; not unknown paths, and not requests between workers."""
    for path in ("/", "/health", "/connectors", "/connector-plugins", "/connectors/c/status", "/openapi.json"):
        assert guarded.call("GET", path).text == REFUSED
        assert guarded.call("GET", path, headers=GOOD).status in (200, 404)
    assert guarded.call("POST", "/connectors", "{").status == 401
    assert guarded.call("HEAD", "/connectors").status == 401
    assert guarded.call("OPTIONS", "/connectors").status == 401
    assert guarded.call("GET", "/nowhere").text == error(404, "HTTP 404 Not Found")[1]
    assert guarded.call("DELETE", "/connectors").status == 405
    assert guarded.call("POST", "/connectors", "x", "text/plain").status == 415
    assert guarded.call("GET", "/connectors", headers={"Accept": "text/html"}).status == 406
    assert guarded.call("GET", "/connectors/c/tasks").status == 401
    for path in ("/connectors/c/tasks", "/connectors/c/tasks/", "/connectors/a%20b/tasks"):
        assert "standalone mode" in guarded.call("POST", path, "[]").json["message"]
    assert "standalone mode" in guarded.call("PUT", "/connectors/c/fence").json["message"]


def test_credentials_without_padding_are_read() -> None:
    """As Java's decoder reads them."""
    assert credentials(basic("alice:secre").rstrip("=")) == ("alice", "secre")


class TestLoginConfiguration:
    """Java's file."""

    def test_entries_have_modules_flags_and_options(self) -> None:
        """With comments of three kinds, quotes, escapes, and properties of Java in values."""
        text = """
            // one
            /* two
               lines */
            A { x.Y REQUIRED a="b\\"c" d="${user.home}/e"; x.Z optional; };
            # three
            other { };
        """
        found = parse(text, {"user.home": "/home/me"})
        assert found == {
            "A": [LoginEntry("x.Y", "required", {"a": 'b"c', "d": "/home/me/e"}), LoginEntry("x.Z", "optional")],
            "other": [],
        }

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("A { x.Y required }", "line 1: an option is missing"),
            ("A {\n x.Y perhaps; };", "line 2: 'perhaps' is not one of required"),
            ("A { x.Y required a; };", "'=' is missing"),
            ("A { x.Y required; }", "';' is missing"),
            ("A", "'{' is missing"),
            ('A { x.Y required a="b; };', "a quotation mark has no second one"),
            ('A { x.Y required a="${no.such}"; };', "no system property 'no.such' is set"),
        ],
    )
    def test_a_syntax_error_is_reported_with_its_line(self, text: str, says: str) -> None:
        """The author finds the place."""
        with pytest.raises(ValueError, match=r"^line") as caught:
            parse(text, {})
        assert says in str(caught.value)

    @pytest.mark.parametrize("option", ["={}", "=={}", "=file:{}"])
    def test_login_configuration_is_found_through_javas_options(self, tmp_path: Path, option: str) -> None:
        """The options of Kafka's scripts come last; an entry without a name is `other`."""
        file = tmp_path / "jaas.conf"
        file.write_text("B { b.B required; }; other { o.O required; };")
        argument = f"-Djava.security.auth.login.config{option.format(file)}"
        environment = {"JAVA_TOOL_OPTIONS": "-Djava.security.auth.login.config=/nowhere", "KAFKA_OPTS": argument}
        assert login_entries("B", environment) == [LoginEntry("b.B", "required")]
        assert login_entries("KafkaConnect", environment) == [LoginEntry("o.O", "required")]

    def test_a_missing_login_configuration_keeps_the_worker_from_starting(self) -> None:
        """With Kafka Connect's message."""
        environment = {"KAFKA_OPTS": "-Djava.security.auth.login.config=/nowhere/jaas.conf"}
        with pytest.raises(ConfigError, match=r"Failed to retrieve JAAS configuration: '/nowhere/jaas\.conf': No"):
            login_entries("KafkaConnect", environment)

    def test_a_missing_entry_refuses_all_requests(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The log reports it at the start."""
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("KAFKA_OPTS", raising=False)
        extension = BasicAuthSecurityRestExtension()
        extension.configure({})
        assert "has no entry KafkaConnect; all logins fail" in caplog.text
        assert not extension._login.knows("alice", "secret")


def entry(tmp_path: Path, name: str, text: str | None, flag: str = "required") -> LoginEntry:
    """Return a module for a file with these users, or for a missing file."""
    file = tmp_path / name
    if text is not None:
        file.write_text(text, "latin-1")
    return LoginEntry(MODULE, flag, {"file": str(file)})


class TestLogin:
    """The modules of an entry."""

    @pytest.mark.parametrize(
        ("flags", "user", "is_known"),
        [
            (("required", "required"), "a", True), (("required", "required"), "b", True),
            (("required", "required"), "c", False), (("sufficient", "required"), "a", True),
            (("optional", "optional"), "b", True),
        ],
    )  # fmt: skip
    def test_a_module_without_the_user_is_skipped(
        self, tmp_path: Path, flags: tuple[str, str], user: str, is_known: bool
    ) -> None:
        """As in Java's `LoginContext`: another module may know the user."""
        login = Login([entry(tmp_path, name, f"{name}=1", flag) for name, flag in zip("ab", flags)])
        assert login.knows(user, "1") == is_known

    @pytest.mark.parametrize(
        ("flag", "is_known"), [("required", False), ("requisite", False), ("sufficient", True), ("optional", True)]
    )
    def test_a_required_module_that_fails_ends_the_login(
        self, tmp_path: Path, flag: str, is_known: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its file may exist the next time."""
        login = Login([entry(tmp_path, "gone", None, flag), entry(tmp_path, "b", "b=1")])
        assert login.knows("b", "1") == is_known
        assert "Error loading credentials file" in caplog.text
        (tmp_path / "gone").write_text("c=2")
        assert login.knows("c", "2")

    def test_a_file_without_users_admits_everybody(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """As Kafka's does, with Kafka's warning."""
        login = Login([entry(tmp_path, "none", "# nobody yet\n")])
        with caplog.at_level(logging.WARNING):
            login.check_files()
        assert "is empty; all requests will be permitted" in caplog.text
        assert login.knows(None, None)

    def test_a_file_is_read_once(self, tmp_path: Path) -> None:
        """A change needs a restart, as in Kafka Connect."""
        login = Login([entry(tmp_path, "a", "a=1")])
        assert login.knows("a", "1")
        (tmp_path / "a").write_text("a=2")
        assert login.knows("a", "1")

    @pytest.mark.parametrize(
        ("module", "options", "says"),
        [
            ("com.example.LdapModule", {"file": "x"}, "com.example.LdapModule is a Java class"),
            (MODULE, {}, "must be"),
        ],
    )
    def test_an_unsupported_module_is_refused_at_start(self, module: str, options: dict[str, str], says: str) -> None:
        """Users must not find out by being locked out."""
        with pytest.raises(ConfigError, match=says):
            Login([LoginEntry(module, "required", options)])
