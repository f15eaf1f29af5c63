package match

import (
	"cmp"
	numbers "encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/order"
	"trocar/internal/process/probe"
)

// Watchpoints: memory at an address, or a variable that is in no function, of a file that a process has loaded.

// watchModes are the combinations that the CPUs' debug registers know, letters in alphabetical order.
var watchModes = []string{"x", "w", "rw"}

func parseWatchpoint(m *matcher, s *spec) bool {
	parts := s.parts
	if n := len(parts); n < 2 || n > 4 || n == 2 && m.pid() == 0 {
		return m.argCount(s, 3, 4)
	}
	at, mode := parts[:len(parts)-1], parts[len(parts)-1]
	// The length of a variable may be left out, and of a process's own program the file.
	var length string
	var err error
	if n := len(at); n > 1 {
		if _, err = parseUint(at[n-1]); err == nil || n == 3 {
			at, length = at[:n-1], at[n-1]
		}
	}
	if s.addr, err = parseUint(at[0]); err == nil && len(at) == 1 {
		s.isAddr = true
	} else if s.fn = at[len(at)-1]; len(at) == 1 && m.pid() == 0 {
		m.diags.Errorf(s.ap.Span, "Invalid function/address argument: %s", err).Hint("the form is %s", s.kind.form)
		return false
	} else if len(at) == 2 {
		s.target = at[0]
	}
	if length != "" || s.isAddr {
		if s.length, err = parseUint(length); err != nil {
			m.diags.Errorf(s.ap.Span, "Invalid length argument: %s", err).Hint("the form is %s", s.kind.form)
			return false
		}
	}
	ok := true
	fail := func(format string, args ...any) {
		m.diags.Errorf(s.ap.Span, format, args...)
		ok = false
	}
	if s.isAddr && s.addr == 0 {
		fail("watchpoint must be attached to a non-zero address")
	}
	switch s.length {
	case 1, 2, 4, 8:
		if s.isAddr && s.addr%s.length != 0 && mode != "x" { // instructions begin anywhere
			fail("watchpoint address %#x must be a multiple of its length %d", s.addr, s.length)
		}
	default:
		if length != "" || s.isAddr {
			fail("watchpoint length must be one of (1,2,4,8)")
		}
	}
	letters := []byte(mode)
	order.By(letters, cmp.Compare[byte])
	s.mode = string(letters)
	if s.mode == "" || strings.Trim(s.mode, "rwx") != "" {
		fail("watchpoint mode must be combination of (r,w,x)")
		return false
	}
	if len(slices.Compact(letters)) != len(s.mode) {
		fail("watchpoint modes may not be duplicated")
		return false
	}
	if !slices.Contains(watchModes, s.mode) {
		m.diags.Errorf(s.ap.Span, "invalid watchpoint mode: %s", s.mode).Hint("supported modes: %s",
			strings.Join(watchModes, ","))
		return false
	}
	if !s.isAddr && s.mode == "x" {
		m.diags.Errorf(s.ap.Span, "%s is watched as data: the modes are w and rw", s.fn).Hint("uprobe probes functions")
		return false
	}
	return ok
}

func matchWatchpoint(m *matcher, s *spec) []*probe.Point {
	at := uintText(s.addr) + ":" + uintText(s.length)
	if !s.isAddr {
		if at = s.fn; !m.variable(s) {
			return nil
		}
		if s.target != "" {
			at = s.target + ":" + at
		}
	}
	return []*probe.Point{{
		Kind: s.kind.kind, Name: s.kind.name + ":" + at + ":" + s.mode, PID: m.pid(),
		Addr: s.addr, WatchLen: int(s.length), WatchMode: s.mode,
	}}
}

// variable finds where the variable of a watchpoint is, and its length if that is not given.
func (m *matcher) variable(s *spec) bool {
	fail := func(format string, args ...any) bool {
		m.diags.Errorf(s.ap.Span, format, args...)
		return false
	}
	if m.pid() == 0 {
		m.diags.Errorf(s.ap.Span, "a variable has its address in a process: none is named").
			Hint("-p PID watches it in a process, -c COMMAND in one that is started")
		return false
	}
	if hasWildcard(s.fn) || hasWildcard(s.target) {
		return fail("wildcards are not allowed for watchpoint probe type")
	}
	files, err := m.target(s)
	if err != nil {
		m.badTarget(s, err)
		return false
	}
	b := files[0]
	found, _, err := m.variableIn(b, s.fn)
	switch {
	case errors.Is(err, debuginfo.ErrNotFound):
		m.missing(s, "%s has no variable %s that is in no function", b.name, s.fn)
		return false
	case err != nil:
		return fail("%s cannot be watched in %s: %s", s.fn, b.name, err)
	}
	if s.addr, err = m.files.address(b, found.Place); err != nil {
		return fail("%s cannot be watched: %s", s.fn, err)
	}
	if s.length == 0 {
		switch s.length = found.Size; s.length {
		case 1, 2, 4, 8:
		default:
			m.diags.Errorf(s.ap.Span, "%s has %d bytes, and a watchpoint is of 1, 2, 4 or 8", s.fn, s.length).
				Hint("name a member (%s.MEMBER), or say how many bytes: %s:FILE:%s:8:%s", s.fn, s.kind.name, s.fn, s.mode)
			return false
		}
	}
	if s.addr%s.length != 0 {
		return fail("%s is at %#x, which is no multiple of %d bytes as watchpoints are", s.fn, s.addr, s.length)
	}
	return true
}

// variableIn finds a variable of a file, or a member of one, with its type where that is known.
func (m *matcher) variableIn(b *binary, name string) (Symbol, *types.Type, error) {
	r, p := &Result{files: m.files}, &probe.Point{Path: b.path, Name: name}
	found, t, err := r.Variable(p, name)
	if err == nil || errors.Is(err, probe.ErrSeveral) {
		return found, t, err
	}
	if found, err = r.Symbol(p, name); err == nil {
		if slot, ok := b.obj.Cell(name); ok {
			found.Place = types.Place{Kind: types.InMemory, Ops: objfile.Word(slot)}
		}
		return found, nil, nil
	}
	if _, _, terr := m.files.threadLocal(b, name); errors.Is(terr, objfile.ErrNoSymbol) {
		err = debuginfo.ErrNotFound
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 {
		return found, nil, err
	}
	whole, t, werr := m.variableIn(b, name[:dot])
	if werr != nil || t == nil {
		return found, nil, err
	}
	f, ok := t.Complete().Field(name[dot+1:])
	if !ok || f.BitSize != 0 {
		return found, nil, fmt.Errorf("%s has no member %s with an address", name[:dot], name[dot+1:])
	}
	whole.Place.Ops = append(whole.Place.Steps(),
		types.PlaceOp{Code: types.PushConst, Arg: int64(f.Offset)}, types.PlaceOp{Code: types.Add})
	whole.Size = uint64(max(f.Type.Complete().Size, 0))
	return whole, f.Type, nil
}

var errNoAddress = errors.New("each thread has its own, or its address is not known before it is used")

// address is where something of a file is in the process now.
func (fs *files) address(b *binary, p types.Place) (uint64, error) {
	var stack []uint64
	pop := func() (v uint64) {
		if n := len(stack); n > 0 {
			v, stack = stack[n-1], stack[:n-1]
		}
		return v
	}
	for _, op := range p.Steps() {
		switch op.Code {
		case types.PushConst:
			stack = append(stack, uint64(op.Arg))
		case types.Add:
			stack = append(stack, pop()+pop())
		case types.PushLoaded:
			bias, err := fs.loadedAt(b)
			if err != nil {
				return 0, err
			}
			stack = append(stack, bias)
		case types.Load: // what the loader has written
			v, err := fs.word(pop())
			if err != nil {
				return 0, err
			}
			stack = append(stack, v)
		default: // of threads
			return 0, errNoAddress
		}
	}
	if at := pop(); at != 0 {
		return at, nil
	}
	return 0, errNoAddress
}

// loadedAt is what addresses of a file are moved by in the process.
func (fs *files) loadedAt(b *binary) (uint64, error) {
	maps := fs.mappings()
	for i := range maps {
		mp := &maps[i]
		if !mp.IsFile() || mp.Inode != b.im.ID().Inode {
			continue
		}
		if addr, ok := b.obj.Addr(mp.Offset); ok {
			if got, err := fs.openMapping(mp); err == nil && got.im == b.im {
				return mp.Start - addr, nil
			}
		}
	}
	if fs.mapsErr != nil {
		return 0, fs.mapsErr
	}
	if fs.opts.ChildPID != 0 {
		return 0, fmt.Errorf("the command has not loaded %s when it starts: -p PID watches it in a process", b.name)
	}
	return 0, fmt.Errorf("process %d has not loaded %s", fs.pid(), b.name)
}

// word is what the process has at an address.
func (fs *files) word(addr uint64) (uint64, error) {
	mem, err := fs.pid().Memory()
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	var text [8]byte
	if _, err := mem.ReadAt(text[:], int64(addr)); err != nil {
		return 0, err
	}
	return numbers.LittleEndian.Uint64(text[:]), nil
}
