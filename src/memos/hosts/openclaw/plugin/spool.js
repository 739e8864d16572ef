// A queue on disk of what is to be told to the memory: written before it is sent, taken away when everything is told. What a
// process that is gone left behind is told by the next one. Every report carries a key, so that telling it twice stores it once.

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { Away, Refused, alive } from "./reach.js";

const SEND_MS = 10_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5_000;
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
    this.waiters = new Map(); // number of an entry -> what is sent with it, and who waits for the answer
    this.busy = null;
    this.wait = 0;
    this.notBefore = 0;
    this.timer = null;
    this.complained = "";
  }

  /** Put a report in the queue. It is on disk when this returns; it is sent soon. The number of the entry. */
  put(verb, fields) {
    const number = ++this.number;
    const line = Buffer.from(`${JSON.stringify({ number, verb, fields })}\n`);
    try {
      if (!this.file) this.open();
      fs.appendFileSync(this.file, line, { mode: 0o600 });
      this.size += line.length;
    } catch (error) {
      this.log.error(`memos: ${verb} cannot be kept in ${this.folder} (${error.code}); it is sent once, without a second try`);
      this.send({ verb, fields }).catch((why) => this.log.error(`memos: ${verb} is lost: ${why.message}`));
      return number;
    }
    this.kick();
    return number;
  }

  /** Put a report in the queue and wait for its answer; null when there is none within `ms`, which loses nothing. */
  ask(verb, fields, more, ms) {
    if (!this.busy && Date.now() < this.notBefore) ms = 0; // the memory is away: nobody waits for it
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

  /** Whether anything is left to tell. */
  get behind() {
    return this.offset < this.size || this.leftovers().length > 0;
  }

  /** Wait until everything is told, the memory is away, or time is up. Whether everything is told. */
  async flush(ms) {
    const until = Date.now() + ms;
    this.notBefore = 0;
    this.kick();
    while (this.busy && Date.now() < until) {
      await Promise.race([this.busy, new Promise((yes) => setTimeout(yes, Math.max(1, until - Date.now())))]);
    }
    return this.offset >= this.size;
  }

  /** Let go of the file. What is in it is told by whoever comes next. */
  close() {
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
        if (!this.wait && this.offset < this.size) this.kick(); // it came while the last one was told
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
    if (this.complained) this.log.info("memos: the memory is there again, and everything is told");
    this.wait = 0;
    this.complained = "";
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

  /** Send an entry; what is refused for what it is would be refused again, and is let go. Throws Away. */
  async send({ verb, fields }, waiter) {
    let answer = null;
    try {
      const ms = waiter ? Math.max(50, waiter.until - Date.now()) : SEND_MS;
      answer = await this.reach.tell(verb, waiter ? { ...fields, ...waiter.more } : fields, ms);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.log.warn(`memos: ${verb} is not kept: ${error.message}`);
    }
    waiter?.done(answer);
  }

  away(error) {
    for (const waiter of [...this.waiters.values()]) waiter.done(null);
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait ? this.wait * 2 : FIRST_WAIT_MS);
    this.notBefore = Date.now() + this.wait;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.kick(), this.wait);
    this.timer.unref();
    const what = error instanceof Away ? error.message : `unexpected ${error?.name}: ${error?.message}`;
    if (what !== this.complained) this.log.warn(`memos: ${what}; OpenClaw goes on, and what happens is kept in ${this.folder}`);
    this.complained = what;
  }
}
