"""What users ask of an agent, with the tool that does it. A model chooses by the listing alone: whoever
changes a description asks one again and compares."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """A wish, the call that fulfils it, and what must and must not be in the answer. An argument in angle
    brackets is the id of the fact that says so, which an agent gets by recall."""

    wish: str
    tool: str
    arguments: dict[str, Any]
    there: tuple[str, ...]
    not_there: tuple[str, ...] = ()


TASKS = (
    Task(
        "Where does Alice live?",
        "recall",
        {"query": "Where does Alice Chen live?"},
        ("Alice Chen moved to Zurich.",),
        ("Berlin",),
    ),
    Task(
        "And where did she live in the summer of 2024?",
        "recall",
        {"query": "Where did Alice Chen live?", "true_at": "2024-07-01"},
        ("2024-03-01 to 2025-01-31T09:00:00Z",),
        ("Zurich",),
    ),
    Task(
        "What exactly did Alice say about moving?",
        "recall",
        {"query": "Alice Chen moved", "look_in": "episodes"},
        ("Alice Chen(user): I moved to Zurich.", "episode "),
    ),
    Task(
        "How many days off does the handbook give us?",
        "recall",
        {"query": "days off", "look_in": "documents"},
        ("thirty days off", "Staff · document staff.md"),
    ),
    Task(
        "Remember that I like tea. (Alice asks.)",
        "remember",
        {"text": "I like tea.", "said_by": "Alice Chen"},
        ("Stored as episode ", "Alice Chen likes tea."),
    ),
    Task(
        "What do you know about Alice?",
        "entity",
        {"name": "Alice Chen"},
        ("Alice Chen (Person)", "Now:", "Before, or expired:", "Alice Chen lives in Berlin."),
    ),
    Task(
        "Since when have you known that Alice is in Zurich, and what did you think before?",
        "history",
        {"fact": "<Alice Chen moved to Zurich.>"},
        ("lives in Berlin", "(superseded)", "believed since"),
    ),
    Task(
        "His name is Keller, not Keler.",
        "correct",
        {
            "fact": "<Bruno Keler leads Project Heron.>",
            "text": "Bruno Keller leads Project Heron.",
            "reason": "misspelt",
        },
        ("the fact was replaced", "Bruno Keller leads Project Heron."),
    ),
    Task(
        "Rosa was never at Initech. I do not know where she works.",
        "correct",
        {"fact": "<Rosa Lima works at Initech.>", "reason": "a mix-up"},
        ("the fact is retracted", "Rosa Lima works at Initech.", "(retracted: a mix-up)"),
    ),
    Task(
        "Write me a paragraph on Project Heron, with sources.",
        "ask",
        {"question": "What is known of Project Heron?"},
        ("no model", "[1] ", "Heron"),
    ),
    Task(
        "Forget that I work at Lumen Labs.",
        "forget",
        {"kind": "fact", "id": "<Alice Chen works at Lumen Labs.>"},
        ("the fact is deleted",),
    ),
)
