package fuzztest

// Bounds says, for every fuzz target, what an input may cost. C is what an empty
// input may: errors with their texts, and tables that a reader sets up. K is
// highest where a byte of input becomes a row in memory. YAML's C
// is for aliases, of which any document may expand a few.
func Bounds() map[string]Bound {
	return map[string]Bound{
		// Canonical bytes.
		"FuzzReader":       {C: 4 << 10, K: 16},
		"FuzzMessages":     {C: 64 << 10, K: 16},
		"FuzzDescent":      {C: 64 << 10, K: 64},
		"FuzzAnswer":       {C: 128 << 10, K: 256},
		"FuzzDecodeRecord": {C: 16 << 10, K: 64},
		"FuzzReadEvent":    {C: 16 << 10, K: 64},
		"FuzzRows":         {C: 32 << 10, K: 64},
		"FuzzArchive":      {C: 1 << 20, K: 64},
		// Text.
		"FuzzCanonical":                   {C: 16 << 10, K: 64},
		"FuzzParseForm":                   {C: 32 << 10, K: 128},
		"FuzzParseSelector":               {C: 16 << 10, K: 512},
		"FuzzParseScope":                  {C: 4 << 10, K: 64},
		"FuzzNames":                       {C: 16 << 10, K: 64},
		"FuzzStamps":                      {C: 4 << 10, K: 64},
		"FuzzParse_WhatItAcceptsItWrites": {C: 4 << 10, K: 64},
		"FuzzToken":                       {C: 4 << 10, K: 64},
		"FuzzSubjects":                    {C: 8 << 10, K: 64},
		"FuzzTemplate":                    {C: 16 << 10, K: 256},
		"FuzzToJSON":                      {C: 3 << 20, K: 1024},
		"FuzzFromJSON":                    {C: 64 << 10, K: 128},
		"FuzzNormalize":                   {C: 64 << 10, K: 128},
		"FuzzImportCRD":                   {C: 128 << 10, K: 512},
		"FuzzSplit":                       {C: 3 << 20, K: 1024},
		"FuzzCursor":                      {C: 4 << 10, K: 16},
		"FuzzContinue":                    {C: 64 << 10, K: 64},
		"FuzzHandler":                     {C: 512 << 10, K: 1024},
	}
}
