#!/usr/bin/env bash
# Runs the examples that `make clients` built against a live server. Each prints what it finds and fails when something
# is missing.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 HOST:PORT" >&2; exit 2; }
server=$1
cd "$(dirname "$0")"

echo "== Go"
go/bin/example "$server"

echo "== Java"
mvn -q -B -f java/pom.xml exec:java -Dexec.args="$server"

echo "== all examples found what they looked for"
