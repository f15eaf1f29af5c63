package flame

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trocar/result"
)

// Kinds of what a thread waits for in the kernel's futex call, or a goroutine in the runtime's semaphores.
const (
	waitsMutex     = "mutex"
	waitsRWLock    = "rwlock"
	waitsInternal  = "internal lock" // of a C library or a runtime, as of malloc's
	waitsMonitor   = "monitor"       // of Java
	waitsGIL       = "GIL"           // CPython's: other threads execute
	waitsCondition = "condition variable"
	waitsSemaphore = "semaphore"
	waitsThread    = "end of a thread"
	waitsGroup     = "wait group"
	waitsBarrier   = "barrier"
	waitsOnce      = "once"
	waitsOther     = "other"
)

// isLock tells the kinds that are locks from what else is waited for.
func isLock(kind string) bool {
	switch kind {
	case waitsMutex, waitsRWLock, waitsInternal, waitsMonitor, waitsGIL:
		return true
	}
	return false
}

// waiters are the functions that tell what is waited for: of glibc and musl (pthread_…, C11's mtx_…), Rust's standard
// library and parking_lot, Go. A name that ends in "*" stands for those that begin so, one that begins with "*" for
// those that end so.
func waiters() []struct{ name, kind string } {
	return []struct{ name, kind string }{
		{"pthread_mutex_*", waitsMutex},
		{"pthread_rwlock_*", waitsRWLock},
		{"pthread_cond_*", waitsCondition},
		{"pthread_barrier_*", waitsBarrier},
		{"pthread_once*", waitsOnce},
		{"pthread_join*", waitsThread},
		{"pthread_timedjoin*", waitsThread},
		{"pthread_clockjoin*", waitsThread},
		{"mtx_*", waitsMutex},
		{"cnd_*", waitsCondition},
		{"thrd_join", waitsThread},
		{"call_once", waitsOnce},
		{"sem_*", waitsSemaphore},
		{"new_sem_*", waitsSemaphore},
		{"lll_lock_wait_private", waitsInternal},
		{"*::Mutex::lock_contended", waitsMutex},
		{"*::RwLock::read_contended", waitsRWLock},
		{"*::RwLock::write_contended", waitsRWLock},
		{"*::Condvar::wait_optional_timeout", waitsCondition},
		{"*::Once::call", waitsOnce},
		{"*::RawMutex::lock_slow", waitsMutex},
		{"*::RawRwLock::lock_shared_slow", waitsRWLock},
		{"*::RawRwLock::lock_exclusive_slow", waitsRWLock},
		{"*::RawRwLock::lock_common", waitsRWLock},
		{"*::Condvar::wait_until_internal", waitsCondition},
		{"runtime.lock2", waitsInternal},
		{"sync.(*Mutex).*", waitsMutex},
		{"internal/sync.(*Mutex).*", waitsMutex},
		{"sync.(*RWMutex).*", waitsRWLock},
		{"sync.(*WaitGroup).*", waitsGroup},
	}
}

// holders are functions of runtimes that have locks of their own, made of what the others tell.
func holders() map[string]string {
	return map[string]string{
		"ObjectMonitor::enter": waitsMonitor, "ObjectMonitor::EnterI": waitsMonitor, // HotSpot
		"__lock":   waitsInternal, // musl
		"take_gil": waitsGIL, "PyEval_RestoreThread": waitsGIL, "PyEval_AcquireThread": waitsGIL,
	}
}

// waitKind is what a thread waits for, by its frames: the innermost function that tells.
func waitKind(frames []result.Frame) string {
	own := holders()
	for i := range frames {
		name, _, _ := strings.Cut(frames[i].Symbol, "(")
		if kind := own[name]; kind != "" {
			return kind
		}
	}
	all := waiters()
	for i := range frames {
		name := plain(frames[i].Symbol)
		for _, w := range all {
			begin, isBegin := strings.CutSuffix(w.name, "*")
			end, isEnd := strings.CutPrefix(w.name, "*")
			if name == w.name || isBegin && strings.HasPrefix(name, begin) || isEnd && strings.HasSuffix(name, end) {
				return w.kind
			}
		}
	}
	return waitsOther
}

// plain is the name of a function without what the C library's own names have in front, and of Rust without the marks
// of a method's type and the hash.
func plain(name string) string {
	if i := strings.LastIndex(name, "::h"); i > 0 && len(name)-i == 19 {
		name = name[:i]
	}
	if strings.HasPrefix(name, "<") {
		name = strings.Replace(name[1:], ">::", "::", 1)
	}
	return strings.TrimLeft(strings.TrimPrefix(name, "__GI_"), "_")
}

// Locks is a sink that passes on, of the waits in maps, those that are for locks, with what they are. Those for other
// things are added up.
type Locks struct {
	result.Sink
	All  bool // pass on all
	Left map[string]Left
}

// Left is what was left out of a kind.
type Left struct{ Waits, Time uint64 }

// Event looks at maps of stacks.
func (l *Locks) Event(e result.Event) error {
	m, ok := e.(*result.PrintMap)
	if !ok || !stacks(m.Map) {
		return l.Sink.Event(e)
	}
	shown, entries := *m, *m.Map
	entries.Entries = nil
	for i := range m.Map.Entries {
		entry := m.Map.Entries[i]
		kind := waitsOther
		for _, p := range parts(entry.Key) {
			if p.Kind == result.Stack {
				kind = waitKind(p.Frames)
			}
		}
		if !l.All && !isLock(kind) {
			l.leave(kind, &entry.Value)
			continue
		}
		if key := entry.Key; key.Kind == result.Record {
			named := *key
			named.Names = append([]string{"kind"}, key.Names...)
			named.Elems = append([]result.Value{{Kind: result.String, Text: kind}}, key.Elems...)
			entry.Key = &named
		}
		entries.Entries = append(entries.Entries, entry)
	}
	shown.Map = &entries
	return l.Sink.Event(&shown)
}

func (l *Locks) leave(kind string, v *result.Value) {
	if l.Left == nil {
		l.Left = map[string]Left{}
	}
	left := l.Left[kind]
	n, _ := weight(v)
	left.Time += n
	if v.Kind == result.Stats {
		left.Waits += v.Elems[0].Num
	}
	l.Left[kind] = left
}

// Others says what was left out, the longest first; "": nothing.
func (l *Locks) Others() string {
	kinds := slices.Sorted(maps.Keys(l.Left))
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(l.Left[b].Time, l.Left[a].Time) })
	var text []string
	for _, kind := range kinds {
		text = append(text, kind+" "+string(result.AppendDuration(nil, l.Left[kind].Time)))
	}
	return strings.Join(text, ", ")
}
