"""Names are imported from where they are."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure
from tests.fixers.search.trying import failed, offers, proposed

TABLE = {
    "a module": ("x = math.sqrt(2)\n", "import math\nx = math.sqrt(2)\n"),
    "a name": (
        "d = defaultdict(list)\n",
        "from collections import defaultdict\nd = defaultdict(list)\n",
    ),
    "a renamed module": ("a = np.zeros(3)\n", "import numpy as np\na = np.zeros(3)\n"),
    "behind the docstring": (
        '"""Doc."""\nfrom __future__ import annotations\n\nx = json.loads("1")\n',
        '"""Doc."""\nfrom __future__ import annotations\nimport json\n\nx = json.loads("1")\n',
    ),
    "the right module": (
        "from collections import partial, deque\n",
        "from collections import deque\nfrom functools import partial\n",
    ),
    "a class of a module of the same name": (
        "import datetime\n\nnow = datetime.now()\n",
        "import datetime\n\nnow = datetime.datetime.now()\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_it_is_imported(rule: str) -> None:
    offers("import", *TABLE[rule])


def test_a_class_is_not_asked_for_itself() -> None:
    before = "from datetime import datetime\n\nnow = datetime.datetime.now()\n"
    after = "from datetime import datetime\n\nnow = datetime.now()\n"
    told = "type object 'datetime.datetime' has no attribute 'datetime'"
    offers("import", before, after, failed("AttributeError", told, 3))


def not_there(module: str) -> Failure:
    told = f"No module named {module!r}"
    return Failure(test="test_it", exception="ModuleNotFoundError", message=told, name=module)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import maths\n\nx = maths.sqrt(2)\n", "import math as maths\n\nx = maths.sqrt(2)\n"),
        ("from colections import deque\n", "from collections import deque\n"),
    ],
)
def test_a_module_that_is_misspelt_is_the_one_that_was_meant(before: str, after: str) -> None:
    module = before.split()[1]
    offers("import", before, after, not_there(module))
    others = proposed(before, not_there("tabulate")).values()
    assert not [one for one in others if one.kind == "import" and one.line == 1]


@pytest.mark.parametrize(
    "before",
    [
        "import tabulate\n\n\ndef f(rows):\n    return tabulate.tabulate(rows)\n",
        "import maths\n\nx = maths.matrix(2)\n",
        "from yaml import load\n",
    ],
)
def test_a_module_that_is_not_installed_is_not_taken_for_another(before: str) -> None:
    found = proposed(before, not_there(before.split()[1])).values()
    assert not [one for one in found if one.line == 1]


TEXT = {"src/catalog/text.py": "def slugify(title):\n    return title.lower()\n"}


@pytest.mark.parametrize(
    ("before", "added"),
    [
        ("from .text import shorten\n", "from .text import shorten, slugify\n"),
        ("from catalog.text import shorten\n", "from catalog.text import shorten, slugify\n"),
        ("from .shop import Basket\n", "from .text import slugify\nfrom .shop import Basket\n"),
        ("import re\n", "from catalog.text import slugify\nimport re\n"),
    ],
)
def test_a_name_of_the_project_is_imported_as_the_file_imports_others(
    before: str, added: str
) -> None:
    use = "\nurl = slugify('Tea')\n"
    found = proposed(before + use, file="src/catalog/pages.py", others=TEXT)
    assert found[added + use].kind == "import"


def test_a_module_of_the_project_is_imported() -> None:
    use = "url = text.slugify('Tea')\n"
    assert "import text\n" + use in proposed(use, file="pages.py", others={"text.py": ""})
