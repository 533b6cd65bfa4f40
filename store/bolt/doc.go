// Package bolt is the store.Engine on disk: one bbolt file, which one process
// at a time has open.
//
// A commit is durable when Update returns: bbolt writes the changed pages,
// syncs, writes the meta page and syncs again. What the engine adds:
//
//   - A full disk is an error one can wait out (store.ErrNoSpace): nothing of
//     the update happened, reads go on, and a later update may succeed.
//   - Every other failed commit is returned as it is. bbolt itself would carry
//     on after a failed sync, on pages that may never have reached the disk;
//     the store above must stop and reopen.
//   - bbolt trusts its pages. A damaged one makes it panic, fault or walk in
//     circles. Verify opens the file in a child process first; panics and
//     faults that come later are turned into errors that wrap
//     store.ErrDamaged, and store.ErrFailed too when bbolt was in the middle of
//     something and cannot go on. A flipped bit inside a value is not found
//     here: the store's own frames find it.
//
// HAZARD: a view pins the pages it sees, and one that is open while the file
// outgrows its memory map makes the writer wait, and then every later reader.
// Views must be short, must not wait for anything and must not be nested.
//
// HAZARD: the file never shrinks, and deleted space is used again.
package bolt
