package session

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/order"
	"trocar/result"
)

// printMaps shows all maps that have something in them, by name.
func (s *Session) printMaps() error {
	all := make([]*record.Storage, len(s.in.Script.Storage))
	index := make(map[*record.Storage]int, len(all))
	for i := range all {
		all[i] = s.storage(i)
		index[all[i]] = i
	}
	order.By(all, func(a, b *record.Storage) int { return cmp.Compare(a.Map.Name, b.Map.Name) })
	for _, st := range all {
		if s.plain(st) {
			b, err := s.readBulk(st, false)
			if err != nil {
				return fmt.Errorf("reading the map %s: %w", st.Map.Name, err)
			}
			if b.n > 0 {
				if err := b.show(result.Head{}, 0, 0); err != nil {
					return err
				}
			}
			continue
		}
		if s.inParts(st) {
			if err := s.showParts(st, result.Head{}, false); err != nil {
				return err
			}
			continue
		}
		rows, err := s.rows(st, false, !s.in.Config.MapTables)
		if err != nil {
			return err
		}
		if unnamed(rows) {
			if err := s.showSorted(st, result.Head{}, rows); err != nil {
				return err
			}
			continue
		}
		m := s.shown(st, rows)
		if len(m.Entries) == 0 {
			continue
		}
		m.Sort()
		if s.in.Config.MapTables {
			s.tabulate(m, 0, index[st])
		}
		if err := s.emit(&result.PrintMap{Map: m}); err != nil {
			return err
		}
	}
	return nil
}

// pendingMap is a map that is to be shown. It waits for what comes next: if that clears the map, what is shown is
// what is taken out of it, so that nothing that is counted in between is lost.
type pendingMap struct {
	head  result.Head
	index int // of its storage
	top   int
	div   uint64
	looks int // at the ring since
}

// showPending shows the map that waits, and takes what is shown out of it.
func (s *Session) showPending(take bool) error {
	p := s.pending
	if p == nil {
		return nil
	}
	s.pending = nil
	st := s.storage(p.index)
	if s.plain(st) {
		b, err := s.readBulk(st, take)
		if err != nil {
			return fmt.Errorf("reading the map %s: %w", st.Map.Name, err)
		}
		if take {
			s.filledFrom(p.index)
		}
		return b.show(p.head, p.top, p.div)
	}
	if s.inParts(st) && p.top == 0 && p.div <= 1 {
		if err := s.showParts(st, p.head, take); take && err == nil {
			s.filledFrom(p.index)
		} else if err != nil {
			return err
		}
		return nil
	}
	rows, err := s.rows(st, take, p.top == 0 && p.div <= 1 && !s.in.Config.MapTables)
	if err != nil {
		return err
	}
	if unnamed(rows) {
		if take {
			s.filledFrom(p.index)
		}
		return s.showSorted(st, p.head, rows)
	}
	m := s.shown(st, rows)
	t := st.Map.Value
	drawn := t.Kind == types.Hist || t.Kind == types.LHist || t.Kind == types.TSeries || t.Kind == types.Times
	if len(m.Entries) == 0 && st.Scalar && !drawn {
		// Asked for before it was set: it reads as zero.
		var e result.Entry
		s.decoder.MapValue(&e.Value, st, [][]byte{st.Unset()})
		m.Entries = append(m.Entries, e)
	}
	if s.in.Config.MapTables && p.div <= 1 {
		m.Sort()
		if !s.tabulate(m, p.top, p.index) {
			m.Top(p.top)
		}
	} else {
		m.Top(p.top)
		m.Divide(p.div)
	}
	if take {
		s.filledFrom(p.index)
	}
	return s.emit(&result.PrintMap{Head: p.head, Map: m})
}

// tabulate makes a table of a sorted map if its values are numbers.
func (s *Session) tabulate(m *result.Map, top, index int) bool {
	if !m.Tabulate(top, s.span(index)) {
		return false
	}
	m.Table.Histograms = s.in.Config.MapHistograms
	return true
}

// filledFrom notes that a map is empty from now on.
func (s *Session) filledFrom(index int) {
	if s.cleared == nil {
		s.cleared = map[int]time.Time{}
	}
	s.cleared[index] = time.Now()
}

// span is the time in which a map was filled, 0 if nothing was attached.
func (s *Session) span(index int) time.Duration {
	from, until := s.began, s.ended
	if at, ok := s.cleared[index]; ok {
		from = at
	}
	if until.IsZero() {
		until = time.Now()
	}
	if from.IsZero() || !until.After(from) {
		return 0
	}
	return until.Sub(from)
}

// row is an entry as it is read: the values of all CPUs, and of all entries that are shown as one.
type row struct {
	key  *result.Value // of many with stacks, each is named when it is shown: nil, and
	like *result.Value // what is in the same order
	raw  []byte        // the key
	cpus [][]byte
}

// shown is a map of what was read of it.
func (s *Session) shown(st *record.Storage, rows []row) *result.Map {
	t := st.Map.Value
	m := &result.Map{Name: st.Map.Name, Keyed: !st.Scalar, Kind: mapKind(t)}
	if t.Kind == types.TSeries {
		s.series(m, st, rows)
		return m
	}
	for _, row := range rows {
		e := result.Entry{Key: row.key}
		if s.decoder.MapValue(&e.Value, st, row.cpus) {
			m.Entries = append(m.Entries, e)
		}
	}
	return m
}

// mostNamed is of how many stacks the frames have names at once: each may take kilobytes then.
const mostNamed = 1024

// unnamed tells whether keys are named when they are shown.
func unnamed(rows []row) bool { return len(rows) > 0 && rows[0].like != nil }

// ordered is a value that compares as a key does: addresses take the place of named frames.
func ordered(v *result.Value) *result.Value {
	w := *v
	if v.Kind == result.Stack {
		addrs := make([]byte, 0, 8*len(v.Frames))
		for i := range v.Frames {
			addrs = binary.BigEndian.AppendUint64(addrs, v.Frames[i].Addr)
		}
		return &result.Value{Kind: result.String, Text: string(addrs)}
	}
	w.Elems = make([]result.Value, len(v.Elems))
	for i := range v.Elems {
		w.Elems[i] = *ordered(&v.Elems[i])
	}
	return &w
}

// showSorted shows such rows, in the order of their values, one after another.
func (s *Session) showSorted(st *record.Storage, head result.Head, rows []row) error {
	m := &result.Map{Name: st.Map.Name, Keyed: true, Kind: mapKind(st.Map.Value)}
	for i, row := range rows {
		place := result.Value{Kind: result.Uint, Num: uint64(i)} // behind what it is sorted by
		e := result.Entry{Key: &result.Value{Kind: result.Tuple, Elems: []result.Value{*row.like, place}}}
		if s.decoder.MapValue(&e.Value, st, row.cpus) {
			m.Entries = append(m.Entries, e)
		}
	}
	m.Sort()
	all := m.Entries
	m.Entries = make([]result.Entry, 1)
	n := s.names
	n.reuses = true
	defer func() { n.reuses, n.room = false, nil }()
	for i := range all {
		var key result.Value
		n.room = n.room[:0]
		s.decoder.Value(&key, st.Map.Key, rows[all[i].Key.Elems[1].Num].raw)
		m.Entries[0] = result.Entry{Key: &key, Value: all[i].Value}
		e := &result.PrintMap{Head: head, Map: m, Continued: i > 0, More: i < len(all)-1}
		if err := s.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// rows reads the entries. Stacks of several processes that run the same code are one key to the reader, and so are
// times that are shown alike, such as those of one hour: aggregations under such keys are put together. Functions of
// one name are not: they may be of several files. Many that are put together have no names yet if sorts is true.
func (s *Session) rows(st *record.Storage, take, sorts bool) ([]row, error) {
	read := s.kernel.Maps.Each
	if take {
		read = s.kernel.Maps.Take
	}
	merge := st.Map.Value.IsAgg() && !st.Scalar && shownAlike(st.Map.Key)
	var rows []row
	err := read(st.Name, func(key, value []byte) error {
		r := row{cpus: st.CPUs(append([]byte(nil), value...))}
		if !st.Scalar {
			r.raw = append([]byte(nil), key...)
		}
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the map %s: %w", st.Map.Name, err)
	}
	if st.Scalar {
		return rows, nil
	}
	names := s.names
	names.reuses = sorts && merge && len(rows) > mostNamed && mapKind(st.Map.Value) == result.PlainMap &&
		holds(st.Map.Key, types.UStack)
	defer func() { names.reuses, names.room = false, nil }()
	if holds(st.Map.Key, types.UStack) || holds(st.Map.Key, types.KStack) {
		s.names.asking = true
		for i := range rows {
			s.decoder.Value(&result.Value{}, st.Map.Key, rows[i].raw)
		}
		s.names.asking = false
		s.names.symbols.Answer()
	}
	seen := map[[2]uint64]int{}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	var text []byte
	n := 0
	for _, r := range rows {
		r.key, names.room = &result.Value{}, names.room[:0]
		s.decoder.Value(r.key, st.Map.Key, r.raw)
		if merge {
			text = r.key.AppendKey(text[:0])
			shown := [2]uint64{maphash.Bytes(seeds[0], text), maphash.Bytes(seeds[1], text)} // of texts of kilobytes
			if i, ok := seen[shown]; ok {
				rows[i].cpus = append(rows[i].cpus, r.cpus...)
				continue
			}
			seen[shown] = n
		}
		if names.reuses {
			r.key, r.like = nil, ordered(r.key)
		}
		rows[n] = r
		n++
	}
	clear(rows[n:])
	rows = rows[:n]
	if !merge {
		s.apart(st.Map.Key, rows)
	}
	return rows, nil
}

// shownAlike tells whether a key is or holds a user stack or a time.
func shownAlike(t *types.Type) bool { return holds(t, types.UStack) || holds(t, types.Timestamp) }

// holds tells whether a key is or holds a value of a kind.
func holds(t *types.Type, kind types.Kind) bool {
	return t.Kind == kind || (t.Kind == types.Tuple || t.Kind == types.Record) &&
		slices.ContainsFunc(t.Fields, func(f types.Field) bool { return holds(f.Type, kind) })
}

// series fills in time series: all keys end at the same interval, the newest of the map.
func (s *Session) series(m *result.Map, st *record.Storage, rows []row) {
	t := st.Map.Value
	var last uint64
	cells := make([][]result.SeriesCell, len(rows))
	for i, row := range rows {
		cells[i] = record.SeriesCells(t, row.cpus, st.Scalar)
		if n := len(cells[i]); n > 0 {
			last = max(last, cells[i][n-1].Interval)
		}
	}
	span := result.SeriesSpan{
		Interval: time.Duration(t.Series.IntervalNS), Count: t.Series.Count, Last: last, Unsigned: !t.Series.Signed,
		At: s.seriesTime,
	}
	for i, row := range rows {
		if !st.IsSet(row.cpus) {
			continue
		}
		v := result.Value{Kind: result.Series, Series: span.Series(cells[i])}
		m.Entries = append(m.Entries, result.Entry{Key: row.key, Value: v})
	}
}

// seriesTime is the time of day of a series' clock.
func (s *Session) seriesTime(ns uint64) time.Time {
	if s.in.Config.SeriesTime {
		return time.Unix(0, int64(ns))
	}
	return s.wall.Time(ns)
}

func mapKind(t *types.Type) result.MapKind {
	switch t.Kind {
	case types.Hist:
		return result.HistMap
	case types.LHist:
		return result.LHistMap
	case types.Stats, types.Avg:
		return result.StatsMap
	case types.Times:
		return result.TimesMap
	case types.TSeries:
		return result.SeriesMap
	}
	return result.PlainMap
}

// zero sets all values to zero; a scalar map stays set if it was.
func (s *Session) zero(st *record.Storage) error {
	if !st.Scalar {
		return s.kernel.Maps.Zero(st.Name)
	}
	return s.kernel.Maps.Each(st.Name, func(key, value []byte) error {
		st.Reset(value)
		return s.kernel.Maps.Put(st.Name, key, value)
	})
}

// scalar is the value of a map of one integer; 0 if there is none.
func (s *Session) scalar(name string) int64 {
	for i := range s.in.Script.Storage {
		st := s.storage(i)
		if st.Map.Name != name || !st.Scalar || !st.Map.Value.IsInteger() {
			continue
		}
		if rows, err := s.rows(st, false, false); err == nil {
			if m := s.shown(st, rows); len(m.Entries) == 1 {
				return int64(m.Entries[0].Value.Num)
			}
		}
	}
	return 0
}
