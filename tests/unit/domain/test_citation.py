"""Addresses inside descriptions: in and out as they were given."""

import pytest

from kgsvc.domain.model.graph import is_source_url, source_url_of, with_source_url


@pytest.mark.parametrize(
    ("description", "url", "whole"),
    [
        ("a chat", "https://x.example/1", "a chat, source_url: https://x.example/1"),
        ("", "https://x.example/1", "source_url: https://x.example/1"),
        (None, "http://x.example", "source_url: http://x.example"),
        ("a chat", None, "a chat"),
        ("a chat", "", "a chat"),
        (None, None, None),
    ],
)
def test_an_address_goes_to_the_end(description: str | None, url: str | None, whole: str | None) -> None:
    assert with_source_url(description, url) == whole
    assert source_url_of(whole) == (url or None)


@pytest.mark.parametrize(
    ("description", "url"),
    [
        ("source_url:https://a", "https://a"),
        ("source_url: \t\n https://a/b?c=d#e", "https://a/b?c=d#e"),
        ("source_url: https://a, source_url: https://b", "https://a"),
        ("source_url: https://a,b", "https://a,b"),
        ("source_url: https://a, b", "https://a"),
        ("source_url: ftp://a, source_url: http://b", "http://b"),
        ("xsource_url: https://a b", "https://a"),
        ("source_url: HTTPS://a", "HTTPS://a"),
        ("SOURCE_URL: https://a", None),
        ("source_url : https://a", None),
        ("source_url: https://", None),
        ("https://a", None),
        ("", None),
        (None, None),
    ],
)
def test_an_address_is_found_where_the_label_is(description: str | None, url: str | None) -> None:
    assert source_url_of(description) == url


@pytest.mark.parametrize(
    "text", ["ftp://a", "a", "", "https://", "https://a b", "https://a,", "https://a, b", " https://a"]
)
def test_what_could_not_be_found_again_is_no_address(text: str) -> None:
    assert not is_source_url(text)
