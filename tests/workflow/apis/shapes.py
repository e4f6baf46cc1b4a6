"""Documents in the shapes of well-known APIs, small, for loopback servers."""

from __future__ import annotations

from typing import Any


def github_shaped(base: str) -> dict[str, Any]:
    """OpenAPI 3.0 without any declared authentication, with ids such as `issues/create`."""
    owner, repo = (
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in ("owner", "repo")
    )
    both = [{"$ref": "#/components/parameters/owner"}, {"$ref": "#/components/parameters/repo"}]
    repository = {"$ref": "#/components/schemas/full-repository"}
    issue = {"$ref": "#/components/schemas/issue"}
    return {
        "openapi": "3.0.3",
        "info": {"title": "GitHub shaped", "version": "1.1.4"},
        "servers": [{"url": base}],
        "paths": {
            "/repos/{owner}/{repo}": {
                "get": {
                    "operationId": "repos/get",
                    "summary": "Get a repository",
                    "parameters": both,
                    "responses": {"200": _json(repository)},
                }
            },
            "/repos/{owner}/{repo}/issues": {
                "get": {
                    "operationId": "issues/list-for-repo",
                    "summary": "List repository issues",
                    "parameters": [
                        *both,
                        {
                            "name": "state",
                            "in": "query",
                            "schema": {"type": "string", "enum": ["open", "closed", "all"]},
                        },
                        {
                            "name": "per_page",
                            "in": "query",
                            "schema": {"type": "integer", "maximum": 100},
                        },
                    ],
                    "responses": {"200": _json({"type": "array", "items": issue})},
                },
                "post": {
                    "operationId": "issues/create",
                    "summary": "Create an issue",
                    "parameters": both,
                    "requestBody": {
                        "required": True,
                        **_json(
                            {
                                "type": "object",
                                "required": ["title"],
                                "properties": {
                                    "title": {"type": "string"},
                                    "body": {"type": "string", "nullable": True},
                                    "labels": {"type": "array", "items": {"type": "string"}},
                                    "id": {"type": "integer", "readOnly": True},
                                },
                            }
                        ),
                    },
                    "responses": {"201": _json(issue)},
                },
            },
        },
        "components": {
            "parameters": {"owner": owner, "repo": repo},
            "schemas": {
                "full-repository": {
                    "type": "object",
                    "properties": {
                        "full_name": {"type": "string"},
                        "stargazers_count": {"type": "integer"},
                        "license": {"type": "object", "nullable": True},
                        "parent": {"$ref": "#/components/schemas/full-repository"},
                    },
                },
                "issue": {
                    "type": "object",
                    "properties": {
                        "number": {"type": "integer"},
                        "title": {"type": "string"},
                        "user": {"type": "object", "properties": {"login": {"type": "string"}}},
                    },
                },
            },
        },
    }


def stripe_shaped(base: str) -> dict[str, Any]:
    """OpenAPI 3.0 with form bodies, `deepObject` members, HTML, and two ways to authenticate."""
    return {
        "openapi": "3.0.0",
        "info": {"title": "Stripe shaped", "version": "2026-01-01"},
        "servers": [{"url": f"{base}/"}],
        "security": [{"basicAuth": []}, {"bearerAuth": []}],
        "paths": {
            "/v1/customers": {
                "post": {
                    "operationId": "PostCustomers",
                    "description": "<p>Creates a new customer object.</p>",
                    "requestBody": {
                        "required": False,
                        "content": {
                            "application/x-www-form-urlencoded": {
                                "encoding": {
                                    "address": {"explode": True, "style": "deepObject"},
                                    "expand": {"explode": True, "style": "deepObject"},
                                    "metadata": {"explode": True, "style": "deepObject"},
                                },
                                "schema": {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "properties": {
                                        "email": {"type": "string", "maxLength": 512},
                                        "name": {"type": "string"},
                                        "address": {
                                            "anyOf": [
                                                {
                                                    "type": "object",
                                                    "properties": {"city": {"type": "string"}},
                                                },
                                                {"type": "string", "enum": [""]},
                                            ]
                                        },
                                        "expand": {"type": "array", "items": {"type": "string"}},
                                        "metadata": {
                                            "type": "object",
                                            "additionalProperties": {"type": "string"},
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "responses": {"200": _json({"$ref": "#/components/schemas/customer"})},
                }
            },
            "/v1/customers/{customer}": {
                "get": {
                    "operationId": "GetCustomersCustomer",
                    "description": "<p>Retrieves a customer object.</p>",
                    "parameters": [
                        {
                            "name": "customer",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string"},
                        }
                    ],
                    "responses": {"200": _json({"$ref": "#/components/schemas/customer"})},
                }
            },
        },
        "components": {
            "schemas": {
                "customer": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "email": {"type": "string", "nullable": True},
                        "name": {"type": "string"},
                        "balance": {"type": "integer"},
                    },
                }
            },
            "securitySchemes": {
                "basicAuth": {"type": "http", "scheme": "basic"},
                "bearerAuth": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "", "content": {"application/json": {"schema": schema}}}
