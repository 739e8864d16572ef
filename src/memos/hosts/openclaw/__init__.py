"""OpenClaw: a plugin in plain JavaScript (the folder `plugin`), and what puts it into `openclaw.json`.

The plugin is read by OpenClaw from here, and talks to a server of MemOS over HTTP.
"""
