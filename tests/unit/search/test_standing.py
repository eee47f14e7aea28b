"""Standing instructions are told by their first sentence."""

import pytest

from kgsvc.search.standing import is_standing

INSTRUCTIONS = (
    "Always include version numbers when I ask about software.",
    "Please always use metric units if I ask for a recipe!",
    "Never suggest meat when we talk about dinner",
    "From now on, answer in French.",
    "In future please keep answers short.",
    "Whenever I ask about trains, please name the platform.",
    "Immer die Quelle nennen, wenn ich nach Zahlen frage.",
    "Bitte nie Emojis benutzen, wenn ich dienstlich schreibe.",
    "Wenn ich nach Rezepten frage, nenne bitte die Kalorien.",
    "レシピを聞いたら、必ずカロリーも教えてください。",
    "今後は短く答えてください",
)
OTHERS = (
    "Always happy to help. Well, I have to go! Bye!",
    "Never heard of it, but it sounds interesting. When I find it I will tell you.",
    "Never tried it? Let me know how you like it when you do!",
    "From now on I live in Oslo.",
    "In the future I'd like to paint.",
    "When I asked him, he laughed.",
    "I always drink tea when I read.",
    "Immer dieser Regen. Wenn ich nur wüsste, warum.",
    "いつも七時に起きます。",
    "What should I always do when I travel?",
    "",
)


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_what_is_to_be_done_from_then_on_is_an_instruction(text: str) -> None:
    assert is_standing(text)
    assert is_standing(f"Ann(user): {text}")
    assert is_standing(f"(user): {text}")


@pytest.mark.parametrize("text", OTHERS)
def test_what_instructs_nobody_is_none(text: str) -> None:
    assert not is_standing(text)
    assert not is_standing(f"Ann(user): {text}")
