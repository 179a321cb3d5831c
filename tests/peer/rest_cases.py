"""The comparisons of the REST APIs, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.peer.connector_step import alter, create, patch, refused
from tests.peer.odd_cases import ODD_CASES
from tests.peer.refused_cases import REFUSED_CASES
from tests.peer.rest_case import RestCase, Step

_SOURCE = {"connector.class": "FileStreamSource", "file": "/nonexistent/in.txt", "topic": "rest-topic"}
_SINK = {"connector.class": "FileStreamSink", "file": "/dev/null", "topics": "rest-topic"}
_FILE = str(Path(__file__).with_name("jars.txt"))
_WRITER = {**_SOURCE, "file": _FILE, "topic": "rest-written"}
_READER = {**_SINK, "topics": "rest-written"}
_GET = (
    Step("GET", "/connectors/c"),
    Step("GET", "/connectors/c/config"),
    Step("GET", "/connectors/c/tasks"),
    Step("GET", "/connectors/c/status"),
)


_PLUGIN_QUERIES = (
    "", "/", "?connectorsOnly=true", "?connectorsOnly=TRUE", "?connectorsOnly=%20true", "?connectorsOnly=",
    "?connectorsOnly", "?connectorsOnly=0", "?connectorsOnly=false", "?connectorsOnly=false&connectorsOnly=true",
)  # fmt: skip
_SLASHES = ("c/", "c/status/", "c/config/", "c/tasks/", "c/tasks/0/status/", "?expand=info")
_EMPTY_SEGMENTS = ("//", "//connectors", "/connectors//", "/connectors//c", "/connectors/c//status", "/nowhere//")
_NO_STATES: tuple[Any, ...] = ("", " STOPPED", "STARTED", "other", 5, 0, True, [], {})
_NO_OFFSETS: tuple[Any, ...] = (
    "", "null", "[]", "{", {"zz": 1}, {"offsets": [None]}, {"offsets": {}}, {"offsets": [{"zz": 1}]},
    {"offsets": [{"partition": []}]}, {"offsets": [{"partition": {}, "offset": 5}]},
)  # fmt: skip


_LEVELS = ("debug", "DEBUG", " Trace ", "OFF", "ALL", "FATAL", "WARN", "WARN")
_NO_LEVELS: tuple[Any, ...] = ("loud", "WARNING", "", "  ", "\u00a0INFO", 5, True, 1.5, None)


def _level(logger: str, level: Any, query: str = "") -> Step:
    return Step("PUT", f"/admin/loggers/{logger}{query}", {"level": level})


_OTHER_TYPES = (None, "text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json", "*/*")
_JSON_TYPES = ("application/json; charset=utf-8", "APPLICATION/JSON")
_WRITES: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/connectors", {"name": "c", "config": _SOURCE}),
    ("PUT", "/connectors/c/config", _SOURCE),
    ("PATCH", "/connectors/c/config", {"batch.size": "7"}),
    ("PUT", "/connector-plugins/FileStreamSource/config/validate", _SOURCE),
)
_DEEDS = (
    ("PUT", "/connectors/c/pause"),
    ("PUT", "/connectors/c/resume"),
    ("POST", "/connectors/c/restart"),
    ("POST", "/connectors/c/tasks/0/restart"),
    ("PUT", "/connectors/c/stop"),
    ("GET", "/connectors"),
    ("GET", "/connectors/c/status"),
    ("DELETE", "/connectors/c"),
)


_PATHS = (
    "/", "/health", "/connectors", "/connectors/c", "/connectors/c/config", "/connectors/c/status",
    "/connectors/c/topics", "/connectors/c/topics/reset", "/connectors/c/restart", "/connectors/c/stop",
    "/connectors/c/pause", "/connectors/c/resume", "/connectors/c/tasks", "/connectors/c/tasks/0/status",
    "/connectors/c/tasks/0/restart", "/connectors/c/offsets", "/connectors/c/fence", "/connector-plugins",
    "/connector-plugins/x/config", "/connector-plugins/x/config/validate", "/nowhere", "/connectors/c/tasks-config",
    "/connectors/c/tasks/0", "/connector-plugins/x", "/admin",
)  # fmt: skip
_REFUSED_METHODS = (
    ("POST", "/"), ("DELETE", "/health"), ("PUT", "/connectors"), ("PATCH", "/connectors/c"),
    ("POST", "/connectors/c"), ("DELETE", "/connectors/c/config"), ("POST", "/connectors/c/status"),
    ("GET", "/connectors/c/pause"),
    ("GET", "/connectors/c/topics/reset"), ("PUT", "/connectors/c/restart"), ("PUT", "/connectors/c/tasks"),
    ("DELETE", "/connectors/c/tasks/0/status"), ("GET", "/connectors/c/tasks/0/restart"),
    ("PUT", "/connectors/c/offsets"),
    ("GET", "/connectors/c/fence"), ("POST", "/connector-plugins"), ("PUT", "/connector-plugins/x/config"),
    ("GET", "/connector-plugins/x/config/validate"), ("FOO", "/connectors"), ("TRACE", "/connectors"),
)  # fmt: skip
_ACCEPTED = (
    "*/*", "application/*", "application/json", "text/html, application/json;q=0.1", "application/json;q=0", "",
    "text/html;q=0.9,*/*;q=0.1", "APPLICATION/JSON", "*", "*/json", "image/*, */json", "application/json,",
    "application/json;charset=utf-16", 'application/json;a="b,c"', "APPLICATION/JSON;A=B;q=0.5",
    "text/html;q=0.3, application/json;version=2;q=0.1", "*/*, application/json;a=b", "application/json;;a=b;",
    "application/json, application/json;a=b", "application/json;a=b;q=0.5, application/json;q=0.9",
)  # fmt: skip
_NOT_ACCEPTED = ("text/html", "application/xml", "text/*", "text/plain, text/html", "garbage", "text/html,")
_NO_RANGES = (
    ",", ";", ",text/html", "text/html,,application/json", "text/html/x", "/json", "application / json", "text/html;a",
    "application/json;a=", "application/json; a = b", 'application/json;a="b', "application/json;q=2", "*/*;q=1.001",
    "application/json;q=x",
)  # fmt: skip
_VERSIONS = ("", "latest%20", "LATEST", "[5,)", "(", "abc", "1.0", "[1,2")
_NO_PLUGINS = ("x", "HoistField$Value", "%20", "filestreamsource")
_BAD_PATHS = (
    "%zz", "%", "c%00", "%2e%2e/connectors", "./c", "../connectors", "a%5Cb", "a\\b", "a|b", "{x}", "c%0a", "a^b",
    "%2e", "c%25", "%ff", "%c3/status", "[x]",
)  # fmt: skip
_NO_BODIES = ("[]", "{", '"x"', "5", "{} x", "{'a':1}", '{"a":1,}', '{"a":{}}', '{"a":[]}')
_UNREADABLE = (
    " ", '""', "1.5", "true", "{} {}", "{} ]", "}", "nul", "truex", "[1,", "name=c", "<c/>", "/*c*/{}", "NaN",
    '{"name"', '{"name":', '{"name":"c', '{"name":"c"', '{"name":"c",', '{"name" "c"}', '{"name":"c" "config":{}}',
    '{"name": "c"]', '{"name":Infinity}', '{"name":+1}', '{"name":01}', '{"name":1.}', '{"name":-}', '{"name":1e}',
    '{"name":"a\nb"}', '{"name":"a\\xb"}', '{"name":"a\\u12g4"}', '{\n  "name": "c",\r\n  "config": nope\n}', "{a:1}",
    '{"name":["x"]}', '{"config":5}', '{"config":"x"}', '{"config":[]}', '{"config":true}', '{"config":null}',
    '{"name":"c","config":{"a":{}}}', '{"name":"c","config":{"a":"b","c":[1]}}', '{"name":"c","config":{"a":tru}}',
    '{"zz":{"a":1},"name":{}}', '{"zz":1,"name":"c"}', '{"name":"c","config":{},"initial_state":null,"zz":1}',
    '{"":1,"zz":2}',
    '{"offsets":5}', '{"offsets":[5]}', '{"offsets":[{"partition":[]}]}', '{"offsets":[{"partition":{"a":1,}}]}',
    '{"offsets":[{"partition":{}},{"offset":"y"}]}', '{"offsets":[{"partition":{},"offset":{},"zz":1}]}',
    '{"offsets":[],"zz":1}', '{"zz":' + "[" * 1001 + "]" * 1001 + "}",
)  # fmt: skip
"""And others that are not JSON, or not the expected type: the parser's own messages are compared."""
_INTERNAL = (
    Step("POST", "/connectors/c/tasks", []),
    Step("POST", "/connectors/c/tasks", [{"a": "b"}], content_type="text/plain"),
    Step("POST", "/connectors/c/tasks", "", same="status"),
    Step("PUT", "/connectors/c/fence"),
    Step("PUT", "/connectors/c/fence", "x", content_type="text/plain"),
)


def _typed(name: str, *types: str | None) -> RestCase:
    """Return a case in which each request with a body has one of some content types."""
    writes = [Step(*write, content_type=each, same="status") for each in types for write in _WRITES]
    return RestCase(name, (*writes, Step("GET", "/connectors")))


REST_CASES = (
    *REFUSED_CASES,
    *ODD_CASES,
    RestCase("root", (Step("GET", "/"),)),
    RestCase("no-connectors", (Step("GET", "/connectors"), Step("GET", "/connectors?expand=status"))),
    RestCase(
        "source-life",
        (
            create(_SOURCE),
            Step("GET", "/connectors/c/status", state="RUNNING"),
            *_GET,
            Step("GET", "/connectors/c/tasks/0/status"),
            Step("GET", "/connectors/c/tasks/1/status"),
            Step("GET", "/connectors"),
            Step("GET", "/connectors?expand=status"),
            Step("GET", "/connectors?expand=info"),
            Step("GET", "/connectors?expand=info&expand=status"),
            Step("DELETE", "/connectors/c"),
            Step("GET", "/connectors/c"),
            Step("GET", "/connectors/c/status"),
            Step("GET", "/connectors"),
        ),
    ),
    RestCase(
        "sink-life",
        (create({**_SINK, "tasks.max": "2"}), Step("GET", "/connectors/c", state="RUNNING"), *_GET),
    ),
    RestCase("created-twice", (create(_SOURCE), create(_SOURCE))),
    RestCase("name-only-outside", (create(_SOURCE), Step("GET", "/connectors/c/config"))),
    RestCase("name-differs", (create({**_SOURCE, "name": "d"}),)),
    RestCase("name-with-spaces", (create(_SOURCE, name=" c "), Step("GET", "/connectors"))),
    RestCase("name-missing", (create(_SOURCE, name=None),)),
    RestCase("name-blank", (create(_SOURCE, name="  "),)),
    RestCase("name-to-encode", (create(_SOURCE, name="a b ü+"), Step("GET", "/connectors"))),
    RestCase("values-of-json-types", (create({**_SOURCE, "tasks.max": 1, "batch.size": 5}), *_GET[:2])),
    RestCase("config-missing", (Step("POST", "/connectors", {"name": "c"}, same="status"),)),
    RestCase("body-is-no-json", (Step("POST", "/connectors", "{", same="status"),)),
    RestCase("body-has-unknown-field", (Step("POST", "/connectors", {"name": "c", "zz": 1}, same="status"),)),
    RestCase(
        "paused-and-resumed",
        (
            create(_SOURCE),
            Step("PUT", "/connectors/c/pause", state="RUNNING"),
            Step("GET", "/connectors/c/status", state="PAUSED"),
            Step("PUT", "/connectors/c/pause"),
            Step("PUT", "/connectors/c/resume"),
            Step("GET", "/connectors/c/status", state="RUNNING"),
        ),
    ),
    RestCase(
        "stopped-and-resumed",
        (
            create(_SOURCE),
            Step("PUT", "/connectors/c/stop", state="RUNNING"),
            Step("GET", "/connectors/c/status", state="NONE"),
            Step("GET", "/connectors/c"),
            Step("GET", "/connectors/c/tasks"),
            Step("PUT", "/connectors/c/resume"),
            Step("GET", "/connectors/c/status", state="RUNNING"),
        ),
    ),
    RestCase(
        "initially-paused",
        (
            create(_SOURCE, initial_state="PAUSED"),
            Step("GET", "/connectors/c"),
            Step("PUT", "/connectors/c/resume", state="NONE"),
            Step("GET", "/connectors/c/status", state="RUNNING"),
        ),
    ),
    RestCase(
        "initially-stopped",
        (create(_SOURCE, initial_state="STOPPED"), Step("GET", "/connectors/c"), *_GET[1:3]),
    ),
    RestCase(
        "paused-stopped-and-changed-meanwhile",
        (
            create({**_SOURCE, "tasks.max": "2"}),
            Step("PUT", "/connectors/c/pause", state="RUNNING"),
            Step("GET", "/connectors/c/tasks/0/status", state="PAUSED"),
            Step("POST", "/connectors/c/tasks/0/restart"),
            Step("GET", "/connectors/c/status", state="PAUSED"),
            Step("POST", "/connectors/c/restart"),
            Step("GET", "/connectors/c/status", state="PAUSED"),
            Step("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=true"),
            Step("PUT", "/connectors/c/config", {**_SOURCE, "batch.size": "7"}, state="PAUSED"),
            Step("GET", "/connectors/c/status", state="PAUSED"),
            Step("PUT", "/connectors/c/stop"),
            Step("GET", "/connectors/c/status", state="NONE"),
            Step("GET", "/connectors/c/tasks/0/status"),
            # Restarting a task of a stopped connector makes Java fail (500).
            Step("PUT", "/connectors/c/config", {**_SOURCE, "batch.size": "8"}),
            Step("GET", "/connectors/c", state="NONE"),
            Step("POST", "/connectors/c/restart"),
            Step("GET", "/connectors/c/status", state="NONE"),
            Step("PUT", "/connectors/c/stop"),
            Step("PUT", "/connectors/c/pause"),
            Step("GET", "/connectors/c/status", until="PAUSED"),
            Step("GET", "/connectors/c/tasks"),
            Step("PUT", "/connectors/c/resume"),
            Step("GET", "/connectors/c/status", state="RUNNING"),
        ),
    ),
    RestCase(
        "failed-task-that-is-paused-and-stopped",
        (
            create({**_SINK, "file": "/nonexistent/out.txt"}),
            Step("PUT", "/connectors/c/pause", state="FAILED"),
            Step("GET", "/connectors/c/status", until='"PAUSED"'),
            Step("PUT", "/connectors/c/resume"),
            Step("GET", "/connectors/c/status", until='"RUNNING"'),
            Step("PUT", "/connectors/c/stop"),
            Step("GET", "/connectors/c/status", state="NONE"),
            Step("PUT", "/connectors/c/resume"),
            Step("GET", "/connectors/c/status", state="FAILED"),
        ),
    ),
    RestCase(
        "restarted",
        (
            create(_SOURCE),
            Step("POST", "/connectors/c/restart", state="RUNNING"),
            Step("POST", "/connectors/c/tasks/0/restart", state="RUNNING"),
            Step("POST", "/connectors/c/restart?includeTasks=true", state="RUNNING"),
            Step("POST", "/connectors/c/restart?onlyFailed=true", state="RUNNING"),
            Step("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=true", state="RUNNING"),
            Step("GET", "/connectors/c/status", state="RUNNING"),
        ),
    ),
    RestCase(
        "put-config",
        (
            Step("PUT", "/connectors/c/config", _SOURCE),
            Step("GET", "/connectors/c/status", state="RUNNING"),
            Step("PUT", "/connectors/c/config", {**_SOURCE, "batch.size": "10"}),
            *_GET[:2],
            Step("PUT", "/connectors/c/config", {**_SOURCE, "name": "d"}),
            Step("PUT", "/connectors/c/config", {**_SOURCE, "topic": ""}),
            Step("GET", "/connectors/c/config"),
        ),
    ),
    RestCase(
        "failed-task",
        (
            create({**_SINK, "file": "/nonexistent/out.txt"}),
            Step("GET", "/connectors/c/status", state="FAILED"),
            Step("GET", "/connectors/c/tasks/0/status"),
            Step("POST", "/connectors/c/tasks/0/restart"),
        ),
    ),
    RestCase(
        "unknown-connector",
        (
            *_GET,
            Step("GET", "/connectors/c/tasks/0/status"),
            Step("PUT", "/connectors/c/pause"),
            Step("PUT", "/connectors/c/resume"),
            # Stop, and restart without tasks, of an unknown connector make Java fail (500).
            Step("POST", "/connectors/c/restart?includeTasks=true"),
            Step("DELETE", "/connectors/c"),
        ),
    ),
    RestCase(
        "unknown-paths",
        (Step("GET", "/nowhere"), Step("GET", "/connectors/c/nowhere"), Step("DELETE", "/connectors")),
    ),
    RestCase("unknown-class", (Step("POST", "/connectors", {"name": "c", "config": {
        **_SOURCE, "connector.class": "FileStreamSauce"}}, same="status"),)),
    RestCase("class-is-no-connector", (Step("POST", "/connectors", {"name": "c", "config": {
        **_SOURCE, "connector.class": "org.apache.kafka.connect.json.JsonConverter"}}, same="status"),)),
    RestCase("class-missing", (Step("POST", "/connectors", {"name": "c", "config": {}}, same="status"),)),
    refused("source-topic-missing", _SOURCE, {"topic": None}),
    refused("source-topic-blank", _SOURCE, {"topic": ""}),
    refused("batch-size-no-number", _SOURCE, {"batch.size": "many"}),
    refused("two-errors", _SOURCE, {"batch.size": "many", "tasks.max": "0"}),
    refused("tasks-max-no-number", _SOURCE, {"tasks.max": "x"}),
    refused("tasks-max-zero", _SOURCE, {"tasks.max": "0"}),
    refused("sink-topics-missing", _SINK, {"topics": None}),
    refused("sink-topics-and-regex", _SINK, {"topics.regex": "a.*"}),
    refused("sink-regex-broken", _SINK, {"topics": None, "topics.regex": "a("}),
    refused("topic-group-regex-broken", _SOURCE, {
        "topic.creation.groups": "g", "topic.creation.g.include": "ok,a(",
        "topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}),
    refused("topic-group-without-default", _SOURCE, {"topic.creation.groups": "g", "topic.creation.g.include": "a"}),
    refused("topic-group-partitions-zero", _SOURCE, {
        "topic.creation.default.partitions": "0", "topic.creation.default.replication.factor": "1"}),
    refused("topic-groups-twice", _SOURCE, {"topic.creation.groups": "g,g"}),
    refused("tasks-max-enforce-unknown", _SOURCE, {"tasks.max.enforce": "maybe"}),
    refused("exactly-once-unknown", _SOURCE, {"exactly.once.support": "maybe"}),
    refused("transaction-boundary-unknown", _SOURCE, {"transaction.boundary": "never"}),
    refused("transaction-boundary-interval-negative", _SOURCE, {"transaction.boundary.interval.ms": "-1"}),
    refused("offsets-topic-blank", _SOURCE, {"offsets.storage.topic": ""}),
    RestCase("exactly-once-that-standalone-leaves-alone", (
        create({**_SOURCE, "exactly.once.support": "REQUIRED", "transaction.boundary": "Interval",
                 "transaction.boundary.interval.ms": "5", "offsets.storage.topic": "rest-offsets"}),
        Step("GET", "/connectors/c/status", state="RUNNING"), *_GET[:3])),
    refused("sink-topics-of-nothing", _SINK, {"topics": " , "}),
    refused("sink-topics-blank", _SINK, {"topics": " "}),
    refused("sink-regex-blank", _SINK, {"topics": None, "topics.regex": " "}),
    refused("dead-letters-match-input", _SINK, {
        "topics": None, "topics.regex": "rest-.*", "errors.deadletterqueue.topic.name": "rest-dead"}),
    refused("tolerance-unknown", _SOURCE, {"errors.tolerance": "some"}),
    refused("dead-letters-are-input", _SINK, {"errors.deadletterqueue.topic.name": "rest-topic"}),
    refused("transform-without-type", _SOURCE, {"transforms": "t"}),
    refused("transform-twice", _SOURCE, {
        "transforms": "t,t", "transforms.t.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.t.field": "f"}),
    refused("transform-unknown", _SOURCE, {"transforms": "t", "transforms.t.type": "HoistFeild$Value"}),
    refused("converter-unknown", _SOURCE, {"value.converter": "org.example.Converter"}),
    refused("transform-field-missing", _SOURCE, {
        "transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.HoistField$Value"}),
    refused("predicate-without-type", _SOURCE, {"predicates": "p"}),
    _typed("bodies-that-are-not-called-json", *_OTHER_TYPES),
    _typed("bodies-that-are-called-json", *_JSON_TYPES),
    RestCase("not-called-json", (Step(*_WRITES[0], content_type=None), Step(*_WRITES[0], content_type="text/plain"))),
    RestCase(
        "requests-that-claim-another-type",
        (
            create(_SOURCE),
            Step("GET", "/connectors/c/status", state="RUNNING"),
            *(Step(*deed, "", content_type="text/plain") for deed in _DEEDS),
            Step("GET", "/", "", content_type="text/plain", same="status"),
            Step("GET", "/connectors/c/nowhere", "", content_type="text/plain"),
            Step("GET", "/connectors/c/status"),
        ),
    ),
    RestCase("content-type-malformed", tuple(
        Step(*_WRITES[0], content_type=each, same="status")
        for each in ("garbage", "*", "application/json,", "application/json;x", "application/json; =x"))),
    RestCase("content-type-open", tuple(
        Step(*_WRITES[3], content_type=each, same="status") for each in ("*/json", "application/*", "*/x"))),
    RestCase(
        "tasks-that-cannot-be",
        (
            create(_SOURCE),
            Step("POST", "/connectors/c/tasks/+0/restart", state="RUNNING"),
            Step("POST", "/connectors/c/tasks/00/restart", state="RUNNING"),
            *(
                Step("POST", f"/connectors/c/tasks/{task}/restart")
                for task in ("-1", "-7", "99", "2147483647", "2147483648", "--1", "1.5")
            ),
        ),
    ),
    RestCase("name-with-slash", (Step("GET", "/connectors/a%2Fb", same="status"),
                                 Step("DELETE", "/connectors/a%2fb", same="status"))),
    RestCase("deep-body", (Step("POST", "/connectors", '{"zz":' + "[" * 5000 + "]" * 5000 + "}", same="status"),)),
    RestCase("text-of-more-than-20-million-characters", (Step("POST", "/connectors", {"name": "c", "config": {
        **_SOURCE, "file": "x" * 20_000_001}}, same="status"),)),
    RestCase("password-without-class", (
        create({"password": "secret", "tasks.max": "1"}),
        Step("PUT", "/connector-plugins/FileStreamSource/config/validate", {"password": "secret", "tasks.max": "1"}))),
    RestCase("name-with-control-character", (create(_SOURCE, name="c\x01d"),)),
    RestCase("name-with-blanks", tuple(create(_SOURCE, name=each) for each in (" c\t", "c\u00a0", "\u2003c"))),
    RestCase(
        "topics",
        (
            create(_WRITER, name="s"),
            create(_READER),
            Step("GET", "/connectors/s/topics", until="rest-written"),
            Step("GET", "/connectors/c/topics/", until="rest-written"),
            Step("PUT", "/connectors/s/stop", state="RUNNING", of="s"),
            Step("PUT", "/connectors/c/stop", state="RUNNING"),
            Step("PUT", "/connectors/s/topics/reset", state="NONE", of="s"),
            Step("GET", "/connectors/s/topics"),
            Step("PUT", "/connectors/c/topics/reset", "", content_type="text/plain", state="NONE"),
            Step("GET", "/connectors/c/topics"),
            Step("POST", "/connectors/s/topics/reset"),
        ),
    ),
    RestCase(
        "source-offsets",
        (
            create(_WRITER, name="s"),
            Step("GET", "/connectors/s/offsets", until="position"),
            Step("DELETE", "/connectors/s/offsets"),
            alter(({"filename": _FILE}, {"position": 7}), connector="s"),
            Step("PUT", "/connectors/s/pause", state="RUNNING", of="s"),
            Step("DELETE", "/connectors/s/offsets", state="PAUSED", of="s"),
            Step("PUT", "/connectors/s/stop"),
            alter(({"filename": _FILE}, {"position": 7}), connector="s", state="NONE", of="s"),
            Step("GET", "/connectors/s/offsets"),
            alter(({"filename": _FILE}, None), connector="s"),
            Step("GET", "/connectors/s/offsets/"),
            alter(({"filename": "other", "more": 1}, {"position": 3}), connector="s"),
            alter(({"filename": _FILE}, {"position": -3}), connector="s"),
            alter(({"filename": _FILE}, {"position": "7"}), connector="s"),
            alter(({"filename": _FILE}, {"position": 7.5}), connector="s"),
            alter(({"filename": _FILE}, {"other": 7}), connector="s"),
            alter(({"filename": _FILE}, {"position": [7]}), connector="s"),
            alter(({"filename": {"a": 1}}, {"position": 7}), connector="s"),
            alter(({"filename": _FILE}, {"position": 2**63}), connector="s"),
            alter(({"file": _FILE}, {"position": 7}), connector="s"),
            alter((None, {"position": 7}), connector="s"),
            Step("GET", "/connectors/s/offsets"),
            Step("DELETE", "/connectors/s/offsets"),
            Step("DELETE", "/connectors/s/offsets", "", content_type="text/plain"),
            Step("DELETE", "/connectors/s/offsets"),
            Step("GET", "/connectors/s/offsets"),
        ),
    ),
    RestCase(
        "sink-offsets",
        (
            create(_READER),
            Step("GET", "/connectors/c/offsets", until="kafka_offset", same="status"),
            Step("DELETE", "/connectors/c/offsets"),
            Step("PUT", "/connectors/c/stop", state="RUNNING"),
            Step("DELETE", "/connectors/c/offsets", state="NONE"),
            Step("GET", "/connectors/c/offsets"),
            alter(({"kafka_topic": "rest-written", "kafka_partition": 0}, {"kafka_offset": 5})),
            Step("GET", "/connectors/c/offsets"),
            alter(({"kafka_topic": "rest-written", "kafka_partition": "0"}, {"kafka_offset": "+7", "more": 1})),
            Step("GET", "/connectors/c/offsets"),
            alter(({"kafka_topic": "rest-written", "kafka_partition": 0}, None)),
            Step("GET", "/connectors/c/offsets"),
            alter((None, {"kafka_offset": 5})),
            alter(({"kafka_topic": "rest-written"}, {"kafka_offset": 5})),
            alter(({"kafka_topic": None, "kafka_partition": 0}, {"kafka_offset": 5})),
            alter(({"kafka_topic": "t", "kafka_partition": None}, {"kafka_offset": 5})),
            alter(({"kafka_topic": "t", "kafka_partition": 1.5}, {"kafka_offset": 5})),
            alter(({"kafka_topic": "t", "kafka_partition": 2**31}, {"kafka_offset": 5})),
            alter(({"kafka_topic": "t", "kafka_partition": 0}, {"offset": 5})),
            alter(({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": None})),
            alter(({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": True})),
            alter(({"kafka_topic": "rest-written", "kafka_partition": 0}, {"kafka_offset": -5})),
            alter(({"kafka_topic": "rest-written", "kafka_partition": 999}, {"kafka_offset": 5})),
            Step("DELETE", "/connectors/c/offsets"),
            Step("DELETE", "/connectors/c/offsets"),
            Step("GET", "/connectors/c/offsets"),
        ),
    ),
    RestCase(
        "offsets-that-are-none",
        (
            Step("GET", "/connectors/c/offsets"),
            Step("DELETE", "/connectors/c/offsets"),
            alter(({"a": 1}, None)),
            *(Step("PATCH", "/connectors/c/offsets", body) for body in _NO_OFFSETS),
            Step("PATCH", "/connectors/c/offsets", {}),
            Step("PATCH", "/connectors/c/offsets", {"offsets": None}),
            Step("PATCH", "/connectors/c/offsets", {"offsets": []}),
            Step("POST", "/connectors/c/offsets", {}),
        ),
    ),
    RestCase(
        "expansions",
        (
            create(_SOURCE),
            *(
                Step("GET", f"/connectors?{query}", state="RUNNING")
                for query in ("expand", "expand=", "expand=other", "expand=info,status", "expand=INFO", "expand=other&"
                              "expand=info", "expand=status&expand=info&expand=status", "other=info")
            ),
        ),
    ),
    *(
        RestCase(f"initial-state-{state!r}", (
            create(_SOURCE, initial_state=state),
            Step("GET", "/connectors/c"),
            Step("GET", "/connectors?expand=status", same="status"),
        ))
        for state in ("stopped", "Paused", None)
    ),
    *(
        RestCase(f"initial-state-{state!r}", (
            Step("POST", "/connectors", {"name": "c", "config": _SOURCE, "initial_state": state}),
            Step("GET", "/connectors"),
        ))
        for state in _NO_STATES
    ),
    RestCase("plugins", tuple(Step("GET", f"/connector-plugins{query}", same="types") for query in _PLUGIN_QUERIES)),
    RestCase(
        "another-name-in-the-configuration",
        (
            create(_SOURCE),
            patch({"name": "other"}, state="RUNNING"),
            Step("POST", "/connectors/c/restart?includeTasks=true", state="RUNNING", same="status"),
            Step("GET", "/connectors/c", state="RUNNING"),
            Step("POST", "/connectors/c/tasks/0/restart"),
            Step("GET", "/connectors/c/status", state="RUNNING"),
        ),
    ),
    RestCase(
        "task-that-cannot-be-launched",
        (
            create({**_READER, "tasks.max": "2"}),
            Step("PUT", "/connectors/c/pause", state="RUNNING"),
            patch({"tasks.max": "1"}, state="PAUSED"),
            Step("POST", "/connectors/c/tasks/0/restart"),
            Step("GET", "/connectors/c/tasks/0/status"),
            Step("POST", "/connectors/c/tasks/7/restart"),
        ),
    ),
    RestCase(
        "whole-uris",
        tuple(
            Step(method, uri)
            for method, uri in (
                *(("GET", f"http://127.0.0.1:{{port}}{rest}") for rest in
                  ("/connectors", "/connectors?expand=info", "/connectors/c", "/connectors/#x", "/nowhere")),
                ("GET", "http://kafka.example:1/connectors"),
                ("OPTIONS", "http://127.0.0.1:{port}/connectors"),
                ("DELETE", "http://127.0.0.1:{port}/connectors/c"),
                ("POST", "http://127.0.0.1:{port}/connectors"),
            )
        ),
    ),
    RestCase(
        "restart-flags",
        (
            create(_SOURCE),
            Step("GET", "/connectors/c/status", state="RUNNING"),
            *(
                Step("POST", f"/connectors/c/restart?{query}", state="RUNNING", same="status")
                for query in ("includeTasks=%20true", "includeTasks", "onlyFailed=0&onlyFailed=true", "onlyFailed")
            ),
        ),
    ),
    RestCase(
        "slashes",
        (
            Step("POST", "/connectors/", {"name": "c", "config": _SOURCE}),
            Step("GET", "/connectors/", state="RUNNING"),
            *(Step("GET", f"/connectors/{path}") for path in _SLASHES),
            *(Step("GET", path, same="status") for path in _EMPTY_SEGMENTS),
            Step("PUT", "/connectors/c/config/", _SOURCE),
            Step("PUT", "/connectors/c/pause/", state="RUNNING"),
            Step("PUT", "/connectors/c/resume//", state="PAUSED", same="status"),
            Step("DELETE", "/connectors/c/"),
            Step("GET", "/connectors"),
        ),
    ),
    RestCase(
        "topics-of-nobody",
        (Step("GET", "/connectors/nobody/topics"), Step("PUT", "/connectors/nobody/topics/reset")),
    ),
    RestCase("options", tuple(Step("OPTIONS", path) for path in _PATHS)),
    RestCase("head", tuple(Step("HEAD", path) for path in _PATHS[1:4])),
    RestCase("methods-that-are-not-allowed", tuple(Step(method, path) for method, path in _REFUSED_METHODS)),
    RestCase("answers-that-are-accepted", tuple(Step("GET", "/connectors", accept=each) for each in _ACCEPTED)),
    RestCase(
        "answers-that-are-not-accepted",
        (
            *(Step("GET", "/connectors", accept=each) for each in _NOT_ACCEPTED),
            *(Step("GET", "/connectors", accept=each, same="status") for each in _NO_RANGES),
            Step("GET", "/", accept="text/html"),
            Step("GET", "/health", accept="text/html"),
            Step("GET", "/nowhere", accept="text/html"),
            Step("DELETE", "/connectors", accept="text/html"),
            Step("DELETE", "/connectors/c", accept="text/html"),
            Step("PUT", "/connectors/c/pause", accept="text/html"),
            Step("POST", "/connectors", {}, accept="text/html"),
            Step("POST", "/connectors", "x", content_type="text/plain", accept="text/html"),
            Step("GET", "/connectors/c/topics", accept="text/plain"),
        ),
    ),
    RestCase(
        "plugin-versions",
        (
            *(Step("GET", f"/connector-plugins/FileStreamSource/config?version={each}") for each in _VERSIONS),
            *(
                Step("GET", f"/connector-plugins/FileStreamSource/config?version={each}", same="status")
                for each in ("latest", "4.3.1", "[4.3.1]", "[4,)")
            ),
            *(Step("GET", f"/connector-plugins/nothing/config?version={each}") for each in ("[", "a]", "1", "")),
        ),
    ),
    RestCase("plugins-that-are-none", tuple(Step("GET", f"/connector-plugins/{each}/config") for each in _NO_PLUGINS)),
    RestCase(
        "paths-that-are-refused",
        tuple(Step("GET", f"/connectors/{each}", same="status") for each in _BAD_PATHS),
    ),
    RestCase(
        "parameters-of-paths",
        (
            create(_SOURCE),
            Step("GET", "/connectors/c;a=b", state="RUNNING"),
            Step("GET", "/connectors;a=b"),
            Step("GET", "/connectors/c;"),
            Step("GET", "/connectors/c%3B"),
            Step("GET", "/connectors/c;x/status;y"),
        ),
    ),
    RestCase("between-workers", _INTERNAL),
    RestCase(
        "patched",
        (
            patch({"a": "b"}),
            patch(None),
            patch("null"),
            create(_SOURCE),
            patch({"tasks.max": "1", "batch.size": "7"}, state="RUNNING"),
            patch({"batch.size": None, "nobody": None}, state="RUNNING"),
            patch({}, state="RUNNING"),
            patch({"a": 5, "b": True, "c": 1.5}, state="RUNNING"),
            patch({"topic": ""}),
            patch({"tasks.max": "many"}),
            patch({"connector.class": None}, same="status"),
            patch({"name": None}, same="status"),
            *(patch(body) for body in _NO_BODIES),
            patch("{}", content_type="application/merge-patch+json"),
            patch("null"),
            Step("GET", "/connectors/c", state="RUNNING"),
        ),
    ),
    RestCase(
        "loggers",
        (
            Step("GET", "/admin/loggers", same="status"),
            Step("GET", "/admin/loggers/root", same="status"),
            Step("GET", "/admin/loggers/peer.nobody"),
            *(_level("peer.own", level) for level in _LEVELS),
            Step("GET", "/admin/loggers/peer.own/", same="status"),
            *(_level("peer.own.below", "OFF", f"?scope={scope}") for scope in ("worker", "WORKER", "galaxy", "")),
            *(_level("peer.all", "ERROR", f"?scope={scope}") for scope in ("cluster", "Cluster")),
            _level("peer.two", "ERROR", "?scope=cluster&scope=worker"),
            _level("peer", "FATAL"),
            _level("pee", "OFF"),
            *(_level("peer.own", level) for level in _NO_LEVELS),
            Step("PUT", "/admin/loggers/peer.own", {}),
            Step("PUT", "/admin/loggers/peer.own", {"Level": "INFO"}),
            Step("PUT", "/admin/loggers/peer.own", {"level": "INFO", "more": "1"}),
            *(Step("PUT", "/admin/loggers/peer.own", body) for body in ("", "null", *_NO_BODIES)),
            Step("PUT", "/admin/loggers/peer.own", {"level": "INFO"}, content_type="text/plain"),
            Step("PUT", "/admin/loggers/a%2Fb", {"level": "INFO"}, same="status"),
            *(Step(method, "/admin/loggers", same="status") for method in ("POST", "PUT", "DELETE")),
            *(Step(method, "/admin/loggers/peer.own", same="status") for method in ("POST", "DELETE", "PATCH")),
            Step("GET", "/admin", same="status"),
        ),
    ),
    RestCase(
        "bodies-that-cannot-be-read",
        tuple(
            Step(method, path, body)
            for method, path in (*(each[:2] for each in _WRITES[:2]), ("PATCH", "/connectors/c/offsets"))
            for body in ("", "null", *_NO_BODIES, *_UNREADABLE)
        ),
    ),
)  # fmt: skip
EVERY_PLUGIN = RestCase("every-plugin", (Step("GET", "/connector-plugins?connectorsOnly=false"),))
"""Each side has plugins that the other lacks."""
