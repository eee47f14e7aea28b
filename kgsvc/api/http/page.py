"""The page: files that `make page` bundles from page/, and what browsers are told to hold it to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

STATIC = Path(__file__).with_name("static")
_KINDS = {"index.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
# Nothing from elsewhere, nothing inline, nothing made markup from text, and in nobody's frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types 'none'"
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-security-policy": _POLICY,
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",  # of another version the files have the same names
    }
)


async def _file(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    if name not in _KINDS:
        raise HTTPException(404)
    return FileResponse(STATIC / name, headers=_HEADERS, media_type=_KINDS[name])


# It holds nothing that anybody may not see: what it shows it asks for, as whoever its reader proves to be.
ROUTES = (Route("/", _file), Route("/page/{name}", _file))
