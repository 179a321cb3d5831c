// The plugins that are found, and what was turned away.

import { get } from "/ui/api.js";
import { counted, make, row, table } from "/ui/dom.js";

export async function show(main) {
  const plugins = await get("/connector-plugins?connectorsOnly=false");
  const { rejected } = await get("/plugins");
  main.append(make("h2", {}, "Plugins"));
  if (rejected.length) {
    main.append(
      table(
        "Bundles that were turned away",
        ["Location", "Reason", "What to do"],
        rejected.map((each) =>
          row(make("th", { scope: "row" }, each.location), make("span", { class: "error" }, each.reason), each.hint),
        ),
      ),
    );
  }
  main.append(
    table(
      counted(plugins.length, "plugin"),
      ["Class", "Type", "Version"],
      plugins.map((each) => row(make("th", { scope: "row" }, each.class), each.type, each.version ?? "")),
    ),
  );
}
