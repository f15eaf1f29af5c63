package flame

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"

	"trocar/result"
)

// Fields of the messages of profile.proto (github.com/google/pprof).
const (
	profileSampleType, profileSample, profileMapping = 1, 2, 3
	profileLocation, profileFunction, profileStrings = 4, 5, 6
	profilePeriodType, profilePeriod                 = 11, 12
)

// message is a protobuf message under construction.
type message []byte

func (m message) number(field int, v uint64) message {
	if v == 0 {
		return m
	}
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), v)
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|2), uint64(len(b)))
	return append(m, b...)
}

func (m message) numbers(field int, vs []uint64) message {
	var packed []byte
	for _, v := range vs {
		packed = binary.AppendUvarint(packed, v)
	}
	return m.bytes(field, packed)
}

// pprofWriter numbers what pprof's messages refer to by number.
type pprofWriter struct {
	out       message
	strings   map[string]uint64
	order     []string
	functions map[[2]string]uint64
	mappings  map[[2]string]uint64 // by file and build id
	locations map[string]uint64
}

// room is the distance between files: they are put one behind the other, as several processes have them in different
// places. The offset in a file is then the address less the mapping's start.
const room = 1 << 40

// pprof writes the format of go tool pprof, with files and build ids, and with inlined functions as lines of the place
// that they were inlined into.
func (p *Profile) pprof() ([]byte, error) {
	w := &pprofWriter{
		strings: map[string]uint64{}, functions: map[[2]string]uint64{}, mappings: map[[2]string]uint64{},
		locations: map[string]uint64{},
	}
	w.text("")
	kind := func(name, unit string) []byte { return message{}.number(1, w.text(name)).number(2, w.text(unit)) }
	w.out = w.out.bytes(profileSampleType, kind(p.Unit, "count"))
	if p.Period > 0 {
		w.out = w.out.bytes(profileSampleType, kind("cpu", "nanoseconds"))
		w.out = w.out.bytes(profilePeriodType, kind("cpu", "nanoseconds")).number(profilePeriod, uint64(p.Period))
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		values := []uint64{s.Count}
		if p.Period > 0 {
			values = append(values, s.Count*uint64(p.Period))
		}
		sample := message{}.numbers(1, w.stack(s.Frames)).numbers(2, values)
		for _, root := range s.Roots {
			sample = sample.bytes(3, message{}.number(1, w.text("key")).number(2, w.text(root)))
		}
		w.out = w.out.bytes(profileSample, sample)
	}
	for _, s := range w.order {
		w.out = w.out.bytes(profileStrings, []byte(s))
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(w.out); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func (w *pprofWriter) text(s string) uint64 {
	n, ok := w.strings[s]
	if !ok {
		n = uint64(len(w.order))
		w.strings[s] = n
		w.order = append(w.order, s)
	}
	return n
}

// stack gives the locations of frames: inlined ones are lines of the one behind them.
func (w *pprofWriter) stack(frames []*result.Frame) (ids []uint64) {
	for i := 0; i < len(frames); {
		end := i
		for end < len(frames)-1 && frames[end].Inlined {
			end++
		}
		ids = append(ids, w.location(frames[i:end+1]))
		i = end + 1
	}
	return ids
}

func (w *pprofWriter) location(lines []*result.Frame) uint64 {
	outer := lines[len(lines)-1]
	mapping, address := uint64(0), outer.Addr
	if outer.Module != "" {
		mapping = w.mapping(outer)
		address = mapping*room + outer.ModuleOffset
	}
	key := fmt.Sprintf("%d %d", mapping, address)
	for i := range lines {
		key += fmt.Sprintf(" %q %d", lines[i].Symbol, lines[i].Line)
	}
	if id := w.locations[key]; id != 0 {
		return id
	}
	id := uint64(len(w.locations)) + 1
	w.locations[key] = id
	m := message{}.number(1, id).number(2, mapping).number(3, address)
	for i := range lines {
		fn := w.function(Name(lines[i]), lines[i].File)
		m = m.bytes(4, message{}.number(1, fn).number(2, uint64(max(0, lines[i].Line))))
	}
	w.out = w.out.bytes(profileLocation, m)
	return id
}

func (w *pprofWriter) function(name, file string) uint64 {
	key := [2]string{name, file}
	if id := w.functions[key]; id != 0 {
		return id
	}
	id := uint64(len(w.functions)) + 1
	w.functions[key] = id
	w.out = w.out.bytes(profileFunction,
		message{}.number(1, id).number(2, w.text(name)).number(3, w.text(name)).number(4, w.text(file)))
	return id
}

func (w *pprofWriter) mapping(f *result.Frame) uint64 {
	key := [2]string{f.Module, f.BuildID}
	if id := w.mappings[key]; id != 0 {
		return id
	}
	id := uint64(len(w.mappings)) + 1
	w.mappings[key] = id
	m := message{}.number(1, id).number(2, id*room).number(3, (id+1)*room)
	m = m.number(5, w.text(f.Module)).number(6, w.text(f.BuildID))
	// has_functions, has_filenames, has_line_numbers, has_inline_frames: there is nothing left to look up.
	m = m.number(7, 1).number(8, 1).number(9, 1).number(10, 1)
	w.out = w.out.bytes(profileMapping, m)
	return id
}
