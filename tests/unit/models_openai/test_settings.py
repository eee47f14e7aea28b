"""Settings refuse what would show a secret."""

import pytest

from kgsvc.models.openai.settings import Endpoint


def test_the_key_is_not_in_the_repr() -> None:
    assert "hush" not in repr(Endpoint(api_key="hush"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://api.example.com",
        "https://",
        "https://user:hush@api.example.com/v1",
        "https://api.example.com/v1?key=hush",
        "https://api.example.com/v1#hush",
    ],
)
def test_a_base_url_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ValueError, match="base URL must") as caught:
        Endpoint(base_url=url)
    assert "hush" not in str(caught.value)
