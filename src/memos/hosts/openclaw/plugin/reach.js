// How the plugin reaches the memory: the server of the configuration, the one that says in server.json that it runs on the data
// folder, or one that is started here and ends with this process.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { digest } from "./transcript.js";

const PATHS = {
  start_turn: "/v1/turns",
  report_step: "/v1/steps",
  end_turn: "/v1/turns/end",
  report_subagent: "/v1/subagents",
  recall: "/v1/recall",
};
const STARTING_MS = 60_000; // the library takes a second or two to load; more on a busy machine
const AGAIN_MS = 60_000; // after a server that could not be started
const MOST_AFTER_MS = 300_000; // that a server may ask us to wait

const OWN = /^([^:]*|(explicit|dashboard|tui|cron|boot|hook):.*)$/; // sessions of whoever owns the gateway; all others have a peer

/** The memory cannot be reached, or has no time: the same is to be told again later; `after` so many ms, where the server says so. */
export class Away extends Error {
  constructor(message, after = 0) {
    super(message);
    this.after = after;
  }
}

/** The server broke over what it was told, in a way nobody thought of: it may do so again and again. */
export class Broke extends Away {}

/** What was told is refused, and would be again. */
export class Refused extends Error {}

export class Reach {
  /** `config`: the plugin's settings. `log`: the host's logger. */
  constructor(config, log) {
    this.home = path.resolve(untilde(config.home || process.env.MEMOS_HOME || "~/.memos"));
    this.config = config;
    this.log = log;
    this.child = null;
    this.starting = null;
    this.failedAt = 0;
  }

  /** Whose memory a session is about: {user, cube}, as the settings say; with `scope: "sender"`, of each direct peer and each group
   * their own, as OpenClaw keeps them apart by the key of the session.
   */
  whose(sessionKey) {
    const rest = String(sessionKey || "unknown:").replace(/^agent:[^:]*:/, "").replace(/:(thread|topic):.*$/, "");
    if (this.config.scope === "sender" && !OWN.test(rest)) {
      return { user: rest.length <= 100 ? `openclaw:${rest}` : `openclaw:${rest.slice(0, 90)}:${digest(rest)}` };
    }
    const whose = {};
    if (this.config.user) whose.user = this.config.user;
    if (this.config.cube) whose.cube = this.config.cube;
    return whose;
  }

  /** The answer to a verb of agents. Throws Away and Refused. `ms`: how long it may take. */
  async tell(verb, fields, ms) {
    const { session, ...rest } = fields;
    const ends = verb === "end_session";
    const at = ends ? `/v1/sessions/${encodeURIComponent(session)}/end` : PATHS[verb];
    const answer = await this.post(at, ends ? rest : fields, {}, ms);
    if (!("cube" in answer) && !("trigger" in answer)) throw new Away("what answers there is no MemOS server");
    return answer;
  }

  /** The result of one of the tools of `memos mcp`. Throws an Error that says what a person or a model can do. */
  async tool(name, args, session, whose, ms, signal) {
    const headers = { Accept: "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18" };
    if (session) headers["X-Memory-Session"] = session;
    if (whose.user) headers["X-Memory-User"] = whose.user;
    if (whose.cube) headers["X-Memory-Cube"] = whose.cube;
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args ?? {} } };
    let answer;
    try {
      answer = await this.post("/mcp", call, headers, ms, signal);
    } catch (error) {
      throw new Error(`Memory is not available now (${error.message}). Go on without it.`);
    }
    const text = (answer.result?.content ?? []).map((block) => block.text ?? "").join("\n");
    if (!answer.result || answer.result.isError) {
      throw new Error(text || answer.error?.message || "Memory gave no answer. Go on without it.");
    }
    return { text, details: answer.result.structuredContent ?? {} };
  }

  async post(at, body, headers, ms, signal) {
    const until = Date.now() + ms;
    const url = await this.server(ms);
    const left = until - Date.now();
    if (left <= 0) throw new Away("no time is left");
    const key = this.key();
    const limit = AbortSignal.timeout(left);
    let response, text;
    try {
      response = await fetch(url + at, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) },
        body: JSON.stringify(body),
        signal: signal ? AbortSignal.any([limit, signal]) : limit,
        redirect: "error",
      });
      text = await response.text();
    } catch (error) {
      const why = limit.aborted ? `no answer within ${left} ms` : (error.cause?.code ?? error.name);
      throw new Away(`the server cannot be reached (${why})`);
    }
    if (response.status === 401 || response.status === 403) {
      throw new Away(`the server wants a key (${response.status}): set keyFile in plugins.entries.memos.config`);
    }
    if (response.status >= 500 || [404, 408, 429].includes(response.status)) {
      if (response.status === 500) throw new Broke(`the server answered 500${said(text)}; its log says why`);
      const after = Number(response.headers.get("retry-after")) || 0;
      throw new Away(`the server answered ${response.status}${said(text)}`, Math.min(after * 1_000, MOST_AFTER_MS));
    }
    if (response.status >= 400 && said(text)) throw new Refused(`the server answered ${response.status}${said(text)}`);
    try {
      const answer = JSON.parse(text);
      if (answer && typeof answer === "object") return answer;
    } catch {}
    throw new Away("what answers there is no MemOS server");
  }

  /** Whether a server is there, or none will be: nothing is to be started first. */
  get isThere() {
    return Boolean(this.config.url || running(this.home) || this.config.serve === false || !this.config.python);
  }

  /** The address of the server, which is started where it may be. Throws Away. */
  async server(ms) {
    if (this.config.url) return this.config.url.replace(/\/+$/, "").replace(/\/v1$/, "");
    const url = running(this.home);
    if (url) return url;
    if (this.config.serve === false || !this.config.python) throw new Away(`no server runs on ${this.home}: memos serve`);
    if (!this.starting && Date.now() - this.failedAt > AGAIN_MS) {
      this.starting = this.start().finally(() => (this.starting = null));
      this.starting.catch(() => (this.failedAt = Date.now()));
    }
    if (!this.starting) throw new Away("the server could not be started");
    let timer;
    const late = new Promise((_, no) => {
      timer = setTimeout(() => no(new Away("the server is being started still")), ms);
    });
    try {
      return await Promise.race([this.starting, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Start a server on the data folder. It ends when its standard input does, so that it never outlives this process. */
  async start() {
    const words = ["-P", "-m", "memos.cli", "--home", this.home, "serve", "--port", "0", "--until-eof"];
    const child = spawn(this.config.python, words, { stdio: ["pipe", "ignore", "pipe"], windowsHide: true });
    this.child = child;
    let told = "";
    let over = null;
    child.stderr.on("data", (piece) => (told = (told + piece).slice(-2_000)));
    child.on("error", (error) => (over = error.code ?? error.name));
    child.on("exit", (code, signal) => (over = `it ended with ${code ?? signal}`));
    child.stdin.on("error", () => {});
    for (const one of [child, child.stdin, child.stderr]) one.unref();
    const until = Date.now() + STARTING_MS;
    while (over === null && Date.now() < until) {
      const url = running(this.home);
      if (url) {
        this.log.info(`memos: started a server on ${this.home}, at ${url}`);
        return url;
      }
      await new Promise((yes) => setTimeout(yes, 50));
    }
    child.kill();
    const last = told.trim().split("\n").pop();
    this.log.warn(`memos: the server could not be started with ${this.config.python} (${over ?? "it takes too long"}) ${last}`);
    throw new Away("the server could not be started");
  }

  /** End the server that was started here. */
  stop() {
    if (this.child?.exitCode === null) this.child.stdin.end();
    this.child = null;
  }

  key() {
    if (!this.config.keyFile) return process.env.MEMOS_API_KEY || "";
    try {
      return fs.readFileSync(untilde(this.config.keyFile), "utf8").trim();
    } catch (error) {
      throw new Away(`the key file cannot be read (${error.code})`);
    }
  }
}

/** The address of the server that says in its state file that it runs on a data folder; "" when it does not, or is gone. */
export function running(home) {
  try {
    const { url, pid } = JSON.parse(fs.readFileSync(path.join(home, "server.json"), "utf8"));
    if (typeof url === "string" && url.startsWith("http://") && alive(pid)) return url;
  } catch {}
  return "";
}

/** Whether a process runs, as far as can be seen from here. */
export function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function untilde(name) {
  return name.replace(/^~(?=$|[\\/])/, os.homedir());
}

/** What the server says of an error: its code, never the words that were sent. */
function said(text) {
  try {
    const { error } = JSON.parse(text);
    return error?.code ? ` ${error.code}` : "";
  } catch {
    return "";
  }
}
