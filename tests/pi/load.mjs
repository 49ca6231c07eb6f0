// Opens a pi session with pi's own session manager and prints what pi would go on with:
//   PI_DIR=<installed pi-coding-agent> node load.mjs FILE
//   {"roles":[…],"texts":[…],"summary":"…","orphans":N}: orphans are tool results whose call is not in the context.
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const load = (part) => import(pathToFileURL(join(process.env.PI_DIR, part)).href);
const { SessionManager } = await load("dist/core/session-manager.js");
const { convertToLlm } = await load("dist/core/messages.js");

const manager = SessionManager.open(process.argv[2]);
const { messages } = manager.buildSessionProjection ? manager.buildSessionProjection() : manager.buildSessionContext();
const calls = new Set();
let orphans = 0;
for (const message of convertToLlm(messages)) {
	if (message.role === "toolResult" && !calls.has(message.toolCallId)) orphans += 1;
	if (!Array.isArray(message.content)) continue;
	for (const block of message.content) if (block.type === "toolCall") calls.add(block.id);
}
const summary = messages.find((message) => message.role === "compactionSummary")?.summary ?? null;
const text = ({ content }) => (Array.isArray(content) ? content.map((block) => block.text ?? "").join("") : content);
console.log(JSON.stringify({ texts: messages.map(text), roles: messages.map((message) => message.role), summary, orphans }));
