"""APIs: OpenAPI and Swagger documents that a user adds, and the operations in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.workflow.apis.document import ApiError
    from runtrue.workflow.apis.files import Api, ApiStore, unknown_api
    from runtrue.workflow.apis.open_api import open_api
    from runtrue.workflow.apis.search import nearest_operations

__all__ = lazy_exports(__name__)
