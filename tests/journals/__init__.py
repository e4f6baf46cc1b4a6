"""Journals as released versions have written them: runs that wait for an answer."""
