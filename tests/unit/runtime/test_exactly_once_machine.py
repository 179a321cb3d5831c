"""The source loop with transactions loses and repeats nothing, under all events in any order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from hearth.link.link_call import Stop
from hearth.runtime.poll_queue import JOINED_ROWS
from hearth_api import TransactionBoundary
from hearth_stage.task_call import EndTransaction
from tests.profile import machine_settings
from tests.unit.runtime.source_world import APART, TOGETHER, Run, World
from tests.unit.runtime.test_source_machine import SourceMachine

pytestmark = pytest.mark.timeout(900)

SHARE = 8
"""Fewer examples suffice here: the machine without transactions searches the common behaviour."""
CONNECTOR = TransactionBoundary.CONNECTOR.value


class ExactlyOnceMachine(SourceMachine):
    """Runs of one source task whose producer has transactions."""

    @initialize(
        is_tolerant=st.booleans(),
        wants_records=st.booleans(),
        boundary=st.sampled_from(list(TransactionBoundary)),
        stages=st.sampled_from(["", TOGETHER, APART]),
        joined_rows=st.sampled_from([1, 4, JOINED_ROWS]),
        looks=st.integers(0, 3),
    )
    def begin(
        self,
        is_tolerant: bool,
        wants_records: bool,
        boundary: TransactionBoundary,
        stages: str,
        joined_rows: int,
        looks: int,
    ) -> None:
        """Start the first run."""
        self.world = World(is_tolerant=is_tolerant, stages=stages, joined_rows=joined_rows, looks=looks)
        self.world.meanwhile = self.play
        self.wants_records, self.boundary = wants_records, boundary.value
        self.run = self.new_run()

    def new_run(self) -> Run:
        """Start a run."""
        return Run(self.world, wants_records=self.wants_records, boundary=self.boundary)

    def happenings(self) -> list[Callable[[], None]]:
        """Return the possible events, likely ones more than once: commits succeed or fail."""
        transactions = self.run.transactions
        found = [*super().happenings(), lambda: setattr(transactions, "outlives", not transactions.outlives)]
        if transactions.is_deciding:
            found += [transactions.decide] * 20 + [lambda: transactions.decide(is_well=False)]
        return found

    @precondition(lambda self: not self.run.is_over and self.run.transactions.is_deciding)
    @rule()
    def end_a_commit(self) -> None:
        """The broker commits."""
        self.run.transactions.decide()

    @precondition(lambda self: not self.run.is_over and self.boundary == CONNECTOR and self.run.may_poll)
    @rule(aborts=st.sampled_from([False, False, True]))
    def end_a_transaction(self, aborts: bool) -> None:
        """The task ends its transaction behind the records that it returned."""
        self.run.event_queue.put(EndTransaction(aborts))

    @invariant()
    def nothing_comes_twice(self) -> None:
        """No record of a source partition occurs twice, whatever happened to the runs that read it."""
        if hasattr(self, "world"):
            found = [record[:2] for log in self.world.log.values() for record in log if record.source is not None]
            assert len(found) == len(set(found)), "a record is there twice"

    @invariant()
    def no_record_is_ahead_of_its_position(self) -> None:
        """Records and their positions are stored together, so a successor continues right behind them."""
        if hasattr(self, "world"):
            for log in self.world.log.values():
                for record in log:
                    assert record.source is None or record.number <= self.world.stored[record.source]

    @invariant()
    def a_poll_is_there_as_a_whole(self) -> None:
        """Each transaction has all records of its polls or none, unless the task defines its boundaries."""
        if hasattr(self, "world") and self.boundary != CONNECTOR:
            for polled in self.run.polls:
                stored = [each.number <= self.world.stored.get(each.source, 0) for each in polled if each.source]
                assert len(set(stored)) <= 1, "a transaction ended within a poll"

    def told_topics_have_records(self) -> None:
        """Skip this check: topics are reported when their records are acknowledged, as in Kafka Connect."""

    def teardown(self) -> None:
        """Without further faults, everything polled is committed, unless the task leaves its transaction open."""
        if not self.can_go_well():
            return
        run, self.script = self.run, []
        run.topics.are_known = True
        self.world.meanwhile = self.answer_all
        run.event_queue.put(Stop())
        run.turn_until(lambda: False)
        self.no_position_passes_a_gap()
        self.order_holds_per_source_partition()
        self.a_task_is_told_the_truth()
        self.nothing_comes_twice()
        if run.error is not None or self.boundary == CONNECTOR:
            return
        for source in ("a", "b"):
            assert self.world.stored.get(source, 0) == self.world.read.get(source, self.world.stored.get(source, 0))

    def answer_all(self) -> None:
        """Let broker and stage answer all requests."""
        super().answer_all()
        if self.run.transactions.is_deciding:
            self.run.transactions.decide()


TestExactlyOnce = ExactlyOnceMachine.TestCase
TestExactlyOnce.settings = settings(machine_settings(steps=25), max_examples=machine_settings().max_examples // SHARE)
