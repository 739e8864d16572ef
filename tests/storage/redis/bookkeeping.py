"""What every key of a queue must hold, worked out anew from its tasks and leases."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from memos.storage.tasks import LIVE

Held = dict[str, Any]


def joined(a: str, b: str) -> str:
    return f"{len(a.encode())}:{a}{b}"


async def read(client: Any, namespace: str) -> Held:
    """Every key of a namespace with what it holds."""
    prefix = "{" + namespace + "}:"
    held: Held = {}
    async for raw in client.scan_iter(match=prefix + "*", count=1000):
        key = raw.decode()
        match (await client.type(raw)).decode():
            case "hash":
                value: Any = {k.decode(): v.decode() for k, v in (await client.hgetall(raw)).items()}
            case "zset":
                value = {k.decode(): score for k, score in await client.zrange(raw, 0, -1, withscores=True)}
            case "set":
                value = {member.decode() for member in await client.smembers(raw)}
            case _:
                if b":q:" in raw:
                    lane = key.removeprefix(prefix + "q:")
                    pending = await client.xpending_range(raw, "workers", "-", "+", 10_000)
                    held[f"pending:{lane}"] = [
                        (one["message_id"].decode(), one["consumer"].decode()) for one in pending
                    ]
                value = [
                    (id.decode(), fields[b"id"].decode()) for id, fields in await client.xrange(raw) if b"id" in fields
                ]
        held[key.removeprefix(prefix)] = value
    return held


def wanted(held: Held, now: int) -> Held:
    """What the keys that follow from others must hold."""
    tasks = {key.removeprefix("task:"): task for key, task in held.items() if key.startswith("task:")}
    want: Held = defaultdict(dict)
    counts: Counter[tuple[str, str]] = Counter()
    lanes: dict[str, list[dict[str, str]]] = defaultdict(list)
    for id, task in tasks.items():
        n, kind, state, live = float(task["n"]), task["kind"], task["state"], task["state"] in LIVE
        at = float(task["finished"]) if state in {"completed", "cancelled"} else n
        want[f"{state}:{kind}"][id] = at
        for key in ("all", f"user:{task['user']}", f"cube:{task['cube']}"):
            want[key][id] = n
        counts[f"counts:u:{task['user']}", f"{state}:{kind}"] += 1
        counts[f"counts:c:{task['cube']}", f"{state}:{kind}"] += 1
        if state == "waiting":
            want[f"wait:{joined(kind, task['lane'])}"][id] = float(task["place"])
        if live:
            counts["live", task["user"]] += 1
            counts["meta", "live"] += 1
            lanes[task["lane"]].append(task)
    for (key, field), count in counts.items():
        want[key][field] = str(count)
    if tasks:
        want["kinds"] = {task["kind"] for task in tasks.values()}
        want["meta"]["n"] = held["meta"]["n"]
    for lane, members in lanes.items():
        _lane(want, held, lane, sorted(members, key=lambda t: int(t["place"])), now)
    return dict(want)


def _lane(want: Held, held: Held, lane: str, members: list[dict[str, str]], now: int) -> None:
    first, kept = members[0], held[f"lane:{lane}"]
    want[f"q:{lane}"] = [(f"{task['place']}-0", task["id"]) for task in members]
    want[f"lane:{lane}"] = kept
    want[f"pending:{lane}"] = [
        (f"{task['place']}-0", f"worker:{task['worker']}" if task["state"] == "in_progress" else "returned")
        for task in members
        if int(task["place"]) <= int(kept["delivered"])
    ]
    if kept["at"] == "leased":
        want["leases"][lane] = held["leases"][lane]
        want["tokens"][kept["token"]] = lane
        assert any(task["state"] == "in_progress" for task in members)
        return
    assert not {"token", "worker"} & set(kept)
    assert all(task["state"] == "waiting" for task in members)
    if kept["at"] == "delayed":
        want["delayed"][lane] = float(first["available"])
        return
    assert int(first["available"]) <= now
    spot, user = joined(first["kind"], first["priority"]), first["user"]
    want[f"priorities:{first['kind']}"][first["priority"]] = float(first["priority"])
    want[f"lanes:{joined(spot, user)}"][lane] = float(first["place"])
    want[f"spots:{user}"] = set(want.get(f"spots:{user}", ())) | {spot}
    oldest = min(want[f"lanes:{joined(spot, user)}"].values())
    want[f"users:{spot}"][user] = float(held.get("served", {}).get(user, oldest - 2**52))
