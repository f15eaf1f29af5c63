package check

import (
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/binary/uapi"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/result"
)

// SyscallArgs is how the arguments of system calls are kept: the registers as they are, and in slots what they point
// to. What they mean differs from call to call, and is data: each system call is a variant of one type, whose fields
// lie over the registers and the slots. So one program serves all of them.
//
// A value is: u64 number of the system call, the registers, then the slots, each a u64 length (or record.Missing,
// record.NotRead) in front of its bytes.
type SyscallArgs struct {
	Type   *types.Type
	Number int // of the only one that it is about, -1: there are several
	Params int // as many registers the record of the probe has
	Slots  [SyscallSlots]SyscallSlot

	Data int // as many bytes are kept of what a call reads or writes

	words []uint64
}

// SyscallSlot is where something is kept that a register points to.
type SyscallSlot struct{ Offset, Room int }

// SyscallSlots is how much is kept of one call: two texts, and something small.
const SyscallSlots = 3

// smallSlot is the room of the last slot: eight of struct pollfd, five of struct epoll_event.
const smallSlot = 64

// A word tells what is read of a system call: for each slot a part of slotBits bits.
const (
	SlotBits      = 21
	SlotParam     = 0 // 3 bits: number of the register + 1; 0: nothing
	SlotRead      = 3 // 3 bits: uapi.Read
	SlotLate      = 6 // 1 bit: when the call returns
	SlotLen       = 7 // 3 bits: number of the register that counts + 1, 0: the result, or the size is that of all
	SlotSize      = 10
	SlotParamMask = 7
	SlotReadMask  = 7
	SlotLenMask   = 7
	SlotSizeMask  = 1<<(SlotBits-SlotSize) - 1
)

// Word tells what is read of a system call.
func (s *SyscallArgs) Word(number int) uint64 {
	if number < 0 || number >= len(s.words) {
		return 0
	}
	return s.words[number]
}

// Numbers is how many numbers there are.
func (s *SyscallArgs) Numbers() int { return len(s.words) }

// shownData is how much is shown of bytes that a call reads or writes, if no other length is asked for.
const shownData = 64

// syscallArgs describes the arguments of the system calls that an action's points are about.
func (c *checker) syscallArgs(act *action) *SyscallArgs {
	number, params := -1, uapi.MaxParams
	for i, p := range act.points {
		n, count := c.syscallOf(p)
		if i == 0 {
			number = n
		}
		if n != number {
			number = -1
		}
		params = min(params, count)
	}
	s := c.syscallType(number)
	out := *s
	out.Params = params
	return &out
}

// syscallOf is the number of the system call that a point is about, -1: any; and how many arguments its record has.
func (c *checker) syscallOf(p *probe.Point) (number, params int) {
	if p.Category != "syscalls" {
		return -1, uapi.MaxParams
	}
	name := strings.TrimPrefix(strings.TrimPrefix(p.Event, "sys_enter_"), "sys_exit_")
	number, _ = c.in.Arch.Syscall(uapi.Named(name))
	if p.Scope == nil || p.Scope.ArgsType == nil {
		return number, 0
	}
	for _, f := range p.Scope.ArgsType.Fields {
		if f.Offset >= SyscallRegs {
			params++
		}
	}
	return number, min(params, uapi.MaxParams)
}

// Offsets in the records of the tracepoints (TRACE_EVENT sys_enter and sys_exit, struct syscall_trace_enter and _exit
// in Linux's kernel/trace/trace.h): the number, then the arguments, or the result.
const (
	SyscallNumber = 8
	SyscallRegs   = 16
)

// syscallType is made once for each number, so that what is kept at one probe is of the type that another knows.
func (c *checker) syscallType(number int) *SyscallArgs {
	if s := c.syscalls[number]; s != nil {
		return s
	}
	strlen := c.cfg.Capture().Strlen
	s := &SyscallArgs{Number: number, Data: min(strlen, shownData)}
	if c.cfg.MaxShownStrlen > 0 {
		s.Data = strlen
	}
	off := 8 + 8*uapi.MaxParams
	for i := range s.Slots {
		room := roundUp(strlen+2, 8)
		if i == SyscallSlots-1 {
			room = smallSlot
		}
		s.Slots[i] = SyscallSlot{Offset: off, Room: room}
		off += 8 + room
	}
	calls := uapi.Of(c.in.Arch)
	s.words = make([]uint64, len(calls))
	all := &types.Variants{Discr: types.Field{Type: types.TUint32}}
	for n, call := range calls {
		if call == nil || number >= 0 && n != number {
			continue
		}
		t, word := s.of(call, off, strlen)
		s.words[n] = word
		all.List = append(all.List, types.Variant{
			Discrs: []types.VariantRange{{Low: uint64(n), High: uint64(n)}}, Type: t,
		})
		if number >= 0 {
			s.Type = t
		}
	}
	if s.Type == nil {
		unknown := &types.Type{Kind: types.Record, Name: record.ArgumentsType, Size: off, Align: 8}
		for i := range uapi.MaxParams {
			unknown.Fields = append(unknown.Fields, types.Field{Type: types.PointerTo(types.TVoid, types.User), Offset: 8 + 8*i})
		}
		all.List = append(all.List, types.Variant{Default: true, Type: unknown})
		s.Type = &types.Type{
			Kind: types.Record, Name: record.ArgumentsType, Size: off, Align: 8, Source: &types.Source{Variants: all},
		}
	}
	c.syscalls[number] = s
	return s
}

// of is the type of a system call's arguments, of size bytes, and what is read.
func (s *SyscallArgs) of(call *uapi.Call, size, strlen int) (t *types.Type, word uint64) {
	t = &types.Type{Kind: types.Record, Name: record.ArgumentsType, Size: size, Align: 8}
	var used [SyscallSlots]bool
	for _, p := range call.Params {
		f := types.Field{Name: p.Name, Type: p.Type, Offset: 8 + 8*p.Reg, When: p.When}
		if f.When != nil {
			w := *f.When
			w.Offset += 8
			f.When = &w
		}
		if slot := s.slot(p, &used); slot >= 0 {
			f.Offset = s.Slots[slot].Offset
			f.Type = s.kept(p, slot, strlen)
			part := uint64(p.Reg+1)<<SlotParam | uint64(p.Read)<<SlotRead | uint64(p.Len+1)<<SlotLen | uint64(p.Size)<<SlotSize
			if p.Late {
				part |= 1 << SlotLate
			}
			word |= part << (slot * SlotBits)
		}
		t.Fields = append(t.Fields, f)
	}
	return t, word
}

// slot finds one for what is read, -1: nothing is, or there is none left. Small things leave the large ones to texts.
func (s *SyscallArgs) slot(p uapi.Param, used *[SyscallSlots]bool) int {
	order := [SyscallSlots]int{0, 1, 2}
	switch p.Read {
	case uapi.Nothing:
		return -1
	case uapi.Struct, uapi.List:
		order = [SyscallSlots]int{2, 1, 0}
	case uapi.Texts:
		order = [SyscallSlots]int{TextsSlot, TextsSlot, TextsSlot}
	case uapi.Text, uapi.Data, uapi.Address:
	}
	for _, i := range order {
		if !used[i] && p.Size <= s.Slots[i].Room {
			used[i] = true
			return i
		}
	}
	return -1
}

// kept is the type of a slot's contents.
func (s *SyscallArgs) kept(p uapi.Param, slot, strlen int) *types.Type {
	room := s.Slots[slot].Room
	switch p.Read {
	case uapi.Text:
		t := record.TextOf(room, 1)
		t.Max = int64(min(strlen, room-2))
		return t
	case uapi.Data:
		t := record.TextOf(room, 1)
		t.Max = int64(min(s.Data, room))
		return t
	case uapi.Address:
		return record.SockAddrOf(room)
	case uapi.List:
		return record.ListOf(p.Elem, room/p.Size)
	case uapi.Struct:
		return record.InPlaceOf(p.Elem)
	case uapi.Texts:
		return s.Texts()
	case uapi.Nothing:
	}
	return p.Type
}

// TextsSlot is the slot where several texts are kept, each up to textsLen bytes.
const (
	TextsSlot = 1
	textsLen  = 62
)

// Texts is the type of several texts.
func (s *SyscallArgs) Texts() *types.Type {
	elem := record.CStringOf(textsLen)
	return record.ListOf(elem, max(1, s.Slots[TextsSlot].Room/elem.Size))
}

// syscallArgsOf finds what describes a value that was kept: its type is made once.
func (c *checker) syscallArgsOf(t *types.Type) *SyscallArgs {
	for _, s := range c.syscalls {
		if s.Type == t {
			return s
		}
	}
	return nil
}

// syscallResult is the type of a system call's result: errors have names, and some are addresses.
func (c *checker) syscallResult(act *action) *types.Type {
	number := -1
	for i, p := range act.points {
		n, _ := c.syscallOf(p)
		if i > 0 && n != number {
			n = -1
		}
		number = n
	}
	if number >= 0 {
		switch call := uapi.Of(c.in.Arch)[number]; {
		case call != nil && call.Addr:
			return syscallAddress
		case call != nil && call.Octal:
			return syscallOctal
		}
		return syscallNumber
	}
	return syscallEither
}

// The types of results. Where calls of several kinds come by, a value is: u64 1 if it is an address, 2 if it is a mode,
// i64 result.
var (
	syscallNumber  = resultOf("result", types.NoForm)
	syscallAddress = resultOf("address", types.HexForm)
	syscallOctal   = resultOf("mode", types.OctalForm)
	syscallEither  = &types.Type{
		Kind: types.Record, Name: "result", Size: 16, Align: 8, Source: &types.Source{Variants: &types.Variants{
			Discr: types.Field{Type: types.TUint64},
			List: []types.Variant{
				{Discrs: []types.VariantRange{{Low: 1, High: 1}}, Type: syscallAddress, Offset: 8},
				{Discrs: []types.VariantRange{{Low: 2, High: 2}}, Type: syscallOctal, Offset: 8},
				{Default: true, Type: syscallNumber, Offset: 8},
			},
		}},
	}
)

// Results by which the kernel tells itself to begin a call anew (include/linux/errno.h): no program sees them.
var restarts = []int64{512, 513, 514, 516}

func resultOf(name string, form types.Form) *types.Type {
	t := &types.Type{
		Kind: types.Enum, Name: name, Size: 8, Align: 8, Signed: true, Source: &types.Source{Form: form},
	}
	for n := 1; n <= result.LastErrno; n++ {
		if name := result.ErrnoName(n); name != "" {
			t.Enums = append(t.Enums, types.Enumerator{
				Name: "-" + name + " (" + result.Strerror(int64(n)) + ")", Value: -int64(n), Mask: -1,
			})
		}
	}
	for _, n := range restarts {
		t.Enums = append(t.Enums, types.Enumerator{Name: "? (interrupted, begun anew)", Value: -n, Mask: -1})
	}
	return t
}

// placeSyscall: the tracepoints where system calls begin, or end.
func placeSyscall(begin bool) func(inf *inferrer, n *node) {
	return func(inf *inferrer, n *node) {
		prefix := "sys_exit"
		if begin {
			prefix = "sys_enter"
		}
		for _, p := range inf.act.points {
			raw := p.Category == "raw_syscalls" && p.Event == prefix
			one := p.Category == "syscalls" && strings.HasPrefix(p.Event, prefix+"_")
			if p.Kind != probe.Tracepoint || !raw && !one {
				inf.errorf(n.span, "%s can only be used with 'tracepoint:syscalls:%s_*' and 'tracepoint:raw_syscalls:%[2]s'",
					callName(n), prefix)
				return
			}
		}
		if inf.in.Arch.Syscalls() == nil {
			inf.errorf(n.span, "%s is not available on %s: its system calls are not known", callName(n), inf.in.Arch)
		}
	}
}
