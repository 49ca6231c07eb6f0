#!/usr/bin/env node
// The ways from `epitome serve` to a provider: straight or through the proxy that the environment names, plain or in TLS, over HTTP/1.1 or
// HTTP/2, with bodies larger than any window of the connection's; and what is sent back over HTTP/2 unread.
//
//     tests/proxy/ways.mjs [FOLDER]      where the program is; target/debug unless named

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const program = join(process.argv[2] ?? join(root, "target", "debug"), "epitome");
const folder = mkdtempSync(join(tmpdir(), "epitome-ways-"));
const certificate = join(folder, "server.pem"), key = join(folder, "server.key");
const MEGABYTE = 1 << 20;

/** A provider that answers with as many bytes as its model's name says, and notes how it was asked. */
function provider(asked) {
  return (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece) => (body += piece)).on("end", () => {
      const { model } = JSON.parse(body);
      asked.push({ version: request.httpVersion, url: request.url, bytes: body.length, port: request.socket.remotePort });
      const text = "x".repeat(Number(model.split("-").pop()));
      const usage = { input_tokens: 10, output_tokens: 3 };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "m", type: "message", role: "assistant", model, stop_reason: "end_turn", content: [{ type: "text", text }], usage }));
    });
  };
}

/** A provider over HTTP/2 that answers the first request on its first connection as `refuse` does. */
function reluctant(asked, refuse) {
  let isFirst = true;
  const answer = provider(asked);
  return (request, response) => {
    if (!isFirst) return answer(request, response);
    isFirst = false;
    request.resume();
    refuse(request.stream);
  };
}

/** A proxy that passes on what it is asked for, and notes that. */
function proxy(seen, server) {
  server.on("request", (request, response) => {
    seen.push({ way: request.url, authorization: request.headers["proxy-authorization"] });
    const { "proxy-authorization": _, ...headers } = request.headers;
    const onward = http.request(request.url, { method: request.method, headers }, (reply) => {
      response.writeHead(reply.statusCode, reply.headers);
      reply.pipe(response);
    });
    request.pipe(onward);
  });
  return server.on("connect", (request, socket) => {
    seen.push({ way: `CONNECT ${request.url}`, authorization: request.headers["proxy-authorization"] });
    const [host, port] = request.url.split(":");
    const onward = net.connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) end.on("error", () => {});
  });
}

const listening = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));

/** Sends a body; the status and text of what comes back. */
function post(agent, url, body) {
  const headers = { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" };
  return new Promise((done, failed) => {
    const request = http.request(url, { agent, method: "POST", headers }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (piece) => (text += piece)).on("end", () => done({ status: reply.statusCode, text })).on("error", failed);
    });
    request.on("error", failed).end(body);
  });
}

/** Sends messages of these sizes through a server with such an environment; status and length of each reply. */
async function through(upstream, environment, sizes) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$|^SSL_CERT|^EPITOME/i.test(name)));
  const env = { ...clean, HOME: folder, ...environment };
  const server = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--upstream", upstream, "--store", "memory", "--window", "100000000"], { env, stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(server, "exit");
  try {
    let base;
    for await (const line of createInterface({ input: server.stdout })) {
      base = line.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0];
      if (base) break;
    }
    const replies = [];
    // One connection is one thread of the server's, with connections of its own.
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (const [sent, wanted] of sizes) {
      const messages = [{ role: "user", content: "y".repeat(sent) }];
      const { status, text } = await post(agent, `${base}/v1/messages`, JSON.stringify({ model: `claude-${wanted}`, max_tokens: 9, messages }));
      const answer = JSON.parse(text);
      replies.push(status === 200 ? answer.content[0].text.length : answer.error.message);
    }
    return replies;
  } finally {
    server.kill();
    await exited;
  }
}

const subject = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"];
execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject, "-out", certificate, "-keyout", key], { stdio: "ignore" });
const tls = { cert: readFileSync(certificate), key: readFileSync(key) };

const plainAsked = [], secretAsked = [], secondAsked = [], seen = [];
const plain = `http://127.0.0.1:${await listening(http.createServer(provider(plainAsked)))}`;
const secret = `https://127.0.0.1:${await listening(https.createServer(tls, provider(secretAsked)))}`;
const second = `https://127.0.0.1:${await listening(http2.createSecureServer(tls, provider(secondAsked)))}`;
const via = `http://user:pass@127.0.0.1:${await listening(proxy(seen, http.createServer()))}`;
const viaSecret = `https://user:pass@127.0.0.1:${await listening(proxy(seen, https.createServer(tls)))}`;
const { NGHTTP2_REFUSED_STREAM, NGHTTP2_INTERNAL_ERROR } = http2.constants;
const refusals = [
  ["it takes no more streams", 5, (stream) => stream.close(NGHTTP2_REFUSED_STREAM)],
  ["it failed", /gave no answer/, (stream) => stream.close(NGHTTP2_INTERNAL_ERROR)],
];
const authorization = `Basic ${Buffer.from("user:pass").toString("base64")}`;
const trusted = { SSL_CERT_FILE: certificate };
const three = [[100, 5], [100, 5], [100, 5]];
const large = [[3 * MEGABYTE, 4 * MEGABYTE], [100, 5]];
const answers = large.map(([, wanted]) => wanted);

try {
  assert.deepEqual(await through(plain, {}, three), [5, 5, 5]);
  assert.deepEqual(plainAsked.map(({ version, url }) => [version, url]), Array(3).fill(["1.1", "/v1/messages"]));
  assert.equal(new Set(plainAsked.map(({ port }) => port)).size, 1, "one connection is used again");

  const [refused] = await through(secret, {}, [[100, 5]]);
  assert.match(refused, /cannot reach the provider at https:.*certificate/i);
  assert.deepEqual(secretAsked, [], "a provider that nobody trusts is told nothing");
  assert.deepEqual(await through(secret, trusted, large), answers);
  assert.deepEqual(secretAsked.map(({ version }) => version), ["1.1", "1.1"]);

  assert.deepEqual(await through(second, trusted, large), answers);
  assert.deepEqual(secondAsked.map(({ version, url }) => [version, url]), Array(2).fill(["2.0", "/v1/messages"]));
  assert.ok(secondAsked[0].bytes > 3 * MEGABYTE, "all of it came");
  assert.equal(new Set(secondAsked.map(({ port }) => port)).size, 1, "one connection is used again");

  assert.deepEqual(await through(plain, { HTTP_PROXY: via, HTTPS_PROXY: "http://127.0.0.1:1" }, [[100, 5]]), [5]);
  assert.deepEqual(seen.splice(0), [{ way: `${plain}/v1/messages`, authorization }]);
  assert.deepEqual(await through(second, { ...trusted, HTTPS_PROXY: via }, large), answers);
  assert.deepEqual(seen.splice(0), [{ way: `CONNECT ${second.slice("https://".length)}`, authorization }]);
  assert.deepEqual(await through(plain, { ...trusted, HTTP_PROXY: viaSecret }, [[100, 5]]), [5]);
  assert.deepEqual(seen.splice(0), [{ way: `${plain}/v1/messages`, authorization }]);
  assert.deepEqual(await through(secret, { ...trusted, HTTPS_PROXY: viaSecret }, large), answers);
  assert.deepEqual(seen.splice(0), [{ way: `CONNECT ${secret.slice("https://".length)}`, authorization }]);
  assert.deepEqual(await through(plain, { HTTP_PROXY: via, NO_PROXY: "127.0.0.1" }, [[100, 5]]), [5]);
  assert.deepEqual(seen, [], "it was told to keep out of the way");

  for (const [why, expected, refuse] of refusals) {
    const asked = [];
    const port = await listening(http2.createSecureServer(tls, reluctant(asked, refuse)));
    const [told] = await through(`https://127.0.0.1:${port}`, trusted, [[100, 5]]);
    if (expected instanceof RegExp) assert.match(String(told), expected, why);
    else assert.equal(told, expected, why);
    assert.equal(asked.length, expected === 5 ? 1 : 0, why);
  }

  const [nobody] = await through("http://127.0.0.1:1", {}, [[100, 5]]);
  assert.match(nobody, /cannot reach the provider at http:\/\/127\.0\.0\.1:1: .*refused/i);
  console.log("ways to a provider: plain, TLS, HTTP/2, each proxy, what is sent back unread, and nobody there: as they should be");
} finally {
  rmSync(folder, { recursive: true });
}
// Its own servers are still there.
process.exit(0);
