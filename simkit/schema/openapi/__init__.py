"""The API's description of itself in OpenAPI, versions 2 and 3, made when it is asked for and kept."""

from simkit.schema.openapi.documents import document, index, mark, swagger

__all__ = ["document", "index", "mark", "swagger"]
