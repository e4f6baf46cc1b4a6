"""The small projects of `runtrue demo`."""

from __future__ import annotations

#: A bug that ruff repairs: what comes out of JSON is never the very same object as a literal.
SHOP = {
    "shop.py": """\
from datetime import date, datetime


def revenue(orders):
    return sum(order["price"] for order in orders if order["status"] is "paid")


def report(orders):
    print(f"Revenue until", date.today(), "is", revenue(orders))
""",
    "test_shop.py": """\
import json

from shop import revenue

ORDERS = json.loads('[{"status": "paid", "price": 30}, {"status": "open", "price": 12}]')


def test_revenue_counts_paid_orders():
    assert revenue(ORDERS) == 30
""",
    "ruff.toml": """\
lint.select = ["E4", "E7", "E9", "F"]
""",
}

#: A bug that no tool knows. It is one small edit away, and those can be tried.
PRICES = {
    "prices.py": """\
def discounted(price, percent):
    return price - price * percent
""",
    "test_prices.py": """\
from prices import discounted


def test_ten_percent_off():
    assert discounted(200, 10) == 180


def test_half_price():
    assert discounted(50, 50) == 25


def test_nothing_off():
    assert discounted(200, 0) == 200
""",
}

#: What is not there, and no small edit brings: somebody has to know what it is in German.
GREETING = {
    "greeting.py": """\
def greet(name):
    return f"Good morning, {name}!"
""",
    "test_greeting.py": """\
from greeting import greet


def test_english():
    assert greet("Ada") == "Good morning, Ada!"


def test_german():
    assert greet("Ada", language="de") == "Guten Morgen, Ada!"
""",
}

#: A workflow, and what it works on.
STOCK = {
    "low.yaml": """\
description: Write down what has to be ordered
inputs:
  below: {type: integer, description: how few are too few}
nodes:
  - id: stock
    type: read-file
    params: {file_path: stock.json}
  - id: low
    type: python
    params:
      inputs: {items: "${stock.content}", below: "${below}"}
      code: |
        import json
        return [item for item in json.loads(items) if item["left"] < below]
  - id: first
    type: shell
    params: {command: "echo order ${low.result[0].name} first"}
outputs:
  low: {source: "${low.result}"}
  first: {source: "${first.stdout}"}
""",
    "stock.json": """\
[
  {"name": "nuts; and bolts", "left": 3},
  {"name": "washers", "left": 250},
  {"name": "Müller's glue", "left": 9}
]
""",
}

#: What an API answers, with field names that a task does not know.
USERS: dict[str, dict[str, object]] = {
    "torvalds": {"name": "Linus Torvalds", "bio": "I wrote a kernel, once.", "followers": 230000},
    "gvanrossum": {"name": "Guido van Rossum", "bio": None, "followers": 24000},
}

#: In place of a real coding agent, so that the demo needs no network and no key. It gets the same
#: prompt in the same way, and really edits the file that lies before it.
STAND_IN = '''\
#!/usr/bin/env python3
import pathlib, sys

prompt = pathlib.Path(sys.argv[1]).read_text()
assert "unexpected keyword argument 'language'" in prompt, "it does not tell what is wrong"
pathlib.Path("greeting.py").write_text(
    """\\
WORDS = {"en": "Good morning", "de": "Guten Morgen"}


def greet(name, language="en"):
    return f"{WORDS[language]}, {name}!"
"""
)
print("edited greeting.py: greets in German, too")
'''
