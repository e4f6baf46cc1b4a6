"""Records what real tools say of the coverage of `shop`: `python -m tests.checks.coverage.record`.

The place of the project is replaced by `{root}`. Of what only some machines have, c8's and JaCoCo's
reports were recorded in the same way, with c8 12 over mocha and with the agent and the Ant task of
JaCoCo 0.8.6.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.checks.runners import NODE_MODULES

SHOP = Path(__file__).with_name("shop")
REPORTS = Path(__file__).with_name("reports")

_JEST = "test('adds', () => expect(require('./total.js').total([1, 2])).toBe(3));\n"
_GO = """
package money

import "testing"

func TestTotal(t *testing.T) {
	if Total([]int{1, 2}) != 3 {
		t.Fatal()
	}
}
"""
_PYTHON = "import total\nassert total.total([1, 2]) == 3\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "shop")
        shutil.copytree(SHOP, root)
        (root / "check.py").write_text(_PYTHON)
        (root / "total.test.js").write_text(_JEST)
        (root / "money/total_test.go").write_text(_GO)
        (root / "package.json").write_text("{}")
        (root / "node_modules").symlink_to(NODE_MODULES)
        coverage = f"{sys.executable} -m coverage"
        for command, left in (
            (f"{coverage} run --source=. --omit=check.py check.py", None),
            (f"{coverage} json --pretty-print -o coveragepy.json", "coveragepy.json"),
            (f"{coverage} xml -o cobertura.xml", "cobertura.xml"),
            (f"{coverage} lcov -o lcov.info", "lcov.info"),
            ("npx jest --coverage --coverageReporters=json", "coverage/coverage-final.json"),
            ("go test -coverprofile=cover.out ./...", "cover.out"),
        ):
            subprocess.run(command.split(), cwd=root, check=True)
            if left:
                text = (root / left).read_text().replace(str(root), "{root}")
                text = re.sub(r'"timestamp": "[^"]*"', '"timestamp": ""', text)
                text = re.sub(r' timestamp="[^"]*"', "", text)
                (REPORTS / Path(left).name).write_text(text)


if __name__ == "__main__":
    main()
