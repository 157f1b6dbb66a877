#!/usr/bin/env bash
# Records a commit in deploy/previous-release, with the versions of its schemas.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify "${1:?usage: previous-release.sh COMMIT}^{commit}")

# schema NAME DIRECTORY prints a service's name, the number of its newest migration, and the
# digest of all its migrations.
schema() {
  local files
  files=$(git ls-tree --name-only "$commit" "$2/" | grep -E '/[0-9]+_[a-z0-9_]+\.sql$' | sort)
  echo "$1 $(sed -nE '$s|.*/0*([0-9]+)_.*|\1|p' <<<"$files") $(for f in $files; do echo "$f"; git show "$commit:$f"; done | sha256sum | cut -d' ' -f1)"
}

{
  echo '# The previous release: its commit, and the versions of its schemas with the digests of'
  echo '# their migrations. Upgrades are tested from it, and newer migrations must not remove'
  echo '# anything that it uses. After a release, run: make previous-release COMMIT=v1.2.3'
  echo "commit $commit"
  schema platform platform/pg/migrations
  for dir in $(git ls-tree -d -r --name-only "$commit" services | grep -E '^services/[a-z]+/migrations$'); do
    part=${dir#services/}
    schema "${part%/migrations}" "$dir"
  done
} >deploy/previous-release.new
mv deploy/previous-release.new deploy/previous-release
