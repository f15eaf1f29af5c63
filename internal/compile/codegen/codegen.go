// Package codegen turns a typed program into BPF programs, maps and the layouts of the records that they send.
//
// Nothing here asks the running kernel anything: what it can do comes in as Features, so the same script gives the same
// code on any machine. A scalar value is one 64-bit virtual register, sign- or zero-extended as its type says;
// everything else lives in memory: the probe program's stack while it is small, a per-CPU scratch buffer where it is
// not.
//
// It is more than 4,000 lines because every construct of the language has its code here, all written with the same
// state:
// where values are, which helper may be called, what a record holds so far.
package codegen

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"trocar/internal/binary/abi"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/check"
	"trocar/internal/compile/feature"
	"trocar/internal/compile/ir"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Namespace identifies a PID namespace (bpf_get_ns_current_pid_tgid).
type Namespace struct{ Dev, Ino uint64 }

// Options of code generation.
type Options struct {
	Features     feature.Set
	Arch         *abi.Arch
	PID          int        // only this process; 0: all
	Others       []int      // and these
	Thread       int        // only this thread; 0: all
	Follow       bool       // and those that the map record.FollowName has
	Namespace    *Namespace // ours, if it is not the initial one
	CPUs         int        // possible CPUs
	HelperErrors bool       // report each failed read of memory (-k)
	Heads        bool       // records say when, where and by whom a probe was hit
	TimeMap      *check.Map // stands for the clock of time series; nil: the boot clock
	// ThreadPointer is the offset in the kernel's struct task_struct of the thread pointer of the traced program. It is
	// asked only if a script needs it; nil: it is not known.
	ThreadPointer func() (int, error)
	// Floats gives where the kernel keeps floating-point registers of threads. It is asked only if a script needs it; nil:
	// it is not known.
	Floats func() (*Floats, error)
	// ReturnDepth gives where the kernel keeps how many calls of a thread are open whose return addresses it replaced:
	// the offset in struct task_struct of a pointer to a structure, and that in the structure. Nil: it is not known.
	ReturnDepth func() (pointer, depth int, ok bool)
	// Unwind gives where the kernel keeps what walks of user stacks by tables need. Nil: it is not known.
	Unwind func() (*Unwind, bool)
	// Python gives how frames of Python are found in the process. Nil, or what it gives: they are not.
	Python func() *probe.PythonStacks
	// Session gives the kernel's functions for sessions, nil if it has none. It is asked only if a script needs it.
	Session func() *Session
}

// Program is one BPF program and the points it is attached to.
type Program struct {
	Name      string
	Type      probe.ProgramType
	Return    bool // uretprobe, kretprobe
	Session   bool // runs at the entry as well
	Sleepable bool
	Waits     bool // for the thread that it runs in to be switched off
	Action    *check.Action
	Insns     asm.Instructions
	IR        *ir.Program
	Points    []*probe.Point
	Cookies   []uint64 // beside Points: the point's number, and from bit 32 on that of its function's first point
	Cookied   bool     // the code asks for the cookie

	asksWord bool // the code asks what is told of its points
}

// Output is the compiled script.
type Output struct {
	record.Script
	Programs []*Program
	Maps     []*ebpf.MapSpec
	Points   []*probe.Point // by cookie
	// FileKeys is the program record.UnwindFile; nil: there is none.
	FileKeys asm.Instructions
}

// refusal is an error for the user, thrown by panic inside this package only.
type refusal struct {
	span diag.Span
	text string
	hint string
}

func refuse(span diag.Span, format string, args ...any) {
	panic(&refusal{span: span, text: fmt.Sprintf(format, args...)})
}

// compiler is the state of one Compile.
type compiler struct {
	opts       Options
	codes      *codes
	prog       *check.Program
	out        *Output
	scratch    int  // size of a scratch buffer
	zeros      int  // size of the zeros map's value
	exits      bool // the script calls exit()
	bigScratch bool // more than a per-CPU map may hold: a common map with buffers for each CPU
	strings    []byte
	stringAt   map[string]int
	usesPoints bool
	pointSize  int
	words      []uint64               // by the number of the point, see word; empty: no program asks
	returning  map[functionKey]bool   // functions whose returns are probed; nil: not looked at
	functions  map[functionKey]uint64 // number of a function's first point

	layoutSpans, lossSpans []diag.Span // beside those of out: the text around them is looked up once all is known

	stackDepth int     // of the deepest call stack that is taken
	interrupts bool    // by programs that may run with interrupts off
	stored     bool    // call stacks are stored
	unwinds    *Unwind // nil: no user stacks are walked by tables
	pythons    bool    // frames of Python are looked for
	floats     bool    // floating-point registers are read

	sessions     *Session // once askedSession
	askedSession bool
}

// Compile makes code. Errors are added to diags.
func Compile(prog *check.Program, opts Options, diags *diag.List) (out *Output) {
	c := &compiler{
		opts: opts, codes: newCodes(), prog: prog, out: &Output{}, stringAt: map[string]int{},
		functions: map[functionKey]uint64{},
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(*refusal)
			if !ok {
				panic(r)
			}
			d := diags.Errorf(f.span, "%s", f.text)
			if f.hint != "" {
				d.Hint("%s", f.hint)
			}
			out = nil
		}
	}()
	if opts.Arch == nil {
		diags.Errorf(diag.Span{}, "the CPU is not known to trocar: no code can be made for it")
		return nil
	}
	c.zeros, c.out.Heads = 8, opts.Heads
	c.loss(record.Loss{Kind: record.LostRecords}, diag.Span{})
	c.loss(record.Loss{Kind: record.LostScratch}, diag.Span{})
	for _, m := range prog.Maps {
		c.storage(m)
	}
	for _, a := range prog.Actions {
		c.exits = c.exits || exits(a.Body)
		c.stackDepth = max(c.stackDepth, deepest(a, builtin.UStack, builtin.DwUStack, builtin.KStack))
	}
	mark := c.mark()
	for _, a := range prog.Actions {
		c.action(a)
	}
	if c.scratch > maxPerCPU-scratchHeader {
		// Values of per-CPU maps are limited: begin again with buffers in a common map.
		c.reset(mark)
		clear(c.functions)
		c.scratch, c.bigScratch = 0, true
		for _, a := range prog.Actions {
			c.action(a)
		}
	}
	c.ownMaps()
	if c.floats {
		diags.Add(diag.Info, diag.Span{}, "floating-point registers are read: at each hit the thread gives up its CPU for a "+
			"moment, some 5 to 30 us")
	}
	for i, l := range c.out.Layouts {
		if l.Kind.Placed() {
			l.At = c.layoutSpans[i].Position()
		}
	}
	for i := range c.out.Losses {
		c.out.Losses[i].At = c.lossSpans[i].Position()
	}
	c.out.Freeze()
	return c.out
}

// maxPerCPU is the largest value of a per-CPU map (PCPU_MIN_UNIT_SIZE); maxScratch is what we allow in any case.
const (
	maxPerCPU  = 32 << 10
	maxScratch = 1 << 20
)

// compilerMark is how much output there was at a time.
type compilerMark struct{ programs, maps, layouts, points, losses, formats int }

func (c *compiler) mark() compilerMark {
	o := c.out
	return compilerMark{len(o.Programs), len(o.Maps), len(o.Layouts), len(o.Points), len(o.Losses), len(o.Formats)}
}

// reset takes back what came since a mark.
func (c *compiler) reset(m compilerMark) {
	o := c.out
	o.Programs, o.Maps, o.Layouts, o.Points = o.Programs[:m.programs], o.Maps[:m.maps], o.Layouts[:m.layouts],
		o.Points[:m.points]
	c.words = c.words[:min(len(c.words), m.points)]
	o.Losses, o.Formats = o.Losses[:m.losses], o.Formats[:m.formats]
	c.layoutSpans, c.lossSpans = c.layoutSpans[:m.layouts], c.lossSpans[:m.losses]
}

// loss registers a counter and returns its index.
func (c *compiler) loss(l record.Loss, at diag.Span) int {
	c.out.Losses, c.lossSpans = append(c.out.Losses, l), append(c.lossSpans, at)
	return len(c.out.Losses) - 1
}

// lossOnce is the index of the counter of a kind of which the script has one.
func (c *compiler) lossOnce(kind record.LossKind) int {
	for i, l := range c.out.Losses {
		if l.Kind == kind {
			return i
		}
	}
	return c.loss(record.Loss{Kind: kind}, diag.Span{})
}

// group is points of an action that share a program.
type group struct {
	typ     probe.ProgramType
	ret     bool
	session *Session
	points  []*probe.Point
	open    string // timed without a session: the map of calls that are open
	enters  bool   // the program is that which fills the map
	deep    bool   // the program counts calls that are nested too deeply for return probes
}

// action compiles an action once for each type of program that its points have.
func (c *compiler) action(a *check.Action) {
	var groups []*group
next:
	for _, p := range a.Points {
		n := group{points: []*probe.Point{p}}
		kind := p.Kind.Traits()
		if p.Program() == probe.NoProgram {
			refuse(a.Span, "%s: there is no type of program for %s", p.Name, kind.Name)
		}
		n.typ, n.ret = p.Program(), kind.Return && !p.AtReturn
		if a.Timed && n.ret && !a.Kept {
			n.session = c.session()
		}
		for _, g := range groups {
			if g.typ == n.typ && g.ret == n.ret && n.typ != probe.TracepointProgram &&
				(g.points[0].Interpreted == nil) == (p.Interpreted == nil) && g.points[0].Kind == p.Kind &&
				g.points[0].Next == p.Next {
				g.points = append(g.points, p)
				continue next
			}
		}
		groups = append(groups, &n)
	}
	for _, g := range groups {
		if (a.Timed || a.Kept) && g.session == nil {
			g.open = c.entries(a, g.points)
		}
		c.compileGroup(a, g)
		if g.ret && g.typ == probe.UprobeProgram {
			c.depths(a, g.points)
		}
	}
}

// compileGroup compiles one program. Without cookies a program that needs to know its point is compiled for each of
// them.
func (c *compiler) compileGroup(a *check.Action, g *group) {
	first := uint64(len(c.out.Points))
	prog, knows := c.program(a, g, first)
	if !knows || len(g.points) == 1 || c.cookies(g.typ) || g.points[0].Interpreted != nil {
		c.add(prog)
		return
	}
	for i := range g.points {
		one := *g
		one.points = g.points[i : i+1]
		p, _ := c.program(a, &one, first+uint64(i))
		c.add(p)
	}
}

// cookies tells whether a program can ask which of its points was hit.
func (c *compiler) cookies(t probe.ProgramType) bool {
	return t == probe.BreakProgram || t.HasCookie() && c.opts.Features.Has(feature.AttachCookie)
}

// functionShift parts a cookie: below is the number of the point, above that of the first point of the same function.
const functionShift = 32

// functionKey tells a function: several of a file may have one name.
type functionKey struct {
	path, name string
	start      uint64
}

// keyOf tells the function of a point. A function may have several names, of which points have one or another; an
// inlined copy is in the code of another function.
func keyOf(p *probe.Point) functionKey {
	if start := p.FunctionStart(); start != 0 && !p.Inlined {
		return functionKey{path: p.Path, start: start}
	}
	return functionKey{p.Path, p.Func, p.FunctionStart()}
}

// functionOf gives the number of the first point of the function that point number n is of.
func (c *compiler) functionOf(p *probe.Point, n uint64) uint64 {
	if p.Func == "" {
		return n
	}
	key := keyOf(p)
	first, ok := c.functions[key]
	if !ok {
		first = n
		c.functions[key] = n
	}
	return first
}

func (c *compiler) add(p *Program) {
	for _, pt := range p.Points {
		n := uint64(len(c.out.Points))
		p.Cookies = append(p.Cookies, n|c.functionOf(pt, n)<<functionShift)
		c.out.Points = append(c.out.Points, pt)
		if p.asksWord {
			c.words = append(c.words, make([]uint64, int(n)+1-len(c.words))...)
			c.words[n] = c.word(pt, n)
		}
	}
	c.out.Programs = append(c.out.Programs, p)
}

// program compiles one program. knows says whether the code asks which of several points was hit.
func (c *compiler) program(a *check.Action, of *group, firstCookie uint64) (prog *Program, knows bool) {
	name := fmt.Sprintf("p%d", len(c.out.Programs))
	mark := c.mark()
	for n := 0; ; n++ {
		g := &gen{
			c: c, act: a, typ: of.typ, ret: of.ret, session: of.session, points: of.points, open: of.open,
			firstCookie: firstCookie,
			room:        stackUses[n], vars: map[*check.Var]*variable{}, reads: -1,
		}
		g.sleepable = of.typ == probe.UprobeProgram && c.opts.Features.Has(feature.SleepableUprobe)
		g.p, g.main = ir.New(name)
		g.b = g.main
		g.p.OwnStack = of.typ == probe.UprobeProgram && c.opts.Features.Has(feature.TailCall)
		switch {
		case of.enters:
			g.enter()
		case of.deep:
			g.nested()
		default:
			g.body()
		}
		insns, err := g.p.Assemble()
		var full *ir.FrameError
		if errors.As(err, &full) && n+1 < len(stackUses) {
			c.reset(mark)
			continue
		}
		if err != nil {
			refuse(a.Span, "this action is too big: %v", err)
		}
		return &Program{
			Name: name, Type: of.typ, Return: of.ret, Session: of.session != nil, Sleepable: g.sleepable, Waits: g.floating,
			Action: a,
			Insns:  insns,
			IR:     g.p, Points: of.points, Cookied: g.asksCookie, asksWord: g.asksWord,
		}, g.knowsPoint
	}
}

// stackUse says what may live in the 512 bytes of stack, which spilled registers need as well. What has no place there
// is in scratch memory, where loads and stores cost as little, but the verifier does not know the values.
type stackUse struct {
	vars    int  // variables, while no more than so many bytes are in use
	temps   int  // the same for temporary values
	records int  // the same for records
	spill   bool // variables may be registers
}

// stackUses are tried in turn until a program fits.
var stackUses = [...]stackUse{
	{vars: 200, temps: 232, records: 260, spill: true},
	{vars: 64, temps: 80, spill: true},
	{},
}

// ownMaps adds the maps that every script or some construct needs.
func (c *compiler) ownMaps() {
	add := func(m *ebpf.MapSpec) { c.out.Maps = append(c.out.Maps, m) }
	add(&ebpf.MapSpec{Name: record.RingName, Type: ebpf.RingBuf}) // size is the loader's affair
	add(array(record.CountersName, c.out.CountersSize()))
	add(array(record.ControlName, record.ControlSize))
	add(array(record.IdleName, record.IdleSize))
	add(array(record.ZerosName, (c.zeros+7)&^7))
	if c.opts.Follow {
		m := array(record.FollowName, record.FollowSize)
		m.Flags = 1 << 10 // BPF_F_MMAPABLE (5.5)
		add(m)
	}
	if c.scratch > 0 {
		m := &ebpf.MapSpec{
			Name: record.ScratchName, Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(scratchHeader + roundUp(c.scratch)),
			MaxEntries: scratchBuffers,
		}
		if c.bigScratch {
			m.Type, m.MaxEntries = ebpf.Array, uint32(scratchBuffers*c.opts.CPUs)
		}
		add(m)
	}
	if c.floats {
		add(&ebpf.MapSpec{
			Name: record.WaitsName, Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: uint32(c.opts.CPUs),
			InnerMap: &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: record.WaitsSize},
		})
	}
	c.unwindMaps(add)
	c.stackMap(add)
	if len(c.strings) > 0 {
		m := array(record.StringsName, (len(c.strings)+7)&^7)
		value := make([]byte, m.ValueSize)
		copy(value, c.strings)
		m.Contents = []ebpf.MapKV{{Key: uint32(0), Value: value}}
		m.Flags = 0
		add(m)
	}
	if len(c.words) > 0 {
		m := array(record.GivenName, 8*len(c.out.Points))
		value := make([]byte, m.ValueSize)
		for i, word := range c.words {
			binary.LittleEndian.PutUint64(value[8*i:], word)
		}
		m.Contents = []ebpf.MapKV{{Key: uint32(0), Value: value}}
		add(m)
	}
	if c.usesPoints {
		m := &ebpf.MapSpec{
			Name: record.PointsName, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(c.pointSize),
			MaxEntries: uint32(max(1, len(c.out.Points))),
		}
		for i, p := range c.out.Points {
			value := make([]byte, m.ValueSize)
			copy(value[:pointNameSize-1], p.Name)
			copy(value[pointNameSize:2*pointNameSize-1], p.Func)
			m.Contents = append(m.Contents, ebpf.MapKV{Key: uint32(i), Value: value})
		}
		add(m)
	}
}

func array(name string, size int) *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1}
}

// pointNameSize is the room for the name of a probe where the program needs it as a string.
const pointNameSize = 256

// text puts bytes into the strings map and returns their offset.
func (c *compiler) text(s string) int {
	if at, ok := c.stringAt[s]; ok {
		return at
	}
	at := len(c.strings)
	c.strings = append(c.strings, s...)
	for len(c.strings)%8 != 0 {
		c.strings = append(c.strings, 0)
	}
	c.stringAt[s] = at
	return at
}

// strftime registers a format and returns its number.
func (c *compiler) strftime(format string) int {
	for i, f := range c.out.Formats {
		if f == format {
			return i
		}
	}
	c.out.Formats = append(c.out.Formats, format)
	return len(c.out.Formats) - 1
}
