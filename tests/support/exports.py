"""Chats as products write them: what the OpenAI API takes, exports of ChatGPT, Claude and Slack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

JAN = 1_735_689_600  # 2025-01-01T00:00:00Z


def openai_lines() -> list[dict[str, Any]]:
    """A chat as it is sent to the API, with instructions, a call of a tool and its output."""
    call = {"id": "call_1", "type": "function", "function": {"name": "save", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    return [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "Ann Berg works at Acme."},
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
        {"role": "tool", "tool_call_id": "call_1", "content": "saved"},
        {"role": "assistant", "content": "Noted.", "refusal": None, "annotations": []},
        {
            "role": "user",
            "name": "Ben Lind",
            "content": [{"type": "text", "text": "I live in Oslo."}, picture],
        },
    ]


def _node(name: str, parent: str | None, message: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": name, "message": message, "parent": parent, "children": []}


def _gpt(
    name: str, role: str, content: dict[str, Any], at: float | None, recipient: str = "all", **metadata: Any
) -> dict[str, Any]:
    return {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": metadata,
        "recipient": recipient,
        "channel": None,
    }


def _text(*parts: Any, kind: str = "text") -> dict[str, Any]:
    return {"content_type": kind, "parts": list(parts)}


def chatgpt(text: str = "Dora Stein lives in Vienna.") -> list[dict[str, Any]]:
    """conversations.json: a root without a message, a hidden system message, a prompt that was edited (its
    branch is left), a picture beside a text, a call of the browser with what it found, and an answer."""
    picture = {
        "content_type": "image_asset_pointer",
        "asset_pointer": "file-service://file-1",
        "size_bytes": 9,
    }
    nodes = [
        _node("client-created-root", None, None),
        _node(
            "m-system",
            "client-created-root",
            _gpt("m-system", "system", _text(""), None, is_visually_hidden_from_conversation=True),
        ),
        _node("m-left", "m-system", _gpt("m-left", "user", _text("Dora lives in Rome."), JAN + 1.5)),
        _node(
            "m-user",
            "m-system",
            _gpt("m-user", "user", _text(picture, text, kind="multimodal_text"), JAN + 2.5),
        ),
        _node(
            "m-call",
            "m-user",
            _gpt(
                "m-call",
                "assistant",
                {"content_type": "code", "language": "unknown", "text": 'search("Vienna")'},
                JAN + 3.0,
                "browser",
            ),
        ),
        _node(
            "m-found",
            "m-call",
            _gpt("m-found", "tool", {"content_type": "tether_browsing_display", "result": "…"}, JAN + 4.0),
        ),
        _node("m-answer", "m-found", _gpt("m-answer", "assistant", _text("Noted."), JAN + 5.25)),
    ]
    for node in nodes:
        node["children"] = [each["id"] for each in nodes if each["parent"] == node["id"]]
    return [
        {
            "title": "Moving",
            "create_time": JAN + 0.123,
            "update_time": JAN + 9.5,
            "mapping": {node["id"]: node for node in nodes},
            "moderation_results": [],
            "current_node": "m-answer",
            "plugin_ids": None,
            "conversation_id": "c-1",
            "id": "c-1",
        }
    ]


def claude() -> list[dict[str, Any]]:
    """conversations.json: a question, an answer with thoughts and a call of a tool, an empty message."""

    def message(number: int, sender: str, text: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        at = f"2025-02-01T10:00:0{number}.123456Z"
        return {
            "uuid": f"{number}1111111-1111-4111-8111-111111111111",
            "text": text,
            "content": content,
            "sender": sender,
            "created_at": at,
            "updated_at": at,
            "attachments": [],
            "files": [],
        }

    def said(text: str) -> dict[str, Any]:
        return {
            "start_timestamp": None,
            "stop_timestamp": None,
            "type": "text",
            "text": text,
            "citations": [],
        }

    asked, answered = "Erik Holm works at Borealis.", "Noted."
    tool: dict[str, Any] = {"type": "tool_use", "name": "save", "input": {}}
    thought = [{"type": "thinking", "thinking": "…"}, tool]
    return [
        {
            "uuid": "c1111111-1111-4111-8111-111111111111",
            "name": "Work",
            "summary": "",
            "created_at": "2025-02-01T10:00:00.123456Z",
            "updated_at": "2025-02-01T10:00:09.123456Z",
            "account": {"uuid": "a1111111-1111-4111-8111-111111111111"},
            "chat_messages": [
                message(1, "human", asked, [said(asked)]),
                message(
                    2,
                    "assistant",
                    answered,
                    [*thought, {"type": "tool_result", "content": []}, said(answered)],
                ),
                message(3, "human", "", []),
            ],
        }
    ]


def slack(folder: Path) -> Path:
    """A folder with users, channels, logs and two days of a channel: a join, a thread, marks, a bot."""
    users = [
        {"id": "U1", "team_id": "T1", "name": "ann", "deleted": False, "profile": {"real_name": "Ann Berg"}},
        {
            "id": "U2",
            "team_id": "T1",
            "name": "ben",
            "profile": {"real_name": "Ben Lind", "display_name": ""},
        },
    ]
    first = [
        {
            "subtype": "channel_join",
            "user": "U1",
            "text": "<@U1> has joined the channel",
            "type": "message",
            "ts": f"{JAN}.000100",
        },
        {
            "client_msg_id": "b1",
            "type": "message",
            "text": "I work at Acme &amp; Sons with <@U2>, see <https://acme.example|the site>.",
            "user": "U1",
            "ts": f"{JAN}.000200",
            "team": "T1",
            "thread_ts": f"{JAN}.000200",
            "reply_count": 1,
            "blocks": [],
        },
        {
            "type": "message",
            "text": "Ann Berg lives in Oslo. <!here>, more in <#C1|general>.",
            "user": "U2",
            "ts": f"{JAN + 60}.000300",
            "thread_ts": f"{JAN}.000200",
            "parent_user_id": "U1",
        },
    ]
    bot = {
        "type": "message",
        "subtype": "bot_message",
        "text": "Deployed.",
        "username": "deploybot",
        "bot_id": "B1",
        "ts": f"{JAN + 86_400}.000400",
    }
    files = {
        "users.json": users,
        "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
        "integration_logs.json": [{"user_id": "U1", "app_type": "bot"}],
        "general/2025-01-01.json": first,
        "general/2025-01-02.json": [bot],
    }
    for name, value in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    return folder
