"""OpenAPI documents of versions 2 and 3, made on request and cached."""

from simkit.schema.openapi.documents import document, index, mark, swagger

__all__ = ["document", "index", "mark", "swagger"]
