"""MemOS inside other people's frameworks: each module is a thin adapter of one, with an extra of its own (`memos[langgraph]`).

Nothing here reads or writes a cube but through the verbs of the object it is given, so that isolation, audit and honest
statuses are the same as everywhere. Importing this package loads no framework.
"""
