"""What `activity` tells of work besides items."""

from kgsvc.domain.model.communities import BuildRequest
from kgsvc.domain.model.documents import Document, Revision
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from tests.support.samples import NOW, Scratch
from tests.support.stores import ON_REAL

pytestmark = ON_REAL


async def test_what_is_open_is_told(g: Scratch) -> None:
    """A document that is not settled, a build, a fill and an erasure, and when the latest was asked for."""
    await g.write(entities=(g.entity("u1", "Ada"),))
    revision = Revision(1, "hash", NOW, NOW)
    await g.store.put_document(Document(g.id, "d", (revision,), 1, "title", settled=False), (), 0)
    await g.store.request_builds([BuildRequest(g.id, "b", NOW)], None)
    await g.store.begin_fill(g.id, NOW)
    await g.store.begin_erasures([Erasure(f"{g.id}-erasure", g.id, ErasureKind.GROUP, NOW + 1)])
    found = (await g.store.activity()).open
    assert (found.documents, found.builds, found.fills, found.erasures) == (True, True, True, True)
    assert found.erased_ms is not None
    assert found.erased_ms > NOW
