"""What a Neo4j without Docker is made of: jars from Maven Central, a launcher, classes loaded before.

The cache is the folder KGSVC_NEO4J_CACHE, else .neo4j/ in the repository. Needs Maven and a JDK.
"""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

VERSIONS = {"neo4j-2026": "2026.09.0", "neo4j-5.26": "5.26.25"}  # label -> version; 5.26 is the LTS line
REPOSITORY = Path(__file__).resolve().parents[1]
_LAUNCHER = REPOSITORY / "scripts" / "neo4j_launcher"
_FIRST_PORT, _LAST_PORT = 20_000, 32_000
_READY_S = 180.0
_CLASSES = "classes.jsa"
CONF = """\
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.memory.pagecache.size={pagecache}
db.tx_log.preallocate=false
dbms.security.auth_enabled=true
dbms.usage_report.enabled=false
"""
JVM = (
    "-XX:+ExitOnOutOfMemoryError",
    "-Dlog4j2.disable.jmx=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
)
# Of servers that live as long as a test. The second compiler would not pay for itself.
SHORT = ("-Xms256m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Unavailable(Exception):
    """Neo4j cannot be run here: Maven, a JDK or the jars are missing, or it did not start."""


def cache_folder() -> Path:
    """Where jars are kept."""
    return Path(os.environ.get("KGSVC_NEO4J_CACHE") or REPOSITORY / ".neo4j")


def jars(version: str) -> Path:
    """The folder with all that a server needs; downloaded and made the first time. Unavailable."""
    folder = cache_folder() / f"lib-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        if not folder.is_dir():
            _download(version, folder)
        launcher = _launcher(folder)
        launcher.parent.mkdir(exist_ok=True)
        if not launcher.exists():
            _compile(find_java(version), folder)
        if not launcher.with_name(_CLASSES).exists():
            _load_classes(find_java(version), folder)
    return folder


def command(version: str, options: Sequence[str], *arguments: str) -> list[str]:
    """What starts the launcher. With SHORT as options it finds its classes loaded. Unavailable."""
    folder = jars(version)
    classes = _launcher(folder).with_name(_CLASSES)
    loaded = [f"-XX:SharedArchiveFile={classes}"] if options == SHORT else []
    return _java(find_java(version), folder, (*options, *loaded), *arguments)


def _java(java: Path, folder: Path, options: Sequence[str], *arguments: str) -> list[str]:
    return [str(java), *options, *JVM, "-cp", f"{folder}/*:{_launcher(folder)}", "Launch", *arguments]


def _launcher(folder: Path) -> Path:
    """Its place is named for its source, so that a changed one is compiled again."""
    digest = hashlib.sha256((_LAUNCHER / "Launch.java").read_bytes()).hexdigest()
    return folder / f"launcher-{digest[:12]}" / "launcher.jar"


def _download(version: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("the jars of Neo4j are not there and mvn is not installed")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    asked = [maven, "-B", "-q", "-f", str(_LAUNCHER / "pom.xml"), f"-Dneo4j.version={version}", *goal]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise Unavailable(f"mvn could not download Neo4j {version}:\n{(done.stdout + done.stderr)[-3000:]}")
    partial.rename(folder)


def _compile(java: Path, folder: Path) -> None:
    """Compile the launcher once, instead of at each start."""
    jar = _launcher(folder)
    partial = jar.with_suffix(".partial")
    with tempfile.TemporaryDirectory() as classes:
        for tool, *arguments in (
            ["javac", "-cp", f"{folder}/*", "-d", classes, str(_LAUNCHER / "Launch.java")],
            ["jar", "--create", "--file", str(partial), "-C", classes, "."],
        ):
            subprocess.run([str(java.with_name(tool)), *arguments], check=True, timeout=_READY_S)
    partial.rename(jar)


def _load_classes(java: Path, folder: Path) -> None:
    """Start a server once and keep the classes that it loaded: later starts take two thirds of the time."""
    archive = _launcher(folder).with_name(_CLASSES)
    partial = archive.with_suffix(".partial")
    with tempfile.TemporaryDirectory() as home:
        conf = Path(home, "conf", "neo4j.conf")
        conf.parent.mkdir()
        conf.write_text(CONF.format(port=free_port(), pagecache="192m"))
        options = (*SHORT, f"-XX:ArchiveClassesAtExit={partial}")
        started = _java(java, folder, options, home, "once")
        subprocess.run(started, check=True, timeout=_READY_S, capture_output=True)
    partial.rename(archive)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def find_java(version: str) -> Path:
    """The `java` of the newest JDK here that runs this server version. Unavailable."""
    needed = 17 if version.startswith("5.") else 21
    homes = {Path(v) for k, v in os.environ.items() if k.startswith("JAVA_HOME") and v}
    homes |= set(Path("/usr/lib/jvm").glob("*")) | set(Path("/opt").glob("*jdk*"))
    if on_path := shutil.which("javac"):
        homes.add(Path(on_path).resolve().parent.parent)
    found = {home.resolve(): _java_version(home) for home in homes}
    fitting = sorted((have, home) for home, have in found.items() if have >= needed)
    if not fitting:
        raise Unavailable(f"Neo4j {version} needs a JDK of version {needed} or newer, found none")
    # The LTS line runs on the oldest that fits, the current one on the newest: both ends are tried.
    _, home = fitting[0] if needed == 17 else fitting[-1]
    return home / "bin" / "java"


def _java_version(home: Path) -> int:
    """The feature version of a JDK (a JRE cannot compile the launcher); 0 when it is none."""
    if not (home / "bin" / "javac").exists() or not (home / "release").exists():
        return 0
    match = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE)
    return int(match[1]) if match else 0


def free_port() -> int:
    """A loopback port that was free a moment ago, below those that systems give to connections: one of them
    may be taken again before a server has started."""
    while True:
        port = _FIRST_PORT + secrets.randbelow(_LAST_PORT - _FIRST_PORT)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
