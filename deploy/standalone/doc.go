// Command standalone runs every service of the platform in one process, with an embedded NATS
// server. It starts a private PostgreSQL server from the binaries on the machine, or uses the
// PostgreSQL server of DATABASE_URL. Use it to try the platform, to develop it, or to run a small
// business.
//
//  1. All data is in DATA_DIR, and a restart finds it again. When it runs as root, the database can
//     be in a directory that PostgreSQL's account can reach; a file in DATA_DIR names it.
//  2. DATA_DIR/credentials.json exists exactly while the platform is ready.
//  3. Two instances with different PORT_BASE and DATA_DIR can run at the same time. A second instance
//     on the same DATA_DIR is refused.
//  4. When the process ends, for any reason, none of its child processes is left.
//
// The services are the same code that runs as separate processes. Only the wiring is different.
package main
