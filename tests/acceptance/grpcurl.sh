#!/usr/bin/env bash
# Everything of the contract by grpcurl against a running server: reflection, the twelve operations, and what
# each wrong input is answered with, in the envelope and as a gRPC status.
#
#   tests/acceptance/grpcurl.sh HOST:PORT GROUP [--clear-all]
#
# GROUP is used up: it is filled, then deleted. With --clear-all every group of the server is deleted too.
# GRPCURL names the binary. The offline extractor or a model that understands "X works at Y" is expected.
set -euo pipefail

server=${1:?HOST:PORT of a server}
group=${2:?a group that may be deleted}
clear_all=${3:-}
grpcurl=${GRPCURL:-grpcurl}
proto=$(cd "$(dirname "$0")/../../proto" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

package=kgsvc.v1
ingestion=$package.IngestionService
retrieval=$package.RetrievalService
admin=$package.AdminService
as_status=(-v -H 'kgsvc-errors: status')
when=2024-05-01T12:00:00Z

fail() {
  printf 'FAILED: %s\n%s\n' "$1" "$(head -c 3000 "$work/out")" >&2
  exit 1
}

# call [OPTION...] -- METHOD: the JSON on stdin; output and exit code are kept.
call() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  code=0
  "$grpcurl" -plaintext -max-time 60 "${options[@]}" -d @ "$server" "$2" >"$work/out" 2>&1 || code=$?
}

# answers WHAT PATTERN...: the last call succeeded and its output has each pattern.
answers() {
  local what=$1 pattern
  shift
  [ "$code" -eq 0 ] || fail "$what: exit $code"
  for pattern in "$@"; do grep -Eq -- "$pattern" "$work/out" || fail "$what: no $pattern"; done
  echo "ok  $what"
}

# refuses WHAT METHOD CODE GRPC_CODE PATTERN [OPTION...]: the JSON on stdin is refused in both modes.
refuses() {
  local what=$1 method=$2 error=$3 grpc=$4 pattern=$5
  shift 5
  cat >"$work/in"
  call "$@" -- "$method" <"$work/in"
  answers "$what, in the envelope" '"status": "STATUS_ERROR"' "\"errorCode\": \"$error\"" "$pattern"
  call "$@" "${as_status[@]}" -- "$method" <"$work/in"
  [ "$code" -ne 0 ] || fail "$what, as a status: was answered"
  for pattern in "Code: $grpc" "^kgsvc-error-code: $error" "$pattern"; do
    grep -Eq -- "$pattern" "$work/out" || fail "$what, as a status: no $pattern"
  done
  echo "ok  $what, as a status"
}

# rejects WHAT METHOD PATTERN: grpcurl itself does not send the JSON on stdin.
rejects() {
  call -- "$2"
  [ "$code" -ne 0 ] || fail "$1: was sent"
  grep -Eq -- "$3" "$work/out" || fail "$1: no $3"
  echo "ok  $1"
}

# ---- Reflection

reflect() { "$grpcurl" -plaintext -max-time 30 "$server" "$@" >"$work/out" 2>&1 || fail "$*"; }

reflect list
cp "$work/out" "$work/services"
for service in $ingestion $retrieval $admin grpc.health.v1.Health grpc.reflection.v1alpha.ServerReflection; do
  grep -qx "$service" "$work/services" || fail "list: no $service"
done
while read -r service; do
  reflect list "$service"
  cp "$work/out" "$work/methods"
  [ -s "$work/methods" ] || fail "$service has no methods"
  while read -r method; do
    reflect describe "$method"
    grep -oE '\( (stream )?\.[A-Za-z0-9_.]+' "$work/out" | sed -E 's/.* \.//' >>"$work/types"
  done <"$work/methods"
  cat "$work/methods" >>"$work/all-methods"
done <"$work/services"
described=0
while read -r type; do
  reflect describe "$type"
  grep -q "^$type is a message" "$work/out" || fail "describe $type"
  described=$((described + 1))
done < <(sort -u "$work/types")
for operation in \
  $admin.Healthcheck $ingestion.AddMessages $ingestion.AddEpisodes $ingestion.AddEntityNode \
  $retrieval.SearchFacts $retrieval.GetEntityEdge $retrieval.GetEpisodes $retrieval.GetMemory \
  $admin.DeleteEntityEdge $admin.DeleteEpisode $admin.DeleteGroup $admin.ClearAll; do
  grep -qx "$operation" "$work/all-methods" || fail "list: no $operation"
done
echo "ok  lists and describes $(wc -l <"$work/all-methods") methods, $described messages"

# ---- The twelve operations

call -- $admin/Healthcheck <<<'{}'
answers Healthcheck '"status": "healthy"' '"status": "STATUS_OK"'

call -- $ingestion/AddEpisodes <<JSON
{"request_id": "by-hand", "input": {"group_id": "$group", "items": [
  {"uuid": "e1", "name": "note", "source": "SOURCE_TEXT", "body": "Alice works at Acme Robotics.",
   "reference_time": "$when"},
  {"source": "SOURCE_JSON", "body": "{\"name\": \"Bruno\", \"city\": \"Lisbon\"}", "reference_time": "$when"}]}}
JSON
answers AddEpisodes '"status": "STATUS_ACCEPTED"' '"requestId": "by-hand"' '"accepted": 2' '"uuid": "e1"'
receipt=$(sed -nE 's/.*"receiptId": "([^"]+)".*/\1/p' "$work/out" | head -n 1)

call -- $ingestion/AddMessages <<JSON
{"input": {"group_id": "$group", "messages": [{"role_type": "ROLE_TYPE_USER", "role": "Carla",
  "content": "I live in Oslo.", "timestamp": "$when"}]}}
JSON
answers AddMessages '"status": "STATUS_ACCEPTED"' '"accepted": 1'
second=$(sed -nE 's/.*"receiptId": "([^"]+)".*/\1/p' "$work/out" | head -n 1)

for each in "$receipt" "$second"; do
  call -- $ingestion/WatchReceipt <<<"{\"input\": {\"receipt_id\": \"$each\"}}"
  answers "WatchReceipt" '"done": true' '"state": "ITEM_STATE_COMPLETED"'
done
call -- $ingestion/GetReceipt <<<"{\"input\": {\"receipt_id\": \"$receipt\"}}"
answers GetReceipt '"done": true' '"count": 2'
call -- $ingestion/ListItems <<<"{\"input\": {\"group_id\": \"$group\", \"states\": [\"ITEM_STATE_COMPLETED\"]}}"
answers ListItems '"uuid": "e1"'
call -- $ingestion/RetryItems <<<"{\"input\": {\"group_id\": \"$group\", \"all_parked\": true}}"
answers RetryItems '"status": "STATUS_OK"'
call -- $ingestion/StreamEpisodes <<JSON
{"group_id": "$group", "client_ref": "r1", "episode": {"uuid": "s1", "source": "SOURCE_TEXT", "body": "Hm.",
 "reference_time": "$when"}}
{"group_id": "$group", "client_ref": "r2", "episode": {"uuid": "s1", "source": "SOURCE_TEXT", "body": "Hm.",
 "reference_time": "$when"}}
JSON
answers StreamEpisodes '"clientRef": "r1"' '"clientRef": "r2"' '"duplicate": true'

call -- $ingestion/AddEntityNode <<JSON
{"input": {"uuid": "n1", "group_id": "$group", "name": "Dora", "summary": "a friend",
 "attributes": {"age": 30}}}
JSON
answers AddEntityNode '"status": "STATUS_OK"' '"name": "Dora"' '"age": 30'

call -- $retrieval/SearchFacts <<<"{\"input\": {\"group_ids\": [\"$group\"], \"query\": \"Where does Alice work?\"}}"
answers SearchFacts '"status": "STATUS_OK"' 'Acme Robotics' '"episodes": '
fact=$(sed -nE 's/.*"uuid": "([^"]+)".*/\1/p' "$work/out" | head -n 1)
call -- $retrieval/GetEntityEdge <<<"{\"input\": {\"uuid\": \"$fact\"}}"
answers GetEntityEdge '"status": "STATUS_OK"' "\"uuid\": \"$fact\""
call -- $retrieval/GetEpisodes <<<"{\"input\": {\"group_id\": \"$group\", \"last_n\": 10}}"
answers GetEpisodes '"uuid": "e1"' '"body": "Alice works at Acme Robotics."' '"referenceTime": "2024-05-01T12:00:00Z"'
call -- $retrieval/GetMemory <<JSON
{"input": {"group_id": "$group", "messages": [{"role_type": "ROLE_TYPE_USER", "content": "Alice and Acme",
 "timestamp": "$when"}]}}
JSON
answers GetMemory '"status": "STATUS_OK"' 'Acme Robotics'

# ---- Wrong inputs

item="\"source\": \"SOURCE_TEXT\", \"body\": \"b\", \"reference_time\": \"$when\""
episodes() { printf '{"input": {"group_id": "%s", "items": [%s]}}' "$group" "$1"; }

episodes "{$item, \"surprise\": 1}" | rejects 'an unknown field, by grpcurl' $ingestion/AddEpisodes surprise
# To send what the contract does not know, grpcurl is given a contract that knows it.
cp -r "$proto/." "$work/proto"
sed -i -e 's/^message EpisodeItem {/&\n  string surprise = 2047;/' \
  -e '/^message EpisodeItem {/,/^}/s/google\.protobuf\.Timestamp reference_time/BrokenTime reference_time/' \
  "$work/proto/kgsvc/v1/types.proto"
printf '\nmessage BrokenTime {\n  int64 seconds = 1;\n  int32 nanos = 2;\n}\n' >>"$work/proto/kgsvc/v1/types.proto"
other=(-import-path "$work/proto" -proto kgsvc/v1/ingestion.proto)
episodes '{"source": 1, "body": "b", "reference_time": {"seconds": 1}, "surprise": "?"}' |
  refuses 'an unknown field' $ingestion/AddEpisodes INVALID_ARGUMENT InvalidArgument \
    'input\.items\[0\]\.2047' "${other[@]}"
episodes '{"source": 1, "body": "b", "reference_time": {"seconds": 1, "nanos": -5}}' |
  refuses 'a broken timestamp' $ingestion/AddEpisodes INVALID_ARGUMENT InvalidArgument \
    'input\.items\[0\]\.reference_time' "${other[@]}"
episodes '{"source": "SOURCE_TEXT", "body": "b", "reference_time": "2024-13-45T00:00:00Z"}' |
  rejects 'a time that is none, by grpcurl' $ingestion/AddEpisodes 'timestamp|time'
episodes "{\"source\": \"SOURCE_TEXT\", \"reference_time\": \"$when\"}" |
  refuses 'a missing field' $ingestion/AddEpisodes INVALID_ARGUMENT InvalidArgument 'input\.items\[0\]\.body'
episodes "{\"source\": 99, \"body\": \"b\", \"reference_time\": \"$when\"}" |
  refuses 'a wrong enum' $ingestion/AddEpisodes INVALID_ARGUMENT InvalidArgument 'input\.items\[0\]\.source'
episodes "{\"source\": \"SOURCE_NOVEL\", \"body\": \"b\", \"reference_time\": \"$when\"}" |
  rejects 'an enum of another name, by grpcurl' $ingestion/AddEpisodes SOURCE_NOVEL
repeated() { # N TEXT: so many of it, with commas
  local number
  printf '%s' "$2"
  for ((number = 1; number < $1; number++)); do printf ',%s' "$2"; done
}
episodes "$(repeated 257 "{$item}")" |
  refuses 'one item too many' $ingestion/AddEpisodes LIMIT_EXCEEDED InvalidArgument 'input\.items'
big=$(head -c 900000 /dev/zero | tr '\0' x)
episodes "$(repeated 5 "{\"source\": \"SOURCE_TEXT\", \"body\": \"$big\", \"reference_time\": \"$when\"}")" |
  refuses 'an oversize payload' $ingestion/AddEpisodes LIMIT_EXCEEDED InvalidArgument '4194304'
printf '{"input": {"uuid": "e1", "group_id": "%s", "name": "%s"}}' "$group" "$(head -c 513 /dev/zero | tr '\0' x)" |
  refuses 'a name over its cap' $ingestion/AddEntityNode LIMIT_EXCEEDED InvalidArgument 'input\.name'
printf '{"input": {"uuid": "nobody", "group_id": "%s"}}' "$group" |
  refuses 'an unknown fact' $retrieval/GetEntityEdge NOT_FOUND NotFound 'no fact'
episodes "{\"uuid\": \"e1\", $item}" |
  refuses 'other content under a known uuid' $ingestion/AddEpisodes CONFLICT AlreadyExists 'input\.items\[0\]\.uuid'

# ---- Deletes

for _ in 1 2; do
  call -- $admin/DeleteEntityEdge <<<"{\"input\": {\"uuid\": \"$fact\"}}"
  answers DeleteEntityEdge '"success": true'
  call -- $admin/DeleteEpisode <<<"{\"input\": {\"uuid\": \"e1\", \"group_id\": \"$group\"}}"
  answers DeleteEpisode '"success": true'
done
call -- $admin/DeleteGroup <<<"{\"input\": {\"group_id\": \"$group\"}}"
answers DeleteGroup '"success": true'
call -- $retrieval/GetEpisodes <<<"{\"input\": {\"group_id\": \"$group\", \"last_n\": 10}}"
answers 'GetEpisodes of a deleted group' '"status": "STATUS_OK"'
if grep -q '"uuid"' "$work/out"; then fail 'the group is not empty'; fi
if [ "$clear_all" = --clear-all ]; then
  call -- $admin/ClearAll <<<'{}'
  answers ClearAll '"success": true'
fi
