package flame

import (
	"testing"

	"trocar/result"
)

func TestWaitKind(t *testing.T) {
	own := []Wait{
		{"runtime.lock2", waitsInternal, false},
		{"sync.(*Mutex).*", waitsMutex, false},
		{"sync.(*RWMutex).*", waitsRWLock, false},
		{"sync.(*WaitGroup).*", waitsGroup, false},
		{"ObjectMonitor::enter", waitsMonitor, true},
		{"take_gil", waitsGIL, true},
	}
	for _, c := range []struct {
		want   string
		frames []string // innermost first
	}{
		{waitsMutex, []string{"futex_wait", "__GI___lll_lock_wait", "___pthread_mutex_lock", "main"}},
		{waitsMutex, []string{"__lll_lock_wait", "__pthread_mutex_cond_lock", "__pthread_cond_wait_common"}},
		{waitsMutex, []string{"", "pthread_mutex_lock", "main"}},
		{waitsRWLock, []string{"__futex_abstimed_wait64", "__GI___pthread_rwlock_wrlock"}},
		{waitsCondition, []string{"__futex_abstimed_wait_common", "___pthread_cond_timedwait64", "main"}},
		{waitsSemaphore, []string{"do_futex_wait", "__new_sem_wait_slow64"}},
		{waitsThread, []string{"__futex_abstimed_wait_common", "__pthread_clockjoin_ex"}},
		{waitsInternal, []string{"__lll_lock_wait_private", "_int_malloc", "malloc"}},
		{waitsMutex, []string{
			"syscall", "std::sys::pal::unix::futex::futex_wait", "<std::sys::sync::mutex::futex::Mutex>::lock_contended",
		}},
		{waitsRWLock, []string{
			"syscall", "std::sys::sync::rwlock::futex::RwLock::write_contended::h0123456789abcdef",
		}},
		{waitsMutex, []string{"runtime.semacquire1", "sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow"}},
		{waitsRWLock, []string{"runtime.semacquire1", "sync.runtime_SemacquireRWMutexR", "sync.(*RWMutex).RLock"}},
		{waitsGroup, []string{"runtime.semacquire1", "sync.runtime_Semacquire", "sync.(*WaitGroup).Wait"}},
		{waitsInternal, []string{"runtime.futex", "runtime.futexsleep", "runtime.lock2", "runtime.mallocgc"}},
		{waitsMonitor, []string{"pthread_cond_wait", "os::PlatformEvent::park()", "ObjectMonitor::enter(JavaThread*)"}},
		{waitsGIL, []string{"pthread_cond_timedwait", "take_gil", "PyEval_RestoreThread"}},
		{waitsOther, []string{"runtime.futex", "runtime.futexsleep", "runtime.notesleep"}},
		{waitsOther, nil},
	} {
		var frames []result.Frame
		for _, name := range c.frames {
			frames = append(frames, result.Frame{Symbol: name})
		}
		if got := waitKind(frames, append(own, waiters()...)); got != c.want {
			t.Errorf("%q: %s, want %s", c.frames, got, c.want)
		}
	}
}

// TestKinds: a kind is a lock or is not.
func TestKinds(t *testing.T) {
	for _, w := range waiters() {
		if !Kind(w.Kind) {
			t.Errorf("%s waits for a kind that is not known: %s", w.Function, w.Kind)
		}
	}
	if Kind("") || Kind("mutexes") {
		t.Error("what is no kind is one")
	}
}
