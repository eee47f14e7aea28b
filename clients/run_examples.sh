#!/usr/bin/env bash
# Builds the Go, TypeScript and Java examples and runs each against a live server.
# Needs go, npm and mvn. Each example prints what it finds and fails when something is missing.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 HOST:PORT" >&2; exit 2; }
server=$1
cd "$(dirname "$0")"

echo "== Go"
(cd go && go vet ./... && go build -o bin/example ./example && bin/example "$server")

echo "== TypeScript"
(cd typescript && npm ci --no-audit --no-fund --silent && npm run --silent build && node dist/example.js "$server")

echo "== Java"
(cd java && mvn -q -B compile && java -cp "target/classes:target/lib/*" kgsvc.example.Example "$server")

echo "== all examples found what they looked for"
