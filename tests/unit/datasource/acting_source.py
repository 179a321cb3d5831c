"""A test source whose configuration sets its records and failures, for reads without Spark."""

from __future__ import annotations

from pathlib import Path

from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from tests.unit.runtime.sample import SETTINGS

SOURCE = """
import os, signal, time
from hearth_api import ConfigDef, INT32_SCHEMA, STRING_SCHEMA, SchemaBuilder, SourceConnector, SourceRecord, SourceTask
from hearth_api import Struct

ORDER = SchemaBuilder.struct().field("id", INT32_SCHEMA).field("name", STRING_SCHEMA).build()

class Task(SourceTask):
    def version(self): return "1"
    def start(self, props):
        self.last, self.step, self.trap = int(props["last"]), int(props.get("step", 10)), props.get("trap", "")
        self.heard = props.get("heard")
        stored = self.context.offset_storage_reader().offset({"p": props.get("p", "0")})
        self.number, self.props = 0 if stored is None else stored["at"], props
    def poll(self):
        if self.trap and self.number >= int(self.trap.split()[1]):
            act = self.trap.split()[0]
            if act == "fail": raise RuntimeError("the source is broken")
            if act == "die": os.kill(os.getpid(), signal.SIGKILL)
        if self.number >= self.last:
            time.sleep(0.005)
            return None
        records = []
        for _ in range(min(self.step, self.last - self.number)):
            self.number += 1
            order = Struct(ORDER)
            order.put("id", self.number)
            order.put("name", "n%d" % self.number)
            records.append(SourceRecord({"p": self.props.get("p", "0")}, {"at": self.number}, "orders",
                key_schema=STRING_SCHEMA, key="k%d" % self.number, value_schema=ORDER, value=order))
        return records
    def is_exhausted(self): return "known" in self.props and self.number >= self.last
    def stop(self):
        if "stopped" in self.props:
            with open(self.props["stopped"], "w") as file: file.write(str(self.number))

class Told(Task):
    def commit_record(self, record, metadata):
        with open(self.heard, "a") as file: file.write("%d\\n" % record.value.get("id"))
    def commit(self):
        with open(self.heard, "a") as file: file.write("commit\\n")

class Connector(SourceConnector):
    def version(self): return "1"
    def config(self): return ConfigDef()
    def start(self, props): self.props = dict(props)
    def stop(self): pass
    def task_class(self): return Task
    def task_configs(self, most):
        return [{**self.props, "p": str(number)} for number in range(min(most, int(self.props.get("tasks", "1"))))]

class Acknowledging(Connector):
    def task_class(self): return Told
"""


def acting_plan(folder: Path, task: int = 0, name: str = "Connector", **config: str) -> PluginPlan:
    """Return the plan of a task of the source, which this call places in the folder."""
    (folder / "acting.py").write_text(SOURCE)
    environment = python_environment("acting", host(), (str(folder),))
    spec = PluginSpec("task", f"acting.{name}", f"acting:{name}", "1", "acting")
    own = {"p": str(task), **config}
    return PluginPlan("c", task, "source", f"acting.{name}", (spec,), {"acting": environment}, own, SETTINGS)
