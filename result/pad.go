package result

// padRight fills what was appended since start with spaces up to width.
func padRight(dst []byte, start, width int) []byte {
	for len(dst)-start < width {
		dst = append(dst, ' ')
	}
	return dst
}

// padLeft moves what was appended since start to the right end of a field of width, filled with c.
func padLeft(dst []byte, start, width int, c byte) []byte {
	n := len(dst) - start
	gap := width - n
	if gap <= 0 {
		return dst
	}
	for range gap {
		dst = append(dst, c)
	}
	copy(dst[start+gap:], dst[start:start+n])
	for i := start; i < start+gap; i++ {
		dst[i] = c
	}
	return dst
}
