"""Policies: what worked in two tasks or more."""
