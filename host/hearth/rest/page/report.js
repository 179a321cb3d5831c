// What a worker knows of a connector beyond its status: why, how fast, how far behind, how often it ended.

import { get, pathOf } from "/ui/api.js";
import { make, row, table } from "/ui/dom.js";

// Returns sections for the explanation and the figures, empty where the worker knows nothing of them.
export async function reportOf(name) {
  const [report, explanation] = await Promise.all([
    get(pathOf(name, "/report")).catch(() => null),
    get(pathOf(name, "/explain")).catch(() => null),
  ]);
  return [...(explanation ? explained(explanation) : []), ...(report ? figures(report) : [])];
}

function explained(found) {
  const rows = found.findings.map((each) =>
    row(
      make("th", { scope: "row" }, each.task === undefined ? each.condition : `${each.condition} (task ${each.task})`),
      each.evidence,
      each.cause,
      each.remedy,
    ),
  );
  return [
    make("h3", {}, "Explanation"),
    table("The likeliest first", ["Condition", "Evidence", "Cause", "Remedy"], rows),
  ];
}

function figures(report) {
  const isSink = report.type === "sink";
  const [first, last] = isSink ? ["read", "accepted"] : ["polled", "acknowledged"];
  const rows = report.tasks
    .filter((task) => task.counts)
    .map((task) =>
      row(
        make("th", { scope: "row" }, String(task.id)),
        shown(task.rates[first]),
        shown(task.rates[last]),
        shown(task.counts[last]),
        shown(task.counts.failed),
        shown(task.restarts),
        task.last.committed ?? "never",
      ),
    );
  const heads = ["Task", `${first}/s`, `${last}/s`, last, "failed", "restarts", "last commit"];
  const ends = report.tasks.flatMap((task) =>
    (task.ends ?? []).map((each) =>
      row(make("th", { scope: "row" }, each.at), String(task.id), each.how, each.words ?? ""),
    ),
  );
  const lag = report.lag.partitions.map((each) =>
    row(make("th", { scope: "row" }, `${each.topic}-${each.partition}`), shown(each.records), shown(each.seconds)),
  );
  return [
    make("h3", {}, "Figures"),
    table("Of the present runs", heads, rows),
    ...(lag.length ? [table("Lag", ["Partition", "Records", "Seconds"], lag)] : []),
    ...(ends.length ? [table("Last ends of tasks", ["When", "Task", "How", "Words"], ends)] : []),
  ];
}

function shown(value) {
  return value === null || value === undefined ? "unknown" : value.toLocaleString("en");
}
