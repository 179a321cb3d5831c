// What becomes of a few records of a connector, step by step; nothing is written.

import { ask } from "/ui/api.js";
import { make, table, row } from "/ui/dom.js";

export function previewOf(name, config) {
  const result = make("div");
  const from = make(
    "select",
    { "aria-label": "Where the records begin" },
    ["beginning", "committed", "end"].map((each) => make("option", {}, each)),
  );
  const effects = make("input", { type: "checkbox" });
  const button = make("button", { onclick: run }, "Preview 10 records");
  return make(
    "details",
    {},
    make("summary", {}, "Preview"),
    make("p", { class: "faint" }, "Runs the converters and transformations on a few records and writes nothing."),
    make(
      "div",
      { class: "bar" },
      button,
      make("label", {}, "from ", from),
      make("label", {}, effects, " poll a source, although its system may notice"),
    ),
    result,
  );

  async function run() {
    button.disabled = true;
    result.replaceChildren(make("p", {}, "Waiting for records …"));
    const { name: _, ...own } = await config();
    try {
      const body = { name, config: own, from: from.value, limit: 10, seconds: 10, accept_effects: effects.checked };
      show(await ask("POST", "/hearth/preview", body));
    } catch (error) {
      result.replaceChildren(make("p", { class: "error" }, error.message));
    }
    button.disabled = false;
  }

  function show(found) {
    const notes = [found.error, ...found.notes].filter(Boolean).map((each) => make("p", {}, each));
    const ended = `${found.records.length} of at most 10 records; ended by ${found.ended}`;
    result.replaceChildren(make("p", {}, ended), ...notes, ...found.records.map(record));
  }

  function record(each) {
    const rows = each.steps.map((step) =>
      row(make("th", { scope: "row" }, step.step), step.outcome, make("pre", {}, text(step))),
    );
    return table(`Record ${each.n}`, ["Step", "Outcome", "Record or error"], rows);
  }

  function text(step) {
    if (step.error) return step.error;
    return step.record ? JSON.stringify(step.record, null, 2) : "";
  }
}
