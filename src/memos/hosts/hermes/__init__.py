"""Hermes Agent: MemOS as its memory provider, in its own process, on the data folder or over HTTP.

`plugin` is what Hermes loads; it imports nothing of Hermes, and nothing heavy before a session begins.
"""
