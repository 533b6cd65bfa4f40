package merkle

// SetLimit lowers MaxDifferences for one descent.
func (d *Descent) SetLimit(n int) { d.limit = n }
