package trocar

import (
	"errors"
	"fmt"
	"time"

	"trocar/internal/binary/types"
	"trocar/internal/compile/record"
	"trocar/internal/kernel"
	"trocar/result"
)

// printMaps shows all maps that have something in them, by name.
func (r *run) printMaps() error {
	for _, s := range byName(r.code.Storage) {
		if err := r.showMap(&pendingMap{storage: s}, false, false); err != nil {
			return err
		}
	}
	return nil
}

// pendingMap is a map that is to be shown. It waits for what comes next: if that clears the map, what is shown is what
// is taken out of it, so that nothing that is counted in between is lost.
type pendingMap struct {
	head    result.Head
	storage record.Storage
	top     int
	div     uint64
	looks   int // at the ring since
}

// flushPending shows the map that waits.
func (r *run) flushPending(take bool) error {
	p := r.pending
	if p == nil {
		return nil
	}
	r.pending = nil
	return r.showMap(p, true, take)
}

// showMap shows a map. One that is empty is shown only when asked for.
func (r *run) showMap(p *pendingMap, asked, take bool) error {
	s := p.storage
	m, err := r.content(&s, take)
	if err != nil {
		return err
	}
	if len(m.Entries) == 0 {
		if !asked {
			return nil
		}
		if t := s.Map.Value; s.Scalar && t.Kind != types.Hist && t.Kind != types.LHist && t.Kind != types.TSeries {
			// Asked for before it was set: it reads as zero.
			m.Entries = append(m.Entries, r.zeroEntry(&s))
		}
	}
	m.Top(p.top)
	m.Divide(p.div)
	return r.emit(&result.PrintMap{Head: p.head, Map: m})
}

// row is an entry as it is read: the values of all CPUs, and of all entries that are shown as one.
type row struct {
	key  *result.Value
	cpus [][]byte
}

// content reads a map, and takes what it reads out of it.
func (r *run) content(s *record.Storage, take bool) (*result.Map, error) {
	t := s.Map.Value
	m := &result.Map{Name: s.Map.Name, Keyed: !s.Scalar, Kind: mapKind(t)}
	rows, err := r.rows(s, take)
	if err != nil {
		return nil, fmt.Errorf("reading the map %s: %w", s.Map.Name, err)
	}
	if t.Kind == types.TSeries {
		r.series(m, s, rows)
		return m, nil
	}
	for _, row := range rows {
		e := result.Entry{Key: row.key}
		if r.decoder.MapValue(&e.Value, s, row.cpus) {
			m.Entries = append(m.Entries, e)
		}
	}
	return m, nil
}

// rows reads the entries. Stacks of several processes that run the same code are one key to the reader, so aggregations
// under such keys are put together.
func (r *run) rows(s *record.Storage, take bool) ([]row, error) {
	km := r.loaded.Map(s.Name)
	read := km.Each
	if take {
		read = km.Take
	}
	merge := s.Map.Value.IsAgg() && !s.Scalar && hasStack(s.Map.Key)
	var rows []row
	seen := map[string]int{}
	var text []byte
	err := read(func(key, value []byte) error {
		cpus := s.CPUs(append([]byte(nil), value...))
		if s.Scalar {
			rows = append(rows, row{nil, cpus})
			return nil
		}
		k := &result.Value{}
		r.decoder.Value(k, s.Map.Key, append([]byte(nil), key...))
		if merge {
			text = k.AppendKey(text[:0])
			if i, ok := seen[string(text)]; ok {
				rows[i].cpus = append(rows[i].cpus, cpus...)
				return nil
			}
			seen[string(text)] = len(rows)
		}
		rows = append(rows, row{k, cpus})
		return nil
	})
	return rows, err
}

// hasStack tells whether a key is or holds a user stack.
func hasStack(t *types.Type) bool {
	if t.Kind == types.UStack {
		return true
	}
	for _, f := range t.Fields {
		if (t.Kind == types.Tuple || t.Kind == types.Record) && hasStack(f.Type) {
			return true
		}
	}
	return false
}

// series fills in time series: all keys end at the same interval, the newest of the map.
func (r *run) series(m *result.Map, s *record.Storage, rows []row) {
	t := s.Map.Value
	var last uint64
	cells := make([][]result.SeriesCell, len(rows))
	for i, row := range rows {
		cells[i] = record.SeriesCells(t, row.cpus, s.Scalar)
		if n := len(cells[i]); n > 0 {
			last = max(last, cells[i][n-1].Interval)
		}
	}
	span := result.SeriesSpan{
		Interval: duration(t.Series.IntervalNS), Count: t.Series.Count, Last: last, Unsigned: !t.Series.Signed, At: r.seriesTime,
	}
	for i, row := range rows {
		if len(cells[i]) == 0 && s.Scalar {
			continue
		}
		v := result.Value{Kind: result.Series, Series: span.Series(cells[i])}
		m.Entries = append(m.Entries, result.Entry{Key: row.key, Value: v})
	}
}

// seriesTime is the time of day of a series' clock.
func (r *run) seriesTime(ns uint64) time.Time {
	if r.timeMap() != nil {
		return time.Unix(0, int64(ns))
	}
	return r.wall.Time(ns)
}

// zeroEntry is what a scalar map reads as before it is set.
func (r *run) zeroEntry(s *record.Storage) result.Entry {
	var e result.Entry
	r.decoder.MapValue(&e.Value, s, [][]byte{s.Unset()})
	return e
}

func mapKind(t *types.Type) result.MapKind {
	switch t.Kind {
	case types.Hist:
		return result.HistMap
	case types.LHist:
		return result.LHistMap
	case types.Stats, types.Avg:
		return result.StatsMap
	case types.TSeries:
		return result.SeriesMap
	}
	return result.PlainMap
}

// zero sets all values to zero; a scalar map stays set if it was.
func (r *run) zero(s record.Storage) error {
	m := r.loaded.Map(s.Name)
	if !s.Scalar {
		return m.Zero()
	}
	return m.Each(func(key, value []byte) error {
		s.Reset(value)
		return m.Put(key, value)
	})
}

// losses reports what the programs counted, once.
func (r *run) losses() error {
	value := make([]byte, r.code.CountersSize())
	if err := r.loaded.Map(record.CountersName).Get(record.Key(), value); err != nil {
		if errors.Is(err, kernel.ErrNoEntry) {
			return nil
		}
		return err
	}
	if r.told == nil {
		r.told = make([]uint64, len(r.code.Losses))
	}
	for i, total := range r.code.Counters(value) {
		l := r.code.Losses[i]
		n := total - r.told[i]
		if n == 0 {
			continue
		}
		r.told[i] = total
		e, err := r.loss(&l, n)
		if err != nil {
			return err
		}
		if err := r.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// loss is the event for a counter.
func (r *run) loss(l *record.Loss, n uint64) (result.Event, error) {
	d := result.Diagnostic{Severity: result.Warning, At: l.Span.Position()}
	switch l.Kind {
	case record.LostRecords:
		return &result.Lost{What: "events", Count: n}, nil
	case record.LostScratch:
		return &result.Lost{What: "events", Count: n, Detail: "no scratch memory was free"}, nil
	case record.LostUpdates:
		m := &r.code.Storage[l.Map].Map
		d.Text = fmt.Sprintf("Map full; can't update element of %s (%d times)", m.Name, n)
		d.Hints = []string{fmt.Sprintf("Try increasing max_map_keys config (now %d) or manually setting the max entries in "+
			"a map declaration e.g. `let %s = hash(%d)`", m.Max, m.Name, 4*m.Max)}
	case record.LostReads:
		d.Text = fmt.Sprintf("%d reads of memory failed; their values were taken as 0 or empty", n)
		d.Hints = []string{"-k shows each with its place"}
	case record.LostStacks:
		d.Text = fmt.Sprintf("%d stacks could not be taken", n)
	case record.LostBegins:
		d.Text = fmt.Sprintf("%d returns were left out: their calls had begun before, "+
			"and where the result is is only known at the begin", n)
	case record.LostCalls:
		d.Text = fmt.Sprintf("%d calls were not timed: too many were open at once", n)
	case record.LostLoops:
		d.Text = fmt.Sprintf("a loop was ended %d times at the kernel's limit of iterations", n)
	default:
		return nil, fmt.Errorf("the programs counted %d losses of unknown kind %d", n, l.Kind)
	}
	return &result.Notice{Head: result.Head{Action: l.Action + 1}, Diagnostic: d}, nil
}

// scalar is the value of a map of one integer; 0 if there is none.
func (r *run) scalar(name string) int64 {
	for i := range r.code.Storage {
		s := &r.code.Storage[i]
		if s.Map.Name != name || !s.Scalar || !s.Map.Value.IsInteger() {
			continue
		}
		m, err := r.content(s, false)
		if err == nil && len(m.Entries) == 1 {
			return int64(m.Entries[0].Value.Num)
		}
	}
	return 0
}
