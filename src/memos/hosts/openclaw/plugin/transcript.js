// What the messages of a run say, in the words that the memory is told: user messages, calls of tools, replies. Whatever came
// from the memory itself is taken out again.

import { createHash } from "node:crypto";

export const MOST_TEXT = 100_000; // characters
export const MOST_OUTPUT = 20_000;
const OPENS = "<memos-context>";
const TAGS = /<\/?memos-context>/g;
const PLUMBING = new Set(["tool_search", "tool_describe", "tool_search_code"]); // how OpenClaw finds its own tools
const ASIDE = new Set(["workdir", "cwd", "timeout", "timeoutMs", "yieldMs", "background", "pty", "env", "title", "description"]);
const EXIT = /\s*\(Command exited with code (-?\d+)\)\s*$/; // of calls that are read again later, whose details are gone

/** A short mark of a text. */
export function digest(text) {
  return createHash("sha1").update(text.trim()).digest("hex").slice(0, 16);
}

/** A text without what memory had put before a prompt, of at most `most` characters: its beginning and its end. */
export function fit(text, most = MOST_TEXT) {
  text = withoutBlocks(text);
  if (text.length <= most) return text.toWellFormed();
  const half = Math.floor(most / 2) - 20;
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters …\n${text.slice(-half)}`.toWellFormed();
}

/** A text without blocks of ours, also those within one another, and those whose beginning or end was cut off: then one tag is left,
 * alone at the end of its line.
 */
function withoutBlocks(text) {
  const said = [];
  let [at, start, depth, end] = [0, 0, 0, 0]; // `end`: behind the last tag that closed something in the block that is open
  for (const { 0: tag, index } of text.matchAll(TAGS)) {
    const after = index + tag.length;
    if (tag === OPENS) {
      if (depth++ === 0) [start, end] = [index, 0];
    } else if (depth) {
      end = after;
      if (--depth === 0) at = taken(said, text, at, start, end);
    } else if (!said.length && !at && ends(text, index - 1) && ends(text, after)) at = after;
  }
  const cut = depth > 0 && !end && ends(text, start + OPENS.length);
  if (depth > 0 && (end || cut)) at = taken(said, text, at, start, end || text.length);
  return said.join("") + text.slice(at);
}

/** Whether a line, or the text, begins or ends at a place. */
function ends(text, at) {
  return at < 0 || at >= text.length || text[at] === "\n";
}

function taken(said, text, at, start, end) {
  said.push(text.slice(at, start).trimEnd());
  return end;
}

/** The words of a message's content. */
export function words(content) {
  if (typeof content === "string") return content;
  return blocks(content)
    .filter((block) => block.type === "text" && typeof block.text === "string")
    .map((block) => block.text)
    .join("\n");
}

/** The turns in the messages of a session, as far as they are newer than `since` (ms since 1970).
 *
 * A turn: {user, run, at, said: [[time, text]], calls: [step], last, fresh, known}. `fresh`, `known`: whether something of it is
 * newer than `since`, or older. `run`: of messages that do not say it. A user message is
 * only taken where the host says that one sent it; what it puts in the user's name (summaries, its own questions) is none.
 */
export function turns(messages, since, run = "") {
  const found = [];
  let turn = null;
  const open = new Map();
  for (const message of messages ?? []) {
    const time = Number(message?.timestamp) || 0;
    const of = message?.__openclaw?.runId ?? run;
    if (message?.role === "user") {
      turn = { user: message, run: "", at: time, said: [], calls: [], last: 0, fresh: false, known: false };
      found.push(turn);
    } else if (message?.role === "assistant" || message?.role === "toolResult") {
      turn ??= begun(found);
      if (of && turn.run && of !== turn.run) turn = begun(found); // another run, whose message was trimmed away
      turn.run ||= of;
      if (time <= since) {
        turn.known = true;
        continue;
      }
      turn.fresh = true;
      turn.last = Math.max(turn.last, time);
      if (message.role === "toolResult") answered(open, message);
      else heard(turn, message, time, open);
    }
  }
  for (const one of found) if (one.user && !sent(one.user, Boolean(run) && one.run === run)) one.user = null;
  return found;
}

function begun(found) {
  const turn = { user: null, run: "", at: 0, said: [], calls: [], last: 0, fresh: false, known: false };
  found.push(turn);
  return turn;
}

/** The newest time of what agents and tools said: up to there all is told. */
export function newest(messages) {
  let last = 0;
  for (const message of messages ?? []) {
    if (message?.role === "assistant" || message?.role === "toolResult") last = Math.max(last, Number(message.timestamp) || 0);
  }
  return last;
}

function sent(message, now) {
  const kind = message.provenance?.kind ?? message.__openclaw?.provenance?.kind;
  if (kind && kind !== "external_user") return false;
  return Boolean(now || message.idempotencyKey || message.__openclaw);
}

function heard(turn, message, time, open) {
  const text = fit(words(message.content)).trim();
  if (text) turn.said.push([time, text]);
  for (const block of blocks(message.content)) {
    if (block.type !== "toolCall") continue;
    const call = step(block.name, block.arguments, `${turn.run}:${plainId(block.id)}`);
    if (!call) continue;
    turn.calls.push(call);
    open.set(plainId(block.id), call);
  }
}

function answered(open, message) {
  const id = plainId(message.toolCallId);
  const call = open.get(id);
  if (call) Object.assign(call, outcome(message.toolName, message.isError, message));
  open.delete(id);
}

/** A call as it is reported; null for calls of our own tools, and those by which OpenClaw looks for its tools. */
export function step(name, args, id) {
  let tool = String(name || "tool");
  let input = args;
  if (tool === "tool_call" && typeof args?.id === "string") {
    tool = args.id.split(":").pop() || tool;
    input = args.args ?? {};
  }
  if (tool.startsWith("memos_") || PLUMBING.has(tool)) return null;
  if (tool === "exec" && typeof input?.command === "string" && Object.keys(input).every((k) => k === "command" || ASIDE.has(k))) {
    return { tool: "Bash", input: input.command, call_id: id.slice(0, 256) };
  }
  return { tool: tool.slice(0, 256), input: fitted(input), call_id: id.slice(0, 256) };
}

/** What came of a call: {ok, output or error, duration}. `result`: {content, details} as the tool gave it. */
export function outcome(tool, isError, result, error = "") {
  const details = result?.details ?? {};
  let text = words(result?.content);
  if (tool === "tool_call") text = inner(text);
  const told = EXIT.exec(text);
  const code = typeof details.exitCode === "number" ? details.exitCode : told ? Number(told[1]) : 0;
  const plain = fit(told ? text.slice(0, told.index) : text, MOST_OUTPUT);
  const failed = Boolean(isError || error || code || details.status === "error" || details.status === "failed");
  const out = { ok: !failed };
  if (!failed) out.output = plain;
  else if (code) out.error = plain ? `Exit code ${code}\n${plain}` : `Exit code ${code}`;
  else out.error = fit(String(error || details.error || plain || "failed"), MOST_OUTPUT);
  const ms = details.durationMs;
  if (typeof ms === "number" && ms >= 0) out.duration = ms / 1_000;
  return out;
}

/** An id as it is in hooks and in transcripts, where OpenClaw leaves out what some providers do not take. */
export function plainId(id) {
  return String(id ?? "").replace(/[^A-Za-z0-9]/g, "").slice(0, 180);
}

/** What a tool said that was called through another. */
function inner(text) {
  try {
    const { result } = JSON.parse(text);
    return words(result?.content) || text;
  } catch {
    return text;
  }
}

function fitted(value, depth = 0) {
  if (typeof value === "string") return fit(value, MOST_OUTPUT);
  if (depth > 20) return "…";
  if (Array.isArray(value)) return value.slice(0, 1_000).map((one) => fitted(one, depth + 1));
  if (value && typeof value === "object") {
    if (typeof value.data === "string" && (value.mimeType || value.type === "base64")) {
      return { ...value, data: `(${value.data.length} characters of data)` };
    }
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fitted(v, depth + 1)]));
  }
  return value ?? null;
}

function blocks(content) {
  return Array.isArray(content) ? content.filter((block) => block && typeof block === "object") : [];
}
