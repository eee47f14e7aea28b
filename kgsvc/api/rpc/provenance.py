"""Where results come from, as the contract tells it (spec 001)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgsvc.api import mapping
from kgsvc.commands.provenance import Provenance, SourceText
from kgsvc.domain.model.graph import Entity
from kgsvc.v1 import retrieval_pb2


def provenance_message(provenance: Provenance) -> retrieval_pb2.Provenance:
    """Entities, chunks, episodes and their texts."""
    chunks = (each for each in provenance.sources if each.document is not None)
    episodes = (each for each in provenance.sources if each.document is None)
    return retrieval_pb2.Provenance(
        entities=[_entity(entity, score) for entity, score in provenance.entities],
        chunks=[entry for chunk in chunks for entry in _chunk(chunk)],
        episodes=map(_episode, episodes),
        source_texts=texts_of(provenance.sources),
        left_out=provenance.left_out,
    )


def texts_of(sources: Iterable[SourceText]) -> list[str]:
    """Their texts, each once."""
    return list(dict.fromkeys(each.episode.body for each in sources))


def _entity(entity: Entity, score: float) -> retrieval_pb2.ProvenanceEntity:
    return retrieval_pb2.ProvenanceEntity(
        uuid=entity.uuid,
        entity_name=entity.name,
        score=score,
        description=entity.summary,
        group_id=entity.group_id,
    )


def first_place(chunk: SourceText) -> retrieval_pb2.ProvenanceChunk:
    """A chunk where its document first holds it."""
    return next(_chunk(chunk))


def _chunk(source: SourceText) -> Iterator[retrieval_pb2.ProvenanceChunk]:
    """An entry for each place; one without a place if the present text has none."""
    episode, document = source.episode, source.document
    assert document is not None
    whose = retrieval_pb2.ProvenanceChunk(
        chunk_id=episode.uuid,
        full_doc_id=document.document_id,
        content=episode.body,
        title=document.title,
        group_id=episode.group_id,
    )
    if not source.places:
        yield whose
    for order, place in source.places:
        entry = retrieval_pb2.ProvenanceChunk(
            chunk_order_index=order,
            tokens=place.tokens,
            start=place.start,
            end=place.end,
            page=place.page,
            headings=place.headings,
            last_page=place.last_page,
        )
        entry.MergeFrom(whose)
        yield entry


def _episode(source: SourceText) -> retrieval_pb2.ProvenanceEpisode:
    shown = mapping.episode(source.episode)
    return retrieval_pb2.ProvenanceEpisode(
        uuid=shown.uuid,
        name=source.episode.name,
        source=shown.source,
        reference_time=shown.reference_time,
        content=shown.body,
        group_id=shown.group_id,
    )
