// Package inflate decompresses zlib data (RFC 1950) whose size is known beforehand, as far as it is asked for: debug
// information is packed so, of which a question about one function needs the first part.
//
// The standard library's decoder reads a byte and writes to a window at a time, for streams. Here all of the input and
// room for all of the output are at hand, which makes it four times as fast: bits come from words of eight bytes, and
// copies are made where they are wanted. Codes are looked up in tables of two levels (RFC 1951, 3.2).
package inflate

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"math/bits"
)

// ErrMore is that there is more data than there is room. If there is less, it is io.ErrUnexpectedEOF.
var ErrMore = errors.New("inflate: there is more data than was promised")

var (
	errCorrupt = errors.New("inflate: the data is damaged")
	errSum     = errors.New("inflate: the check sum is wrong")
)

// Reader decompresses into a slice.
type Reader struct {
	in   []byte
	pos  int // in in of what is not in hold; behind its end, zeros are taken for what is missing
	hold uint64
	left uint // bits in hold

	out    []byte
	done   int
	summed int // as far as sum goes
	sum    uint32

	block  kind
	final  bool
	stored int // bytes left of a stored block
	err    error

	lit, dist table
	lengths   [maxLit + maxDist]uint8
}

type kind uint8

const (
	between kind = iota // a block's header comes next
	storedBlock
	codedBlock
	ended
)

// New begins to decompress zlib data into out, which has the size of what is in it.
func New(in, out []byte) (*Reader, error) {
	if len(in) < 2 {
		return nil, io.ErrUnexpectedEOF
	}
	if in[0]&15 != 8 || in[0]>>4 > 7 || binary.BigEndian.Uint16(in)%31 != 0 || in[1]&0x20 != 0 {
		return nil, errors.New("inflate: not zlib data without a dictionary")
	}
	return &Reader{in: in, pos: 2, out: out, sum: 1}, nil
}

// Done is how many bytes are decompressed.
func (r *Reader) Done() int { return r.done }

// To decompresses the first n bytes, or more. If that is all, the check sum is compared as well.
func (r *Reader) To(n int) error {
	if r.err != nil || n <= r.done && r.done < len(r.out) || r.block == ended {
		return r.err
	}
	n = min(n, len(r.out))
	for r.err == nil && r.block != ended && (r.done < n || r.done == len(r.out)) {
		switch r.block {
		case between:
			r.err = r.header()
		case storedBlock:
			r.err = r.store(n)
		case codedBlock:
			r.err = r.decode(n)
		case ended:
		}
	}
	r.sum = update(r.sum, r.out[r.summed:r.done])
	r.summed = r.done
	if r.err == nil && r.block == ended {
		r.err = r.end()
	}
	return r.err
}

// end compares size and check sum.
func (r *Reader) end() error {
	if r.done < len(r.out) {
		return io.ErrUnexpectedEOF
	}
	r.align()
	if r.pos-int(r.left/8)+4 > len(r.in) {
		return io.ErrUnexpectedEOF
	}
	if binary.BigEndian.Uint32(r.in[r.pos-int(r.left/8):]) != r.sum {
		return errSum
	}
	return nil
}

// update is a check sum (RFC 1950, 8.2) continued over more data.
func update(sum uint32, data []byte) uint32 {
	// adler32 has no way to go on from a sum: that of the parts is put together.
	const mod = 65521
	more := adler32.Checksum(data)
	n := uint32(len(data) % mod)
	low1, high1 := sum&0xffff, sum>>16
	low2, high2 := more&0xffff, more>>16
	low := (low1 + low2 + mod - 1) % mod
	high := (high1 + high2 + uint32(uint64(n)*uint64(low1+mod-1)%mod)) % mod
	return high<<16 | low
}

// align drops bits as far as the next byte.
func (r *Reader) align() {
	r.hold >>= r.left % 8
	r.left -= r.left % 8
}

// need sees to it that hold has at least 56 bits.
func (r *Reader) need() {
	if r.pos+8 <= len(r.in) {
		r.hold |= binary.LittleEndian.Uint64(r.in[r.pos:]) << (r.left & 63)
		r.pos += int((63 - r.left) >> 3)
		r.left |= 56
		return
	}
	for ; r.left < 56; r.left += 8 {
		if r.pos < len(r.in) {
			r.hold |= uint64(r.in[r.pos]) << (r.left & 63)
		}
		r.pos++
	}
}

// short tells that bits were taken that are not there.
func (r *Reader) short() bool { return r.pos-int(r.left/8) > len(r.in) }

// take takes some bits, of which hold has enough.
func (r *Reader) take(n uint) int {
	v := r.hold & (1<<(n&63) - 1)
	r.hold >>= n & 63
	r.left -= n
	return int(v)
}

func (r *Reader) header() error {
	if r.final {
		r.block = ended
		return nil
	}
	r.need()
	r.final = r.take(1) == 1
	switch r.take(2) {
	case 0:
		r.align()
		r.need()
		n := r.take(16)
		if r.take(16) != n^0xffff {
			return errCorrupt
		}
		// What is in hold goes back.
		r.pos -= int(r.left / 8)
		r.hold, r.left = 0, 0
		r.block, r.stored = storedBlock, n
	case 1:
		for i := range r.lengths {
			switch {
			case i < 144, i >= maxLit:
				r.lengths[i] = 8
			case i < 256:
				r.lengths[i] = 9
			case i < 280:
				r.lengths[i] = 7
			default:
				r.lengths[i] = 8
			}
		}
		for i := range maxDist {
			r.lengths[maxLit+i] = 5
		}
		if !r.lit.build(r.lengths[:maxLit], litEntries[:]) || !r.dist.build(r.lengths[maxLit:], distEntries[:]) {
			return errCorrupt
		}
		r.block = codedBlock
	case 2:
		if err := r.codes(); err != nil {
			return err
		}
		r.block = codedBlock
	default:
		return errCorrupt
	}
	if r.short() {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (r *Reader) store(n int) error {
	m := min(r.stored, len(r.out)-r.done, max(n-r.done, 0))
	if m == 0 && r.stored > 0 {
		return ErrMore
	}
	if r.pos+m > len(r.in) {
		return io.ErrUnexpectedEOF
	}
	copy(r.out[r.done:r.done+m], r.in[r.pos:])
	r.pos, r.done, r.stored = r.pos+m, r.done+m, r.stored-m
	if r.stored == 0 {
		r.block = between
	}
	return nil
}

// codes reads the codes of a block (RFC 1951, 3.2.7).
func (r *Reader) codes() error {
	r.need()
	nlit, ndist, nclen := r.take(5)+257, r.take(5)+1, r.take(4)+4
	if nlit > maxLit-2 || ndist > maxDist-2 {
		return errCorrupt
	}
	var lengths [19]uint8
	for i := range nclen {
		if i%8 == 0 {
			r.need()
		}
		lengths[codeOrder[i]] = uint8(r.take(3))
	}
	if !r.lit.build(lengths[:], lengthEntries[:]) {
		return errCorrupt
	}
	all := r.lengths[:nlit+ndist]
	for i := 0; i < len(all); {
		r.need()
		e := r.lit.find(r.hold)
		if e == 0 {
			return errCorrupt
		}
		r.take(uint(e & lenMask))
		if r.short() {
			return io.ErrUnexpectedEOF
		}
		symbol := e >> valueShift
		if symbol < 16 {
			all[i] = uint8(symbol)
			i++
			continue
		}
		var value uint8
		var repeat int
		switch symbol {
		case 16:
			if i == 0 {
				return errCorrupt
			}
			value, repeat = all[i-1], 3+r.take(2)
		case 17:
			repeat = 3 + r.take(3)
		default: // 18, the last one
			repeat = 11 + r.take(7)
		}
		if i+repeat > len(all) {
			return errCorrupt
		}
		for ; repeat > 0; repeat-- {
			all[i] = value
			i++
		}
	}
	if !r.lit.build(all[:nlit], litEntries[:]) || !r.dist.build(all[nlit:], distEntries[:]) {
		return errCorrupt
	}
	return nil
}

// decode goes on with a block of codes until there are n bytes, or it ends.
func (r *Reader) decode(n int) (err error) {
	in, out, done := r.in, r.out, r.done
	pos, hold, left := r.pos, r.hold, r.left
	lit, dist := &r.lit, &r.dist
loop:
	for done < n || done == len(out) {
		if pos+8 <= len(in) {
			hold |= binary.LittleEndian.Uint64(in[pos:]) << (left & 63)
			pos += int((63 - left) >> 3)
			left |= 56
		} else {
			for ; left < 56; left += 8 {
				if pos < len(in) {
					hold |= uint64(in[pos]) << (left & 63)
				}
				pos++
			}
		}
		e := lit.entries[hold&(1<<firstBits-1)]
		if e&further != 0 {
			e = lit.second(e, hold)
		}
		hold >>= e & lenMask
		left -= uint(e & lenMask)
		if e&literal != 0 {
			if pos-int(left/8) > len(in) {
				err = io.ErrUnexpectedEOF
				break
			}
			if done == len(out) {
				err = ErrMore
				break
			}
			out[done] = byte(e >> valueShift)
			done++
			// Two more of them may be in hold.
			for range 2 {
				e = lit.entries[hold&(1<<firstBits-1)]
				if e&literal == 0 || done == len(out) || pos > len(in) {
					break
				}
				hold >>= e & lenMask
				left -= uint(e & lenMask)
				out[done] = byte(e >> valueShift)
				done++
			}
			continue
		}
		if e == 0 || e&special != 0 {
			switch {
			case e == 0:
				err = errCorrupt
			case pos-int(left/8) > len(in):
				err = io.ErrUnexpectedEOF
			default:
				r.block = between
			}
			break
		}
		extra := e >> extraShift & 15
		length := int(e>>valueShift) + int(hold&(1<<extra-1))
		hold >>= extra
		left -= uint(extra)
		e = dist.entries[hold&(1<<firstBits-1)]
		if e&further != 0 {
			e = dist.second(e, hold)
		}
		hold >>= e & lenMask
		extra = e >> extraShift & 15
		distance := int(e>>valueShift) + int(hold&(1<<extra-1))
		hold >>= extra
		left -= uint(e&lenMask) + uint(extra)
		switch {
		case pos-int(left/8) > len(in):
			err = io.ErrUnexpectedEOF
			break loop
		case e == 0 || distance > done:
			err = errCorrupt
			break loop
		case length > len(out)-done:
			err = ErrMore
			break loop
		}
		end := done + length
		if distance >= 8 && end+8 <= len(out) {
			// What is written behind the end is not there yet.
			for to := done; to < end; to += 8 {
				word := binary.LittleEndian.Uint64(out[to-distance:])
				binary.LittleEndian.PutUint64(out[to:], word)
			}
		} else {
			for to := done; to < end; to++ {
				out[to] = out[to-distance]
			}
		}
		done = end
	}
	r.pos, r.hold, r.left, r.done = pos, hold, left, done
	return err
}

const (
	maxLit  = 288
	maxDist = 32
	maxCode = 15

	// Entries of tables: the length of the code, how many bits follow it, and a value; 0 is no code.
	lenMask    = 31
	extraShift = 8
	literal    = 1 << 13
	special    = 1 << 14 // a block's end
	further    = 1 << 15 // value is the place of a table of codes that are longer, which extra bits are looked up in
	valueShift = 16

	firstBits = 10
)

// table finds codes by the bits that begin with them.
type table struct {
	entries [1 << firstBits]uint32
	more    []uint32
}

func (t *table) find(hold uint64) uint32 {
	e := t.entries[hold&(1<<firstBits-1)]
	if e&further != 0 {
		e = t.second(e, hold)
	}
	return e
}

// second looks up a code that is longer.
func (t *table) second(e uint32, hold uint64) uint32 {
	i := int(e>>valueShift) + int(hold>>firstBits&(1<<(e>>extraShift&15)-1))
	if i < len(t.more) {
		return t.more[i]
	}
	return 0
}

// build makes the table of symbols with codes of these lengths. A code that says too much or too little is refused but
// for one of one symbol, and none: what uses it is damaged.
func (t *table) build(lengths []uint8, symbols []uint32) bool {
	var count [maxCode + 1]int
	longest := 0
	for _, n := range lengths {
		count[n]++
		longest = max(longest, int(n))
	}
	clear(t.entries[:])
	t.more = t.more[:0]
	if longest == 0 {
		return true
	}
	var next [maxCode + 1]int
	code := 0
	count[0] = 0
	for n := 1; n <= longest; n++ {
		code = (code + count[n-1]) << 1
		next[n] = code
	}
	if last := next[longest] + count[longest]; last != 1<<longest && (last != 1 || longest != 1) {
		return false
	}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		code := next[n]
		next[n]++
		e := symbols[symbol] // 0: a symbol that is not used
		if e != 0 {
			e |= uint32(n)
		}
		low := int(bits.Reverse16(uint16(code)) >> (16 - n))
		if n <= firstBits {
			for i := low; i < len(t.entries); i += 1 << n {
				t.entries[i] = e
			}
			continue
		}
		first := &t.entries[low&(1<<firstBits-1)]
		wide := longest - firstBits
		if *first == 0 {
			*first = further | uint32(wide)<<extraShift | uint32(len(t.more))<<valueShift
			for range 1 << wide {
				t.more = append(t.more, 0)
			}
		}
		part := t.more[*first>>valueShift:][:1<<wide]
		for i := low >> firstBits; i < len(part); i += 1 << (n - firstBits) {
			part[i] = e
		}
	}
	return true
}

var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// Entries by symbol, without the length of the code.
var (
	litEntries    = literals()
	distEntries   = distances()
	lengthEntries = codeLengths()
)

func literals() (all [maxLit]uint32) {
	for i := range 256 {
		all[i] = literal | uint32(i)<<valueShift
	}
	all[256] = special
	base := uint32(3)
	for i := range uint32(28) {
		extra := max(i/4, 1) - 1
		all[257+i] = extra<<extraShift | base<<valueShift
		base += 1 << extra
	}
	all[285] = 258 << valueShift
	return all
}

func distances() (all [maxDist]uint32) {
	base := uint32(1)
	for i := range uint32(30) {
		extra := max(i/2, 1) - 1
		all[i] = extra<<extraShift | base<<valueShift
		base += 1 << extra
	}
	return all
}

func codeLengths() (all [19]uint32) {
	for i := range all {
		all[i] = literal | uint32(i)<<valueShift
	}
	return all
}
