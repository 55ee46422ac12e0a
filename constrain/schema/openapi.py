"""OpenAPI's own keywords, rewritten into those of JSON Schema where a document is read (`openapi=True`).

nullable       OpenAPI 3.0.3, Schema Object: `nullable: true` adds "null" to the `type` beside it, and does nothing
               without one (proposal 003 of the specification's repository). `enum` is not widened.
discriminator  Discriminator Object: the member `propertyName` tells which branch of the `oneOf` or `anyOf` beside it
               holds. A branch that is a reference is named by the keys of `mapping` that lead to it, or else by the
               last part of its reference. So each such branch is joined with "has the member, with one of its names".

What a keyword cannot mean where it stands is noted in the report.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from .document import Location
from .report import Report

__all__ = ["ANNOTATIONS", "KEYWORDS", "rewrite"]

KEYWORDS = frozenset(("nullable", "discriminator"))
ANNOTATIONS = frozenset(("xml", "externalDocs"))


def rewrite(location: Location, report: Report) -> None:
    """Change the schema at `location`, which must be the library's own copy, and note what has no effect."""
    schema = location.schema
    if schema.get("nullable") is True:
        _nullable(location, schema, report)
    elif "nullable" in schema and schema["nullable"] is not False:
        raise location.error("nullable", "must be a boolean")
    if "discriminator" in schema:
        _discriminator(location, schema, report)


def _nullable(location: Location, schema: dict[str, Any], report: Report) -> None:
    named = schema.get("type")
    if named is None:
        reason = "has no effect without `type` in the same schema, as OpenAPI says"
        report.add(location.pointer, "nullable", "note", reason)
        return
    names = [named] if isinstance(named, str) else named
    if isinstance(names, list) and "null" not in names:
        schema["type"] = [*names, "null"]
    listed = schema.get("enum")
    if isinstance(listed, list) and None not in listed:
        report.add(location.pointer, "nullable", "note", "`enum` does not list null, so null stays invalid")


def _discriminator(location: Location, schema: dict[str, Any], report: Report) -> None:
    discriminator = schema["discriminator"]
    name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
    if not isinstance(name, str):
        raise location.error("discriminator", "must be an object with a `propertyName`")
    mapping = discriminator.get("mapping", {})
    if not isinstance(mapping, dict) or not all(isinstance(target, str) for target in mapping.values()):
        raise location.error("discriminator", "its `mapping` must map names to references")
    unions = [keyword for keyword in ("oneOf", "anyOf") if isinstance(schema.get(keyword), list)]
    if not unions:
        report.add(location.pointer, "discriminator", "note", "has no effect without `oneOf` or `anyOf` beside it")
    for keyword in unions:
        branches = schema[keyword]
        for i, branch in enumerate(branches):
            tags = _tags(branch, mapping)
            if tags:
                tagged = {"type": "object", "properties": {name: {"enum": tags}}, "required": [name]}
                branches[i] = {"allOf": [branch, tagged]}
            else:
                reason = f"nothing names branch {i} of {keyword}, so it is told by its own keywords only"
                report.add(location.pointer, "discriminator", "note", reason)


def _tags(branch: Any, mapping: dict[str, str]) -> list[str]:
    """The values of the tag that choose the branch; [] when it is no reference, or one without a name."""
    reference = branch.get("$ref") if isinstance(branch, dict) else None
    if not isinstance(reference, str):
        return []
    implicit = unquote(reference.rpartition("/")[2]) if "#/" in reference else None
    explicit = [tag for tag, target in mapping.items() if target in (reference, implicit)]
    if explicit or implicit is None:
        return explicit
    return [implicit.replace("~1", "/").replace("~0", "~")]
