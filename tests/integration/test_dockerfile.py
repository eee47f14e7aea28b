"""The image without an engine: what the Dockerfile copies and runs, in a clean folder, and then started.

Paths of the image become paths below the folder; creating the user is left to an engine.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scripts.neo4j_files import free_port
from tests.support.spawning import REPOSITORY

ROOTS = ("/opt/kgsvc", "/src", "/data")
STEP_S = 600.0
READY_S = 60.0


@dataclass
class Stage:
    """The instructions between two FROM lines, as (instruction, rest)."""

    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def stages(text: str) -> list[Stage]:
    found: list[Stage] = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, _, rest = line.partition(" ")
        if instruction == "ARG" and not found:
            continue
        if instruction == "FROM":
            found.append(Stage(rest))
        else:
            found[-1].steps.append((instruction, rest.strip()))
    return found


class Image:
    """A folder that stands for the file system of the image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workdir = root
        self.env: dict[str, str] = {}
        python = root / "usr" / "bin"
        python.mkdir(parents=True)
        (python / "python").symlink_to(getattr(sys, "_base_executable", sys.executable))
        self.path = f"{python}:/usr/bin:/bin"

    def place(self, text: str) -> str:
        """`text` with the paths of the image as paths of the folder."""
        return re.sub(rf"(?<![\w/.-])({'|'.join(ROOTS)})(?![\w-])", lambda m: f"{self.root}{m[1]}", text)

    def copy(self, rest: str) -> None:
        words = shlex.split(rest)
        if words[0].startswith("--from="):  # one folder stands for both stages, the path stays the same
            assert words[1] == words[2]
            return
        for source in words[:-1]:
            assert source in allowed(), f"{source} is kept out by .dockerignore"
            target = self.workdir / words[-1]
            if (REPOSITORY / source).is_dir():
                shutil.copytree(REPOSITORY / source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(REPOSITORY / source, target / source if target.is_dir() else target)

    def run(self, rest: str) -> None:
        done = subprocess.run(
            ["/bin/sh", "-c", self.place(rest)],
            cwd=self.workdir,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=STEP_S,
            check=False,
        )
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a process in the image sees, and how pip reaches the network here."""
        here = {
            name: value for name, value in os.environ.items() if re.match(r"PIP_|SSL_|.*_proxy$", name, re.I)
        }
        return here | {"PATH": self.path, "HOME": str(self.root / "home")} | self.env | dict(more or {})

    def set_env(self, rest: str) -> None:
        for name, value in re.findall(r"(\w+)=(\S+)", rest):
            self.env[name] = self.place(value).replace("$PATH", self.path)


def allowed() -> set[str]:
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    return {line[1:] for line in lines if line.startswith("!")}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, dict[str, str]]:
    """The built image, and its last instructions by name."""
    built = Image(tmp_path_factory.mktemp("image"))
    if cache := pip_cache():
        built.env["PIP_CACHE_DIR"] = cache
    last: dict[str, str] = {}
    for stage in stages((REPOSITORY / "Dockerfile").read_text()):
        for instruction, rest in stage.steps:
            last[instruction] = rest
            match instruction:
                case "WORKDIR":
                    built.workdir = Path(built.place(rest))
                    built.workdir.mkdir(parents=True, exist_ok=True)
                case "COPY":
                    built.copy(rest)
                case "RUN" if not rest.startswith("useradd "):
                    built.run(rest)
                case "ENV":
                    built.set_env(rest)
    return built, last


def pip_cache() -> str:
    """So that nothing is downloaded twice."""
    command = [sys.executable, "-m", "pip", "cache", "dir"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def locked(built: Image) -> list[str]:
    """What a command of the image begins with, so that it can write only what it may in a container: a
    read-only root, no capabilities. The user is left to an engine."""
    for path in (built.root / "opt" / "kgsvc").rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    if os.getuid() or not shutil.which("setpriv"):
        return []
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_image_serves_is_healthy_and_stops(image: tuple[Image, dict[str, str]], tmp_path: Path) -> None:
    built, last = image
    address = f"127.0.0.1:{free_port()}"
    variables = built.variables(
        {
            "KGSVC_SERVER_LISTEN": address,
            "KGSVC_SERVER_METRICS_LISTEN": "127.0.0.1:0",
            "KGSVC_CLIENT_SERVER": address,
        }
    )
    serve, check = json.loads(last["CMD"]), json.loads(last["HEALTHCHECK"].partition(" CMD ")[2])
    serve[0] = check[0] = shutil.which(serve[0], path=variables["PATH"])
    assert str(serve[0]).startswith(str(built.root))
    lock = locked(built)
    writing = [*lock, "touch", str(built.root / "opt" / "kgsvc" / "bin" / "new")]
    assert subprocess.run(writing, capture_output=True, check=False).returncode != 0
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen([*lock, *serve], cwd=built.workdir, env=variables, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + READY_S
            healthy = announced = False  # the first of its processes may answer before all of them serve
            while not (healthy and announced):
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
                healthy = (
                    subprocess.run(check, env=variables, capture_output=True, check=False).returncode == 0
                )
                said = (tmp_path / "log").read_text()
                announced = re.search(r"kgsvc \d+\.\d+\.\d+ listening on", said) is not None
            assert (built.root / "data" / "kgsvc.db").exists()
            process.send_signal(signal.SIGTERM)
            assert process.wait(READY_S) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.mark.slow
def test_the_image_does_not_open_itself_to_other_machines(image: tuple[Image, dict[str, str]]) -> None:
    built, _ = image
    command = [f"{built.root}/opt/kgsvc/bin/kgsvc", "serve"]
    done = subprocess.run(
        command, env=built.variables(), capture_output=True, text=True, timeout=READY_S, check=False
    )
    assert done.returncode == 1
    assert "server.insecure" in done.stderr


def test_it_runs_as_a_user_of_its_own_and_ends_on_sigterm() -> None:
    final = stages((REPOSITORY / "Dockerfile").read_text())[-1]
    steps = dict(final.steps)
    user = re.search(r"useradd --uid (\d+) .*--home-dir /data", steps["RUN"])
    assert user is not None
    assert steps["USER"] == user[1]
    assert steps["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(steps["CMD"])  # no shell in between, which would swallow the signal


def test_the_base_is_pinned_by_digest_in_one_place() -> None:
    text = (REPOSITORY / "Dockerfile").read_text()
    assert len(re.findall(r"^ARG BASE=[\w./:-]+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)) == 1
    assert {stage.base.partition(" ")[0] for stage in stages(text)} == {"${BASE}"}


def test_everything_that_compose_sets_is_a_setting(tmp_path: Path) -> None:
    from kgsvc.config import load

    text = (REPOSITORY / "compose.yaml").read_text()
    variables = dict(re.findall(r"^      (KGSVC_\w+): (.+)$", text, re.MULTILINE))
    assert variables["KGSVC_STORE_KIND"] == "neo4j"
    plain = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value.strip('"')) for name, value in variables.items()}
    secret = plain["KGSVC_STORE_NEO4J_PASSWORD_FILE"].removeprefix("/run/secrets/kgsvc/")
    (tmp_path / secret).write_text("password")
    plain["KGSVC_STORE_NEO4J_PASSWORD_FILE"] = str(tmp_path / secret)
    load(environ=plain | {"KGSVC_SERVER_LISTEN": "0.0.0.0:50051"}).settings.verify()
    published = re.findall(r"^      - ([\d.]+):\d+:\d+$", text, re.MULTILINE)
    assert published
    assert set(published) == {"127.0.0.1"}
