"""Names are imported from where they are."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import failed, offers

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
