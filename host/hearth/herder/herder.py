"""The herder: takes what users want of connectors and brings it about."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from hearth.config import WorkerConfig
from hearth.herder.crew import Crew
from hearth.herder.lane import Lanes
from hearth.herder.lifecycle import Created, Lifecycle
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.stage import StagePool
from hearth.herder.status import StatusBoard, StatusView
from hearth.herder.validation.validator import Validator
from hearth.storage import ConfigListener, ConfigStore, OffsetStore, RestartRequest, TargetState


class Herder(ConfigListener):
    """Decides what runs on this host.

    Every connector has a lane on which everything about it happens in order; the methods here put a job on
    that lane and return a future, or change a target at once and let the lane follow. Safe to call from any
    thread.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        directory: PluginDirectory,
        configs: ConfigStore,
        offsets: OffsetStore,
        board: StatusBoard,
        crew: Crew,
    ) -> None:
        self.view = StatusView(configs, board.store, directory)
        self._pool = StagePool()
        self._validator = Validator(directory, worker, self._pool)
        self._configs = configs
        self._crew = crew
        self._lanes = Lanes()
        self._lifecycle = Lifecycle(
            worker, directory, configs, offsets, board, crew, self._validator, self._pool, self._lanes.post_once
        )
        configs.subscribe(self)

    def connectors(self) -> list[str]:
        """Return the names of all connectors."""
        return self._configs.snapshot().connectors()

    def put(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, replace: bool = True
    ) -> Future[Created]:
        """Create a connector, or replace its configuration where that is allowed."""
        return self._lanes.submit(name, lambda: self._lifecycle.put(name, config, target, replace))

    def patch(self, name: str, changes: Mapping[str, str | None]) -> Future[Created]:
        """Change single keys of a configuration; None removes a key."""
        return self._lanes.submit(name, lambda: self._lifecycle.patch(name, changes))

    def delete(self, name: str) -> Future[None]:
        """Stop a connector and forget it; its offsets stay."""
        return self._lanes.submit(name, lambda: self._lifecycle.delete(name))

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the instance of a connector; its tasks go on unless their configurations change."""
        return self._lanes.submit(name, lambda: self._lifecycle.restart_connector(name))

    def restart_task(self, name: str, task: int) -> Future[None]:
        """Restart one task."""
        return self._lanes.submit(name, lambda: self._lifecycle.restart_task(name, task))

    def restart(self, request: RestartRequest) -> Future[dict[str, Any]]:
        """Restart what a request asks for; the answer shows that as RESTARTING."""
        return self._lanes.submit(request.connector, lambda: self._lifecycle.restart(request))

    def want(self, name: str, target: TargetState) -> Future[None]:
        """Say in which state a connector is wanted; the future is done when it was brought there.

        Raises NotFoundError at once when there is no connector of that name.
        """
        self._configs.put_target(name, target)
        return self._lanes.submit(name, lambda: None)

    def validate(self, config: Mapping[str, str | None]) -> Future[dict[str, Any]]:
        """Check a configuration; the answer is a ConfigInfos."""
        return self._lanes.submit(f"validate {id(config)}", lambda: self._validator.validate(config))

    def plugin_keys(self, name: str, version: str | None) -> Future[list[dict[str, Any]]]:
        """Return the key definitions of a plugin."""
        return self._lanes.submit(f"describe {name}", lambda: self._validator.plugin_keys(name, version))

    def on_target_state(self, connector: str) -> None:
        """Let the connector's lane follow a new target."""
        self._lanes.post(connector, lambda: self._lifecycle.follow_target(connector))

    def shut_down(self) -> None:
        """Stop all tasks, then all connectors; what was asked for and has not begun does not take place."""
        self._lanes.close()
        self._crew.stop_all()
        self._lifecycle.shut_down()
        self._pool.close()
