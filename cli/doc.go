// Package cli is the command line of driftless, as a function: Run takes
// arguments, streams and environment and returns the exit code, so that main
// is thin and tests drive the commands in process.
//
// Each command is one file. A command reads its flags, asks a node through the
// Node interface, and prints: what it was asked for on stdout, and only that;
// warnings, progress and errors on stderr. Numbers of a spec are printed as
// they were written.
//
// Exit codes: 0 is success; 1 says that it failed, or that the fleet is not
// converged; 2 says that the command was used wrongly or the node could not be
// reached, so that nothing was found out.
package cli
