//go:build mutant_age_collection

package mutant

const active = "age_collection"
