// Package pgserver runs a private PostgreSQL server from the binaries on the
// machine, for trying the platform, for developing, for tests and for a small
// business; and it prepares databases, on that server or on any other.
//
//	server, err := pgserver.Start(ctx, pgserver.Options{Dir: ".run/postgres", Log: log})
//	if err != nil { … }
//	defer server.Stop(context.Background())
//	ownerURL, appURL, err := server.EnsureDatabase(ctx, "booking", "booking_owner", "booking_app")
//
// # Where things are
//
//	Dir/data          the cluster, owned by the account that PostgreSQL runs as
//	Dir/password      the superuser's password
//	Dir/postgres.log  what the server says; the part before is in postgres.log.1
//	Dir/lock          held by the process that called Start
//	Dir/running       held by PostgreSQL's own processes
//	Dir/instance      instead of data: the cluster is in /var/lib/reservation/<instance>
//
// PostgreSQL refuses to run as root. Started by root, it runs as the account
// postgres, or nobody where there is none, or as the owner of the cluster if
// there is one already. That account cannot enter a directory below, say,
// /root; the cluster is then put under /var/lib/reservation. To begin anew,
// remove Dir.
//
// # How it ends
//
// Stop shuts the server down. When the process that started it dies without
// calling Stop, the kernel sends PostgreSQL a SIGINT, for a fast shutdown; where
// a kernel cannot (anything but Linux), the next Start on that Dir does it.
// Whether a predecessor lives is told by file locks and never by process ids,
// which are used again.
//
// # Invariants
//
//  1. What was committed under Safe survives the end of the process, however it
//     ends, and is there after the next Start on the same Dir.
//  2. No two servers run on one cluster at the same time.
//  3. No process of PostgreSQL outlives Stop, a failed or cancelled Start, or (on
//     Linux) the process that called Start, by more than its own shutdown.
//  4. The server listens on the loopback address only, and lets nobody in
//     without a password. Passwords are in files that their owner alone can read.
//  5. A cluster is complete or absent: an interrupted Start leaves nothing that
//     a later one stumbles over.
//  6. EnsureDatabase may be repeated, also by several processes at once. The
//     application's role owns nothing and cannot become one that does, and other
//     roles cannot connect to the database.
package pgserver
