package golang

import (
	"fmt"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// goroutines are what Go's runtime runs.
var goroutines = probe.Tasks{
	Name: "goroutine", Short: "g", ID: "goid", Frame: "goframe",
	// The scheduler's own functions do not return where it goes on in another goroutine (schedule, execute, newstack).
	Left: "a panic, runtime.Goexit or a switch to another goroutine",
}

// Call tells how calls in Go code at an address are told apart; nil in assembly, where the register may hold anything.
func (c *Code) Call(addr uint64, exact bool) *probe.Call {
	if !c.At(addr) {
		return nil
	}
	if c.exactCall == nil && exact {
		c.exactCall = c.findCall(true)
		c.exactCall.Tasks = goroutines
	}
	if c.exactCall != nil {
		return c.exactCall
	}
	if c.call == nil {
		c.call = c.findCall(false)
		c.call.Tasks = goroutines
	}
	return c.call
}

// findCall takes the offsets in the runtime's structures g and m from the program's debug information, else from what
// is known of its Go version.
func (c *Code) findCall(exact bool) *probe.Call {
	goes := c.file.Arch().Go()
	if goes == nil {
		return &probe.Call{Unknown: "where Go keeps it on " + c.file.CPU() + " is not known"}
	}
	if exact {
		if info, err := c.debug(); err == nil {
			if found := callFrom(info, goes.G); found != nil {
				return found
			}
		}
	}
	call := &probe.Call{Register: goes.G, StackEnd: 8, Thread: 48}
	version := pclntab.Version(c.file)
	switch minorOf(version) {
	case 17, 18, 19, 20, 21, 22: // arguments and the goroutine are in registers from 1.17 on
		call.ID, call.Current = 152, 192
	case 23, 24:
		call.ID, call.Current = 160, 192
	case 25, 26:
		call.ID, call.Current = 152, 184
	default:
		if version == "" {
			return &probe.Call{Unknown: c.name + " has no debug information and no Go version"}
		}
		return &probe.Call{
			Unknown: fmt.Sprintf("%s has no debug information, and where the runtime of %s keeps it is not known", c.name,
				version),
		}
	}
	return call
}

// callFrom takes the offsets from debug information; g is the register that points to the goroutine's record.
func callFrom(info *debuginfo.Info, g int) *probe.Call {
	record, err := info.TypeNamed("runtime.g", nil)
	if err != nil {
		return nil
	}
	m, err := info.TypeNamed("runtime.m", nil)
	if err != nil {
		return nil
	}
	at := func(t *types.Type, to *int, names ...string) bool {
		off := 0
		for _, name := range names {
			f, ok := t.Complete().Field(name)
			if !ok {
				return false
			}
			off += f.Offset
			t = f.Type
		}
		*to = off
		return true
	}
	call := &probe.Call{Register: g}
	if at(record, &call.StackEnd, "stack", "hi") && at(record, &call.ID, "goid") && at(record, &call.Thread, "m") &&
		at(m, &call.Current, "curg") {
		return call
	}
	return nil
}
