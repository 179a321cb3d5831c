"""What differs between connector files and a cluster, with a hash over both sides."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hearth.client.connector_file import ConnectorFile
from hearth.client.remote_cluster import HIDDEN, PAUSED, RUNNING, STOPPED, RemoteCluster, RemoteConnector
from hearth.foundation.nearest import did_you_mean
from hearth_api import ConfigError, ConnectError

CREATE, UPDATE, DELETE, KEEP = "create", "update", "delete", "keep"
_SIGNS = {CREATE: "+", UPDATE: "~", DELETE: "-", KEEP: "="}
_HASH_LENGTH = 12
_SECRET = re.compile(r"password|secret|token|credential|private\.key|jaas\.config", re.IGNORECASE)
"""Keys whose values are never shown, also if their plugin does not declare them as passwords."""
_VARIABLE = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True)
class KeyChange:
    """A key with its values on both sides; None where it is not set, `[hidden]` for a secret."""

    key: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        """Return the change as a line."""
        if self.old is None:
            return f"+ {self.key}: {self.new}"
        return f"- {self.key}: {self.old}" if self.new is None else f"~ {self.key}: {self.old} → {self.new}"


@dataclass(frozen=True)
class ConnectorChange:
    """What happens to one connector."""

    name: str
    action: str
    file: ConnectorFile | None = None
    present: RemoteConnector | None = None
    secrets: frozenset[str] = frozenset()
    """Keys that the plugin declares as passwords."""
    owner: str | None = None
    """Who owns the connector afterwards, if that changes."""
    notes: tuple[str, ...] = ()
    sends_config: bool = False
    """Whether the configuration is sent."""

    @property
    def state(self) -> str | None:
        """Return the state to request afterwards, None to leave it."""
        if self.file is None or self.file.state is None or self.present is None:
            return None
        now = self.present.state if self.present.state in (PAUSED, STOPPED) else RUNNING
        return None if now == self.file.state else self.file.state

    @property
    def restarts(self) -> int:
        """Return how many tasks the change restarts."""
        return len(self.present.tasks) if self.present is not None and self.sends_config else 0

    @property
    def goal(self) -> str:
        """Return the state that the change leads to: RUNNING, PAUSED, STOPPED or DELETED."""
        if self.file is None:
            return "DELETED"
        if self.present is None:
            return self.file.state or self.file.initial_state or RUNNING
        return self.state or (self.present.state if self.present.state in (PAUSED, STOPPED) else RUNNING)

    def differing_keys(self) -> list[KeyChange]:
        """Return the keys that differ, by name; none for a connector that is deleted."""
        if self.file is None:
            return []
        old: Mapping[str, str] = {} if self.present is None else self.present.config
        new = self.file.config
        named = sorted(key for key in old.keys() | new.keys() if _differ(old.get(key), new.get(key)))
        return [KeyChange(key, self._shown(key, old.get(key)), self._shown(key, new.get(key))) for key in named]

    def lines(self) -> Iterator[str]:
        """Yield the change as text: a line for the connector, then one for each key."""
        restarted = f", restarts {self.restarts} task{'s' if self.restarts != 1 else ''}" if self.restarts else ""
        yield f"{_SIGNS[self.action]} {self.action} {self.name}{restarted}"
        yield from (f"    {each}" for each in self.differing_keys())
        if self.state is not None and self.present is not None:
            yield f"    ~ state: {self.present.state} → {self.state}"
        if self.owner is not None and self.action != DELETE:
            yield f"    ~ owner: {self.owner}"
        yield from (f"    note: {each}" for each in self.notes)

    def to_json(self) -> dict[str, Any]:
        """Return the change as the commands' JSON shows it."""
        return {
            "name": self.name,
            "action": self.action,
            "keys": [vars(each) for each in self.differing_keys()],
            "state": self.state,
            "restarts": self.restarts,
            "owner": self.owner,
            "file": None if self.file is None else str(self.file.path),
            "notes": list(self.notes),
        }

    def _shown(self, key: str, value: str | None) -> str | None:
        """Return a value as users may see it: variables as they are written, other secrets hidden."""
        if value is None or _VARIABLE.fullmatch(value):
            return value
        return HIDDEN if key in self.secrets or _SECRET.search(key) else value


@dataclass(frozen=True)
class ChangePlan:
    """All changes, those that are none included, and what is wrong with the files."""

    changes: tuple[ConnectorChange, ...]
    errors: tuple[tuple[str, ConnectError], ...] = ()
    """Names of connectors with the reason why they cannot be applied."""

    @property
    def work(self) -> list[ConnectorChange]:
        """Return the changes that do something."""
        return [each for each in self.changes if each.action != KEEP]

    @property
    def hash(self) -> str:
        """Return a text that changes with either side of any change."""
        both = [
            [
                each.name,
                each.action,
                None if each.present is None else [dict(each.present.config), each.present.state],
                None if each.file is None else [each.file.config, each.file.initial_state, each.file.state],
                each.owner,
            ]
            for each in self.work
        ]
        return hashlib.sha256(json.dumps(both, sort_keys=True).encode()).hexdigest()[:_HASH_LENGTH]


@dataclass(frozen=True)
class PlanOptions:
    """How a plan is made: who owns the connectors, and what is deleted or sent beyond what differs."""

    owner: str | None = None
    prune: str | None = None
    """"owned" deletes what the owner has and the files have not, at most half of it; "all" without that limit."""
    adopt: bool = False
    """Whether to take connectors over from another owner."""
    resend: bool = False
    """Whether to send configurations whose passwords the worker hides, so that they cannot be compared."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """The present owner of each owned connector."""


def make_plan(cluster: RemoteCluster, files: Sequence[ConnectorFile], options: PlanOptions) -> ChangePlan:
    """Compare files with a cluster and validate what differs; raises ConfigError for what the options forbid."""
    present = cluster.connectors()
    _refuse_foreign([each.name for each in files], options)
    changes, errors = [], []
    for file in files:
        change = _compared(file, present.get(file.name), options)
        if change.sends_config:
            try:
                change = _validated(cluster, file, change)
            except ConnectError as error:
                errors.append((file.name, error))
        changes.append(change)
    changes += _deletions(present, {each.name for each in files}, options)
    return ChangePlan(tuple(changes), tuple(errors))


def _compared(file: ConnectorFile, present: RemoteConnector | None, options: PlanOptions) -> ConnectorChange:
    has_new_owner = options.owner is not None and options.owners.get(file.name) != options.owner
    owner = options.owner if has_new_owner else None
    if present is None:
        return ConnectorChange(file.name, CREATE, file, None, owner=owner, notes=file.notes, sends_config=True)
    hidden = sorted(key for key, value in present.config.items() if value == HIDDEN != file.config.get(key))
    differs = any(_differ(present.config.get(key), file.config.get(key)) for key in {*present.config, *file.config})
    sends = differs or (options.resend and bool(hidden))
    notes = file.notes
    if hidden and not sends:
        notes += (f"the worker hides {', '.join(hidden)}, which may differ: --resend sends it",)
    change = ConnectorChange(file.name, KEEP, file, present, owner=owner, notes=notes, sends_config=sends)
    is_changed = sends or owner is not None or change.state is not None
    return replace(change, action=UPDATE if is_changed else KEEP)


def _differ(old: str | None, new: str | None) -> bool:
    """Return whether values differ; one that the worker hides counts as equal to any."""
    return old != new and not (old == HIDDEN and new is not None)


def _validated(cluster: RemoteCluster, file: ConnectorFile, change: ConnectorChange) -> ConnectorChange:
    """Return the change with the plugin's secret keys; raises ConfigError with what is wrong."""
    class_name = file.config.get("connector.class", "")
    if not class_name.strip():
        raise ConfigError(f"{file.path}: connector.class is missing", code="client.invalid", hint="name the class")
    try:
        infos = cluster.validate(class_name, file.config)
    except ConnectError as error:
        raise _unknown_class(cluster, class_name) or error from None
    faults = [
        f"{each['value']['name']}: {' '.join(message.split())}"
        for each in infos["configs"]
        for message in each["value"]["errors"]
    ]
    if faults:
        hint = f"correct {file.path}"
        raise ConfigError("\n  ".join(("invalid configuration:", *faults)), code="client.invalid", hint=hint)
    declared = (each["definition"] for each in infos["configs"] if each["definition"])
    secrets = frozenset(key["name"] for key in declared if key["type"] == "PASSWORD")
    return replace(change, secrets=secrets)


def _unknown_class(cluster: RemoteCluster, class_name: str) -> ConfigError | None:
    """Return the error for a class that no plugin has; None if one has it."""
    classes = {each["class"] for each in cluster.plugins(connectors_only=True)}
    simple = {each.rpartition(".")[2] for each in classes}
    known = classes | simple | {each.removesuffix("Connector") for each in simple}
    if class_name in known:
        return None
    return ConfigError(
        f"connector.class {class_name!r} is no plugin of the worker{did_you_mean(class_name, known)}",
        code="client.class",
        hint="`hearth plugins list --remote` shows what it has",
    )


def _refuse_foreign(names: Sequence[str], options: PlanOptions) -> None:
    if options.owner is None or options.adopt:
        return
    for name in names:
        if options.owners.get(name, options.owner) != options.owner:
            raise ConfigError(
                f"{name} belongs to {options.owners[name]!r}, not to {options.owner!r}",
                code="client.owner",
                hint="--adopt takes it over",
            )


def _deletions(
    present: Mapping[str, RemoteConnector], wanted: set[str], options: PlanOptions
) -> list[ConnectorChange]:
    """Return the deletions of what the owner has and the files have not."""
    if options.prune is None:
        return []
    if options.owner is None:
        raise ConfigError("--prune needs --owner", code="client.prune", hint="name the owner of these files")
    owned = [name for name in present if options.owners.get(name) == options.owner]
    gone = [name for name in owned if name not in wanted]
    if options.prune != "all" and len(gone) * 2 > len(owned):
        raise ConfigError(
            f"--prune would delete {len(gone)} of the {len(owned)} connectors of {options.owner!r}: {', '.join(gone)}",
            code="client.prune",
            hint="--prune=all deletes more than half",
        )
    return [ConnectorChange(name, DELETE, None, present[name]) for name in gone]
