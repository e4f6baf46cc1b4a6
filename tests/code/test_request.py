"""What a request settles before its run begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.code import plan_code, plan_task
from runtrue.config import load_config


@pytest.mark.parametrize("package", ["a", "b"])
def test_code_in_a_package_is_tested_by_the_packages_check(tmp_path: Path, package: str) -> None:
    for name in ("a", "b"):
        place = tmp_path / "packages" / name
        (place / "tests").mkdir(parents=True)
        (place / "pyproject.toml").touch()
        (place / "app.py").touch()
        (place / "tests" / "test_app.py").touch()
    task = plan_task(tmp_path, "Add two numbers", path=f"packages/{package}/app.py")
    request = plan_code(tmp_path, load_config(tmp_path), task)
    assert request.tests.name == f"pytest-packages-{package}"
    assert request.tests.directory == f"packages/{package}"
