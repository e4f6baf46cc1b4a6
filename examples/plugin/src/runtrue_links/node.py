"""A node type for workflows: `slug`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from runtrue.workflow import Context, Result, WorkflowNode


@dataclass(frozen=True, slots=True)
class SlugParams:
    """What a workflow file gives the node."""

    text: Annotated[str, Meta(description="The text to make a name of")]


@dataclass(frozen=True, slots=True)
class SlugOutputs:
    """What the node gives to those behind it."""

    slug: Annotated[str, Meta(description="The text in lower case, with dashes")]


class SlugNode(WorkflowNode[SlugParams]):
    """Make a name for a URL out of a text."""

    type = "slug"
    Params = SlugParams
    Outputs = SlugOutputs

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """It changes nothing outside of the run, so a killed run may do it again."""
        return False

    async def run(self, params: SlugParams, context: Context) -> Result:
        """Return the name."""
        return Result({"slug": re.sub(r"[^a-z0-9]+", "-", params.text.lower()).strip("-")})
