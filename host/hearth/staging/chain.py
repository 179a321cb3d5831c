"""The transformations of a task outside its own stage: each hop runs in one place, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from hearth.staging.place import Place
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth_api.batch import Batch
from hearth_execution.failure import Failure
from hearth_execution.transformation import Guard, Outcome, Step, chain
from hearth_stage.transformation_call import Apply, AskPredicate


@dataclass(frozen=True)
class Hop:
    """Consecutive steps that run in one place, or one step whose predicate runs elsewhere."""

    place: Place
    steps: list[Step]
    guard: Guard | None = None

    def apply(self, batches: list[Batch]) -> Outcome:
        """Run batches through the steps."""
        return self._transform(batches) if self.guard is None else self.guard.apply(batches, self._transform)

    def _transform(self, batches: list[Batch]) -> Outcome:
        return self.place.do(Apply(self.steps, batches))


class Chain:
    """Transformations in order, each in its place (``split`` selects those outside the task's stage)."""

    def __init__(
        self, plan: PluginPlan, places: Mapping[str | None, Place], transformations: Sequence[PluginSpec]
    ) -> None:
        self._places = {each.role: places[each.environment] for each in plan.plugins if each.role != "task"}
        self.hops: list[Hop] = []
        guards = [each.predicate for each in transformations if each.predicate is not None]
        self.places = {self._places[role] for role in (*(each.role for each in transformations), *guards)}
        """The places of the transformations and their predicates."""
        for home, group in groupby(transformations, lambda plugin: _home(plan, plugin)):
            plugins = list(group)
            if home is _APART:
                self.hops += [self._guarded(plugin) for plugin in plugins]
            else:
                self.hops.append(Hop(self._places[plugins[0].role], [step_of(plugin) for plugin in plugins]))

    def transform(self, batches: Sequence[Batch]) -> Outcome:
        """Run batches with numbered rows through the chain; rows of the results may interleave."""
        return chain(batches, [hop.apply for hop in self.hops]) if self.hops else Outcome([*batches])

    def _guarded(self, plugin: PluginSpec) -> Hop:
        assert plugin.predicate is not None
        guard = Guard(partial(self._test, plugin.predicate), plugin.negate, plugin.class_name)
        return Hop(self._places[plugin.role], [Step(plugin.role)], guard)

    def _test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        answer = self._places[role].do(AskPredicate(role, batch))
        return answer.mask, answer.failures


_APART = object()


def _home(plan: PluginPlan, plugin: PluginSpec) -> Any:
    return plugin.environment if predicate_is_near(plan, plugin) else _APART


def step_of(plugin: PluginSpec) -> Step:
    """Return the step of a transformation."""
    return Step(plugin.role, plugin.predicate, plugin.negate)


def predicate_is_near(plan: PluginPlan, plugin: PluginSpec) -> bool:
    """Return whether a transformation has no predicate, or one in its own environment."""
    return plugin.predicate is None or plan.plugin(plugin.predicate).environment == plugin.environment


def split(plan: PluginPlan) -> tuple[list[PluginSpec], list[PluginSpec]]:
    """Return the transformations that run in the task's own stage, and the others.

    The stage of a source runs the first of the chain, that of a sink the last, as long as they share its environment.
    """
    transformations = plan.transformations
    home = plan.plugin("task").environment

    def is_inside(plugin: PluginSpec) -> bool:
        return plugin.environment == home and predicate_is_near(plan, plugin)

    ordered = transformations if plan.type == "source" else transformations[::-1]
    inside = next((index for index, plugin in enumerate(ordered) if not is_inside(plugin)), len(ordered))
    if plan.type == "source":
        return transformations[:inside], transformations[inside:]
    first = len(transformations) - inside
    return transformations[first:], transformations[:first]
