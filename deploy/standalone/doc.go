// Command standalone runs every part of the platform in one process, with an
// embedded NATS server and a private PostgreSQL that it starts from the
// binaries on the machine, or with the PostgreSQL server of DATABASE_URL. It is
// the way to try the platform, to develop it, and to run a small business.
//
//  1. Everything it keeps is below DATA_DIR (and, as root, possibly a directory
//     that PostgreSQL's user can reach, named in DATA_DIR); a restart finds it again.
//  2. DATA_DIR/credentials.json exists exactly while the platform is ready.
//  3. Two instances run side by side with different PORT_BASE and DATA_DIR; a
//     second one on the same DATA_DIR is refused.
//  4. When it ends, however it ends, no process of it is left.
//
// The parts are the same values that run as processes of their own; nothing
// here but the wiring is different.
package main
