"""One group's entities, episodes and communities, indexed together: they are fed together."""

from __future__ import annotations

from kgsvc.search.episode_index import EpisodeIndex
from kgsvc.search.node_index import CommunityIndex, NodeIndex
from kgsvc.stores.search_protocol import TextChanges


class GroupTexts:
    """Current as of (`epoch`, `rev`). Not safe for concurrent use."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.rev = 0
        self.uuid = ""  # up to which it holds the revision after `rev` too
        self.nodes = NodeIndex(group_id, space, dimension)
        self.episodes = EpisodeIndex(group_id)
        self.communities = CommunityIndex(group_id, space, dimension)

    def __len__(self) -> int:
        return len(self.nodes) + len(self.episodes) + len(self.communities)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return self.nodes.nbytes + self.episodes.nbytes + self.communities.nbytes

    def apply(self, changes: TextChanges) -> None:
        """Advance to a page of changes; its epoch must be this index's own, or the index empty."""
        for uuid in changes.removed_entities:
            self.nodes.remove(uuid)
        for uuid in changes.removed_episodes:
            self.episodes.remove(uuid)
        for entity in changes.entities:
            self.nodes.put(entity)
        for episode in changes.episodes:
            self.episodes.put(episode)
        if changes.communities is not None:
            self.communities.replace(changes.communities)
            self.communities.settle()
        self.nodes.settle()
        self.epoch = changes.head.epoch
        self.rev = changes.upto_rev if changes.more else changes.head.rev
        self.uuid = changes.upto_uuid
