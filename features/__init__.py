"""Features: what runtrue promises, in words that everybody can read, and what proves it."""
