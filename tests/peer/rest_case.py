"""The parts of a comparison between the two REST APIs; `rest_cases.py` has the cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.peer.rest import Answer
from tests.peer.worker import Worker
from tests.timeouts import eventually

_DEADLINE = 60.0
_UNSETTLED = ("Cannot complete request momentarily", "because a rebalance is expected")
"""Messages of a cluster during a rebalance: the request is repeated."""
_KAFKA = ("org.apache.kafka.", *"0123456789")
_WORDS = {"worker_id": "a worker", "trace": "a trace"}


@dataclass(frozen=True)
class Step:
    """One request, and how much of its response has to be equal.

    With `state` the request is sent once all tasks of connector `of` are in that state, and there is at least one;
    "NONE" waits until it has no task. The connector itself, whose state Java stores at another moment, must have
    finished its last change as well. With `until` it is repeated until its response contains that text. If the text
    of the response comes from Java itself (a class list, a parser's message), `same` is "status". For a list of
    plugins, which differ, it is "types". "validation" compares all but the documentation of keys and recommended
    values beyond Kafka's own classes. A path may be a whole URI, with {port} for the worker's.
    """

    method: str
    path: str
    body: Any = None
    state: str | None = None
    of: str = "c"
    until: str | None = None
    same: Literal["all", "status", "types", "validation"] = "all"
    content_type: str | None = "application/json"
    accept: str | None = None


@dataclass(frozen=True)
class RestCase:
    """A sequence of requests to a worker without connectors; remaining connectors are deleted."""

    name: str
    steps: tuple[Step, ...]


def play(case: RestCase, worker: Worker) -> list[dict[str, Any]]:
    """Send a case's requests and return the comparable part of every response."""
    try:
        return _shortened([_play(step, worker) for step in case.steps])
    finally:
        delete_all(worker)


def delete_all(worker: Worker) -> None:
    """Delete every connector of a worker."""
    for name in worker.rest.call("GET", "/connectors").json:
        worker.delete(name)


def await_state(worker: Worker, state: str, connector: str) -> None:
    """Wait until a connector and its tasks are in the state of a step."""
    reached = eventually(lambda: _is_reached(state, worker.rest.states(connector)), _DEADLINE)
    assert reached, f"{worker.side}: not {state}: {worker.rest.status(connector)}\n{worker.last_words()}"


def _play(step: Step, worker: Worker) -> dict[str, Any]:
    if step.state:
        await_state(worker, step.state, step.of)
    answer = _answer(step, worker)
    request = {"request": f"{step.method} {step.path}", "status": answer.status}
    if step.same == "types":
        return {**request, "types": sorted({row["type"] for row in answer.json})}
    if step.same == "validation":
        return {**request, "validation": _validation(answer.json)}
    return request if step.same == "status" else {**request, **_comparable(answer)}


def _validation(answer: Any) -> list[str]:
    """Return a ConfigInfos line by line, so that a difference among its hundreds of members is visible."""
    lines = [json.dumps({key: value for key, value in answer.items() if key != "configs"})]
    for config in answer.get("configs", []):
        definition, value = config["definition"], config["value"]
        shown = definition and [text for key, text in definition.items() if key != "documentation"]
        recommended = [each for each in value["recommended_values"] if "." not in each or each.startswith(_KAFKA)]
        lines.append(json.dumps([shown, {**value, "recommended_values": recommended}]).replace(_KAFKA[0], ""))
    return lines


def _shortened(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return answers in which lines equal to the first validation's are replaced by their first and last number."""
    known: list[str] = next((each["validation"] for each in answers if "validation" in each), [])
    for answer in answers:
        if "validation" in answer and answer["validation"] is not known:
            answer["validation"] = _runs(answer["validation"], known)
    return answers


def _runs(lines: list[str], known: list[str]) -> list[str | list[int]]:
    short: list[str | list[int]] = []
    for line in lines:
        number = known.index(line) if line in known else None
        last = short[-1] if short else None
        if number is None:
            short.append(line)
        elif isinstance(last, list) and last[1] == number - 1:
            last[1] = number
        else:
            short.append([number, number])
    return short


def _answer(step: Step, worker: Worker) -> Answer:
    answers: list[Answer] = []

    def is_there() -> bool:
        path = step.path.replace("{port}", str(worker.port))
        answers.append(worker.rest.call(step.method, path, step.body, step.content_type, step.accept))
        if any(words in answers[-1].text for words in _UNSETTLED):
            return False
        return step.until is None or step.until in answers[-1].text

    assert eventually(is_there, _DEADLINE), f"{worker.side}: never {step.until!r}: {answers[-1]}"
    return answers[-1]


def _is_reached(state: str, states: list[str]) -> bool:
    """Return whether a connector, whose state comes first, and its tasks have the state of a step."""
    connector, tasks = states[:1], set(states[1:])
    if state == "NONE":
        return connector != ["RUNNING"] and not tasks
    return tasks == {state} and connector == ["PAUSED" if state == "PAUSED" else "RUNNING"]


def _comparable(answer: Answer) -> dict[str, Any]:
    """Return a response without the names of the worker and its language."""
    # Java omits the type if its web server, not Connect, responds; being more exact is no difference.
    fields = {} if answer.status >= 400 else {"content-type": answer.headers.get("content-type")}
    if "allow" in answer.headers and answer.status < 400:
        fields["allow"] = answer.headers["allow"]
    if "location" in answer.headers:
        fields["location"] = urlsplit(answer.headers["location"]).path
    # Clients see the order of fields, so the text is compared, not the data.
    body = json.dumps(neutral(answer.json)) if answer.json is not None else answer.text
    return {**fields, "body": body}


def neutral(value: Any) -> Any:
    """Return JSON with worker ids and stack traces replaced by a placeholder, and sorted configurations (maps)."""
    if isinstance(value, list):
        return [neutral(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _neutral_field(key, item) for key, item in value.items()}
    return value


def _neutral_field(key: str, value: Any) -> Any:
    if key in _WORDS:
        return _WORDS[key]
    if key == "config" and isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return neutral(value)
