// The levels of loggers, of this worker or of all workers of the cluster.

import { ask, get } from "/ui/api.js";
import { counted, make, row, say, table } from "/ui/dom.js";

const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"];

export async function show(main, { isReadOnly }) {
  const found = await get("/admin/loggers");
  const scope = make(
    "select",
    { "aria-label": "Where a level is set" },
    make("option", { value: "worker" }, "on this worker"),
    make("option", { value: "cluster" }, "on all workers"),
  );
  const level = (logger, now) => {
    const select = make(
      "select",
      { "aria-label": `Level of ${logger}`, onchange: () => set(logger, select.value) },
      LEVELS.map((each) => make("option", { selected: each === now }, each)),
    );
    return isReadOnly ? now : select;
  };
  const rows = Object.entries(found).map(([logger, each]) =>
    row(make("th", { scope: "row" }, logger), level(logger, each.level)),
  );
  main.append(
    make("h2", {}, "Loggers"),
    isReadOnly ? "" : make("p", {}, "A level is set ", scope),
    table(counted(rows.length, "logger"), ["Logger", "Level"], rows),
  );

  async function set(logger, wanted) {
    try {
      await ask("PUT", `/admin/loggers/${encodeURIComponent(logger)}?scope=${scope.value}`, { level: wanted });
      say(`${logger} logs at ${wanted}`);
    } catch (error) {
      say(error.message);
    }
  }
}
