"""What `kgsvc groups` says of a group that is embedded anew."""

from kgsvc.cli.groups import _anew
from kgsvc.v1.admin_pb2 import GroupSummary, Reembedding


def test_a_group_says_how_far_it_is() -> None:
    anew = Reembedding(space="openai-m-3", embedded=1_234, share=0.456)
    said = _anew(GroupSummary(group_id="g", reembedding=anew))
    assert said == "  (embedded anew by openai-m-3: 1,234 so far, 46% looked through)"
    assert _anew(GroupSummary(group_id="g", space="openai-m-3")) == ""
