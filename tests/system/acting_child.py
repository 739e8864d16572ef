"""A process in which an agent works until it is killed. Says each id that was acknowledged: `kind id episode`."""

from __future__ import annotations

import sys

from memos import MemOS


def main(home: str) -> None:
    with MemOS(home, embedder="none", background=False) as memos:
        print("ok", flush=True)
        for turn in range(10_000):
            begun = memos.start_turn(
                f"Add the part number {turn} to the catalogue", task="same", recall=False, key=f"t{turn}"
            )
            print("user", begun.message, begun.episode, flush=True)
            for n in range(3):
                step = memos.report_step("shell", {"cmd": f"add {turn} {n}"}, "added", call_id=f"c{turn}of{n}abcdefgh")
                print("tool", step.step, step.episode, flush=True)
            ended = memos.end_turn(
                f"Part {turn} is in the catalogue.", steps=[{"tool": "check", "ok": True}], key=f"t{turn}"
            )
            print("assistant", ended.message, ended.episode, flush=True)
            print("tool", *ended.steps, ended.episode, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
