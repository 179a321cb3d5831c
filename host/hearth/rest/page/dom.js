// Builds elements. Values from the API become text nodes, never markup.

export function make(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (value === true) found.setAttribute(name, "");
    else if (value !== false && value != null) found.setAttribute(name, value);
  }
  found.append(...children.flat().filter((each) => each != null));
  return found;
}

export function table(caption, heads, rows) {
  const head = heads.map((each) => make("th", { scope: "col" }, each));
  return make(
    "div",
    { class: "table" },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)),
  );
}

export function row(...cells) {
  return make(
    "tr",
    {},
    cells.map((each) => (each instanceof HTMLTableCellElement ? each : make("td", {}, each ?? ""))),
  );
}

export function state(word) {
  return make("span", { class: `state ${word}` }, word);
}

export function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

// Changes a text only where it differs, so that focus, selection and screen readers are left alone.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function say(text) {
  setText(document.getElementById("notice"), text);
}

// Asks before something that cannot be undone; resolves to whether the answer was yes.
export function confirmed(question, act) {
  return new Promise((resolve) => {
    const dialog = make(
      "dialog",
      {
        "aria-label": question,
        onclose: () => {
          dialog.remove();
          resolve(dialog.returnValue === "yes");
        },
      },
      make("p", {}, question),
      make(
        "form",
        { method: "dialog", class: "bar" },
        make("button", { value: "no" }, "Cancel"),
        make("button", { value: "yes", class: "danger" }, act),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
