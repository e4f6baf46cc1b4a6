"""The Python of the projects that tests make: ours, without the plugins of our own test runs.

Every pytest in a project would load Hypothesis, xdist and the like from our environment, which
takes longer than all that the project's tests do.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
import venv
from functools import cache
from pathlib import Path

_NO_PLUGINS = 'import os; os.environ.setdefault("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")'


@cache
def project_path() -> str:
    """Return a PATH on which that Python comes first, and then all that our environment has."""
    ours = Path(sys.executable).parent
    return os.pathsep.join([str(_made() / "bin"), str(ours), os.environ.get("PATH", os.defpath)])


def _made() -> Path:
    # Within our environment, which commands in a sandbox may read.
    directory = Path(sys.prefix, "project")
    if not directory.is_dir():
        with tempfile.TemporaryDirectory(dir=sys.prefix) as made:
            _make(Path(made, "project"), directory)
    return directory


def _make(made: Path, final: Path) -> None:
    venv.EnvBuilder(symlinks=True).create(made)
    (site,) = made.glob("lib/python*/site-packages")
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{_NO_PLUGINS}\n")
    pytest = Path(sys.executable).with_name("pytest").read_text().splitlines(keepends=True)
    script = made / "bin" / "pytest"
    script.write_text(f"#!{final / 'bin' / 'python'}\n" + "".join(pytest[1:]))
    script.chmod(0o755)
    try:
        made.rename(final)
    except OSError:  # another process was faster
        shutil.rmtree(made)
