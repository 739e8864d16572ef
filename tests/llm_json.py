"""The same fact, said in the ways in which models say it."""

from __future__ import annotations

FACT = {"facts": [{"subject": "user", "text": "The locker is number 58 {left}."}]}
PLAIN = '{"facts": [{"subject": "user", "text": "The locker is number 58 {left}."}]}'
BAD = '{"facts": [{"subject": "user", "text": "The locker is number 7."}]}'

SAID_WELL = {
    "plain": PLAIN,
    "fenced": f"```\n{PLAIN}\n```",
    "fenced as json": f"```json\n{PLAIN}\n```",
    "fence without an end": f"```json\n{PLAIN}",
    "prose before": f"Here is the JSON you asked for:\n\n{PLAIN}",
    "prose after": f"{PLAIN}\n\nLet me know if [anything] is missing.",
    "prose with brackets before": f"Facts {{as asked}}:\n{PLAIN}",
    "two fences": f"```json\n{PLAIN}\n```\nor, in short,\n```json\n{PLAIN}\n```",
    "thought": f"<think>{BAD}</think>{PLAIN}",
    "thought without a beginning": f"Perhaps {BAD}?</think>\n{PLAIN}",
    "byte order mark": f"\ufeff{PLAIN}",
    "trailing commas": PLAIN.replace("}]}", ",},],}"),
    "single quotes": PLAIN.replace('"', "'"),
    "smart quotes": "{“facts”: [{“subject”: “user”, “text”: “The locker is number 58 {left}.”}]}",
    "names without quotes": "{facts: [{subject: 'user', text: 'The locker is number 58 {left}.'}]}",
    "remarks": '{"facts": [ // all of them\n{"subject": "user", /* who */ "text": "The locker is number 58 {left}."}]}',
    "JSON in a string": '"{\\"facts\\": [{\\"subject\\": \\"user\\", \\"text\\": \\"The locker is number 58 {left}.\\"}]}"',
    "line breaks": PLAIN.replace("{", "{\r\n  ").replace("{\r\n  left", "{left"),
}
