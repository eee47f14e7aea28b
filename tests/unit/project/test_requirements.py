"""The pinned requirements are those of pyproject.toml, and of no machine."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
RUNTIME = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
WANTED = {
    "requirements.txt": RUNTIME,
    "requirements-local.txt": RUNTIME + EXTRAS["local"],
    "requirements-documents.txt": RUNTIME + EXTRAS["documents"],
    "requirements-mcp.txt": RUNTIME + EXTRAS["mcp"],
    "requirements-dev.txt": RUNTIME + EXTRAS["local"] + EXTRAS["documents"] + EXTRAS["mcp"] + EXTRAS["dev"],
    "requirements-deploy.txt": RUNTIME + EXTRAS["deploy"],
    "requirements-build.txt": PROJECT["build-system"]["requires"],
}


def included(text: str) -> list[str]:
    return re.findall(r"^-r (\S+)$", text, re.MULTILINE)


def pinned(name: str) -> dict[str, str]:
    """Package to version, with the files that this one includes."""
    text = (REPOSITORY / name).read_text()
    below = {package: version for base in included(text) for package, version in pinned(base).items()}
    return below | {
        canonicalize_name(package): version
        for package, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.MULTILINE)
    }


@pytest.mark.parametrize("name", WANTED)
def test_every_requirement_is_pinned_to_an_allowed_version(name: str) -> None:
    have = pinned(name)
    for requirement in map(Requirement, WANTED[name]):
        assert have[canonicalize_name(requirement.name)] in requirement.specifier, requirement


@pytest.mark.parametrize("name", WANTED)
def test_every_pin_has_hashes_and_nothing_names_a_place(name: str) -> None:
    text = (REPOSITORY / name).read_text()
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]
    options = [line for line in text.splitlines() if line.startswith("-")]
    assert options == [f"-r {base}" for base in included(text)]
    assert not re.search(r"https?://|(?<![\w.])/\w+/", text)


def test_every_pin_stands_once() -> None:
    text = "".join((REPOSITORY / name).read_text() for name in WANTED if name != "requirements-build.txt")
    names = re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "users",
    ["requirements.txt", "requirements-local.txt", "requirements-documents.txt", "requirements-mcp.txt"],
)
def test_development_runs_on_the_versions_that_users_get(users: str) -> None:
    assert pinned(users).items() <= pinned("requirements-dev.txt").items()
