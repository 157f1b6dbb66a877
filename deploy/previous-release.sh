#!/usr/bin/env bash
# Notes a commit in deploy/previous-release, with the versions of its schemas.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify "${1:?usage: previous-release.sh COMMIT}^{commit}")
newest() { git ls-tree --name-only "$commit" "$1/" | sed -nE 's|.*/0*([0-9]+)_[a-z0-9_]+\.sql$|\1|p' | sort -n | tail -1; }
{
  echo '# The release before this one: its commit, and the versions of its schemas. Upgrades'
  echo '# are tested from it, and migrations that came since may take nothing away from it.'
  echo '# After a release: make previous-release COMMIT=v1.2.3'
  echo "commit $commit"
  echo "platform $(newest platform/pg/migrations)"
  for dir in $(git ls-tree -d -r --name-only "$commit" services | grep -E '^services/[a-z]+/migrations$'); do
    part=${dir#services/}
    echo "${part%/migrations} $(newest "$dir")"
  done
} >deploy/previous-release.new
mv deploy/previous-release.new deploy/previous-release
