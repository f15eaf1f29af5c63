package probe

import "sync"

// GoRuntime tells where the runtime of a Go program keeps what identifies a goroutine. It is found out when it is first
// asked for.
type GoRuntime struct {
	once sync.Once
	find func() (GoLayout, error)
	l    GoLayout
	err  error
}

// GoLayout has offsets in the runtime's structures g and m. In Go code R14 points to g.
type GoLayout struct {
	StackHi int // g.stack.hi: the end of the stack
	Goid    int // g.goid
	M       int // g.m
	CurG    int // m.curg: the goroutine that a thread's own g (goid 0) works for
}

// Layout tells the offsets.
func (r *GoRuntime) Layout() (GoLayout, error) {
	r.once.Do(func() { r.l, r.err = r.find() })
	return r.l, r.err
}

// NewGoRuntime makes one whose layout is found by find.
func NewGoRuntime(find func() (GoLayout, error)) *GoRuntime { return &GoRuntime{find: find} }
