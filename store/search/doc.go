// Package search is a test: an exhaustive search, in a small world, for an
// order of events in which a collected delete comes back.
//
// Three nodes, one record, and every order of a bounded number of steps: write,
// delete, create again, an event that arrives late or early, a heartbeat, a
// reconciliation, a look at all members, a raised floor, a backup and its
// restore, the eviction of a silent member. Records are real ones, written by
// store.Stamper, joined by resolve.Merge, judged and collected by the store's
// pure functions (Receive, Collected, Bootstrap.Judge, Floor); the search adds
// nodes, vectors and what travels between them. Rules that are simpler than
// ours are searched too, and each is shown to bring deletes back.
package search
