// Shows the view that the address names, and leaves the one before.

import { get } from "/ui/api.js";
import { make, say } from "/ui/dom.js";

const VIEWS = {
  "": () => import("/ui/connectors.js").then((view) => view.show),
  connector: () => import("/ui/connector.js").then((view) => view.show),
  create: () => import("/ui/form.js").then((view) => view.create),
  edit: () => import("/ui/form.js").then((view) => view.edit),
  plugins: () => import("/ui/plugins.js").then((view) => view.show),
  loggers: () => import("/ui/loggers.js").then((view) => view.show),
  worker: () => import("/ui/worker.js").then((view) => view.show),
};
const main = document.getElementById("main");
const settings = await get("/ui/settings.json");
let leave = null;
let turn = 0;

if (!settings.is_protected) {
  const banner = document.getElementById("banner");
  banner.textContent =
    "No REST extension checks who asks: everyone who reaches this port may stop or change connectors.";
  banner.hidden = false;
}
if (settings.is_read_only) for (const each of document.querySelectorAll("[data-writes]")) each.remove();

async function open(isFirst) {
  const mine = ++turn;
  const [view, name] = location.hash.replace(/^#\/?/, "").split("/");
  if (typeof leave === "function") leave();
  leave = null;
  main.replaceChildren();
  if (!isFirst) say("");
  const found = VIEWS[view];
  for (const each of document.querySelectorAll("nav a")) {
    if (each.hash === `#/${view}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  if (!found) {
    main.append(make("p", {}, "This page does not exist."));
    return;
  }
  const part = make("div");
  main.append(part);
  try {
    const show = await found();
    const left = await show(part, { name: decodeURIComponent(name ?? ""), isReadOnly: settings.is_read_only });
    if (mine === turn) leave = left;
    else if (typeof left === "function") left();
  } catch (error) {
    part.append(make("p", { class: "error" }, error.message));
  }
  document.title = name ? `${decodeURIComponent(name)} · Hearth` : "Hearth";
  if (!isFirst) main.focus();
}

addEventListener("hashchange", () => open(false));
open(true);
