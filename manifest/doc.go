// Package manifest is the edge form of records: YAML and JSON documents in
// files, directories and streams, and Kubernetes CRDs.
//
// Documents travel as JSON bytes from end to end. Nothing passes through
// map[string]any, so number literals and the order of keys survive:
//
//   - Read opens files, directories and standard input and splits them into
//     Documents; a bad document does not hide the good ones.
//   - ToJSON and FromJSON translate one document. A number that is a valid JSON
//     number keeps its spelling (1.0, 9007199254740993, 1e400).
//   - Normalize turns a Kubernetes or driftless manifest into driftless form and
//     says what it left behind.
//   - ImportCRD turns a CustomResourceDefinition into documents of kind Kind.
//
// YAML is read by the core schema of YAML 1.2. yes, no, on, off, 1_000, 0b11,
// 12:30 and dates are strings; true, null, 1e3, 0x1F and 0o17 are not. Integers
// with a leading zero (0644) are refused: YAML 1.1, which kubectl reads, means
// octal and YAML 1.2 means decimal, and both readings are silent.
//
// Raw U+0085, U+2028 and U+2029 are refused in YAML: 1.1 breaks lines there.
//
// Everything is pure except Read. No function keeps or changes its arguments,
// and every result is memory of its own.
package manifest
