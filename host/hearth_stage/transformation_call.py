"""The calls to transformations and predicates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from hearth_api.batch import Batch
from hearth_api.batch import arrow as pa
from hearth_execution.failure import Failure
from hearth_execution.plugins import Plugins
from hearth_execution.transformation import Outcome, Step, Transformations
from hearth_stage.call import PluginCall, check_count, operations
from hearth_stage.form import Form


@dataclass(frozen=True)
class Apply(PluginCall[Outcome], op="apply"):
    """Runs consecutive transformation steps on batches whose rows are numbered across them."""

    steps: list[Step]
    batches: list[Batch]

    def run(self, plugins: Plugins) -> Outcome:
        """Run the steps."""
        return Transformations(plugins).apply(self.steps, self.batches)


def _mask(answers: Any) -> Any:
    if not isinstance(answers, list) or not set(map(type, answers)) <= {bool}:
        raise ValueError("a mask is a list of true and false")
    return pa.array(answers, pa.bool_())


WireMask = Annotated[Any, Form(_mask, lambda mask: mask.to_pylist())]


@dataclass(frozen=True)
class PredicateAnswers:
    """A predicate's answers, a boolean per row, and the rows on which it failed, where the answer is false."""

    mask: WireMask
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class AskPredicate(PluginCall[PredicateAnswers], op="test"):
    """Evaluates a predicate for every row."""

    role: str
    batch: Batch

    def run(self, plugins: Plugins) -> PredicateAnswers:
        """Evaluate the predicate."""
        return PredicateAnswers(*Transformations(plugins).test(self.role, self.batch))

    def verify(self, reply: PredicateAnswers) -> PredicateAnswers:
        """Reject a reply of another length."""
        check_count(len(reply.mask), self.batch.num_rows)
        return reply


TO_STAGE = operations(Apply, AskPredicate)
