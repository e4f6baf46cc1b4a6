"""What must not be "repaired": the failure lies elsewhere, and `runtrue fix` says so honestly."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Machine, content, write
from tests.fixers.search.casebook import commit, traces

#: Seconds for a search. Less than by default, so that what is in vain does not take long here.
BUDGET = 4
SETTINGS = {"runtrue.toml": f"[fixers.search]\nseconds = {BUDGET}\n"}

CONTRADICTION = {
    "rounding.py": '''
        """Prices as they are shown."""


        def to_cents(amount):
            """An amount of money in cents."""
            return int(amount * 100)


        def show(amount):
            cents = to_cents(amount)
            return f"{cents // 100}.{cents % 100:02}"
    ''',
    "tests/test_rounding.py": """
        from rounding import show, to_cents


        def test_whole_amounts():
            assert to_cents(2) == 200
            assert show(3) == "3.00"


        def test_halves_are_rounded_up():
            assert to_cents(0.125) == 13


        def test_halves_are_cut_off():
            assert to_cents(0.125) == 12
    """,
}

MISSING_FEATURE = {
    "shop/__init__.py": "",
    "shop/cart.py": '''
        """A cart of articles."""


        class Cart:
            def __init__(self):
                self.lines = []

            def add(self, name, price, quantity=1):
                self.lines.append((name, price, quantity))

            def total(self):
                return sum(price * quantity for _, price, quantity in self.lines)
    ''',
    "tests/test_cart.py": """
        import pytest

        from shop.cart import Cart


        @pytest.fixture
        def cart():
            cart = Cart()
            cart.add("tea", 500, 2)
            cart.add("milk", 120)
            return cart


        def test_the_total(cart):
            assert cart.total() == 1120


        def test_a_voucher_of_some_percent(cart):
            cart.redeem("TEN-PERCENT")
            assert cart.total() == 1008


        def test_a_voucher_of_an_amount(cart):
            cart.redeem("FIVE-EURO")
            assert cart.total() == 620


        def test_a_voucher_counts_once(cart):
            cart.redeem("FIVE-EURO")
            with pytest.raises(ValueError, match="used already"):
                cart.redeem("FIVE-EURO")
            with pytest.raises(ValueError, match="no such voucher"):
                cart.redeem("NONE")
    """,
}

MISSING_MODULE = {
    "charts.py": '''
        """Charts of sales, drawn by a package that has to be installed."""

        import plotmagic_of_nobody


        def bars(sales):
            figure = plotmagic_of_nobody.Figure(title="Sales")
            for month, amount in sales.items():
                figure.bar(month, amount)
            return figure


        def highest(sales):
            return max(sales, key=sales.get)
    ''',
    "tests/test_charts.py": """
        from charts import bars, highest


        def test_the_best_month():
            assert highest({"May": 3, "June": 5}) == "June"


        def test_a_bar_for_each_month():
            assert len(bars({"May": 3, "June": 5}).bars) == 2
    """,
}

#: The port is filled in.
NOBODY_LISTENS = {
    "status.py": '''
        """Whether a service is there."""

        import socket

        PORT = PORT_OF_NOBODY


        def ask(word, port=PORT):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(word.encode() + b"\\n")
                return connection.recv(100).decode().strip()


        def is_up(answer):
            return answer.lower() in ("ok", "up")
    ''',
    "tests/test_status.py": """
        from status import ask, is_up


        def test_words_for_up():
            assert is_up("OK")
            assert not is_up("down")


        def test_the_service_is_up():
            assert is_up(ask("ping"))
    """,
}

MISSING_DATA = {
    "rates.py": '''
        """Rates of exchange, from a file that somebody has to fetch."""

        import json
        from pathlib import Path

        FILE = Path(__file__).parent / "data" / "rates.json"


        def load(path=FILE):
            return json.loads(path.read_text())


        def convert(amount, source, target, rates):
            return round(amount / rates[source] * rates[target], 2)
    ''',
    "tests/test_rates.py": """
        from rates import convert, load


        def test_converting():
            assert convert(10, "EUR", "USD", {"EUR": 1, "USD": 1.1}) == 11


        def test_the_rates_of_the_bank():
            rates = load()
            assert rates["EUR"] == 1
            assert set(rates) >= {"EUR", "USD", "CHF"}
    """,
}

MISSING_SETTING = {
    "database.py": '''
        """Where the data are, as the machine is set up."""

        import os
        from urllib.parse import urlsplit


        def address():
            return os.environ["SHOP_DATABASE_ADDRESS"]


        def host(url):
            return urlsplit(url).hostname
    ''',
    "tests/test_database.py": """
        from database import address, host


        def test_the_host_of_an_address():
            assert host("postgres://db.example.org:5432/shop") == "db.example.org"


        def test_the_machine_is_set_up():
            assert address().startswith("postgres://")
            assert host(address())
    """,
}

#: One expectation is a slip of the pen; the others leave no doubt about what is right.
WRONG_TEST = {
    "statistics_of.py": '''
        """Sums and means."""


        def total(numbers):
            result = 0
            for number in numbers:
                result += number
            return result


        def mean(numbers):
            if not numbers:
                raise ValueError("no mean of nothing")
            return total(numbers) / len(numbers)
    ''',
    "tests/test_statistics.py": """
        import pytest

        from statistics_of import mean, total


        @pytest.mark.parametrize(
            ("numbers", "expected"),
            [
                ([], 0),
                ([5], 5),
                ([1, 2], 3),
                ([2, 2, 3], 7),
                ([3, 2, 1], 6),
                ([-4, 4], 0),
                ([10, 20, 30, 40], 100),
                ([1, 2, 3], 7),
            ],
        )
        def test_total(numbers, expected):
            assert total(numbers) == expected


        def test_mean():
            assert mean([1, 2, 3]) == 2
            assert mean([4]) == 4


        def test_no_mean_of_nothing():
            with pytest.raises(ValueError):
                mean([])
    """,
}

OUT_OF_REACH = {
    "contradictory tests": CONTRADICTION,
    "a missing feature": MISSING_FEATURE,
    "a missing module": MISSING_MODULE,
    "nobody listens": NOBODY_LISTENS,
    "a missing file of data": MISSING_DATA,
    "a setting of the machine": MISSING_SETTING,
    "a wrong test": WRONG_TEST,
}
#: Some where the program may be at fault, so that edits are tried, and the file to look at.
SEARCHED = {"contradictory tests": "rounding.py", "a missing feature": "shop/cart.py"}


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port that is taken, so that nobody else can, and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def make(directory: Path, files: dict[str, str], port: int = 0) -> Path:
    project = directory / "project"
    files = {name: text.replace("PORT_OF_NOBODY", str(port)) for name, text in files.items()}
    write(project, {**SETTINGS, **files})
    commit(project)
    return project


def failing(done: Done) -> set[str | None]:
    return {finding["location"]["symbol"] for finding in done.json["findings"]}


@pytest.mark.parametrize("name", OUT_OF_REACH)
def test_what_no_edit_can_mend_is_left_as_it_was(name: str, tmp_path: Path, deaf_port: int) -> None:
    project = make(tmp_path, OUT_OF_REACH[name], deaf_port)
    before = content(project)
    done = Machine(tmp_path).runtrue("fix", project, "--apply", "--json")
    assert done.code == 1, f"{done.json['diff']}\n{done.err}"
    assert done.json["status"] in ("failed", "escalated", "aborted")
    assert done.json["applied"] is False
    assert failing(done)
    assert content(project) == before
    for trace in traces(done.json):
        assert trace["seconds"] < 3 * BUDGET


@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_in_vain_tells_what_was_tried_and_where_to_look(name: str, tmp_path: Path) -> None:
    project = make(tmp_path, OUT_OF_REACH[name])
    done = Machine(tmp_path).runtrue("fix", project)
    assert done.code == 1
    assert "none passed" in done.said
    assert f"Most suspicious: {SEARCHED[name]}:" in done.said


def test_where_no_kind_of_edit_fits_that_is_told_with_where_to_look(tmp_path: Path) -> None:
    done = Machine(tmp_path).runtrue("fix", make(tmp_path, MISSING_MODULE))
    assert done.code == 1
    assert "no known kind of edit fits. Most suspicious: charts.py:" in done.said


def test_a_flaky_test_is_told_as_flaky_and_nothing_is_edited(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    project = make(
        tmp_path,
        {
            "queue_of_jobs.py": """
                def first(jobs):
                    return jobs[0] if jobs else None
            """,
            "tests/test_queue.py": f"""
                from pathlib import Path

                from queue_of_jobs import first

                COUNTER = Path({str(counter)!r})


                def test_the_first_job():
                    assert first(["a", "b"]) == "a"


                def test_every_second_time():
                    runs = len(COUNTER.read_text()) if COUNTER.exists() else 0
                    COUNTER.write_text("x" * (runs + 1))
                    assert first(["a"] * runs) == ("a" if runs % 2 else "not yet")
            """,
        },
    )
    before = content(project)
    done = Machine(tmp_path).runtrue("fix", project, "--apply", "--json")
    assert done.code == 0, done.said
    report = done.json
    assert report["diff"] == ""
    assert report["flaky"] == ["tests/test_queue.py::test_every_second_time"]
    assert not list(traces(report))
    assert content(project) == before
