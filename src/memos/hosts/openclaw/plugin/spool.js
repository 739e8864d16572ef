// A queue on disk of what is to be told to the memory: written before it is sent, taken away when everything is told. What a
// process that is gone left behind is told by the next one. Every report carries a key, so that telling it twice stores it once.

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { Away, Broke, Refused, alive } from "./reach.js";
import { digest } from "./transcript.js";

const SEND_MS = 10_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5_000;
const AWAY_MS = 1_000; // that somebody waits for a memory that did not answer the last time
const MOST_TRIES = 5; // of a report over which the server breaks
const MOST_HELD = 2_000; // reports that are kept in memory while the disk takes none
const PIECE = 1 << 20; // bytes that are read at once
const OPEN = (process[Symbol.for("memos.openclaw.spools")] ??= new Set()); // of this process, over reloads of the plugin

export class Spool {
  constructor(folder, reach, log) {
    this.folder = folder;
    this.reach = reach;
    this.log = log;
    this.file = "";
    this.offset = 0; // bytes that were told
    this.size = 0;
    this.number = 0;
    this.broken = { id: "", tries: 0 }; // the report over which the server broke last
    this.held = []; // what could not be written yet
    this.waiters = new Map(); // number of an entry -> what is sent with it, and who waits for the answer
    this.busy = null;
    this.wait = this.after = 0; // ms until the memory is tried again; of it, what the server asked for
    this.notBefore = 0;
    this.timer = null;
    this.complained = "";
  }

  /** Put a report in the queue. It is on disk when this returns; it is sent soon. The number of the entry. */
  put(verb, fields) {
    const number = ++this.number;
    this.held.push({ number, verb, fields });
    this.write();
    this.kick();
    return number;
  }

  /** Write down what is held, in order; what the disk does not take stays held. */
  write() {
    for (let again = true; this.held.length; ) {
      const line = Buffer.from(`${JSON.stringify(this.held[0])}\n`);
      try {
        if (!this.file) this.open();
        fs.appendFileSync(this.file, line, { mode: 0o600 });
        this.size += line.length;
        this.held.shift();
      } catch (error) {
        if (error.code === "ENOENT" && again) {
          again = false; // the folder was taken away, with what was in it
          OPEN.delete(this.file);
          this.file = "";
          this.offset = this.size = 0;
          continue;
        }
        this.cut();
        this.log.error(`memos: ${this.folder} cannot be written (${error.code}): ${this.held.length} reports are in memory only`);
        if (this.held.length > MOST_HELD) this.log.error(`memos: ${this.held.shift().verb} is lost`);
        return;
      }
    }
  }

  /** Take away the half of a line that a full disk took: what is written next is not to be one line with it. */
  cut() {
    try {
      if (fs.statSync(this.file).size > this.size) fs.truncateSync(this.file, this.size);
    } catch {}
  }

  /** Put a report in the queue and wait for its answer; null when there is none within `ms`, which loses nothing. */
  ask(verb, fields, more, ms) {
    ms = this.patience(ms);
    return new Promise((yes) => {
      const done = (answer) => {
        clearTimeout(timer);
        this.waiters.delete(number);
        yes(answer);
      };
      const timer = setTimeout(done, ms, null);
      const number = this.put(verb, fields);
      this.waiters.set(number, { more, until: Date.now() + ms, done });
    });
  }

  /** Whether the memory did not answer the last time, and not because it is being started. */
  get isAway() {
    return this.wait > 0 && !this.reach.starting;
  }

  /** How long it is worth to wait for an answer, of `ms`. */
  patience(ms) {
    if (!this.isAway) return ms;
    return this.busy || Date.now() >= this.notBefore ? Math.min(ms, AWAY_MS) : 0;
  }

  /** Whether nothing of this process is left to tell. */
  get isTold() {
    return this.offset >= this.size && !this.held.length;
  }

  /** Wait until everything is told, the memory is away, or time is up. Whether everything is told. */
  async flush(ms) {
    const until = Date.now() + (this.isAway ? Math.min(ms, AWAY_MS) : ms);
    if (!this.after) this.notBefore = 0;
    this.kick();
    while (this.busy && Date.now() < until) {
      await Promise.race([this.busy, new Promise((yes) => setTimeout(yes, Math.max(1, until - Date.now())))]);
    }
    return this.isTold;
  }

  /** Let go of the file. What is in it is told by whoever comes next. */
  close() {
    if (this.held.length) this.log.error(`memos: ${this.held.length} reports are lost: ${this.folder} could not be written`);
    clearTimeout(this.timer);
    OPEN.delete(this.file);
  }

  open() {
    fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.file = this.name();
    OPEN.add(this.file);
  }

  name() {
    return path.join(this.folder, `${process.pid}-${Date.now()}-${randomBytes(4).toString("hex")}.jsonl`);
  }

  kick() {
    if (this.busy || Date.now() < this.notBefore) return;
    this.busy = this.drain()
      .catch((error) => this.away(error))
      .finally(() => {
        this.busy = null;
        if (!this.wait && !this.isTold) this.kick(); // it came while the last one was told
      });
  }

  async drain() {
    await null;
    for (const file of this.leftovers()) await this.takeOver(file);
    while (this.offset < this.size) {
      const text = this.piece(this.file, this.offset);
      if (!text.length) {
        // somebody took the file over, who does not see that this process runs; what came since is in another of its name
        const size = fs.statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
        const again = size > 0 && this.offset > 0;
        [this.offset, this.size] = [0, again ? size : 0];
        if (!again) break;
        continue;
      }
      await this.each(text, (bytes) => (this.offset += bytes));
    }
    if (this.offset >= this.size && this.size) {
      fs.rmSync(this.file, { force: true });
      this.offset = this.size = 0;
    }
    while (this.held.length) await this.sendHeld();
    if (this.complained) this.log.info("memos: the memory is there again, and everything is told");
    this.wait = this.after = 0;
    this.complained = "";
  }

  async sendHeld() {
    const entry = this.held.shift();
    try {
      await this.send(entry, this.waiters.get(entry.number));
    } catch (error) {
      this.held.unshift(entry);
      throw error;
    }
  }

  /** Files of processes that are gone, oldest first. */
  leftovers() {
    let names = [];
    try {
      names = fs.readdirSync(this.folder);
    } catch {}
    const gone = names.filter((name) => {
      const pid = /^(\d+)-\d+-\w+\.jsonl$/.exec(name)?.[1];
      const file = path.join(this.folder, name);
      return pid && file !== this.file && !OPEN.has(file) && (Number(pid) === process.pid || !alive(Number(pid)));
    });
    return gone.sort((a, b) => Number(a.split("-")[1]) - Number(b.split("-")[1])).map((name) => path.join(this.folder, name));
  }

  async takeOver(left) {
    const file = this.name(); // under a name of ours nobody writes to it any more, and nobody else takes it
    try {
      fs.renameSync(left, file);
    } catch (error) {
      if (error.code === "ENOENT") return; // another process was quicker
      throw error;
    }
    OPEN.add(file);
    try {
      for (let offset = 0; ; ) {
        const text = this.piece(file, offset);
        if (!text.length) break;
        await this.each(text, (bytes) => (offset += bytes), false);
      }
      fs.rmSync(file, { force: true });
    } finally {
      OPEN.delete(file);
    }
  }

  /** Whole lines of a file from an offset on. */
  piece(file, offset) {
    let handle;
    try {
      handle = fs.openSync(file, "r");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      return Buffer.alloc(0);
    }
    try {
      for (let length = PIECE; ; length *= 2) {
        const buffer = Buffer.alloc(length);
        const got = buffer.subarray(0, fs.readSync(handle, buffer, 0, length, offset));
        const end = got.lastIndexOf(10);
        if (end >= 0) return got.subarray(0, end + 1);
        if (got.length < length) return Buffer.alloc(0); // half a line: its process was killed while it wrote
      }
    } finally {
      fs.closeSync(handle);
    }
  }

  async each(text, told, mine = true) {
    for (let at = 0; at < text.length; ) {
      const end = text.indexOf(10, at);
      let entry = null;
      try {
        entry = JSON.parse(text.subarray(at, end).toString());
      } catch {
        this.log.error("memos: a line of the queue cannot be read and is left out");
      }
      if (entry) await this.send(entry, mine ? this.waiters.get(entry.number) : undefined);
      told(end + 1 - at);
      at = end + 1;
    }
  }

  triedOften(verb, fields) {
    const id = digest(JSON.stringify([verb, fields]));
    this.broken = { id, tries: this.broken.id === id ? this.broken.tries + 1 : 1 };
    return this.broken.tries >= MOST_TRIES;
  }

  /** Keep a report out of the way of those behind it; the next gateway tries it again. */
  setAside(verb, fields) {
    const file = this.name();
    OPEN.add(file);
    fs.writeFileSync(file, `${JSON.stringify({ number: 0, verb, fields })}\n`, { mode: 0o600 });
    this.log.error(`memos: the server breaks over a ${verb}; it is kept in ${file}, and tried again when OpenClaw starts`);
  }

  /** Send an entry; what is refused for what it is would be refused again, and is let go. Throws Away. */
  async send({ verb, fields }, waiter) {
    let answer = null;
    try {
      const ms = waiter ? Math.max(50, waiter.until - Date.now()) : SEND_MS;
      answer = await this.reach.tell(verb, waiter ? { ...fields, ...waiter.more } : fields, ms);
    } catch (error) {
      if (error instanceof Broke && this.triedOften(verb, fields)) this.setAside(verb, fields);
      else if (!(error instanceof Refused)) throw error;
      else this.log.warn(`memos: ${verb} is not kept: ${error.message}`);
    }
    waiter?.done(answer);
  }

  away(error) {
    for (const waiter of [...this.waiters.values()]) waiter.done(null);
    this.after = error?.after ?? 0;
    this.wait = Math.max(this.after, Math.min(LONGEST_WAIT_MS, this.wait ? this.wait * 2 : FIRST_WAIT_MS));
    this.notBefore = Date.now() + this.wait;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.kick(), this.wait);
    this.timer.unref();
    const what = error instanceof Away ? error.message : `unexpected ${error?.name}: ${error?.message}`;
    if (what !== this.complained) this.log.warn(`memos: ${what}; OpenClaw goes on, and what happens is kept in ${this.folder}`);
    this.complained = what;
  }
}
