"""Every scenario has a shop of its own."""

from __future__ import annotations

from behave.model import Scenario
from behave.runner import Context

from features.shop import Shop


def before_scenario(context: Context, scenario: Scenario) -> None:
    context.shop = Shop()


def after_scenario(context: Context, scenario: Scenario) -> None:
    context.shop.close()
