// Preloaded into a program that cannot send a token: every request of it gets that of the server.
const { createRequire } = require("node:module");
const http = require("node:http");

const token = `Bearer ${process.env.RUNTRUE_MCP_TOKEN}`;
const undici = createRequire(process.argv[1])("undici");

const fetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set("authorization", token);
  return fetch(input, { ...init, headers });
};

undici.setGlobalDispatcher(
  undici.getGlobalDispatcher().compose((dispatch) => (options, handler) => {
    const given = Array.isArray(options.headers)
      ? Object.fromEntries(options.headers.flatMap((_, n, all) => (n % 2 ? [] : [[all[n], all[n + 1]]])))
      : options.headers;
    return dispatch({ ...options, headers: { ...given, authorization: token } }, handler);
  }),
);

const request = http.request;
http.request = (...args) => {
  const made = request(...args);
  made.setHeader("authorization", token);
  return made;
};
