"""Findings of a provider's own tools, and citations of an answer, as parts of a message. Pure.

All of it is untrusted: it is bounded, and only addresses of web pages become links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from approvals.db.canonical_json import (
    MAX_SAFE_INTEGER,
    NotCanonical,
    canonical,
    clean_json,
    clean_text,
)
from approvals.json_types import JsonDict, JsonMapping

#: The type of the data part (AI SDK) of a message that holds the result of a tool that the model's provider ran.
SERVER_TOOL = "data-server-tool"
SOURCE_URL = "source-url"
SOURCE_DOCUMENT = "source-document"
USES = frozenset({"server_tool_use", "mcp_tool_use"})
MCP_RESULT = "mcp_tool_result"
_RESULT = "_tool_result"
MAX_SOURCES = 50
MAX_RESULTS = 50
MAX_TITLE = 300
MAX_URL = 2000
MAX_OUTPUT = 20_000
MAX_INPUT = 200_000

Block = JsonMapping
Part = JsonDict


def source_parts(blocks: Sequence[Block]) -> list[Part]:
    """Return an answer's parts besides its texts: results of the provider's tools, then its sources, each once."""
    used = {block.get("id"): block for block in blocks if block.get("type") in USES}
    results = [
        _result_part(block, used.get(block.get("tool_use_id"), {}))
        for block in blocks
        if str(block.get("type")).endswith(_RESULT)
    ]
    sources: dict[str, Part] = {}
    for part in _citations(blocks):
        sources.setdefault(part["sourceId"], part)
    return [*results, *list(sources.values())[:MAX_SOURCES]]


def has_citations(blocks: Sequence[Block]) -> bool:
    """Return whether a text of an answer cites anything. Such an answer is cut into a block for each cited passage."""
    return any(
        block.get("type") == "text" and block.get("citations") for block in blocks
    )


def safe_url(value: Any) -> str:
    """Return the address of a web page; "" for anything else."""
    if not isinstance(value, str) or len(value) > MAX_URL or clean_text(value) != value:
        return ""
    try:
        parts = urlsplit(value)
    except ValueError:
        return ""
    return value if parts.scheme in {"http", "https"} and parts.hostname else ""


def _citations(blocks: Sequence[Block]) -> Iterator[Part]:
    for block in blocks:
        citations = block.get("citations")
        for citation in (
            citations
            if block.get("type") == "text" and isinstance(citations, list)
            else ()
        ):
            if (
                isinstance(citation, Mapping)
                and (part := _source(citation)) is not None
            ):
                yield part


def _source(citation: JsonMapping) -> Part | None:
    """Return the source of one citation; None if it names none."""
    if url := safe_url(citation.get("url")) or safe_url(citation.get("source")):
        return {
            "type": SOURCE_URL,
            "sourceId": url,
            "url": url,
            "title": _title(citation.get("title")) or url,
        }
    title = (
        _title(citation.get("document_title"))
        or _title(citation.get("title"))
        or _title(citation.get("source"))
    )
    if not title:
        return None
    kind = (
        "application/pdf" if citation.get("type") == "page_location" else "text/plain"
    )
    return {
        "type": SOURCE_DOCUMENT,
        "sourceId": f"document:{title}",
        "mediaType": kind,
        "title": title,
    }


def _title(value: Any) -> str:
    return clean_text(value)[:MAX_TITLE].strip() if isinstance(value, str) else ""


def _result_part(block: Block, use: Block) -> Part:
    name = _title(use.get("name")) or _title(block.get("type")).removesuffix(_RESULT)
    data: Part = {"name": name, "input": _input(use.get("input") or {})}
    if server := _title(use.get("server_name")):
        data["server"] = server
    outcome = (
        _mcp_outcome(block)
        if block.get("type") == MCP_RESULT
        else _outcome(block.get("content"))
    )
    return {"type": SERVER_TOOL, "data": data | outcome}


def _input(value: Any) -> Any:
    """Return the input of a provider's tool; {} if the message that shows it could not be stored."""
    try:
        cleaned = clean_json(value)
        canonical(cleaned, max_bytes=MAX_INPUT)
    except (NotCanonical, RecursionError):
        return {}
    return cleaned


def _mcp_outcome(block: Block) -> Part:
    """Return the output of an MCP server's tool, as text; `error` if it failed."""
    content = block.get("content")
    texts = (
        [item.get("text") for item in content if isinstance(item, Mapping)]
        if isinstance(content, list)
        else [content]
    )
    text = _output("\n".join(text for text in texts if isinstance(text, str)))
    if block.get("is_error"):
        return {"error": text or "unknown"}
    return {"text": text} if text else {}


def _outcome(content: Any) -> Part:
    """Return the findings or output of a provider's tool; `error` is the code of its failure."""
    if isinstance(content, list):
        return {
            "results": [
                result for item in content[:MAX_RESULTS] if (result := _result(item))
            ]
        }
    if not isinstance(content, Mapping):
        return {}
    if "error_code" in content:
        return {"error": _title(content["error_code"]) or "unknown"}
    if isinstance(references := content.get("tool_references"), list):
        names = (
            _title(each.get("tool_name"))
            for each in references[:MAX_RESULTS]
            if isinstance(each, Mapping)
        )
        return {"tools": [name for name in names if name]}
    if "url" in content:
        return {"results": [result] if (result := _result(content)) else []}
    written = {name: _output(content.get(name)) for name in ("stdout", "stderr")}
    code = content.get("return_code")
    return {name: text for name, text in written.items() if text} | (
        {"returnCode": code}
        if isinstance(code, int) and abs(code) <= MAX_SAFE_INTEGER
        else {}
    )


def _result(item: Any) -> Part | None:
    """Return a page that was found or fetched."""
    if not isinstance(item, Mapping) or not (url := safe_url(item.get("url"))):
        return None
    document = item.get("content")
    title = _title(item.get("title")) or (
        _title(document.get("title")) if isinstance(document, Mapping) else ""
    )
    return {"url": url, "title": title or url}


def _output(value: Any) -> str:
    text = clean_text(value) if isinstance(value, str) else ""
    return text if len(text) <= MAX_OUTPUT else f"{text[:MAX_OUTPUT]}\n…"
