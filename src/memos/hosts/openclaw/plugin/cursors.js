// How far each session of OpenClaw was told: one small file each, without a word of what was said. It may be lost: the keys of
// what is reported are made of the host's ids, so that what is told again is stored once.

import fs from "node:fs";
import path from "node:path";

import { digest } from "./transcript.js";

const MOST = 200; // runs that are known by name
const KEPT = 500; // sessions that are held in memory

export class Cursors {
  constructor(folder) {
    this.folder = folder;
    this.known = new Map();
  }

  /** The cursor of a session. `at`: the newest time that is told, null for a session that was never seen. `name`: what the
   * memory knows the session by. `runs`: whose message was told; `skipped`: those that are not kept.
   */
  of(id) {
    let cursor = this.known.get(id);
    if (!cursor) {
      cursor = { id, name: id.slice(0, 256), at: null, runs: [], skipped: [], ...this.read(id) };
      this.known.set(id, cursor);
      if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value);
    }
    return cursor;
  }

  /** Write a cursor, whole or not at all; a disk that is full costs time later, and loses nothing. */
  save(cursor) {
    cursor.runs = cursor.runs.slice(-MOST);
    cursor.skipped = cursor.skipped.slice(-MOST);
    const file = this.file(cursor.id);
    try {
      fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      fs.writeFileSync(`${file}.${process.pid}`, JSON.stringify(cursor), { mode: 0o600 });
      fs.renameSync(`${file}.${process.pid}`, file);
    } catch {}
  }

  read(id) {
    try {
      const value = JSON.parse(fs.readFileSync(this.file(id), "utf8"));
      const lists = Array.isArray(value.runs) && Array.isArray(value.skipped);
      const rest = typeof value.name === "string" && (value.at === null || Number.isFinite(value.at));
      if (value.id === id && lists && rest) return value;
    } catch {}
    return {};
  }

  file(id) {
    return path.join(this.folder, `${digest(id)}.json`);
  }
}
