"""The Java client, built from its sources as they are, once, by whichever test needs it first."""

import fcntl
import os
import subprocess
from pathlib import Path

from tests.clients.programs import tool
from tests.support.spawning import REPOSITORY

PACKAGE = REPOSITORY / "clients" / "java"
TARGET = PACKAGE / "target"
JAR = TARGET / "kgsvc-client-0.1.0.jar"
# A heap that is in use from the start: what the process grows by is outside of it, and a stream that held
# what was answered would not fit. The second compiler, whose memory is its own, would count as growth.
_HEAP = ("-Xms40m", "-Xmx40m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_DONE = TARGET / "done"
_BUILD_S = 600.0


def driver(*options: str) -> list[str]:
    """How the driver of the scenarios is started."""
    path = os.pathsep.join([str(TARGET / "test-classes"), str(JAR), str(TARGET / "lib" / "*")])
    return ["java", *_HEAP, "-cp", path, "io.github.kgsvc.scenarios.Scenarios", *options]


def built() -> Path:
    """Its folder `target`. Skips without Maven or Java, where CI does not insist on it."""
    for name in ("mvn", "java", "jshell"):
        tool(name)
    TARGET.mkdir(exist_ok=True)
    with (TARGET / ".building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _DONE.exists() or _DONE.stat().st_mtime < max(path.stat().st_mtime for path in _sources()):
            subprocess.run(["mvn", "-q", "-B", "package"], cwd=PACKAGE, check=True, timeout=_BUILD_S)
            _DONE.touch()
    return TARGET


def _sources() -> list[Path]:
    return [PACKAGE / "pom.xml", *PACKAGE.glob("src/**/*.java"), *(REPOSITORY / "proto").glob("**/*.proto")]
