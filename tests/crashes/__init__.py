"""Runs that are killed at every write to their journal, and what comes of them."""
