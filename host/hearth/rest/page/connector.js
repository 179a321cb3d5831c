// One connector: tasks with their errors, what can be done, configuration, offsets and topics.

import { ACTS, ask, get, pathOf } from "/ui/api.js";
import { confirmed, counted, make, row, say, setText, state, table } from "/ui/dom.js";
import { connectors, follow } from "/ui/feed.js";
import { lettersOf } from "/ui/letters.js";
import { logsOf } from "/ui/logs.js";
import { previewOf } from "/ui/preview.js";
import { reportOf } from "/ui/report.js";

const REFRESH = 5000;

const OF_STATE = {
  RUNNING: ["Restart failed", "Restart all", "Pause", "Stop", "Delete"],
  PAUSED: ["Resume", "Stop", "Delete"],
  STOPPED: ["Resume", "Delete"],
  FAILED: ["Restart failed", "Restart all", "Pause", "Stop", "Delete"],
};

export function show(main, { isReadOnly, name }) {
  const summary = make("p");
  const acts = make("div", { class: "bar" });
  const tasks = make("section");
  const report = make("section");
  const config = make("section");
  const offsets = make("section");
  const topics = make("section");
  const letters = make("div");
  let seen = null;
  main.append(
    make("h2", {}, name),
    summary,
    acts,
    tasks,
    report,
    config,
    offsets,
    topics,
    letters,
    logsOf(name),
    isReadOnly ? "" : previewOf(name, () => get(pathOf(name, "/config"))),
  );
  drawConfig();
  drawTopics();
  const timer = setInterval(drawReport, REFRESH);
  const leave = follow(draw);
  return () => {
    clearInterval(timer);
    leave();
  };

  async function drawReport() {
    if (!document.hidden) report.replaceChildren(...(await reportOf(name)));
  }

  // The events have states and first lines; the whole traces are asked for when a state has changed.
  function draw() {
    const each = connectors.get(name);
    const key = JSON.stringify(each ?? null);
    if (key === seen) return;
    seen = key;
    if (!each) {
      setText(summary, "This worker has no connector of this name.");
      acts.replaceChildren();
      return;
    }
    summary.replaceChildren(
      `${each.type} connector, `,
      state(each.connector.state),
      ` on ${each.connector.worker_id}`,
    );
    const known = OF_STATE[each.connector.state] ?? ["Restart all", "Stop", "Delete"];
    acts.replaceChildren(
      ...(isReadOnly
        ? []
        : [
            ...known.map((act) =>
              make("button", { class: act === "Delete" ? "danger" : "", onclick: () => change(act) }, act),
            ),
            make("a", { href: `#/edit/${encodeURIComponent(name)}` }, "Edit the configuration"),
          ]),
    );
    drawTasks();
    drawReport();
    drawOffsets(each.connector.state === "STOPPED");
  }

  async function change(act) {
    if ((act === "Delete" || act === "Stop") && !(await confirmed(`${act} ${name}?`, act))) return;
    await tried(() => ACTS[act](name), `${act}: accepted`);
    if (act === "Delete" && !connectors.has(name)) location.hash = "#/";
  }

  async function tried(act, done) {
    try {
      await act();
      say(done);
    } catch (error) {
      say(error.message);
    }
  }

  async function drawTasks() {
    try {
      const found = await get(pathOf(name, "/status"));
      const restart = (task) =>
        isReadOnly
          ? ""
          : make(
              "button",
              {
                onclick: () =>
                  tried(() => ask("POST", pathOf(name, `/tasks/${task.id}/restart`)), `Task ${task.id} restarts`),
              },
              `Restart task ${task.id}`,
            );
      const rows = found.tasks.map((task) =>
        row(
          make("th", { scope: "row" }, String(task.id)),
          state(task.state),
          task.worker_id,
          traced(task.trace),
          restart(task),
        ),
      );
      tasks.replaceChildren(
        make("h3", {}, "Tasks"),
        traced(found.connector.trace),
        table(counted(rows.length, "task"), ["Task", "State", "Worker", "Error", "Act"], rows),
      );
    } catch (error) {
      tasks.replaceChildren(make("p", { class: "error" }, error.message));
    }
  }

  function traced(trace) {
    if (!trace) return "";
    return make("details", {}, make("summary", { class: "error" }, trace.split("\n", 1)[0]), make("pre", {}, trace));
  }

  async function drawConfig() {
    try {
      const found = await hidden(await get(pathOf(name, "/config")));
      const rows = Object.entries(found)
        .sort()
        .map(([key, value]) => row(make("th", { scope: "row" }, key), value));
      const text = JSON.stringify({ name, config: found }, null, 2);
      if (found["errors.deadletterqueue.topic.name"]) letters.replaceChildren(lettersOf(name, isReadOnly));
      config.replaceChildren(
        make("h3", {}, "Configuration"),
        table(counted(rows.length, "key"), ["Key", "Value"], rows),
        make("details", {}, make("summary", {}, "As a file"), make("pre", {}, text)),
      );
    } catch (error) {
      config.replaceChildren(make("p", { class: "error" }, error.message));
    }
  }

  // Passwords are not shown, whatever the worker's API does; variables that name one are.
  async function hidden(found) {
    const keys = await get(`/connector-plugins/${encodeURIComponent(found["connector.class"])}/config`).catch(
      () => [],
    );
    const secrets = new Set(keys.filter((each) => each.type === "PASSWORD").map((each) => each.name));
    const isSecret = (key) => secrets.has(key) || /password|secret|token|jaas/i.test(key);
    const hide = ([key, value]) => [key, isSecret(key) && !value.includes("${") ? "[hidden]" : value];
    return Object.fromEntries(Object.entries(found).map(hide));
  }

  async function drawOffsets(isStopped) {
    let text = "";
    try {
      text = JSON.stringify(await get(pathOf(name, "/offsets")), null, 2);
    } catch (error) {
      text = error.message;
    }
    const area = make("textarea", { rows: 10, "aria-label": "Offsets" });
    area.value = text;
    const alter = () =>
      tried(() => ask("PATCH", pathOf(name, "/offsets"), JSON.parse(area.value)), "The offsets are altered");
    const reset = async () => {
      if (await confirmed(`Reset the offsets of ${name}?`, "Reset")) {
        await tried(() => ask("DELETE", pathOf(name, "/offsets")), "The offsets are reset");
        drawOffsets(isStopped);
      }
    };
    const buttons = [
      make("button", { onclick: alter }, "Alter"),
      make("button", { class: "danger", onclick: reset }, "Reset"),
    ];
    offsets.replaceChildren(
      make("h3", {}, "Offsets"),
      ...(isStopped && !isReadOnly
        ? [area, make("div", { class: "bar" }, buttons)]
        : [
            make("pre", {}, text),
            make("p", { class: "faint" }, "Offsets can be changed while the connector is stopped."),
          ]),
    );
  }

  async function drawTopics() {
    try {
      const found = (await get(pathOf(name, "/topics")))[name].topics;
      topics.replaceChildren(make("h3", {}, "Topics"), make("p", {}, found.join(", ") || "None used yet."));
    } catch {
      topics.replaceChildren();
    }
  }
}
