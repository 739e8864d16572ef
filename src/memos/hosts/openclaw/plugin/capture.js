// What is done at each event of OpenClaw: a block before the prompt, reports of what happens, hints where a tool fails again and
// again. Nothing here may break or hold up the host: what cannot be told is kept in the queue.

import { digest, fit, newest, outcome, plainId, step, turns, words } from "./transcript.js";

const HINT_MS = 1_500;
const HINT_TOKENS = 400;
const START_MS = 13_000; // what a prompt waits for a server that is being started; OpenClaw waits 15 s
const END_MS = 20_000; // OpenClaw waits 30 s for agent_end
const CLOSE_MS = 1_500; // of the 2 s that it has for the ends of all sessions when it stops
const MOST_STEPS = 1_000; // of one sub-agent
const MOST_BODY = 8 << 20; // bytes of them, half of what a server takes by default
const MOST = 2_000; // runs and calls that are held in memory
const SKIPPED = ["heartbeat", "cron", "memory"];

export class Capture {
  constructor(config, reach, spool, cursors, log) {
    this.reach = reach;
    this.spool = spool;
    this.cursors = cursors;
    this.log = log;
    this.configure(config);
    this.blocks = new Map(); // run -> its block, for a prompt that is built again
    this.calls = new Map(); // run:id of a call -> whether it is told
    this.begins = new Map(); // run:id of a call -> when it began
    this.heard = new Map(); // run -> what was typed, where a channel says so
    this.ids = new Map(); // session key -> session id
    this.rebuilt = new Map(); // run -> marks of the prompts by which OpenClaw goes on with it by itself
    this.foreign = new Map(); // runs that no user asked for
    this.children = new Map(); // session key of a sub-agent -> {parent, name, run, task, did}
  }

  /** Take other settings; what is known of runs and sessions stays. */
  configure(config) {
    this.config = this.reach.config = config;
    this.skipped = new Set(Array.isArray(config.skipTriggers) ? config.skipTriggers : SKIPPED);
    this.tokens = config.maxTokens ?? 1_500;
    this.deadline = config.deadlineMs ?? 8_000;
  }

  /** A message came in over a channel: the words as they were typed, without what channels put around them. */
  message(event) {
    if (event.runId && typeof event.content === "string") keep(this.heard, event.runId, event.content);
  }

  /** The block before a prompt, if there is one. */
  async prompt(event, ctx) {
    const id = this.session(ctx);
    if (!id || !this.wanted(ctx)) return this.pass(id, ctx);
    const child = this.children.get(ctx.sessionKey);
    const cursor = this.cursors.of(id);
    const typed = event.currentUserMessage ?? this.heard.get(ctx.runId) ?? event.prompt ?? "";
    const text = fit(String(typed)).trim();
    if (ctx.runId && (this.blocks.has(ctx.runId) || cursor.runs.includes(ctx.runId))) {
      keep(this.rebuilt, ctx.runId, [...(this.rebuilt.get(ctx.runId) ?? []), digest(text)]);
      return this.block(this.blocks.get(ctx.runId) ?? "", ctx);
    }
    const external = !ctx.inputProvenance?.kind || ctx.inputProvenance.kind === "external_user";
    if (!external) keep(this.foreign, ctx.runId, true);
    if (this.config.capture !== false && !child) {
      if (cursor.at === null) cursor.at = newest(event.messages); // what was before the plugin is not ours
      this.take(cursor, ctx, event.messages, "", text);
      if (text && external) return this.block(await this.begin(cursor, ctx, text), ctx);
      this.cursors.save(cursor);
    }
    const more = { trigger: child ? "subagent" : "turn" };
    return this.block(text ? await this.recall(cursor, ctx, text, more, this.deadline) : "", ctx);
  }

  async begin(cursor, ctx, text) {
    const run = ctx.runId ?? `at${Date.now()}`;
    const fields = { ...this.who(cursor, ctx), ...placed(this.config, ctx), text, key: `${run}:${digest(text)}`, recall: false };
    fields.at = moment();
    cursor.runs.push(run);
    cursor.open = run;
    if (this.config.recall === false) {
      this.spool.put("start_turn", fields);
      this.cursors.save(cursor);
      return "";
    }
    const ms = this.reach.isThere ? this.deadline : Math.max(this.deadline, START_MS);
    const until = Date.now() + ms;
    const asked = this.spool.ask("start_turn", fields, { recall: true, max_tokens: this.tokens }, ms);
    this.cursors.save(cursor);
    let begun = await within(asked, ms * 0.7);
    if (begun === undefined) {
      // the queue before it takes long: recalled without the turn, which is told in its order
      const left = Math.max(50, until - Date.now() - 100);
      const other = this.recall(cursor, ctx, text, { trigger: "turn" }, left).then((context) => ({ context }));
      begun = await Promise.race([asked, other]);
    }
    const block = begun?.recalled?.context ?? begun?.context ?? "";
    keep(this.blocks, run, block);
    return block;
  }

  async recall(cursor, ctx, query, more, ms) {
    if (this.config.recall === false) return "";
    const asked = { ...more, query: fit(query, 10_000), max_tokens: this.tokens };
    const fields = { ...this.who(cursor, ctx), ...placed(this.config, ctx), ...asked };
    try {
      return (await this.reach.tell("recall", fields, this.spool.patience(ms))).context ?? "";
    } catch (error) {
      this.log.warn(`memos: nothing is recalled: ${error.message}`);
      return "";
    }
  }

  /** What OpenClaw takes as the block; one that is over its budget or not whole is left out. */
  block(context, ctx) {
    try {
      ctx.hookInvocation?.assertActive();
    } catch {
      return undefined; // too late for this prompt
    }
    if (typeof context !== "string" || !context.trim()) return undefined;
    const whole = context.trim();
    if ([...context].length > this.tokens * 4 || whole.indexOf("</memos-context>") !== whole.length - 16) {
      this.log.warn("memos: a block that is too long or not whole was left out");
      return undefined;
    }
    return { prependContext: context };
  }

  /** A tool is about to be called. */
  calling(event, ctx) {
    keep(this.begins, `${event.runId ?? ctx.runId}:${plainId(event.toolCallId)}`, performance.now());
  }

  /** A tool gave its result, before the agent sees it: a failure is told at once, and the hint goes with the result. */
  async result(event, ctx) {
    const id = this.session(ctx);
    if (!id || !ctx.runId || this.config.capture === false || this.children.has(ctx.sessionKey)) return undefined;
    const cursor = this.cursors.of(id);
    if (cursor.skipped.includes(ctx.runId) || cursor.at === null) return undefined;
    const at = `${ctx.runId}:${plainId(event.toolCallId)}`;
    const call = step(event.toolName, event.args, at);
    if (!call || this.calls.get(at)) return undefined;
    const spawned = this.isSpawn(call, event.result);
    keep(this.calls, at, spawned);
    if (spawned) return undefined; // it is told with what comes of it
    const came = outcome(event.toolName, event.isError, event.result);
    if (came.ok) return undefined; // it is told when it is known how long it took
    keep(this.calls, at, true);
    if (this.begins.has(at)) came.duration ??= (performance.now() - this.begins.get(at)) / 1_000;
    const fields = { ...this.who(cursor, ctx), ...call, ...came, at: moment() };
    const told = await this.spool.ask("report_step", fields, { max_tokens: Math.min(HINT_TOKENS, this.tokens) }, HINT_MS);
    if (!told?.context || this.config.recall === false) return undefined;
    const content = [...(event.result?.content ?? []), { type: "text", text: told.context }];
    return { result: { ...event.result, content } };
  }

  /** A tool is through: told now, so that nothing is lost if the gateway dies in the middle of a turn. */
  called(event, ctx) {
    const id = this.session(ctx);
    const run = event.runId ?? ctx.runId;
    const at = `${run}:${plainId(event.toolCallId)}`;
    if (!id || this.calls.get(at) !== false) return; // told already, or a call within a call
    const call = step(event.toolName, event.params, at);
    if (!call) return;
    keep(this.calls, at, true);
    const came = outcome(event.toolName, Boolean(event.error), event.result, event.error);
    if (typeof event.durationMs === "number" && event.durationMs >= 0) came.duration = event.durationMs / 1_000;
    this.spool.put("report_step", { ...this.who(this.cursors.of(id), ctx), ...call, ...came, at: moment() });
  }

  /** A run is over: what of it, and of those before it, was not told yet. */
  async ended(event, ctx) {
    const id = this.session(ctx);
    if (!id || this.config.capture === false) return;
    const run = event.runId ?? ctx.runId ?? "";
    const child = this.children.get(ctx.sessionKey);
    if (child) this.helped(child, event, run || `at${newest(event.messages)}`);
    else if (this.wanted(ctx)) {
      const cursor = this.cursors.of(id);
      cursor.at ??= newest(event.messages?.filter((message) => (message.__openclaw?.runId ?? run) !== run));
      this.take(cursor, ctx, event.messages, run || `at${newest(event.messages)}`);
    } else this.pass(id, ctx, event.messages);
    await this.spool.flush(END_MS);
  }

  /** Put everything in the queue that the messages of a session hold and that was not told. `run`: the one that is over; without
   * it, one begins, with `text`.
   */
  take(cursor, ctx, messages, run = "", text = "") {
    const met = new Set();
    for (const turn of turns(messages, cursor.at, run)) {
      const first = Boolean(turn.run) && !met.has(turn.run);
      met.add(turn.run);
      if (cursor.skipped.includes(turn.run)) continue;
      const alone = !run && turn.user && !turn.run && turn.at > cursor.at; // its run died before it said a word
      if (!turn.fresh && !(alone && !cursor.open && fit(words(turn.user.content)).trim() !== text)) continue;
      this.tell(cursor, ctx, turn, turn.known || (first && cursor.runs.includes(turn.run)));
      cursor.at = Math.max(cursor.at, turn.last || turn.at);
    }
    if (run) cursor.open = "";
    this.cursors.save(cursor);
  }

  tell(cursor, ctx, turn, told) {
    const who = this.who(cursor, ctx);
    const name = turn.run || `at${turn.at}`;
    const text = turn.user && !told && !this.foreign.has(turn.run) ? fit(words(turn.user.content)).trim() : "";
    if (text && !this.rebuilt.get(turn.run)?.includes(digest(text))) {
      const said = { text, key: `${name}:${digest(text)}`, recall: false, at: moment(turn.at) };
      this.spool.put("start_turn", { ...who, ...placed(this.config, ctx), ...said });
    }
    for (const call of turn.calls) {
      if (this.calls.get(call.call_id)) continue;
      keep(this.calls, call.call_id, true);
      if (this.isSpawn(call, { details: parsed(call.output) })) continue; // it is told with what comes of it
      this.spool.put("report_step", { ...who, ...call, at: moment(turn.last) });
    }
    if (!turn.said.length) return;
    const said = turn.said.map(([, one]) => one).join("\n\n");
    const last = turn.said.at(-1)[0];
    this.spool.put("end_turn", { ...who, text: fit(said), key: `${name}:end:${last}`, at: moment(last) });
  }

  /** A sub-agent is started. */
  spawned(event, ctx) {
    const name = String(event.label || event.agentId || "subagent").slice(0, 100);
    const known = this.children.get(event.childSessionKey) ?? {};
    const now = { parent: ctx.requesterSessionKey ?? "", name, run: event.runId, stays: event.mode === "session" };
    keep(this.children, event.childSessionKey, { task: "", did: null, ...known, ...now });
  }

  /** The call by which a sub-agent was started says in plain words what it is to do. */
  isSpawn(call, result) {
    const details = result?.details?.result?.details ?? result?.details;
    const child = call.tool === "sessions_spawn" ? this.children.get(details?.childSessionKey) : null;
    if (!child) return false;
    const key = details.childSessionKey;
    keep(this.children, key, { ...child, task: typeof call.input?.task === "string" ? call.input.task : "" });
    return true;
  }

  /** A run of a sub-agent is over. It may be tried again, so that it is told when all of it is. */
  helped(child, event, run) {
    const parts = turns(event.messages, 0, run);
    const asked = parts.find((turn) => turn.user);
    const steps = lastOf(parts.flatMap((turn) => turn.calls).slice(-MOST_STEPS));
    const result = parts.flatMap((turn) => turn.said).at(-1)?.[1];
    child.did = { task: asked ? words(asked.user.content) : "", result, steps, ok: event.success, error: event.error };
    if (child.stays) this.report(child, run);
  }

  helperEnded(event) {
    const child = this.children.get(event.targetSessionKey);
    if (!child || child.stays || this.config.capture === false) return;
    if (event.outcome && event.outcome !== "ok") {
      child.did = { task: "", steps: [], ...child.did, ok: false, error: event.error || event.outcome };
    }
    this.report(child, event.runId ?? child.run);
    this.children.set(event.targetSessionKey, { ...child, did: null });
  }

  report(child, run) {
    const id = this.ids.get(child.parent) ?? child.parent;
    const task = fit(child.task || child.did?.task || "").trim();
    if (!id || !task || !child.did) return;
    const { result, steps, ok, error } = child.did;
    const fields = { ...this.who(this.cursors.of(id), { sessionKey: child.parent }), task, name: child.name, key: `${run}:subagent`, steps };
    if (result) fields.result = fit(result);
    if (typeof ok === "boolean") fields.ok = ok;
    if (error) fields.error = fit(String(error), 20_000);
    this.spool.put("report_subagent", fields);
  }

  /** The gateway stops: sub-agents that are at work are told as far as they are. */
  stop() {
    for (const child of this.children.values()) if (child.did && !child.stays) this.report(child, child.run);
  }

  /** A session begins: nothing is stored, but that its id and its key belong together. */
  began(event, ctx) {
    this.session({ ...ctx, ...event });
  }

  /** A session is over. One that goes on after a restart or a compaction is not. */
  async over(event, ctx) {
    const id = this.session({ ...ctx, ...event });
    if (!id) return;
    const cursor = this.cursors.of(id);
    if (event.reason === "compaction" && event.nextSessionId) {
      Object.assign(this.cursors.of(event.nextSessionId), { name: cursor.name, at: cursor.at ?? 0, runs: cursor.runs });
      this.cursors.save(this.cursors.of(event.nextSessionId));
    } else if (cursor.at !== null && !["shutdown", "restart", "compaction"].includes(event.reason)) {
      if (this.config.capture !== false) this.spool.put("end_session", this.who(cursor, { ...event, ...ctx }));
    }
    await this.spool.flush(CLOSE_MS);
  }

  wanted(ctx) {
    return !ctx.jobId && !this.skipped.has(ctx.trigger) && ctx.inputProvenance?.kind !== "internal_system";
  }

  /** A run that is not kept: what was missed before it is taken, and what it says is passed over. */
  pass(id, ctx, messages = null) {
    if (!id || !ctx.runId) return undefined;
    const cursor = this.cursors.of(id);
    if (!cursor.skipped.includes(ctx.runId)) cursor.skipped.push(ctx.runId);
    if (messages && cursor.at !== null) {
      this.take(cursor, ctx, messages, ctx.runId);
      cursor.at = Math.max(cursor.at, newest(messages));
    }
    this.cursors.save(cursor);
    return undefined;
  }

  session(ctx) {
    const id = ctx.sessionId || ctx.sessionKey || "";
    if (ctx.sessionKey && ctx.sessionId) keep(this.ids, ctx.sessionKey, ctx.sessionId);
    return id && !ctx.sessionId ? (this.ids.get(ctx.sessionKey) ?? id) : id;
  }

  who(cursor, ctx) {
    const agent = ctx.agentId && ctx.agentId !== "main" ? `openclaw:${ctx.agentId}`.slice(0, 256) : "openclaw";
    return { session: cursor.name, agent, ...this.whose(ctx) };
  }

  /** Whose memory it is: of a sub-agent, that of the session it works for. */
  whose(ctx) {
    let key = ctx.sessionKey || (ctx.sessionId ? `session:${ctx.sessionId}` : "");
    for (let up = 0; up < 10 && this.children.get(key)?.parent; up++) key = this.children.get(key).parent;
    return this.reach.whose(key);
  }
}

/** The last of the steps, as many as one body may hold for a server. */
function lastOf(steps) {
  let [at, left] = [steps.length, MOST_BODY];
  while (at > 0 && (left -= Buffer.byteLength(JSON.stringify(steps[at - 1]))) >= 0) at--;
  return steps.slice(at);
}

/** Where the agent works: the repository it is in, else what the settings say. */
function placed(config, ctx) {
  const place = ctx.activeProjectKeys?.[0]?.split(/[\\/:]/).filter(Boolean).pop() || config.environment || "";
  return place ? { environment: place.slice(0, 256) } : {};
}

/** What a promise gives within `ms`; undefined when it takes longer. */
async function within(promise, ms) {
  let timer;
  const late = new Promise((yes) => (timer = setTimeout(yes, ms)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function moment(ms = 0) {
  return new Date(ms || Date.now()).toISOString();
}

function keep(map, key, value) {
  map.set(key, value);
  if (map.size > MOST) map.delete(map.keys().next().value);
}
