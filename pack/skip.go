package pack

// Skip steps over n values of any kind the format has.
func (r *Reader) Skip(n int) {
	for i := 0; i < n && r.err == nil; i++ {
		r.skip(0)
	}
}

// Raw returns the bytes of the next value, whatever it is, aliasing the input.
func (r *Reader) Raw() []byte {
	start := r.b
	r.skip(0)
	if r.err != nil {
		return nil
	}
	n := len(start) - len(r.b)
	return start[:n:n]
}

func (r *Reader) skip(depth int) {
	if r.err != nil {
		return
	}
	if depth > maxDepth {
		r.fail("nested over %d deep", maxDepth)
		return
	}
	if len(r.b) == 0 {
		r.fail("value wanted, nothing left")
		return
	}
	switch h := r.b[0]; {
	case h < 0x80, h >= 0xcc && h <= 0xcf, h >= 0xd0 && h <= 0xd3, h >= 0xe0:
		r.skipNumber(h)
	case h == 0xc0, h == 0xc2, h == 0xc3:
		r.b = r.b[1:]
	case h >= 0xc4 && h <= 0xc6:
		r.Bin()
	case h&0xe0 == 0xa0, h >= 0xd9 && h <= 0xdb:
		r.text()
	default:
		for n := r.Array(); n > 0 && r.err == nil; n-- {
			r.skip(depth + 1)
		}
	}
}

func (r *Reader) skipNumber(h byte) {
	if h >= 0xd0 {
		r.Int()
		return
	}
	r.Uint()
}
