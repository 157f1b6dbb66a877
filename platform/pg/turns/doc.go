// Package turns decides who uses the next connection of a pool. Requests that have to wait do so
// here, in memory and without a connection, and companies take turns. It is pure memory: it knows
// no database.
//
// A turn is the right to use one connection. It belongs to a key, which is a company or the
// service's own jobs, and has a class, by what its holder can wait for:
//
//   - Read: only for its statements, which never wait for a lock of a row;
//   - Write: also for the locks of other transactions;
//   - Stream: also for the reader of the rows, for as long as that takes.
//
// A write that waits for a row, and a stream whose reader has stopped, keep their connections. So
// they never get all of them, and one company never gets all that others need. Of n turns, a
// quarter (at least one) is reserved for reads, and streams use at most a quarter:
//
//	connections            1  2  3  4  8  16  32
//	writes and streams     1  1  2  3  6  12  24
//	streams                1  1  1  1  2   4   8
//	of one company         1  2  2  3  6  12  24
//	its writes, streams    1  1  1  2  4   9  18
//
// # Invariants
//
//  1. There are never more turns than connections, so the pool itself makes nobody with a turn wait. Writes and
//     streams leave the reserve to reads, if there are two connections. Streams are never more than
//     a quarter (at least one).
//  2. When a company takes a turn, it then holds at most three quarters (rounded down) of what the
//     other companies leave, or just one. This applies to all turns, to writes with streams, and to
//     streams. A company that holds no read may always take one. The rule counts what is left,
//     because two companies with fixed shares could hold everything.
//  3. So a company that holds nothing never waits because of one other company: with three
//     connections for a read or a write, with eight for a stream.
//  4. With two connections, a read waits only while another read is in progress.
//  5. A request waits only if it may not take a turn by these rules.
//  6. When a turn ends, the next one goes to the classes in rotation, within a class to the
//     companies in rotation, and within a company to its oldest request. A company that holds
//     nothing and asks for its first turn of a class waits for at most one turn of that class of
//     each other company.
//  7. A request whose context ends leaves the queue. If it was given a turn at the same moment, the
//     turn is passed on.
//  8. At most maxQueue requests of a company wait for a class. If very many wait altogether, the
//     queues become shorter: each takes at most an eighth of the room that is left. A request
//     beyond that fails immediately with ErrFull.
//  9. Nothing is kept for a company that neither holds a turn nor waits for one. An operation looks
//     at no more companies than hold turns, however many wait.
package turns
