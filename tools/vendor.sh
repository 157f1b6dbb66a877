#!/bin/sh
# Copies the scripts that the documentation site, the gateways and the dashboard serve from
# the npm registry into the tree: the pinned versions, after checking their integrity.
#
#   tools/vendor.sh          writes the files (needs npm and gzip)
#   tools/vendor.sh --check  writes nothing, and fails if a file in the tree differs
#
# To update a script, change its version and integrity below (`npm view NAME@VERSION
# dist.integrity` prints it), run `make vendor`, and then run the tests of docs/site,
# platform/reference, services/admin and test/browser.
set -eu
cd "$(dirname "$0")/.."

check=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# vendor PACKAGE VERSION INTEGRITY FILE TARGET copies one file of a package. A target that
# ends in .gz is compressed.
vendor() {
  package=$1 version=$2 integrity=$3 file=$4 target=$5
  if [ ! -d "$work/$package" ]; then
    mkdir -p "$work/$package"
    tarball=$(cd "$work" && npm pack --silent "$package@$version" 2>/dev/null)
    actual="sha512-$(openssl dgst -sha512 -binary "$work/$tarball" | base64 -w0)"
    if [ "$actual" != "$integrity" ]; then
      echo "$package@$version: the integrity is $actual, want $integrity" >&2
      exit 1
    fi
    tar -xzf "$work/$tarball" -C "$work/$package"
  fi
  cp "$work/$package/package/$file" "$work/file"
  if [ -n "$check" ]; then
    case $target in *.gz) gzip -dc "$target" ;; *) cat "$target" ;; esac | cmp - "$work/file"
    return
  fi
  case $target in *.gz) gzip -9nc "$work/file" > "$target" ;; *) cp "$work/file" "$target" ;; esac
}

scalar=1.72.1
scalar_integrity=sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==
minisearch=7.2.0
minisearch_integrity=sha512-dqT2XBYUOZOiC5t2HRnwADjhNS2cecp9u+TJRiJ1Qp/f5qjkeT5APcGPjHw+bz89Ms8Jp+cG4AlE+QZ/QnDglg==
qr=0.7.0
qr_integrity=sha512-/VrrACmOAwZVipuRITwfEwOL5oAMEHH5PTmBWaGtlTom2Thxaa+rhmna4zU9PRN2uLw2wdccbkHOLGZb1Q9SdA==

# The package of Scalar has no licence file: scalar.LICENSE.txt is the one of its repository.
vendor @scalar/api-reference $scalar "$scalar_integrity" dist/browser/standalone.js platform/reference/assets/scalar.js.gz
vendor minisearch $minisearch "$minisearch_integrity" dist/umd/index.js docs/site/assets/minisearch.js
vendor minisearch $minisearch "$minisearch_integrity" LICENSE.txt docs/site/assets/minisearch.LICENSE.txt
vendor qr $qr "$qr_integrity" decode.js services/admin/assets/qr-decode.js.gz
vendor qr $qr "$qr_integrity" LICENSE-MIT services/admin/assets/qr-decode.LICENSE.txt
vendor qr $qr "$qr_integrity" index.js services/admin/assets/qr.js.gz
vendor qr $qr "$qr_integrity" LICENSE-MIT services/admin/assets/qr.LICENSE.txt
