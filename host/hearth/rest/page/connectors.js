// The list of connectors: what failed comes first; several can be changed together.

import { ACTS } from "/ui/api.js";
import { confirmed, counted, make, say, setText, state } from "/ui/dom.js";
import { asOf, connectors, follow, isCurrent } from "/ui/feed.js";

const BULK = ["Restart failed", "Pause", "Resume", "Stop", "Delete"];
const HEADS = ["Name", "Type", "State", "Tasks", "Worker", "Error"];

// The state of a connector and its tasks together: the worst of them.
function worst(each) {
  const states = [each.connector.state, ...each.tasks.map((task) => task.state)];
  return states.includes("FAILED") ? "FAILED" : each.connector.state;
}

function tasksText(each) {
  const running = each.tasks.filter((task) => task.state === "RUNNING").length;
  return `${running} of ${each.tasks.length} running`;
}

function errorOf(each) {
  const task = each.tasks.find((found) => found.error);
  return each.connector.error ?? (task ? `task ${task.id}: ${task.error}` : "");
}

function workersOf(each) {
  return [...new Set([each.connector.worker_id, ...each.tasks.map((task) => task.worker_id)])].sort().join(", ");
}

export function show(main, { isReadOnly }) {
  const rows = new Map();
  const chosen = new Set();
  const summary = make("p", {});
  const filter = make("input", {
    type: "search",
    "aria-label": "Filter by name or state",
    placeholder: "Filter",
    oninput: draw,
  });
  const body = make("tbody");
  const caption = make("caption");
  const all = make("input", { type: "checkbox", "aria-label": "Choose all shown", onchange: chooseAll });
  const buttons = BULK.map((act) =>
    make("button", { class: act === "Delete" ? "danger" : "", onclick: () => change(act) }, act),
  );
  const head = make(
    "tr",
    {},
    isReadOnly ? null : make("th", { scope: "col" }, all),
    HEADS.map((each) => make("th", { scope: "col" }, each)),
  );
  const empty = make(
    "p",
    { hidden: true },
    "There is no connector yet. ",
    make("a", { href: "#/create", "data-writes": true }, "Create one"),
    ".",
  );
  main.append(
    make("h2", {}, "Connectors"),
    summary,
    make("div", { class: "bar" }, filter, isReadOnly ? null : buttons),
    empty,
    make("div", { class: "table" }, make("table", {}, caption, make("thead", {}, head), body)),
  );
  return follow(draw);

  function shown() {
    const wanted = filter.value.trim().toLowerCase();
    const names = [...connectors.keys()].filter((name) => {
      const each = connectors.get(name);
      return !wanted || name.toLowerCase().includes(wanted) || worst(each).toLowerCase() === wanted;
    });
    const isFailed = (name) => worst(connectors.get(name)) === "FAILED";
    return names.sort((a, b) => isFailed(b) - isFailed(a) || a.localeCompare(b));
  }

  function draw() {
    const names = shown();
    const focused = document.activeElement;
    place(names.map(rowOf));
    if (body.contains(focused)) focused.focus(); // a row that moves loses it
    for (const name of rows.keys()) {
      if (connectors.has(name)) continue;
      rows.delete(name);
      chosen.delete(name);
    }
    const failed = [...connectors.values()].filter((each) => worst(each) === "FAILED").length;
    setText(summary, isCurrent ? `${counted(connectors.size, "connector")}, ${failed} failed` : stale());
    setText(caption, `${names.length} of ${counted(connectors.size, "connector")}, failed ones first`);
    empty.hidden = connectors.size > 0 || !isCurrent;
    for (const each of buttons) each.disabled = chosen.size === 0;
  }

  // Rows that are left move as little as possible.
  function place(wanted) {
    const kept = new Set(wanted);
    for (const tr of [...body.children]) if (!kept.has(tr)) tr.remove();
    wanted.forEach((tr, number) => {
      if (body.children[number] !== tr) body.insertBefore(tr, body.children[number] ?? null);
    });
  }

  function stale() {
    return asOf ? `The worker does not answer; states as of ${asOf.toLocaleTimeString()}` : "Waiting for the worker …";
  }

  function rowOf(name) {
    const each = connectors.get(name);
    if (!rows.has(name)) {
      const box = make("input", {
        type: "checkbox",
        "aria-label": `Choose ${name}`,
        onchange: () => choose(name, box.checked),
      });
      const link = make("a", { href: `#/connector/${encodeURIComponent(name)}` }, name);
      const cells = HEADS.slice(1).map(() => make("td"));
      cells[1].append(state(""));
      cells[4].className = "error";
      rows.set(name, {
        tr: make("tr", {}, isReadOnly ? null : make("td", {}, box), make("th", { scope: "row" }, link), cells),
        box,
        cells,
      });
    }
    const { tr, box, cells } = rows.get(name);
    const word = worst(each);
    box.checked = chosen.has(name);
    setText(cells[0], each.type);
    setText(cells[1].firstChild, word);
    cells[1].firstChild.className = `state ${word}`;
    setText(cells[2], tasksText(each));
    setText(cells[3], workersOf(each));
    setText(cells[4], errorOf(each));
    return tr;
  }

  function choose(name, isChosen) {
    if (isChosen) chosen.add(name);
    else chosen.delete(name);
    draw();
  }

  function chooseAll() {
    for (const name of shown())
      if (all.checked) chosen.add(name);
      else chosen.delete(name);
    draw();
  }

  async function change(act) {
    const names = [...chosen];
    const those = names.length === 1 ? names[0] : counted(names.length, "connector");
    if ((act === "Delete" || act === "Stop") && !(await confirmed(`${act} ${those}?`, act))) return;
    const ends = await Promise.allSettled(names.map((name) => ACTS[act](name)));
    const bad = ends.flatMap((end, place) =>
      end.status === "rejected" ? [`${names[place]}: ${end.reason.message}`] : [],
    );
    const done = `${act}: ${names.length - bad.length} of ${names.length} accepted`;
    say([done, ...bad].join("\n"));
  }
}
