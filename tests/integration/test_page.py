"""The web page in Chromium, over a real server: what it shows, what it changes, and what it never does."""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from hearth.broker import KafkaBroker
from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.foundation.log_context import about, label_of
from hearth.storage import State
from tests.integration.kafka.test_letter_replay import letter, values
from tests.peer.topic import Record, Topics
from tests.unit.herder.catalogue import SINK
from tests.unit.rest.client import Client, serve

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MARKUP = "<img src=x onerror=alert(1)>"
TRACE = f"ConnectError: the file is gone {MARKUP}\n\tat read(line)"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Provide a browser, without its sandbox for root, who cannot have one."""
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Client]:
    """Serve three connectors, one of which has a failed task."""
    for client in serve(tmp_path):
        fill(client)
        yield client


def fill(client: Client) -> None:
    """Create the connectors."""
    for name in ("apples", "pears", "quinces"):
        assert client.create(name).status == 201
    spark = client.bench.spark
    spark.report(spark.newest("pears", 0), State.FAILED, TRACE)
    client.bench.await_task("pears", State.FAILED)


@pytest.fixture
def page(browser: Browser, served: Client) -> Iterator[Page]:
    """Open the list; any error of the page fails the test."""
    yield from opened(browser, served)


def opened(browser: Browser, client: Client, place: str = "", width: int = 1280) -> Iterator[Page]:
    """Open a place of the page in a window of a width."""
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{client.ports[0]}", viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"a dialog opened: {dialog.message}"))
    page.goto(f"/ui#/{place}")
    yield page
    context.close()
    assert errors == []


def names(page: Page) -> list[str]:
    """Return the names in the list, in order."""
    return page.locator("tbody th[scope=row]").all_inner_texts()


def test_the_list_begins_with_what_failed(page: Page) -> None:
    """The first line of the error stands beside it, and markup in it is text."""
    expect(page.get_by_text("3 connectors, 1 failed")).to_be_visible()
    assert names(page) == ["pears", "apples", "quinces"]
    row = page.get_by_role("row", name="pears")
    expect(row).to_contain_text(f"task 0: ConnectError: the file is gone {MARKUP}")
    expect(row).to_contain_text("FAILED")
    expect(row).to_contain_text("0 of 1 running")
    expect(page.get_by_text("No REST extension checks who asks")).to_be_visible()


def test_a_change_arrives_while_the_page_is_open(page: Page, served: Client) -> None:
    """A state, a new connector and a deleted one; the focus stays where it is."""
    expect(page.get_by_role("row", name="apples")).to_contain_text("RUNNING")
    page.get_by_role("link", name="quinces").focus()
    served.call("PUT", "/connectors/apples/pause")
    expect(page.get_by_role("row", name="apples")).to_contain_text("PAUSED", timeout=2000)
    served.create("medlars")
    served.call("DELETE", "/connectors/pears")
    expect(page.get_by_text("3 connectors, 0 failed")).to_be_visible()
    assert names(page) == ["apples", "medlars", "quinces"]
    expect(page.get_by_role("link", name="quinces")).to_be_focused()


def test_several_connectors_are_changed_together(page: Page, served: Client) -> None:
    """The answers of all are told; deleting asks first."""
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    page.get_by_label("Choose apples").check()
    page.get_by_label("Choose quinces").check()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status")).to_have_text("Pause: 2 of 2 accepted")
    served.bench.await_task("quinces", State.PAUSED)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert len(served.call("GET", "/connectors").json) == 3
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("1 connector, 1 failed")).to_be_visible()


def test_the_filter_takes_names_and_states(page: Page) -> None:
    """Whatever is hidden by it is not chosen by the box for all."""
    page.get_by_label("Filter by name or state").fill("failed")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Choose all shown").check()
    page.get_by_label("Filter by name or state").fill("")
    expect(page.get_by_label("Choose pears")).to_be_checked()
    expect(page.get_by_label("Choose apples")).not_to_be_checked()


def test_a_connector_has_its_traces_and_acts(page: Page, served: Client) -> None:
    """The whole trace opens; a task is restarted; passwords are hidden, variables are not."""
    served.call("PATCH", "/connectors/pears/config", {"my.password": "s3cret", "my.token": "${env:TOKEN}"})
    served.bench.await_task("pears", State.RUNNING)
    page.get_by_role("link", name="pears").click()
    expect(page.get_by_role("heading", name="pears")).to_be_visible()
    spark = served.bench.spark
    spark.report(spark.newest("pears", 0), State.FAILED, TRACE)
    page.locator("summary", has_text="ConnectError: the file is gone").click()
    expect(page.locator("pre", has_text="at read(line)")).to_be_visible()
    page.get_by_role("button", name="Restart task 0").click()
    expect(page.get_by_role("status")).to_have_text("Task 0 restarts")
    expect(page.get_by_role("row", name="my.password")).to_contain_text("[hidden]")
    expect(page.get_by_role("row", name="my.token")).to_contain_text("${env:TOKEN}")
    assert "s3cret" not in page.content()


def test_a_connector_explains_itself(page: Page) -> None:
    """What failed, with the cause and a remedy; the last ends of its tasks stand below."""
    page.get_by_role("link", name="pears").click()
    row = page.get_by_role("row", name="task failed (task 0)")
    expect(row).to_contain_text("ConnectError: the file is gone")
    expect(row).to_contain_text("restart the task")
    expect(page.get_by_role("table", name="Last ends of tasks")).to_contain_text("failed")


def test_a_preview_asks_the_worker(page: Page) -> None:
    """A source is not polled unless that is allowed; what the worker answers is shown."""
    page.get_by_role("link", name="apples").click()
    page.locator("summary", has_text="Preview").click()
    with page.expect_request("**/hearth/preview") as asked:
        page.get_by_role("button", name="Preview 10 records").click()
    body = asked.value.post_data_json or {}
    assert (body["name"], body["accept_effects"]) == ("apples", False)
    expect(page.locator("details > div .error, details > div > p.error")).not_to_be_empty()


def test_offsets_are_changed_while_the_connector_is_stopped(page: Page, served: Client) -> None:
    """They are read only before."""
    page.get_by_role("link", name="apples").click()
    expect(page.get_by_text("Offsets can be changed while the connector is stopped.")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    area = page.get_by_label("Offsets")
    offsets = '{"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 7}}]}'
    area.fill(offsets)
    page.get_by_role("button", name="Alter").click()
    expect(page.get_by_role("status")).to_contain_text("The offsets are altered")
    assert served.call("GET", "/connectors/apples/offsets").json["offsets"][0]["offset"] == {"position": 7}


def test_a_connector_is_created_by_its_form(page: Page, served: Client) -> None:
    """Errors stand at their fields; the file to commit is that of the configuration; the connector runs."""
    page.get_by_role("link", name="Create", exact=True).click()
    page.get_by_label("Class of the connector").fill("FileStreamSource")
    page.get_by_label("Name", exact=True).fill("plums")
    field = page.locator("[id='key-topic']")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Create")).to_be_disabled()
    field.fill("fruit")
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(page.get_by_label("File to commit")).to_contain_text('"topic": "fruit"')
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="plums")).to_be_visible()
    assert served.call("GET", "/connectors/plums/config").json["topic"] == "fruit"


def test_an_edit_sends_what_has_changed(page: Page, served: Client) -> None:
    """Other keys stay as they are."""
    before = served.call("GET", "/connectors/apples/config").json
    page.get_by_role("link", name="apples").click()
    page.get_by_role("link", name="Edit the configuration").click()
    field = page.locator("[id='key-topic']")
    expect(field).to_have_value("t")
    field.fill("u")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("button", name="Save").click()
    assert sent.value.post_data_json == {"topic": "u"}
    expect(page.get_by_role("heading", name="apples", exact=True)).to_be_visible()
    assert served.call("GET", "/connectors/apples/config").json == {**before, "topic": "u"}


@pytest.mark.usefixtures("restored_levels")
def test_plugins_loggers_and_the_worker_are_shown(page: Page, served: Client) -> None:
    """A level is set for a logger."""
    page.get_by_role("link", name="Plugins").click()
    expect(page.get_by_role("row", name=re.compile("FileStreamSource"))).to_be_visible()
    page.get_by_role("link", name="Worker").click()
    expect(page.get_by_role("row", name=re.compile("^Health"))).to_contain_text("healthy")
    expect(page.get_by_role("row", name=re.compile("^127.0.0.1:8083 3 3"))).to_be_visible()
    page.get_by_role("link", name="Loggers").click()
    page.get_by_label("Level of root").select_option("DEBUG")
    expect(page.get_by_role("status")).to_contain_text("root logs at DEBUG")
    page.get_by_label("Level of root").select_option("INFO")
    expect(page.get_by_role("status")).to_contain_text("root logs at INFO")


def test_the_keyboard_reaches_everything(page: Page) -> None:
    """The first stop skips to the content; a link opens with Enter, and the content gets the focus."""
    expect(page.get_by_text("3 connectors, 1 failed")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.get_by_role("link", name="pears").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="pears")).to_be_visible()
    expect(page.locator("main")).to_be_focused()


def test_the_list_has_a_table_with_names_and_roles(page: Page) -> None:
    """A screen reader hears the caption, the heads and the name of each row."""
    expect(page.get_by_text("3 connectors, 1 failed")).to_be_visible()
    seen = page.locator("main").aria_snapshot()
    assert 'table "3 of 3 connectors, failed ones first"' in seen
    assert 'columnheader "State"' in seen
    assert 'rowheader "pears"' in seen
    assert 'checkbox "Choose pears"' in seen


def test_a_window_of_320_pixels_needs_no_sideways_scrolling(browser: Browser, served: Client) -> None:
    """That is 400 % of 1280; wide tables scroll by themselves."""
    for place in ("", "connector/pears", "create", "plugins", "worker"):
        for page in opened(browser, served, place, width=320):
            expect(page.locator("h2")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, place


def test_a_read_only_page_has_nothing_to_press(browser: Browser, tmp_path: Path) -> None:
    """The list and a connector only show."""
    for client in serve(tmp_path, {"ui.readonly": "true"}):
        fill(client)
        for place in ("", "connector/pears", "loggers"):
            for page in opened(browser, client, place):
                expect(page.locator("tbody tr").first).to_be_visible()
                expect(page.get_by_role("button")).to_have_count(0)
                expect(page.get_by_role("checkbox")).to_have_count(0)
                expect(page.get_by_role("link", name="Create")).to_have_count(0)


def test_a_worker_that_stops_leaves_its_rows(browser: Browser, tmp_path: Path) -> None:
    """The page says since when they are not current."""
    running = serve(tmp_path)
    client = next(running)
    fill(client)
    for page in opened(browser, client):
        expect(page.get_by_text("3 connectors, 1 failed")).to_be_visible()
        assert next(running, None) is None
        expect(page.get_by_text(re.compile("The worker does not answer; states as of"))).to_be_visible()
        assert len(names(page)) == 3


def test_no_script_of_another_place_runs(page: Page) -> None:
    """Nor one that somebody puts into the page: the policy allows files of the page alone."""
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.wasRun = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.wasRun") is None


def test_a_name_that_is_markup_or_a_path_is_shown_and_reached(page: Page, served: Client) -> None:
    """Every connector has its page."""
    for name in (MARKUP, "a/b %2F?c=d#e"):
        assert served.create(name).status == 201
        page.goto("/ui#/")
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        expect(page.get_by_role("heading", name="Tasks")).to_be_visible()


@pytest.mark.parametrize("name", ["status", "config", "report"])
def test_a_connector_that_is_called_like_a_path_is_changed(page: Page, served: Client, name: str) -> None:
    """Its name is a parameter of the requests."""
    assert served.create(name).status == 201
    page.goto(f"/ui#/connector/{name}")
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    for act, state in (("Pause", "PAUSED"), ("Resume", "RUNNING")):
        page.get_by_role("button", name=act, exact=True).click()
        expect(page.get_by_text(f"source connector, {state} on")).to_be_visible()


def test_the_log_of_a_connector_is_shown(page: Page, served: Client) -> None:
    """With what came since, on request."""
    log = logging.getLogger("org.example")
    with about(label_of("apples", 0)):
        log.warning("first %s", MARKUP)
    page.get_by_role("link", name="apples").click()
    page.locator("summary", has_text="Log").click()
    lines = page.get_by_label("Log lines")
    expect(lines).to_contain_text(f"WARN [apples|task-0] first {MARKUP}")
    with about(label_of("apples", 0)):
        log.warning("second")
    page.get_by_role("button", name="Further lines").click()
    expect(lines).to_contain_text("second")
    assert (lines.text_content() or "").count("first") == 1


def test_dead_letters_are_shown_and_replayed(
    browser: Browser, tmp_path: Path, broker: KafkaBroker, topics: Topics
) -> None:
    """A letter opens with its headers and bytes; a replay asks, and markup in a letter is text."""
    topics.create("page-letters")
    topics.create("page-letters-dead")
    sent = [letter("page-letters", 0, "VALUE_CONVERTER", 0, ("own", MARKUP.encode())), letter("page-letters", 1)]
    topics.produce("page-letters-dead", [*sent, Record(b"\xff\x01", None, sent[1].headers)])
    config = {"connector.class": SINK, "topics": "page-letters", DEAD_LETTER_TOPIC: "page-letters-dead"}
    for client in serve(tmp_path, {"bootstrap.servers": broker.bootstrap_servers}):
        assert client.call("POST", "/connectors", {"name": "sink", "config": config}).status == 201
        for page in opened(browser, client, "connector/sink"):
            page.locator("summary", has_text="Dead letters").click()
            expect(page.get_by_text("3 letters in page-letters-dead")).to_be_visible()
            expect(page.get_by_role("table", name="By what failed")).to_contain_text("VALUE_CONVERTER")
            page.locator("summary", has_text="Letter 0:2").click()
            expect(page.get_by_role("table", name="Letter 0:2")).to_contain_text("ff 01")
            page.locator("summary", has_text="Letter 0:0").click()
            expect(page.get_by_role("table", name="Letter 0:0")).to_contain_text(MARKUP)
            page.get_by_role("button", name="Replay 0:0").click()
            dialog = page.get_by_role("dialog")
            expect(dialog).to_contain_text("Send 1 record back")
            dialog.get_by_role("button", name="Cancel").click()
            page.get_by_role("button", name="Replay 0:0").click()
            dialog.get_by_role("button", name="Replay").click()
            expect(page.get_by_role("status")).to_have_text("1 letter replayed")
            assert values(broker, "page-letters") == [b"0"]
            page.get_by_role("button", name="Replay those").click()
            expect(dialog).to_contain_text("Send 2 records back")
            dialog.get_by_role("button", name="Cancel").click()


@pytest.mark.parametrize("place", ["", "connector/pears"])
def test_screenshots_of_the_guide(browser: Browser, served: Client, tmp_path: Path, place: str) -> None:
    """They show the list and a connector; set HEARTH_SCREENSHOTS to the folder of the guide to renew them."""
    folder = Path(os.environ.get("HEARTH_SCREENSHOTS") or tmp_path)
    file = folder / ("connector.png" if place else "connectors.png")
    for page in opened(browser, served, place, width=1000):
        expect(page.get_by_text("ConnectError").first).to_be_visible()
        page.screenshot(path=file, clip={"x": 0, "y": 0, "width": 1000, "height": 480})
    assert file.stat().st_size > 5_000
