package bolt

// VerifyFor is Verify with a time of its own.
var VerifyFor = verify

// Walk is what the verifier does in its process, with a limit of its own.
var Walk = walk

// SpaceError tells a full disk from a lost write.
var SpaceError = spaceError
