"""`hearth bundle`: packing, verifying, and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from hearth.cli.main import run
from tests.bundles import build
from tests.timeouts import TIMEOUT, eventually


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep environments out of the user's directories, and uv from the network."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_OFFLINE", "1")


def test_new_prints_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page with the next steps is among the files."""
    assert run(["bundle", "new", str(tmp_path / "orders"), "--type", "sink", "--package", "org.shop"]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert tmp_path / "orders" / "README.md" in paths
    assert all(path.is_file() for path in paths)
    assert run(["bundle", "new", str(tmp_path / "orders"), "--type", "sink"]) == 2
    assert "there is something in" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_project_in_columns_packs_into_a_valid_bundle(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Packed without the host's Arrow, and tried by the standard suite with its own example."""
    project = tmp_path / f"table-{kind}"
    assert run(["bundle", "new", str(project), "--type", kind, "--form", "columns"]) == 0
    example = project / "example.properties"
    example.write_text(example.read_text().replace("directory=/tmp/", f"directory={tmp_path}/"))
    assert run(["bundle", "pack", str(project), "-o", str(tmp_path), "--offline"]) == 0
    bundle = str(tmp_path / f"table_{kind}-0.1.0.zip")
    assert [name for name in ZipFile(bundle).namelist() if "arrow" in name] == []
    assert run(["bundle", "verify", bundle, "--config", str(example)]) == 0, capsys.readouterr()
    tried = {"source": "15 of contract 1", "sink": "13 of contract 1"}
    assert tried[kind] in capsys.readouterr().out


def test_columns_form_of_a_type_without_columns_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what may be asked for."""
    assert run(["bundle", "new", str(tmp_path / "x"), "--type", "converter", "--form", "columns"]) == 2
    assert "use --form columns with --type source or sink" in capsys.readouterr().err


def test_pack_prints_the_path_of_the_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bundle is what packing by code makes, and the path is all that is printed."""
    links = [option for name in build.LIBRARIES for option in ("--find-links", str(build.wheel(name).parent))]
    project = str(build.SOURCES / "greeting_source")
    assert run(["bundle", "pack", project, "-o", str(tmp_path / "bundles"), *links, "--offline"]) == 0
    bundle = Path(capsys.readouterr().out.strip())
    assert bundle == tmp_path / "bundles" / "greeting_source-1.1.zip"
    assert bundle.read_bytes() == build.packed("greeting_source").read_bytes()


def test_pack_of_a_bad_project_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plugin's trace is shown and the exit code is 2."""
    assert run(["bundle", "pack", str(build.SOURCES / "raises_on_import"), "-o", str(tmp_path), "--offline"]) == 2
    err = capsys.readouterr().err
    assert "RuntimeError: this bundle cannot be imported" in err
    assert "raises_on_import/__init__.py" in err or "raises_on_import.py" in err


def test_verify_of_a_good_bundle_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has one line for each check."""
    assert run(["bundle", "verify", str(build.packed("greeting_source"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["CHECK", "RESULT"],
        ["structure", "ok"],
        ["hashes", "ok"],
        ["licences", "ok"],
        ["size", "ok"],
        ["environment", "ok"],
        ["import", "ok"],
        ["configuration", "ok"],
        ["rules", "ok"],
    ]


def test_verify_of_a_bad_bundle_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The failed check is in the table, the remedy on standard error."""
    assert run(["bundle", "verify", str(build.traversal(tmp_path))]) == 2
    caught = capsys.readouterr()
    assert "structure  FAILED" in caught.out
    assert "hint: do not install it" in caught.err


def test_verify_on_the_wrong_machine_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bundle for a Python that is not here is not a bad bundle."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    location = build.plain_wheel(tmp_path, "demo", groups=points, requires_python=">=3.99")
    assert run(["bundle", "verify", str(location)]) == 3
    assert "environment  FAILED" in capsys.readouterr().out


def test_verify_with_signature_rejects_an_unsigned_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it runs."""
    assert run(["bundle", "key", str(tmp_path / "key")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/key.pub\n"
    bundle = str(build.packed("greeting_source"))
    assert run(["bundle", "verify", bundle, "--signature", f"{tmp_path}/key.pub"]) == 2
    assert "signature  FAILED" in capsys.readouterr().out


def test_verify_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts read of each bundle whether all is well, and each check; one that is bad makes the exit code."""
    broken = build.truncated(tmp_path)
    assert run(["bundle", "verify", str(broken), str(tmp_path / "nothing"), "--json"]) == 2
    found, other = json.loads(capsys.readouterr().out)
    assert (other["bundle"], other["ok"]) == (str(tmp_path / "nothing"), False)
    assert (found["bundle"], found["ok"]) == (str(broken), False)
    (check,) = found["checks"]
    assert set(check) == {"check", "subject", "ok", "detail", "hint"}
    assert (check["check"], check["ok"]) == ("structure", False)


def test_terminated_verify_removes_its_environment(tmp_path: Path) -> None:
    """SIGTERM, be it that of a plugin to its whole group, removes the environment that was made for the check."""
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    scratch.mkdir()
    code = f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(600)\n"
    wheel = build.plain_wheel(tmp_path, "demo", groups={"hearth.converters": {"a.B": "demo:B"}}, code=code)
    command = [sys.executable, "-m", "hearth", "bundle", "verify", str(wheel)]
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert eventually(started.exists, TIMEOUT)
        assert [each.name for each in scratch.glob("hearth-verify-*")]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert list(scratch.glob("hearth-*")) == []
