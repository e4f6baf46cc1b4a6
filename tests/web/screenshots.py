"""Makes the pictures of docs/ui.md: `.venv/bin/python -m tests.web.screenshots`.

The runs are real ones of the real command line. With a directory, every page is put there instead,
at each width and in both themes, to be looked at.
"""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser

from tests.cli.conftest import Machine, make_in, write
from tests.cli.test_ask_by_example import SHIPPING
from tests.planner.api import running_api
from tests.web.browser import go, served, started_browser, visit
from tests.web.every_page import fill

PICTURES = Path(__file__).parent.parent.parent / "docs" / "ui"

SHOP = {
    "shop.py": '''
        """Prices."""


        def total(prices, rate):
            """The sum with tax."""
            result = 0
            for price in prices:
                result += price
            return result + result - rate


        def first(items):
            return items[1]


        def cheapest(prices):
            return max(prices)
    ''',
    "test_shop.py": """
        import pytest
        from shop import cheapest, first, total


        def test_total():
            assert total([10, 20], 0.5) == 45


        def test_total_without_tax():
            assert total([10], 0) == 10


        def test_total_of_nothing():
            assert total([], 0.2) == 0


        def test_first():
            assert first(["a", "b"]) == "a"


        def test_first_of_one():
            assert first([3]) == 3


        def test_cheapest():
            assert cheapest([3, 1, 2]) == 1


        @pytest.mark.parametrize("n", range(6))
        def test_always(n):
            assert n == n
    """,
}
WORKFLOW = """
    description: The warmest day of a city
    inputs:
      city: {type: string, default: Oslo, description: Where}
    nodes:
      - {id: forecast, type: shell, params: {command: "printf '3 5 8' # ${city}"}}
      - {id: hottest, type: shell, params: {command: "printf '${forecast.stdout}' | cut -c5"}}
      - {id: note, type: write-file, params: {file_path: warmest.txt, content: "${hottest.stdout}"}}
    outputs:
      warmest: {source: "${hottest.stdout}"}
"""


def main(argv: Sequence[str]) -> int:
    if argv:
        _take_every_page(Path(argv[0]))
        return 0
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as directory:
        root = Path(directory)
        machine = Machine(root)
        for name, files in (("shop", SHOP), ("shipping", SHIPPING)):
            write(machine.home / name, files)
        (machine.home / "warmest.yaml").write_text(textwrap.dedent(WORKFLOW).lstrip())
        for words in (
            ("fix", "shop", "--copy", "--json"),
            ("fix", "shipping", "--copy", "--json"),
            ("save", "warmest.yaml"),
            ("run", "warmest", "city=Bergen", "--json"),
            ("run", "warmest", "--json"),
        ):
            done = machine.runtrue(*words)
            print(*words, done.code, done.err.strip()[-200:], file=sys.stderr)
        with served(machine) as address, started_browser() as browser:
            _take(browser, address)
    return 0


def _take(browser: Browser, address: str) -> None:
    page = visit(browser, address)
    page.set_viewport_size({"width": 1280, "height": 860})
    page.screenshot(path=PICTURES / "inbox.png")
    go(page, "/runs?kind=fix&state=passed")
    page.locator("td.tt a").first.click()
    page.wait_for_url("**/runs/*")
    fixed = page.url.partition("/runs/")[2]
    page.screenshot(path=PICTURES / "run.png")
    go(page, "/workflows/warmest")
    page.screenshot(path=PICTURES / "workflow.png")
    go(page, "/metrics")
    page.set_viewport_size({"width": 1280, "height": 660})
    page.screenshot(path=PICTURES / "metrics.png")
    phone = visit(browser, address, theme="dark", width=390)
    phone.set_viewport_size({"width": 390, "height": 844})
    go(phone, f"/runs/{fixed}")
    phone.screenshot(path=PICTURES / "phone.png")


def _take_every_page(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as root, running_api() as api:
        machine = Machine(Path(root), search=False)
        paths = fill(machine, make_in(Path(root)), api)
        with served(machine) as address, started_browser() as browser:
            for theme, width in product(("light", "dark"), (360, 1280, 2560)):
                page = visit(browser, address, theme=theme, width=width)
                for number, path in enumerate(paths):
                    go(page, path)
                    name = re.sub(r"[^a-z]+", "-", path.lower()).strip("-") or "inbox"
                    picture = directory / f"{number:02}-{name}-{width}-{theme}.png"
                    page.screenshot(path=picture, full_page=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
