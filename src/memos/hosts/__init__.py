"""Hosts: the agents that MemOS plugs into, by command hooks and MCP (Claude Code, Codex) or by a plugin (Hermes, OpenClaw,
DeepSeek Harness).

`hook` is what a host runs at each event. It, and what it imports (`reach`, `session`, `memos.moving.transcript`), use the
standard library alone, and little of it: a host waits for it.
"""
