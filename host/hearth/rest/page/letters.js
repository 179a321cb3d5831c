// Dead letters of a sink: by what failed, each with its headers and bytes, and sent back after a question.

import { ask, get, pathOf } from "/ui/api.js";
import { confirmed, counted, make, row, say, table } from "/ui/dom.js";

export function lettersOf(name, isReadOnly) {
  const found = make("div");
  const text = make("input", { type: "search", "aria-label": "Letters whose stage, exception or message has" });
  const part = make(
    "details",
    { ontoggle: () => part.open && draw() },
    make("summary", {}, "Dead letters"),
    make(
      "div",
      { class: "bar" },
      text,
      make("button", { onclick: draw }, "Look again"),
      isReadOnly ? "" : make("button", { onclick: () => replay({ text: text.value }) }, "Replay those"),
    ),
    found,
  );
  return part;

  async function draw() {
    try {
      show(await get(pathOf(name, "/dead-letters", { text: text.value })));
    } catch (error) {
      found.replaceChildren(make("p", { class: "error" }, error.message));
    }
  }

  function show({ topic, total, groups, letters }) {
    const causes = groups.map((each) =>
      row(make("th", { scope: "row" }, each.topic), each.stage, each.exception, String(each.count), each.message),
    );
    found.replaceChildren(
      make("p", {}, `${counted(total, "letter")} in ${topic}`),
      table("By what failed", ["Topic", "Stage", "Exception", "Letters", "Last message"], causes),
      ...letters.map(letter),
    );
  }

  function letter(each) {
    const of = each.context;
    const place = `${each.partition}:${each.offset}`;
    const facts = of
      ? [
          ["Record", `${of.topic}-${of.partition} at ${of.offset}`],
          ["Failed", `${of.stage} in ${of.class_name}`],
          ["Error", make("pre", {}, of.trace || `${of.exception}: ${of.message}`)],
        ]
      : [["Record", "unknown: the letter has no context headers"]];
    const cells = [
      ["Key", cell(each.key)],
      ["Value", cell(each.value)],
      ...each.headers.map((header) => [`Header ${header.name}`, cell(header)]),
    ];
    const rows = [...facts, ["Replays", String(each.replays)], ...cells].map(([head, shown]) =>
      row(make("th", { scope: "row" }, head), shown),
    );
    return make(
      "details",
      {},
      make("summary", {}, `Letter ${place}${of ? `: ${of.stage} ${of.exception}` : ""}`),
      table(`Letter ${place}`, ["Fact", "Shown"], rows),
      isReadOnly || !of
        ? ""
        : make("button", { onclick: () => replay({ letters: [[each.partition, each.offset]] }) }, `Replay ${place}`),
    );
  }

  async function replay(which) {
    try {
      const would = await ask("POST", pathOf(name, "/dead-letters/replay"), { ...which, dry_run: true });
      const left = would.too_often ? ` ${would.too_often} were replayed three times and stay.` : "";
      if (!would.replayed) {
        say(`Nothing to replay: those letters were replayed before, or have no context.${left}`);
        return;
      }
      const question = `Send ${counted(would.replayed, "record")} back to where they came from? Every reader gets them.`;
      if (!(await confirmed(question + left, "Replay"))) return;
      const done = await ask("POST", pathOf(name, "/dead-letters/replay"), which);
      say(`${counted(done.replayed, "letter")} replayed`);
      draw();
    } catch (error) {
      say(error.message);
    }
  }
}

function cell(shown) {
  if (!shown || shown.size === null) return "null";
  if (shown.text !== undefined) return make("pre", {}, cut(shown.text, shown.text.length < shown.size));
  const bytes = Uint8Array.from(atob(shown.base64), (each) => each.charCodeAt(0));
  const hex = [...bytes].map((each) => each.toString(16).padStart(2, "0")).join(" ");
  return make("pre", {}, cut(hex, bytes.length < shown.size));

  function cut(text, isCut) {
    return isCut ? `${text}\n… ${shown.size} bytes` : text;
  }
}
