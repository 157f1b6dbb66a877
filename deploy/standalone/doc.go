// Command standalone runs all services of the platform in one process, with an embedded NATS
// server. It uses the PostgreSQL server of DATABASE_URL, or starts a private one from the binaries
// on the machine. Use it to try the platform, to develop it, and to run a small business.
//
//  1. All its data is in DATA_DIR, and a restart finds it again. If root runs it, PostgreSQL's files
//     can be in a directory that PostgreSQL's account can enter; a file in DATA_DIR names it.
//  2. DATA_DIR/credentials.json exists exactly while the platform is ready.
//  3. Several instances can run on one machine with different PORT_BASE and DATA_DIR. A second
//     instance on the same DATA_DIR is refused.
//  4. When it ends, in any way, none of its processes is left.
//
// The services are the same values that run as separate processes. Only the wiring differs.
package main
