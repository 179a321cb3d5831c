// This worker, and the workers that run connectors and tasks.

import { get } from "/ui/api.js";
import { make, row, table } from "/ui/dom.js";
import { connectors, follow } from "/ui/feed.js";

export async function show(main) {
  const info = await get("/");
  const health = await get("/health").catch((error) => ({ status: "unhealthy", message: error.message }));
  const load = make("section");
  main.append(
    make("h2", {}, "Worker"),
    table(
      "This worker",
      ["Fact", "Value"],
      [
        row(make("th", { scope: "row" }, "Health"), `${health.status}: ${health.message}`),
        row(make("th", { scope: "row" }, "Kafka Connect version"), info.version),
        row(make("th", { scope: "row" }, "Kafka cluster"), info.kafka_cluster_id),
      ],
    ),
    load,
  );
  return follow(draw);

  function draw() {
    const counts = new Map();
    const count = (worker, kind) => {
      const own = counts.get(worker) ?? { connectors: 0, tasks: 0 };
      own[kind] += 1;
      counts.set(worker, own);
    };
    for (const each of connectors.values()) {
      count(each.connector.worker_id, "connectors");
      for (const task of each.tasks) count(task.worker_id, "tasks");
    }
    const rows = [...counts]
      .sort()
      .map(([worker, own]) => row(make("th", { scope: "row" }, worker), String(own.connectors), String(own.tasks)));
    load.replaceChildren(table("Workers with connectors or tasks", ["Worker", "Connectors", "Tasks"], rows));
  }
}
