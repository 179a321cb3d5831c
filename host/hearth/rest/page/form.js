// The form of a connector, made from the worker's validation of its configuration; it shows the file to commit.

import { ask, get, pathOf } from "/ui/api.js";
import { make, say, setText } from "/ui/dom.js";

const PAUSE = 300; // milliseconds without typing after which the configuration is validated
const MASK = "[hidden]";
const COMMON = ["name", "connector.class"];

export async function create(main) {
  const plugins = (await get("/connector-plugins")).map((each) => each.class);
  form(main, { title: "Create a connector", stored: {}, plugins, name: "" });
}

export async function edit(main, { name }) {
  const stored = await get(pathOf(name, "/config"));
  form(main, { title: `Edit ${name}`, stored, plugins: [stored["connector.class"]], name });
}

function form(main, { title, stored, plugins, name }) {
  const isNew = !name;
  const config = { ...stored };
  const fields = new Map();
  const secrets = new Set();
  const groups = make("div");
  const file = make("pre", { "aria-label": "File to commit" });
  const result = make("p", { role: "status" });
  const save = make("button", { type: "submit", disabled: true }, isNew ? "Create" : "Save");
  let timer = null;
  let turn = 0;
  const list = make(
    "datalist",
    { id: "plugins" },
    plugins.map((each) => make("option", { value: each })),
  );
  const main_fields = isNew
    ? [plain("name", "Name"), plain("connector.class", "Class of the connector", "plugins")]
    : [];
  main.append(
    make("h2", {}, title),
    make(
      "form",
      { onsubmit: submit, novalidate: true },
      list,
      main_fields,
      groups,
      result,
      make("div", { class: "bar" }, save),
    ),
    make("h3", {}, "File to commit"),
    file,
  );
  validate();

  function plain(key, label, options) {
    const input = make("input", {
      id: `key-${key}`,
      list: options,
      autocomplete: "off",
      oninput: () => set(key, input.value),
    });
    return make("div", { class: "field" }, make("label", { for: input.id }, label), input);
  }

  function set(key, value) {
    if (value === "") delete config[key];
    else config[key] = value;
    drawFile();
    clearTimeout(timer);
    timer = setTimeout(validate, PAUSE);
  }

  async function validate() {
    drawFile();
    const class_ = config["connector.class"];
    if (!class_) return;
    const mine = ++turn;
    let found;
    try {
      found = await ask("PUT", `/connector-plugins/${encodeURIComponent(class_)}/config/validate`, sent());
    } catch (error) {
      if (mine === turn) setText(result, error.message);
      return;
    }
    if (mine !== turn) return;
    const names = found.configs.filter((each) => each.value.errors.length).length;
    setText(result, names ? `${names} keys have errors.` : "The configuration is valid.");
    save.disabled = names > 0;
    drawFields(found);
  }

  function sent() {
    return name ? { ...config, name } : config;
  }

  function drawFields(found) {
    for (const group of [...found.groups, "Other"]) {
      const own = found.configs.filter(
        ({ definition }) => (definition.group ?? "Other") === group && !COMMON.includes(definition.name),
      );
      if (own.length) own.forEach((each) => drawField(groupOf(group, own), each));
    }
  }

  function groupOf(group, own) {
    const id = `group-${group}`;
    let box = groups.querySelector(`[data-group="${CSS.escape(id)}"]`);
    if (!box) {
      const isOpen = own.some(
        ({ definition }) => definition.required || definition.importance === "HIGH" || definition.name in config,
      );
      box = make(
        "details",
        { "data-group": CSS.escape(id), open: isOpen },
        make("summary", {}, `${group} (${own.length})`),
      );
      groups.append(box);
    }
    return box;
  }

  function drawField(box, { definition, value }) {
    const key = definition.name;
    if (definition.type === "PASSWORD") secrets.add(key);
    if (!fields.has(key)) fields.set(key, newField(box, definition));
    const { input, error, options, root } = fields.get(key);
    root.hidden = !value.visible;
    setText(error, value.errors.join(" "));
    input.setAttribute("aria-invalid", value.errors.length > 0);
    if (value.errors.length) box.open = true;
    const names = value.recommended_values.map(String);
    if (options.dataset.names !== names.join("\n")) {
      options.dataset.names = names.join("\n");
      options.replaceChildren(...names.map((each) => make("option", { value: each })));
    }
  }

  function newField(box, definition) {
    const key = definition.name;
    const id = `key-${key}`;
    const options = make(
      "datalist",
      { id: `${id}-options` },
      definition.type === "BOOLEAN" ? ["true", "false"].map((each) => make("option", { value: each })) : [],
    );
    const error = make("p", { class: "error", id: `${id}-error` });
    const doc = make("p", { class: "faint", id: `${id}-doc` }, definition.documentation ?? "");
    const input = make("input", {
      id,
      list: options.id,
      type: definition.type === "PASSWORD" ? "password" : "text",
      autocomplete: "off",
      placeholder: definition.default_value ?? "",
      "aria-required": definition.required,
      "aria-describedby": `${doc.id} ${error.id}`,
      oninput: () => set(key, input.value),
    });
    input.value = config[key] ?? "";
    const label = make(
      "label",
      { for: id },
      `${definition.display_name || key}${definition.required ? " (required)" : ""}`,
    );
    const shownKey =
      definition.display_name && definition.display_name !== key ? make("p", { class: "faint" }, key) : null;
    const root = make("div", { class: "field" }, label, shownKey, input, options, error, doc);
    box.append(root);
    return { input, error, options, root };
  }

  function drawFile() {
    const shown = Object.entries(config).map(([key, value]) => [
      key,
      secrets.has(key) && !value.includes("${") ? MASK : value,
    ]);
    const { name: own, ...rest } = Object.fromEntries(shown);
    setText(file, JSON.stringify({ name: name || own || "", config: rest }, null, 2));
  }

  async function submit(event) {
    event.preventDefault();
    const whose = name || config.name;
    try {
      if (isNew) await ask("POST", "/connectors", { name: whose, config: { ...config } });
      else await ask("PATCH", pathOf(name, "/config"), changes());
      say(isNew ? `${whose} is created` : `${whose} is changed`);
      location.hash = `#/connector/${encodeURIComponent(whose)}`;
    } catch (error) {
      setText(result, error.message);
    }
  }

  // The changed keys alone, with null for removed ones, so that hidden values stay as they are.
  function changes() {
    const keys = new Set([...Object.keys(stored), ...Object.keys(config)]);
    const changed = [...keys].filter((key) => stored[key] !== config[key]);
    return Object.fromEntries(changed.map((key) => [key, config[key] ?? null]));
  }
}
