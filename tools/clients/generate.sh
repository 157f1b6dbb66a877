#!/bin/bash
# Generates the types and calls of the client libraries from the OpenAPI descriptions, below the
# directory $1. $2 is a directory with the node_modules of package.json.
set -eu
cd "$(dirname "$0")"
out=$1 modules=$2 top=../..
b=$top/gateway-b/openapi/openapi.yaml a=$top/gateway-a/openapi/openapi.yaml webhook=$top/services/webhook/openapi/openapi.yaml

golang() { # configuration, package, description
	mkdir -p "$out/go/$2"
	GOWORK=off go tool oapi-codegen -config "go/$1.yaml" -package "$2" -o "$out/go/$2/api.gen.go" "$3"
}
golang operations b $b
golang operations a $a
golang messages webhook $webhook

typescript() { # name, description
	mkdir -p "$out/typescript/src/gen"
	"$modules/node_modules/.bin/openapi-typescript" --default-non-nullable=false "$2" -o "$out/typescript/src/gen/$1.ts"
}
typescript b $b
typescript a $a
typescript webhook $webhook
