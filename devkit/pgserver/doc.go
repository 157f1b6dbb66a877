// Package pgserver runs a private PostgreSQL server from the binaries on the machine: to try the
// platform, to develop and test it, and for a small business. It also creates databases on the
// server.
//
//	server, err := pgserver.Start(ctx, pgserver.Options{Dir: ".run/postgres", Log: log})
//	if err != nil { … }
//	defer server.Stop(context.Background())
//	ownerURL, appURL, err := server.EnsureDatabase(ctx, "booking", "booking_owner", "booking_app")
//
// # Files
//
//	Dir/data          the cluster, owned by the account that PostgreSQL runs as
//	Dir/password      the superuser's password
//	Dir/postgres.log  the server's log; its earlier part is in postgres.log.1
//	Dir/lock          locked by the process that called Start
//	Dir/running       locked by PostgreSQL's own processes
//	Dir/instance      instead of data, if the cluster is in /var/lib/reservation/<instance>
//
// PostgreSQL refuses to run as root. If root starts it, it runs as the owner of the cluster, if the
// cluster exists and has another owner; else as the account postgres, or if there is none, nobody.
// That account cannot enter every directory, for example not one below /root. The cluster is then
// created in /var/lib/reservation. To start again with an empty server, remove Dir.
//
// # Shutdown
//
// Stop shuts the server down. If the process that started it dies without calling Stop, the kernel
// sends PostgreSQL a SIGINT, for a fast shutdown. Only Linux can do that; on other systems, the next
// Start on the same Dir sends it. File locks show whether an earlier server still runs. Process
// identifiers do not, because the system reuses them.
//
// # Invariants
//
//  1. Data that was committed under Safe survives any end of the process. It is there after the next
//     Start on the same Dir.
//  2. No two servers run on one cluster at the same time.
//  3. No process of PostgreSQL outlives Stop, a failed or cancelled Start, or (on Linux) the process
//     that called Start, by more than the time of its own shutdown.
//  4. The server listens on the loopback address only and requires a password. Only the owner can
//     read the files with passwords.
//  5. A cluster is complete or absent. An interrupted Start leaves nothing that makes a later one
//     fail.
//  6. EnsureDatabase can be repeated, even by several processes at the same time. The application's
//     role owns nothing and cannot switch to a role that does, and other roles cannot connect to the
//     database.
package pgserver
