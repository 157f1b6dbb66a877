// Release makes a release of the platform, and the notices of the software that it contains.
//
//	release make VERSION DIST   writes the release to DIST/VERSION
//	release notices             writes THIRD_PARTY_NOTICES.txt
//	release notices --check     fails if THIRD_PARTY_NOTICES.txt is not current
//
// docs/RELEASES.md describes what a release contains. Invariants:
//
//  1. A release depends only on the commit, the version and the Go version: two machines that make it
//     write the same bytes. Every time in it is the time of the commit.
//  2. DIST/VERSION either does not exist or is complete.
//  3. Only deploy/Dockerfile says what an image contains and runs.
//  4. A release contains only software with a licence of allowedLicences, and all their texts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// errUsage is the error of unknown arguments.
var errUsage = errors.New("usage: release make VERSION DIST | release notices [--check]")

// run runs one command in the repository of the working directory.
func run(ctx context.Context, args []string) error {
	src, err := openSource(ctx, ".")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 3 && args[0] == "make":
		return makeRelease(ctx, src, args[1], args[2])
	case slices.Equal(args, []string{"notices"}):
		return writeNotices(ctx, src)
	case slices.Equal(args, []string{"notices", "--check"}):
		_, err := checkNotices(ctx, src)
		return err
	}
	return errUsage
}
