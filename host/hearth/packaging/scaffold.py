"""Scaffolds a new plugin project that builds, passes its tests and runs."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import resources
from pathlib import Path
from string import Template

import importlib_metadata

from hearth.discovery import PluginType, alias
from hearth.discovery.declaration import Declaration
from hearth_api import ConfigError

_TEMPLATES = "template"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
_PACKAGE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")

_KINDS = {
    PluginType.SOURCE: ("source", "SourceConnector", "A source connector that writes a number at each interval."),
    PluginType.SINK: ("sink", "SinkConnector", "A sink connector that writes records to a file as lines of JSON."),
    PluginType.TRANSFORMATION: ("transformation", "", "A transformation that adds a prefix to topic names."),
    PluginType.CONVERTER: ("converter", "Converter", "A converter for strings in a configurable encoding."),
}
"""Plugin type -> its module, the suffix of its class name, and its summary."""
_IN_COLUMNS = {
    PluginType.SOURCE: "A source connector that writes a table of numbers at each interval.",
    PluginType.SINK: "A sink connector that writes records to Parquet files, one for each batch.",
}
"""Plugin type -> summary of its column-based connector."""


def scaffold(target: Path, type_: PluginType, package: str = "com.example", in_columns: bool = False) -> list[Path]:
    """Create a project named after the last part of ``target`` and return its files.

    ``package`` is the prefix of the class name in configurations; ``in_columns`` creates a connector that reads or
    writes tables. Raises ``ConfigError`` for a name that is not valid for a distribution and module, for a type
    without a column-based template, and if the target exists.
    """
    name = target.name
    module = re.sub(r"[-_]+", "_", name).lower()
    _check(target, module, package)
    file, ending, summary = _KINDS[type_]
    template = file
    if in_columns:
        if type_ not in _IN_COLUMNS:
            raise ConfigError(f"a {type_} has no column form", hint="use --form columns with --type source or sink")
        template, summary = f"{file}_columns", _IN_COLUMNS[type_]
    class_name = _class_name(name, ending)
    java_name = f"{package}.{class_name}"
    words = {
        "name": name,
        "wheel_name": module,
        "module": module,
        "file": file,
        "class_name": class_name,
        "java_name": java_name,
        "short_name": alias.candidates(Declaration(java_name, type_, "", ""))[-1],
        "group": type_.group,
        "summary": summary,
        "extra": "[batch]" if in_columns else "",
        "needs": "hearth-api[batch]" if in_columns else "hearth-api",
        "api": importlib_metadata.version("hearth-api"),
        "run_it": "",
        "verify_config": "",
    }
    files = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        ".gitignore": "gitignore",
        f"src/{module}/__init__.py": "package.py",
        f"src/{module}/{file}.py": f"{template}.py",
        f"tests/test_{module}.py": f"test_{template}.py",
    }
    if type_ in (PluginType.SOURCE, PluginType.SINK):
        files["example.properties"] = f"{template}.properties"
        words["verify_config"] = " --config example.properties"
        words["run_it"] = (
            "hearth run . --config example.properties            # on its own Kafka, restarts on each edit\n"
        )
    texts = {path: _filled(template, words) for path, template in files.items()}
    for path, text in texts.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")
    return [target / path for path in texts]


def _filled(template: str, words: dict[str, str]) -> str:
    found = resources.files(__package__).joinpath(f"{_TEMPLATES}/{template}.in").read_text(encoding="utf-8")
    return Template(found).substitute(words)


def _check(target: Path, module: str, package: str) -> None:
    name = target.name
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a valid project name", hint="use letters, digits and hyphens")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module.startswith("hearth"):
        raise ConfigError(f"{name!r} would hide Python's or Hearth's own module {module}", hint="use another name")
    if not _PACKAGE.fullmatch(package):
        raise ConfigError(f"{package!r} is not a package name", hint="write it as com.example")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(
            f"there is something in {str(target)!r} already", hint="name a directory that does not exist"
        )


def _class_name(name: str, ending: str) -> str:
    """Derive the class name from the project name: ``orders-source`` becomes ``OrdersSourceConnector``."""
    own = "".join(part[0].upper() + part[1:] for part in re.split(r"[-_]+", name))
    for word in (ending, ending.removesuffix("Connector"), "Connector"):
        if word and own != word and own.endswith(word):
            own = own.removesuffix(word)
    return own + ending
