// Runs Perfetto's trace processor (WebAssembly, in its user interface's worker) under Node: requests from a file, each
// behind a 4-byte little-endian length, answers into another. What is asked is said by test_perfetto.py.
"use strict";
const fs = require("fs");
const path = require("path");
const { MessageChannel } = require("worker_threads");

const [folder, requests, answers] = process.argv.slice(2);
const fail = (error) => {
  console.error(error);
  process.exit(1);
};
process.on("unhandledRejection", fail);

// What the worker expects of a browser.
globalThis.self = globalThis;
globalThis.location = { href: `file://${folder}/engine_bundle.js` };
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => fail("nothing is imported");
const load = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
globalThis.fetch = async (url) => new Response(load(url), { headers: { "Content-Type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = load(this.url);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
    if (this.onload) this.onload();
  }
};
// Without `process` and `require` it takes itself for a worker.
new Function("process", "require", load("engine_bundle.js").toString())(undefined, undefined);

const channel = new MessageChannel();
const port = {
  postMessage: (message) => channel.port2.postMessage(message),
  set onmessage(handler) {
    channel.port2.on("message", (data) => handler({ data }));
  },
};
const out = fs.openSync(answers, "w");
const bytes = fs.readFileSync(requests);
let sent = 0;
let pending = 0;
const next = () => {
  if (sent >= bytes.length) process.exit(0);
  const length = bytes.readUInt32LE(sent);
  channel.port1.postMessage(new Uint8Array(bytes.subarray(sent + 4, sent + 4 + length)));
  sent += 4 + length;
  pending += 1;
};
channel.port1.on("message", (message) => {
  fs.writeSync(out, Buffer.from(message instanceof Uint8Array ? message : message.data || []));
  // One request at a time, and every request has an answer.
  next();
});
Promise.resolve(globalThis.onmessage({ data: port })).then(next, fail);
