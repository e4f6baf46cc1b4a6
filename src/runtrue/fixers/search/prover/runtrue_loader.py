"""Load a candidate into a process that has not imported it yet, from the text of its modules.

It runs inside the project's own Python. Nothing of a candidate is written to the disk here.
"""

from __future__ import annotations  # any Python may be the project's

import ast
import importlib.machinery
import marshal
import os
import sys
from typing import Any

#: The text of files, by path, instead of what is on the disk.
texts: dict[str, str] = {}
#: The code of unchanged files, by path: plain, and of modules whose asserts are rewritten.
plain: dict[str, Any] = {}
rewritten: dict[str, Any] = {}
_root = [""]
#: The byte order mark.
_MARK = "\ufeff"


def install(root: str) -> None:
    """Load modules below `root` from `texts`, or from code that was loaded before."""
    from _pytest.assertion import rewrite as rewriting

    rewrite: Any = rewriting
    _root[0] = root + os.sep
    loader: Any = importlib.machinery.SourceFileLoader
    get_code, get_data = loader.get_code, loader.get_data
    rewrite_test, read_pyc = rewrite._rewrite_test, rewrite._read_pyc

    def loaded(self: Any, fullname: str) -> Any:
        path = self.path
        if path in texts:
            return code_of(texts[path], path)
        if path in plain:
            return plain[path]
        code = get_code(self, fullname)
        if path.startswith(_root[0]):
            plain[path] = code
        return code

    def data(self: Any, path: str) -> bytes:
        return texts[path].encode() if path in texts else get_data(self, path)

    def kept(source: Any, *args: Any, **more: Any) -> Any:
        path = str(source)
        if path in texts:
            return None
        if path in rewritten:
            return rewritten[path]
        code = read_pyc(source, *args, **more)
        if code is not None:
            rewritten[path] = code
        return code

    def made(source: Any, config: Any) -> Any:
        path = str(source)
        if path not in texts:
            state, code = rewrite_test(source, config)
            rewritten[path] = code
            return state, code
        tree = ast.parse(texts[path].lstrip(_MARK), filename=path)
        rewrite.rewrite_asserts(tree, texts[path].encode(), path, config)
        return None, compile(tree, path, "exec", dont_inherit=True)

    loader.get_code, loader.get_data = loaded, data
    rewrite._read_pyc, rewrite._rewrite_test = kept, made


def code_of(text: str, path: str) -> Any:
    """Return the code of a module; its encoding declaration counts only for bytes."""
    return compile(text.lstrip(_MARK), path, "exec", dont_inherit=True)


def keep() -> dict[str, bytes]:
    """Return the loaded code, and the modules that are not the project's, for another process."""
    outside = [
        name
        for name, module in list(sys.modules.items())
        if not is_inside(module) and name != "__main__" and not name.startswith("runtrue_")
    ]
    return {
        "plain": marshal.dumps(plain),
        "rewritten": marshal.dumps(rewritten),
        "modules": marshal.dumps(outside),
    }


def take(kept: dict[str, bytes]) -> None:
    """Load what another process has loaded."""
    plain.update(marshal.loads(kept["plain"]))  # noqa: S302
    rewritten.update(marshal.loads(kept["rewritten"]))  # noqa: S302
    for name in marshal.loads(kept["modules"]):  # noqa: S302
        if name in sys.modules or name.startswith(("conftest", "_pytest", "py.")):
            continue
        parent = name.rpartition(".")[0]
        if parent and parent not in sys.modules:
            continue
        try:
            spec = importlib.util.find_spec(name)
            # Only what is certainly not the project's, which only children import.
            if spec is None or not spec.origin or spec.origin.startswith(_root[0]):
                continue
            __import__(name)
        except BaseException:  # the children will see it themselves
            continue


def is_inside(module: Any) -> bool:
    """Return whether a module is the project's."""
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        installed = os.sep + "site-packages" + os.sep in file
        return file.startswith(_root[0]) and not installed
    paths = getattr(module, "__path__", None)
    try:
        return any(str(path).startswith(_root[0]) for path in paths or ())
    except Exception:
        return True
