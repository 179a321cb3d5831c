"""Plans: they travel as JSON, and no text of them shows a setting."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hearth.config import TopicGroup
from hearth.isolation.environment import Environment
from hearth.kafka.token_source import SOURCE
from hearth.runtime.plan import DeadLetterPlan, SourcePlan, TaskPlan
from tests.unit.runtime.sample import plugin, sink_plan, task_plan

SECRET = "sesame-opens"


def sink() -> TaskPlan:
    """Return the plan of a sink's task that uses every member."""
    plan = task_plan(
        "sink",
        plugin("transforms.b", "Upper", "bundle", {"key": SECRET}, "predicates.p", True),
        plugin("transforms.a", "Route"),
        plugin("predicates.p", "IsLong"),
    )
    command = ("/usr/bin/java", "-cp", "{0}/*:{1}/*", "Stage")
    environments = {"bundle": Environment("bundle", command, ("/one", "/two"))}
    letters = DeadLetterPlan("dead", 3, True, {"sasl.password": SECRET}, {"ssl.key.password": SECRET})
    read = sink_plan(consumer={"sasl.password": SECRET}, dead_letters=letters, max_poll_records=5)
    return replace(plan, environments=environments, task_config={"password": SECRET}, sink=read)


def source() -> TaskPlan:
    """Return the plan of a source's task that creates topics."""
    group = TopicGroup("default", [".*"], [], 1, 1, {"cleanup.policy": "compact"})
    made = SourcePlan({"sasl.password": SECRET}, (group,), {"sasl.password": SECRET})
    return replace(task_plan("source"), source=made)


@pytest.mark.parametrize("plan", [sink(), source(), task_plan("source"), task_plan("sink")])
def test_plan_round_trips_over_the_link(plan: TaskPlan) -> None:
    """The link carries JSON; values and types are preserved."""
    assert TaskPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize("plan", [sink(), source()])
def test_plan_repr_hides_settings(plan: TaskPlan) -> None:
    """Logs, traces and debuggers print objects; plugin and client settings may be secret."""
    assert SECRET in json.dumps(plan.to_json())
    for text in (repr(plan), str(plan), f"{plan}", repr([plan]), repr(plan.plugins), repr(plan.sink or plan.source)):
        assert SECRET not in text


def test_token_sources_include_all_clients() -> None:
    """Dead letters and topic creation as well."""

    def by(name: str) -> dict[str, str]:
        return {"bootstrap.servers": "h:1", SOURCE: name}

    letters = DeadLetterPlan("dead", 3, True, by("letters"), by("admin"))
    reads = replace(task_plan("sink"), sink=sink_plan(consumer=by("reads"), dead_letters=letters))
    assert reads.token_sources() == {"reads", "letters", "admin"}
    writes = replace(task_plan("source"), source=SourcePlan(by("writes"), (), by("admin")))
    assert writes.token_sources() == {"writes", "admin"}
    assert sink().token_sources() == task_plan("source").token_sources() == set()


def test_name_is_kafka_connects() -> None:
    """Logs, threads and clients name a task by connector and number."""
    assert replace(sink(), connector="my-sink", task=3).name == "my-sink-3"


def test_clients_have_the_task_name_unless_the_user_set_one() -> None:
    """As in Kafka Connect, so that brokers distinguish them; a user's name applies to all tasks."""
    plan = replace(task_plan("sink"), connector="files", task=3)
    for client in ("producer", "consumer", "adminclient", "dlq-producer"):
        assert plan.named(client, {"a": "b"}) == {"a": "b", "client.id": f"connector-{client}-files-3"}
    assert plan.named("consumer", {"client.id": "mine"}) == {"client.id": "mine"}


def test_plugins_are_found_by_role() -> None:
    """Every role of a pipeline has one plugin."""
    assert sink().plugin("predicates.p").class_name == "sample.IsLong"
    with pytest.raises(StopIteration):
        sink().plugin("transforms.nobody")


def test_transformations_keep_the_order_of_the_chain() -> None:
    """The chain runs in the order of ``transforms``, not of the aliases."""
    assert [each.role for each in sink().transformations] == ["transforms.b", "transforms.a"]
