"""Dead links between Markdown files: a check, a fixer and a node for runtrue."""
