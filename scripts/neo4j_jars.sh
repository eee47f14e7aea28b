#!/bin/sh
# Downloads the Neo4j servers that the tests run on (once, into .neo4j/ or KGSVC_NEO4J_CACHE).
set -eu
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -m scripts.neo4j_server jars "$@"
