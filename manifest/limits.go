package manifest

const (
	maxBytes   = 8 << 20 // of one document, as text and as JSON: the bound of a record
	maxStream  = 256 << 20
	maxDepth   = 64      // of arrays and objects, the bound of canonical form
	maxAliased = 100_000 // values that a document may gain through aliases

	// A document's aliases may expand to aliasFree bytes, and to aliasPerByte for
	// each of its own: a bomb is small.
	aliasFree    = 256 << 10
	aliasPerByte = 64
)
