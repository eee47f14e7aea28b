"""How communities are built; built by config."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommunitySettings:
    """Times in seconds."""

    detection_s: float = 600.0  # detection that takes longer is a failed attempt
    follow: bool = False  # entities new to a group join the community of most of their neighbours
    model_calls: int = 200  # at most, of one build; communities beyond get a summary without a model
