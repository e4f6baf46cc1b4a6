"""The node types that come with runtrue, one module for each; the registry imports them late."""
