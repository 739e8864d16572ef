"""Kinds of tasks that come up once or never: nothing can have been learned of them. Some look like a known family and are not."""

from __future__ import annotations

from dataclasses import dataclass

from memos.bench.agent_world.host import rule
from memos.bench.agent_world.members import Picker
from memos.bench.agent_world.problems import ENVIRONMENTS, Family, Problem


@dataclass(frozen=True, slots=True)
class Quirk:
    """A hidden rule as data: `{n}` a name, `{s}` a service, `{t}` a tool, `{h}` a header, `{k}` a number. Without an `error` the
    command succeeds and the goal is not reached.
    """

    name: str
    goal: str
    command: str
    error: str
    fix: str

    def make(self, p: Picker, held: bool) -> Problem:
        """A problem with members of its own."""
        words = {
            "n": p.pick("names", held),
            "s": p.pick("services", held),
            "t": p.pick("tools", held),
            "h": p.pick("headers", held),
        }
        words["k"] = str(p.rng.randrange(100, 9000))
        goal, command, error, fix = (x.format(**words) for x in (self.goal, self.command, self.error, self.fix))
        if not error:
            rules = [
                rule(command, gives=["tried"], output="ok"),
                rule(fix, needs=["tried"], gives=["done"], output="ok"),
            ]
        elif fix.split()[0] == command.split()[0] or fix.startswith("sudo "):
            needs = ["root"] if fix.startswith("sudo ") else ["never"]
            rules = [
                rule(command, needs=needs, error=error, gives=["done"], output="ok"),
                rule(fix, gives=["done"], output="ok"),
            ]
        else:
            rules = [
                rule(command, needs=["fixed"], error=error, gives=["done"], output="ok"),
                rule(fix, gives=["fixed"], output="ok"),
            ]
        facts = frozenset({f"service:{words['s']}", f"running:{words['s']}"})
        environment = p.rng.choice(ENVIRONMENTS)
        return Problem(
            environment,
            goal,
            command,
            tuple(rules),
            facts,
            frozenset({"done"}),
            "No, that did not work, it is as before",
        )


_QUIRKS = (
    Quirk(
        "clock",
        "Refresh the mirror {n}",
        "sync-mirror {n}",
        "sync-mirror: TLS: certificate is not yet valid, clock is {k} s behind",
        "clock sync",
    ),
    Quirk(
        "names",
        "Register {s} in the directory",
        "register {s}",
        "register: {s}.internal: stale answer {k} s old",
        "dns flush",
    ),
    Quirk(
        "checksum",
        "Load the data set {n}",
        "load-data {n}",
        "load-data: checksum mismatch in {n}.parquet at byte {k}",
        "fetch {n}",
    ),
    Quirk(
        "quota",
        "Send the batch {n}",
        "send-batch {n}",
        "send-batch: {n}: quota of {k} messages exceeded",
        "quota raise {n}",
    ),
    Quirk(
        "bloat",
        "Export the table {n}",
        "export-table {n}",
        "export-table: {n} holds {k} dead rows, refused",
        "vacuum {n}",
    ),
    Quirk(
        "index",
        "Make the monthly query on {n}",
        "query-report {n}",
        "query-report: index {n}_idx is corrupt (page {k})",
        "reindex {n}",
    ),
    Quirk(
        "key",
        "Publish the secrets of {s}",
        "push-secret {s}",
        "push-secret: the key of {s} expired {k} hours ago",
        "key rotate {s}",
    ),
    Quirk("proxy", "Pull the model {n}", "pull-model {n}", "pull-model: HTTP 407 from the proxy for {n}", "proxy off"),
    Quirk(
        "stale",
        "Attach a debugger to {s}",
        "attach {s}",
        "attach: {s}: process image is stale (inode {k})",
        "systemctl restart {s}",
    ),
    Quirk(
        "session",
        "Compile the handbook {n}",
        "compile-docs {n}",
        "compile-docs: interpreter '{t}' is not in this session",
        "module load {t}",
    ),
    Quirk(
        "log",
        "Rotate the logs of {s}",
        "rotate-logs {s}",
        "rotate-logs: {s} holds its log open (fd {k})",
        "systemctl reload {s}",
    ),
    Quirk(
        "uid",
        "Clone the disk {n}",
        "mirror-disk {n}",
        "mirror-disk: operation requires uid 0, you are {k}",
        "sudo mirror-disk {n}",
    ),
    Quirk(
        "space", "Train the ranker on {n}", "train {n}", "train: scratch cache of {n} grew beyond {k} MB", "cache prune"
    ),
    Quirk(
        "replay", "Replay the log {n}", "replay {n}", "replay: another replay of {n} is registered as {k}", "unlock {n}"
    ),
    Quirk(
        "bundled",
        "Render the figures of {n}",
        "render {n}",
        "render.c:{k}:10: fatal error: {h}.h: No such file or directory",
        "fetch {n}",
    ),
    Quirk("silent", "Announce {s} to its clients", "announce {s}", "", "dns flush"),
    Quirk(
        "drained",
        "Join the node {s} to the cluster",
        "join {s}",
        "join: {s} still serves {k} clients",
        "systemctl stop {s}",
    ),
    Quirk(
        "revision",
        "Compact the ledger {n}",
        "compact {n}",
        "compact: {n} was written by revision {k}",
        "db migrate {n}",
    ),
)
NOVEL = tuple(Family(q.name, q.make, silent=not q.error) for q in _QUIRKS)
