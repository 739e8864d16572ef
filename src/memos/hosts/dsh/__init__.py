"""DeepSeek Harness: `plugin.mjs` is mounted in it and hands its events to the hook command; here it is installed and tried.

The harness packs its own log, so that the plugin keeps a journal of each session, which hooks read as they read transcripts.
"""
