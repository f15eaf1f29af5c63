package flame

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trocar/internal/order"
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

// Kind tells the kinds of what is waited for.
func Kind(kind string) bool {
	switch kind {
	case waitsCondition, waitsSemaphore, waitsThread, waitsGroup, waitsBarrier, waitsOnce, waitsOther:
		return true
	}
	return isLock(kind)
}

// isLock tells the kinds that are locks from what else is waited for.
func isLock(kind string) bool {
	switch kind {
	case waitsMutex, waitsRWLock, waitsInternal, waitsMonitor, waitsGIL:
		return true
	}
	return false
}

// Wait is a function that tells what is waited for.
type Wait struct {
	Function, Kind string
	Own            bool // it is part of a lock of a runtime's own, which is made of what other functions tell
}

// waiters are the functions that tell what is waited for: of glibc and musl (pthread_…, C11's mtx_…), Rust's standard
// library and parking_lot. A name that ends in "*" stands for those that begin so, one that begins with "*" for
// those that end so.
func waiters() []Wait {
	return []Wait{
		{Function: "pthread_mutex_*", Kind: waitsMutex},
		{Function: "pthread_rwlock_*", Kind: waitsRWLock},
		{Function: "pthread_cond_*", Kind: waitsCondition},
		{Function: "pthread_barrier_*", Kind: waitsBarrier},
		{Function: "pthread_once*", Kind: waitsOnce},
		{Function: "pthread_join*", Kind: waitsThread},
		{Function: "pthread_timedjoin*", Kind: waitsThread},
		{Function: "pthread_clockjoin*", Kind: waitsThread},
		{Function: "mtx_*", Kind: waitsMutex},
		{Function: "cnd_*", Kind: waitsCondition},
		{Function: "thrd_join", Kind: waitsThread},
		{Function: "call_once", Kind: waitsOnce},
		{Function: "sem_*", Kind: waitsSemaphore},
		{Function: "new_sem_*", Kind: waitsSemaphore},
		{Function: "lll_lock_wait_private", Kind: waitsInternal},
		{Function: "__lock", Kind: waitsInternal, Own: true}, // musl
		{Function: "*::Mutex::lock_contended", Kind: waitsMutex},
		{Function: "*::RwLock::read_contended", Kind: waitsRWLock},
		{Function: "*::RwLock::write_contended", Kind: waitsRWLock},
		{Function: "*::Condvar::wait_optional_timeout", Kind: waitsCondition},
		{Function: "*::Once::call", Kind: waitsOnce},
		{Function: "*::RawMutex::lock_slow", Kind: waitsMutex},
		{Function: "*::RawRwLock::lock_shared_slow", Kind: waitsRWLock},
		{Function: "*::RawRwLock::lock_exclusive_slow", Kind: waitsRWLock},
		{Function: "*::RawRwLock::lock_common", Kind: waitsRWLock},
		{Function: "*::Condvar::wait_until_internal", Kind: waitsCondition},
	}
}

// waitKind is what a thread waits for, by its frames: the innermost function that tells, but first those of locks of
// runtimes' own.
func waitKind(frames []result.Frame, of []Wait) string {
	for _, own := range []bool{true, false} {
		for i := range frames {
			name, _, _ := strings.Cut(frames[i].Symbol, "(")
			if !own {
				name = plain(frames[i].Symbol)
			}
			for _, w := range of {
				if w.Own == own && w.is(name) {
					return w.Kind
				}
			}
		}
	}
	return waitsOther
}

func (w *Wait) is(name string) bool {
	begin, isBegin := strings.CutSuffix(w.Function, "*")
	end, isEnd := strings.CutPrefix(w.Function, "*")
	return name == w.Function || isBegin && strings.HasPrefix(name, begin) || isEnd && strings.HasSuffix(name, end)
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
	All   bool   // pass on all
	Waits []Wait // functions of runtimes, beside those of libraries
	Left  map[string]Left
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
	all := slices.Concat(l.Waits, waiters())
	for i := range m.Map.Entries {
		entry := m.Map.Entries[i]
		kind := waitsOther
		for _, p := range parts(entry.Key) {
			if p.Kind == result.Stack {
				kind = waitKind(p.Frames, all)
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
	order.By(kinds, func(a, b string) int { return cmp.Compare(l.Left[b].Time, l.Left[a].Time) })
	var text []string
	for _, kind := range kinds {
		text = append(text, kind+" "+string(result.AppendDuration(nil, l.Left[kind].Time)))
	}
	return strings.Join(text, ", ")
}
