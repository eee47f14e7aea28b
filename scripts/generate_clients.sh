#!/usr/bin/env bash
# Regenerates the Go, TypeScript and Java stubs in clients/ from proto/. Needs go, npm, mvn, and buf on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

npm --prefix clients/typescript ci --no-audit --no-fund --silent
mvn -q -B -f clients/java/pom.xml -P generators initialize
chmod +x clients/java/target/generators/*

# Stubs of contract files that are gone must go too.
rm -rf clients/go/kgsvc clients/typescript/src/gen clients/java/src/main/java/kgsvc/v1
buf generate --template clients/buf.gen.yaml
