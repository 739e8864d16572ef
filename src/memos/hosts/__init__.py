"""Hosts: the coding agents that MemOS plugs into (Claude Code, Codex) by command hooks and MCP.

`hook` is what a host runs at each event. It, and what it imports (`reach`, `session`, `memos.moving.transcript`), use the standard library
alone, and little of it: a host waits for it.
"""
