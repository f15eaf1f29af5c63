package kernel

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An event of a process is opened on each of its threads, and those that they make inherit it. A thread that is being
// made meanwhile is a case of its own: it has taken over what its maker had when its making began, and is seen when
// that is done. So what comes up later is tried whether it has the event: opened again it would count twice, and left
// alone not at all.

// threaded is an event on all threads of a process.
type threaded struct {
	p     *loadedProgram
	pid   int
	attr  *unix.PerfEventAttr
	known map[int]bool // threads
	sure  int          // one that has the event
	links []*attachment
	like  attachment // what all links have
	until time.Time  // until when it is looked for threads that were in the making
}

const (
	// inTheMaking is how long it takes a thread to be made, if it is not kept from that.
	inTheMaking = 10 * time.Millisecond
	// mostMaking is for how long it is looked for such as were kept from it.
	mostMaking = 2 * time.Second
)

// openThreads opens an event on the threads of a process.
func (a *attacher) openThreads(p *loadedProgram, pid int, attr *unix.PerfEventAttr, like attachment) error {
	_, err := a.onThreads(p, pid, attr, like)
	return err
}

func (a *attacher) onThreads(
	p *loadedProgram, pid int, attr *unix.PerfEventAttr, like attachment,
) (*threaded, error) {
	attr.Bits |= unix.PerfBitInherit
	t := &threaded{p: p, pid: pid, attr: attr, known: map[int]bool{}, like: like, until: time.Now().Add(mostMaking)}
	if attr.Type == unix.PERF_TYPE_BREAKPOINT && !like.plain {
		// They are switched on together, and those that threads have taken over with them: what happens until all threads
		// have it is not counted, here twice and there not at all.
		t.like.idle = true
		attr.Bits |= unix.PerfBitDisabled
		if err := t.openCleanly(a); err != nil {
			return t, err
		}
	}
	for fresh := 1; fresh > 0; { // one may make others before it is reached
		var err error
		if fresh, _, err = t.open(a); err != nil {
			return t, err
		}
	}
	if t.sure == 0 {
		return t, unix.ESRCH
	}
	if t.like.idle {
		t.like.idle = false
		attr.Bits &^= unix.PerfBitDisabled
		for _, link := range t.links {
			err := unix.IoctlSetInt(link.fds[0], unix.PERF_EVENT_IOC_ENABLE, 0)
			if err != nil {
				return t, err
			}
		}
	}
	if attr.Type == unix.PERF_TYPE_BREAKPOINT {
		a.Loaded.mu.Lock()
		a.threaded = append(a.threaded, t)
		a.Loaded.mu.Unlock()
	}
	return t, nil
}

// openCleanly opens the event while no thread is made, if it comes to that: one that takes the event over before its
// program is set has it without.
func (t *threaded) openCleanly(a *attacher) error {
	const tries = 8
	for i := range tries {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		_, _, err := t.open(a)
		if err != nil {
			return err
		}
		opened := ticks()
		time.Sleep(inTheMaking)
		var made []int
		threads, _ := os.ReadDir("/proc/" + strconv.Itoa(t.pid) + "/task")
		for _, d := range threads {
			if tid, err := strconv.Atoi(d.Name()); err == nil && !t.known[tid] && begun(t.pid, tid) <= opened {
				made = append(made, tid)
			}
		}
		if i == tries-1 {
			a.tooLate(made) // as well as it can be done
		}
		if len(made) == 0 || i == tries-1 {
			for _, d := range threads { // those that were made since have it
				if tid, err := strconv.Atoi(d.Name()); err == nil && !slices.Contains(made, tid) {
					t.known[tid] = true
				}
			}
			return nil
		}
		gone := map[*attachment]bool{}
		for _, link := range t.links {
			gone[link] = true
		}
		a.unlink(func(link *attachment) bool { return gone[link] })
		t.known, t.links, t.sure = map[int]bool{}, nil, 0
	}
	return nil
}

// ticks is the time in which the begin of threads is told: 10 ms since the machine was started.
func ticks() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return uint64(now.Nano() / 1e7)
}

// begun is when a thread was made; 0: it is gone.
func begun(pid, tid int) uint64 {
	const start = 19 // of the fields behind the name (proc(5))
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])); len(f) > start {
		n, _ := strconv.ParseUint(f[start], 10, 64)
		return n
	}
	return 0
}

// open opens the event on threads that are not known yet. It gives how many these were, and how many of them lacked the
// event.
func (t *threaded) open(a *attacher) (fresh int, lacked []int, err error) {
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(t.pid) + "/task")
	if err != nil {
		if t.sure == 0 {
			err = unix.ESRCH
		} else {
			err = nil
		}
		return 0, nil, err
	}
	later := len(t.known) > 0
	for _, d := range threads {
		tid, err := strconv.Atoi(d.Name())
		if err != nil || t.known[tid] {
			continue
		}
		t.known[tid] = true
		fresh++
		if later && t.inherited(tid) {
			continue
		}
		link, err := a.openOne(t.p, t.attr, tid, -1, t.like)
		switch {
		case err == nil:
			t.links = append(t.links, link)
			if !later { // later ones may have it twice
				t.sure = tid
			}
			lacked = append(lacked, tid)
		case !errors.Is(err, unix.ESRCH): // else it has ended
			return fresh, lacked, err
		}
	}
	return fresh, lacked, nil
}

// inherited tells whether a thread has the event, by whether it has as much room for more as one that has it.
func (t *threaded) inherited(tid int) bool {
	if t.attr.Type != unix.PERF_TYPE_BREAKPOINT {
		return false // which is not known: room is never scarce
	}
	room, ok := roomFor(t.attr, tid)
	if !ok {
		return true // it has ended
	}
	of, ok := roomFor(t.attr, t.sure)
	for known := range t.known {
		if ok {
			break
		}
		if known != tid {
			of, ok = roomFor(t.attr, known)
		}
	}
	return !ok || room <= of
}

// roomFor is how many events like one a thread has room for: they are not more than debug registers.
func roomFor(attr *unix.PerfEventAttr, tid int) (n int, ok bool) {
	const most = 32
	idle := *attr
	idle.Bits = idle.Bits&^unix.PerfBitInherit | unix.PerfBitDisabled
	for n < most {
		fd, err := openPerf(&idle, tid, -1)
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		if err != nil {
			return 0, false
		}
		defer unix.Close(fd)
		n++
	}
	return n, true
}

// tooLate notes threads that may lack an event at first, or have it twice.
func (l *Loaded) tooLate(tids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late == nil {
		l.late = map[int]bool{}
	}
	for _, tid := range tids {
		l.late[tid] = true
	}
}

// Rejoin opens events on threads that were being made while the events were opened, and gives what Late does.
func (l *Loaded) Rejoin() (late []int) {
	l.rejoin()
	return l.Late()
}

// Late are threads that may have gone without an event at first, each given once.
func (l *Loaded) Late() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := slices.Collect(maps.Keys(l.late))
	l.late = nil
	return late
}

func (l *Loaded) rejoin() {
	l.rejoining.Lock()
	defer l.rejoining.Unlock()
	l.mu.Lock()
	list := l.threaded[:0:0]
	for _, t := range l.threaded {
		if time.Now().Before(t.until) {
			list = append(list, t)
		}
	}
	l.threaded = list
	l.mu.Unlock()
	a := &attacher{Loaded: l}
	for _, t := range slices.Backward(list) { // what a thread lacks is the newest
		_, lacked, _ := t.open(a) // what goes wrong now: the thread has ended, or another has taken the room
		l.tooLate(lacked)
	}
}
