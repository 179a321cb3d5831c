// The last lines that the leading worker logged about a connector and its tasks.

import { get, pathOf } from "/ui/api.js";
import { make, say } from "/ui/dom.js";

export function logsOf(name) {
  const lines = make("pre", { tabindex: 0, "aria-label": "Log lines" });
  let after = "";
  const part = make(
    "details",
    { ontoggle: () => part.open && draw() },
    make("summary", {}, "Log"),
    make("div", { class: "bar" }, make("button", { onclick: draw }, "Further lines")),
    lines,
  );
  return part;

  async function draw() {
    try {
      const found = await get(pathOf(name, "/logs", { after }));
      after = found.next;
      const texts = found.lines.map((each) => `[${each.time}] ${each.level} [${each.context}] ${each.message}\n`);
      lines.append(...texts);
      if (!lines.textContent) lines.append("Nothing was logged since the leading worker started.\n");
    } catch (error) {
      say(error.message);
    }
  }
}
