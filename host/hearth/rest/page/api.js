// Requests to the REST API of this worker.

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function ask(method, path, body) {
  const options = { method, headers: { accept: "application/json" } };
  if (method !== "GET") options.headers["content-type"] = "application/json";
  if (body !== undefined) options.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError("The worker does not answer.", 0);
  }
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    data = null;
  }
  if (!response.ok) throw new ApiError(data?.message ?? `The worker answers ${response.status}.`, response.status);
  return data;
}

export const get = (path) => ask("GET", path);

// Paths with the name as a parameter reach every connector, also one with a slash in its name.
export function pathOf(name, rest = "", parameters = {}) {
  return `/hearth/connectors${rest}?${new URLSearchParams({ name, ...parameters })}`;
}

export const ACTS = {
  "Restart failed": (name) => ask("POST", pathOf(name, "/restart", { includeTasks: true, onlyFailed: true })),
  "Restart all": (name) => ask("POST", pathOf(name, "/restart", { includeTasks: true })),
  Pause: (name) => ask("PUT", pathOf(name, "/pause")),
  Resume: (name) => ask("PUT", pathOf(name, "/resume")),
  Stop: (name) => ask("PUT", pathOf(name, "/stop")),
  Delete: (name) => ask("DELETE", pathOf(name)),
};
