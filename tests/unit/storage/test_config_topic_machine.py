"""After any writes and any compaction, a host that starts reads the same configurations as the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hearth.kafka.topic_reader import StoredRecord
from hearth.storage import ConfiguredConnector, TargetState
from hearth.storage.config_topic import TopicConfigStore
from hearth.storage.fenced_producer import Record
from hearth_api import NotFoundError

NOBODY: Any = None
names = st.sampled_from(["a", "a-1", "task-a"])
numbers = st.integers(0, 3)


class Log:
    """A topic in memory that is its own writer and reader."""

    def __init__(self) -> None:
        self.records: list[StoredRecord] = []
        self.stores: list[TopicConfigStore] = []
        self.end = 0

    def write(self, records: Sequence[Record]) -> dict[tuple[str, int], int]:
        """Append records, which every store reads, and a transaction marker, which none reads."""
        for record in records:
            stored = StoredRecord("configs", 0, self.end, record.key, record.value)
            self.end += 1
            self.records.append(stored)
            for store in self.stores:
                store.take(stored)
        written = {("configs", 0): self.end}
        self.end += 1
        return written

    def wait_for(self, _places: object, _timeout: float) -> None:
        """Do nothing: everything is read at once."""

    def new_store(self) -> TopicConfigStore:
        """Return a store that has read everything."""
        log: Any = self
        store = TopicConfigStore("configs", log, log, NOBODY)
        for record in self.records:
            store.take(record)
        store.start()
        self.stores.append(store)
        return store


class ConfigTopicMachine(RuleBasedStateMachine):
    """Actions of users and herders at one host, hosts that start later, and the log cleaner."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log()
        self.store = self.log.new_store()

    @rule(name=names, number=numbers, aim=st.none() | st.sampled_from(TargetState))
    def configure(self, name: str, number: int, aim: TargetState | None) -> None:
        """Create or change a connector."""
        self.store.put_connector(name, {"n": str(number)}, aim)

    @rule(name=names)
    def remove(self, name: str) -> None:
        """Delete a connector, which may not exist."""
        self.store.remove_connector(name)

    @rule(name=names, number=numbers, count=numbers)
    def make_tasks(self, name: str, number: int, count: int) -> None:
        """Write tasks; those of an unknown connector are rejected."""
        tasks = [{"task": str(each), "n": str(number)} for each in range(count)]
        try:
            self.store.put_tasks(name, tasks)
        except NotFoundError:
            assert self.entry(name) is None
        else:
            entry = self.entry(name)
            assert entry is not None
            assert (list(entry.tasks), entry.applied) == (tasks, entry.config)

    @rule(name=names, aim=st.sampled_from(TargetState))
    def point(self, name: str, aim: TargetState) -> None:
        """Pause, stop or resume."""
        try:
            self.store.put_target(name, aim)
        except NotFoundError:
            assert self.entry(name) is None

    @rule(part=st.floats(0, 1), is_late=st.booleans())
    def clean(self, part: float, is_late: bool) -> None:
        """Compact the topic up to a record: the last record of each key stays; late passes remove tombstones too."""
        cut = int(part * len(self.log.records))
        last = {each.key: each for each in self.log.records[:cut]}.values()
        kept = [each for each in last if each.value is not None or not is_late]
        self.log.records[:cut] = sorted(kept, key=lambda each: each.offset)

    @rule()
    def start_another(self) -> None:
        """Start a host, which reads the same, except for incomplete tasks and their revisions."""
        late = self.log.new_store().snapshot().entries
        self.log.stores.pop()
        known = self.store.snapshot().entries
        assert late.keys() == known.keys()
        for name, entry in known.items():
            read = late[name]
            assert (read.config, read.target, read.revision) == (entry.config, entry.target, entry.revision)
            if read.tasks != entry.tasks or read.tasks_revision != entry.tasks_revision:
                assert (read.tasks, read.applied) == ((), None)

    @invariant()
    def nobody_has_tasks_of_another(self) -> None:
        """Connector names that look like parts of other keys are not confused."""
        for entry in self.store.snapshot().entries.values():
            assert [task["task"] for task in entry.tasks] == [str(number) for number in range(len(entry.tasks))]

    def entry(self, name: str) -> ConfiguredConnector | None:
        """Return the entry of a connector."""
        return self.store.snapshot().find(name)


TestConfigTopicMachine = ConfigTopicMachine.TestCase
TestConfigTopicMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
