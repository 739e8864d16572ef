"""Indexes held in memory: rebuildable copies of what a home stores, fed by rows and never written to first.

They know nothing of SQLite: any home that can stream (row, terms, state, vector) can keep one.
"""
