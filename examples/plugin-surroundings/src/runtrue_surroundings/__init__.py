"""A gate, a channel, a store of secrets and a model for runtrue."""
