// The states of all connectors, kept current by server-sent events, or by polling where they do not arrive.

import { get } from "/ui/api.js";

const POLL = 5000;
const listeners = new Set();
export const connectors = new Map();
export let isCurrent = false;
export let asOf = null;
let source = null;
let timer = null;

export function follow(listener) {
  listeners.add(listener);
  listener();
  return () => listeners.delete(listener);
}

function tell(current) {
  isCurrent = current;
  if (current) asOf = new Date();
  for (const each of listeners) each();
}

function take(found, isWhole) {
  if (isWhole) connectors.clear();
  for (const [name, each] of Object.entries(found.connectors)) connectors.set(name, each);
  for (const name of found.removed ?? []) connectors.delete(name);
  tell(true);
}

function open() {
  source = new EventSource("/hearth/events");
  source.addEventListener("all", (event) => take(JSON.parse(event.data), true));
  source.addEventListener("changes", (event) => take(JSON.parse(event.data), false));
  source.addEventListener("error", () => {
    tell(false);
    if (source.readyState === EventSource.CLOSED) poll();
  });
}

async function poll() {
  try {
    take(await get("/hearth/states"), true);
  } catch {
    tell(false);
  }
  timer = setTimeout(poll, POLL);
}

function close() {
  source?.close();
  clearTimeout(timer);
}

// A browser has few connections to a host, so a hidden page gives its own back.
document.addEventListener("visibilitychange", () => {
  close();
  if (!document.hidden) open();
});
open();
