"""Requests as JSON: what json_format lets pass and the contract does not."""

import pytest

from kgsvc.api.checks import parse
from kgsvc.api.errors import MalformedRequest
from kgsvc.api.json_text import JsonText
from kgsvc.v1.admin_pb2 import ListGroupsRequest
from kgsvc.v1.ingestion_pb2 import AddEntityNodeRequest, AddEpisodesRequest
from kgsvc.v1.retrieval_pb2 import SearchGraphRequest


@pytest.mark.parametrize(
    ("kind", "text", "what"),
    [
        (ListGroupsRequest, "[]", "ListGroupsRequest"),
        (ListGroupsRequest, '{"input": []}', "ListGroupsInput"),
        (ListGroupsRequest, '{"input": [ ]}', "ListGroupsInput"),
        (ListGroupsRequest, '{"input": ""}', "ListGroupsInput"),
        (SearchGraphRequest, '{"input": {"query": "x", "filters": []}}', "SearchFilters"),
        (AddEpisodesRequest, '{"input": {"items": [{}, []]}}', "EpisodeItem"),
    ],
)
def test_what_is_empty_is_no_object(kind: type[ListGroupsRequest], text: str, what: str) -> None:
    with pytest.raises(MalformedRequest, match=rf"kgsvc\.v1\.{what} is not an object"):
        parse(kind, JsonText(text.encode()))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ListGroupsRequest, '{"input": null, "requestId": ""}'),
        (SearchGraphRequest, '{"input": {"query": "", "groupIds": [], "filters": {}}}'),
        (SearchGraphRequest, '{"input": {"query": "", "filters": {"validAsOf": "2024-01-01T00:00:00Z"}}}'),
        (AddEntityNodeRequest, '{"input": {"name": "", "attributes": {"none": [], "blank": ""}}}'),
        (AddEpisodesRequest, '{"input": {"items": [], "group_id": ""}}'),
    ],
)
def test_empty_lists_and_texts_are_values_where_they_may_be(kind: type[ListGroupsRequest], text: str) -> None:
    parse(kind, JsonText(text.encode()))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"input": {"group": "g"}}', r'"group".*; there are group_id, items\Z'),
        (
            '{"input": {"items": [{"source": "TEXT"}]}}',
            r"TEXT.*; there are SOURCE_UNSPECIFIED, SOURCE_TEXT, ",
        ),
    ],
)
def test_who_writes_a_name_that_is_none_is_told_which_there_are(text: str, told: str) -> None:
    with pytest.raises(MalformedRequest, match=told):
        parse(AddEpisodesRequest, JsonText(text.encode()))
