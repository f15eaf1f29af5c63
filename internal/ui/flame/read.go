package flame

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"trocar/result"
)

// mostRead bounds what a packed file may become.
const mostRead = 512 << 20

// Read reads what was written to a file: folded lines, or pprof, also those of other tools.
func Read(path string, data []byte) (*Profile, error) {
	switch Form(path) {
	case ".folded":
		return readFolded(data)
	case ".pb.gz":
		return readPprof(data)
	case "":
		if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return readPprof(data)
		}
		return readFolded(data)
	}
	return nil, errors.New("such a file is for viewers; stacks are read from .folded and .pb.gz")
}

// readFolded reads lines of names with semicolons between them, and a count.
func readFolded(data []byte) (*Profile, error) {
	p := &Profile{Unit: "samples", flat: true}
	twice := true // all lines have two counts
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("line %d has no count behind its stack", n+1)
		}
		count, err := strconv.ParseUint(line[at+1:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a count", n+1, line[at+1:])
		}
		s := Sample{Count: count}
		_, err = strconv.ParseUint(line[:at][strings.LastIndexByte(line[:at], ' ')+1:], 10, 64)
		twice = twice && err == nil && strings.Contains(line[:at], " ")
		names := strings.Split(line[:at], ";")
		for i := len(names) - 1; i >= 0; i-- {
			s.Frames = append(s.Frames, frameOf(names[i]))
		}
		if len(s.Frames) == 1 && names[0] == noStack {
			s.Frames = nil
		}
		p.Samples = append(p.Samples, s)
	}
	if twice && len(p.Samples) > 0 {
		return nil, errors.New("its lines have two counts: it is a difference itself")
	}
	return p, nil
}

// frameOf is the frame that a name in a picture stands for.
func frameOf(name string) *result.Frame {
	if plain, ok := strings.CutSuffix(name, kernelMark); ok {
		return &result.Frame{Symbol: plain, Addr: 1 << 63}
	}
	return &result.Frame{Symbol: name}
}

var errPprof = errors.New("not a profile of pprof: a part of it is cut off or has another form")

// fields calls f for each field of a message: numbers have no bytes.
func fields(m []byte, f func(field int, n uint64, b []byte) error) error {
	for len(m) > 0 {
		tag, k := binary.Uvarint(m)
		if k <= 0 {
			return errPprof
		}
		m = m[k:]
		var n uint64
		var b []byte
		switch tag & 7 {
		case 0:
			if n, k = binary.Uvarint(m); k <= 0 {
				return errPprof
			}
			m = m[k:]
		case 1, 5: // 64 and 32 bits; the messages have none
			size := 8
			if tag&7 == 5 {
				size = 4
			}
			if len(m) < size {
				return errPprof
			}
			m = m[size:]
			continue
		case 2:
			size, k := binary.Uvarint(m)
			if k <= 0 || size > uint64(len(m)-k) {
				return errPprof
			}
			b, m = m[k:k+int(size):k+int(size)], m[k+int(size):]
			if b == nil {
				b = []byte{}
			}
		default:
			return errPprof
		}
		if tag>>3 > 1<<29 {
			return errPprof
		}
		if err := f(int(tag>>3), n, b); err != nil {
			return err
		}
	}
	return nil
}

// list appends a repeated number, which is packed or stands alone.
func list(dst []uint64, n uint64, b []byte) ([]uint64, error) {
	if b == nil {
		return append(dst, n), nil
	}
	for len(b) > 0 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, errPprof
		}
		dst, b = append(dst, v), b[k:]
	}
	return dst, nil
}

// pprofReader is what the messages of a profile say, before what they refer to is known.
type pprofReader struct {
	strings   []string
	types     []uint64          // names of what values are, as strings' numbers
	functions map[uint64]uint64 // names, as strings' numbers
	locations map[uint64][]uint64
	kernel    map[uint64]bool // locations
	samples   []rawSample
}

type rawSample struct{ locations, values, labels []uint64 }

// readPprof reads profile.proto (github.com/google/pprof), packed or not. The first of several values is taken.
func readPprof(data []byte) (*Profile, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(z, mostRead+1)); err != nil {
			return nil, err
		}
		if len(data) > mostRead {
			return nil, fmt.Errorf("it has more than %d MB when unpacked", mostRead>>20)
		}
	}
	r := &pprofReader{functions: map[uint64]uint64{}, locations: map[uint64][]uint64{}, kernel: map[uint64]bool{}}
	if err := fields(data, r.field); err != nil {
		return nil, err
	}
	return r.profile()
}

func (r *pprofReader) field(field int, _ uint64, b []byte) error {
	var ids [8]uint64 // the numbers of the message by field
	numbers := func(each func(field int, n uint64, b []byte) error) error {
		return fields(b, func(field int, n uint64, b []byte) error {
			if field < len(ids) && b == nil {
				ids[field] = n
			}
			return each(field, n, b)
		})
	}
	none := func(int, uint64, []byte) error { return nil }
	switch field {
	case profileStrings:
		r.strings = append(r.strings, string(b))
	case profileSampleType:
		if err := numbers(none); err != nil {
			return err
		}
		r.types = append(r.types, ids[1])
	case profileFunction:
		if err := numbers(none); err != nil {
			return err
		}
		r.functions[ids[1]] = ids[2]
	case profileLocation:
		var lines []uint64 // functions, innermost first
		err := numbers(func(field int, _ uint64, b []byte) error {
			if field != 4 {
				return nil
			}
			var fn uint64
			err := fields(b, func(field int, n uint64, _ []byte) error {
				if field == 1 {
					fn = n
				}
				return nil
			})
			lines = append(lines, fn)
			return err
		})
		if err != nil {
			return err
		}
		r.locations[ids[1]], r.kernel[ids[1]] = lines, ids[3]>>63 != 0
	case profileSample:
		var s rawSample
		err := numbers(func(field int, n uint64, b []byte) (err error) {
			switch field {
			case 1:
				s.locations, err = list(s.locations, n, b)
			case 2:
				s.values, err = list(s.values, n, b)
			case 3:
				var text uint64
				err = fields(b, func(field int, n uint64, _ []byte) error {
					if field == 2 {
						text = n
					}
					return nil
				})
				if text != 0 {
					s.labels = append(s.labels, text)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		r.samples = append(r.samples, s)
	}
	return nil
}

// profile puts together what the messages refer to.
func (r *pprofReader) profile() (*Profile, error) {
	text := func(n uint64) string {
		if n < uint64(len(r.strings)) {
			return r.strings[n]
		}
		return ""
	}
	p := &Profile{Unit: "samples"}
	if len(r.types) > 0 && text(r.types[0]) != "" {
		p.Unit = text(r.types[0])
	}
	for _, raw := range r.samples {
		if len(raw.values) == 0 {
			return nil, errPprof
		}
		if int64(raw.values[0]) < 0 {
			return nil, errors.New("it has negative counts: it is a difference itself")
		}
		s := Sample{Count: raw.values[0]}
		for _, l := range raw.labels {
			s.Roots = append(s.Roots, text(l))
		}
		for _, id := range raw.locations {
			for _, fn := range r.locations[id] {
				name := text(r.functions[fn])
				if name == "" { // others have none either
					name = fmt.Sprintf("function %d", fn)
				}
				f := frameOf(name)
				if r.kernel[id] {
					f.Addr = 1 << 63
				}
				s.Frames = append(s.Frames, f)
			}
			if len(r.locations[id]) == 0 {
				s.Frames = append(s.Frames, &result.Frame{Symbol: fmt.Sprintf("location %d", id)})
			}
		}
		p.Samples = append(p.Samples, s)
	}
	return p, nil
}
