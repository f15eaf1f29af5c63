package match

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"trocar/internal/binary/opener"
	"trocar/internal/near"
	"trocar/internal/order"
	"trocar/internal/process/probe"
	"trocar/internal/process/tracefs"
	"trocar/internal/script/diag"
)

// Kprobe, kretprobe, fentry, fexit, rawtracepoint and iter: the kernel's own functions and events. They are here so
// that scripts that mix them with probes of programs can be read, listed and, where the kernel allows, run.

// kernelFunctions are the functions that the kernel lets us trace, by name and module.
type kernelFunctions struct {
	names []kernelFunc
	err   error
}

type kernelFunc struct{ name, module string }

// maxKernelFuncs bounds what is read; kernels have some hundred thousand.
const maxKernelFuncs = 1 << 20

// functions reads the traceable functions once.
func (m *matcher) kernelFunctionList() *kernelFunctions {
	if m.kernelFuncs != nil {
		return m.kernelFuncs
	}
	k := &kernelFunctions{}
	m.kernelFuncs = k
	k.err = m.traceableFunctions(func(line string) bool {
		name, module, ok := strings.Cut(line, " [")
		if !ok {
			module = "vmlinux"
		}
		name, _, _ = strings.Cut(name, " ") // newer kernels append an address
		if traceable(name) {
			k.names = append(k.names, kernelFunc{strings.Clone(name), strings.Clone(strings.TrimSuffix(module, "]"))})
		}
		return len(k.names) < maxKernelFuncs
	})
	if k.err != nil && m.opts.TraceableFunctions == "" {
		// Locked-down kernels refuse that list to root, too. Symbols of code are a guess at it.
		if err := k.readSymbols(); err == nil {
			k.err = nil
		}
	}
	order.By(k.names, func(a, b kernelFunc) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.module, b.module)
	})
	k.names = slices.Compact(k.names)
	return k
}

// traceableFunctions calls yield with the lines of the list of functions.
func (m *matcher) traceableFunctions(yield func(string) bool) error {
	if m.opts.TraceableFunctions != "" {
		return eachLine(m.opts.TraceableFunctions, yield)
	}
	files, err := m.trace()
	if err != nil {
		return err
	}
	return files.Lines("available_filter_functions", yield)
}

// eachLine calls yield with the lines of a file until it returns false. The line is only good during the call.
func eachLine(path string, yield func(string) bool) error {
	file, err := opener.Asked(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return tracefs.Lines(file, yield)
}

// traceable leaves out names that are none, and functions that BPF programs themselves run through.
func traceable(name string) bool {
	return !strings.HasPrefix(name, "__ftrace_invalid_address__") && !strings.HasPrefix(name, "rcu_")
}

// readSymbols takes the code symbols of /proc/kallsyms for functions: lines of "ffffffff81000000 T name [module]".
func (k *kernelFunctions) readSymbols() error {
	return eachLine("/proc/kallsyms", func(line string) bool {
		_, rest, _ := strings.Cut(line, " ")
		typ, name, ok := strings.Cut(rest, " ")
		if !ok || typ != "t" && typ != "T" && typ != "w" && typ != "W" {
			return true
		}
		name, module, ok := strings.Cut(name, "\t[")
		if !ok {
			module = "vmlinux"
		}
		if traceable(name) && !strings.HasPrefix(name, "__pfx_") && !strings.HasPrefix(name, "__cfi_") {
			k.names = append(k.names, kernelFunc{strings.Clone(name), strings.Clone(strings.TrimSuffix(module, "]"))})
		}
		return len(k.names) < maxKernelFuncs
	})
}

// find gives the functions that fit, of any module if that is "".
func (k *kernelFunctions) find(module, name string) (out []kernelFunc) {
	if !hasWildcard(name) {
		i, _ := slices.BinarySearchFunc(k.names, name, func(f kernelFunc, n string) int { return strings.Compare(f.name, n) })
		for ; i < len(k.names) && k.names[i].name == name; i++ {
			if module == "" || matchGlob(module, k.names[i].module) {
				out = append(out, k.names[i])
			}
		}
		return out
	}
	for _, f := range k.names {
		if (module == "" || matchGlob(module, f.module)) && matchGlob(name, f.name) {
			out = append(out, f)
		}
	}
	return out
}

func (k *kernelFunctions) hasModule(name string) bool {
	if _, err := os.Stat("/sys/module/" + name); err == nil && !strings.Contains(name, "/") {
		return true
	}
	return slices.ContainsFunc(k.names, func(f kernelFunc) bool { return f.module == name })
}

func parseKprobe(m *matcher, s *spec) bool {
	if len(s.parts) != 1 && len(s.parts) != 2 {
		return m.argCount(s, 1, 2)
	}
	if len(s.parts) == 2 {
		s.target = s.parts[0]
	}
	text := s.parts[len(s.parts)-1]
	fail := func(format string, args ...any) bool {
		m.diags.Errorf(s.ap.Span, format, args...)
		return false
	}
	if name, off, plus := strings.Cut(text, "+"); plus {
		if s.kind.kind == probe.Kretprobe {
			return fail("Offset not allowed")
		}
		if strings.Contains(off, "+") {
			return fail("Cannot take more than one offset")
		}
		n, err := parseUint(off)
		if err != nil || name == "" {
			return fail("Invalid offset: invalid integer: %s", off)
		}
		s.fn, s.offset, s.hasOff = name, n, true
		return true
	}
	if n, err := parseUint(text); err == nil {
		if !m.opts.Unsafe {
			return fail("Probing by address requires --unsafe")
		}
		s.addr, s.isAddr = n, true
		return true
	}
	if s.fn = text; s.fn == "" {
		return fail("kprobes should be attached to a function or an address")
	}
	return true
}

func matchKprobe(m *matcher, s *spec) []*probe.Point {
	point := func(f kernelFunc, module bool) *probe.Point {
		p := &probe.Point{Kind: s.kind.kind, Event: f.name, Func: f.name, Offset: s.offset, Addr: s.addr, PID: m.pid()}
		p.Name = s.kind.name
		if module {
			p.Category = f.module
			p.Name += ":" + f.module
		}
		if f.name != "" {
			p.Name += ":" + f.name
			if s.offset > 0 {
				p.Name += "+" + uintText(s.offset)
			}
		} else {
			p.Name += ":" + uintText(s.addr)
		}
		return p
	}
	if s.isAddr {
		return []*probe.Point{point(kernelFunc{}, false)}
	}
	k := m.kernelFunctionList()
	if s.target != "" && s.target != "vmlinux" && !hasWildcard(s.target) && !k.hasModule(s.target) {
		m.diags.Errorf(s.ap.Span, "specified module %s in probe %s:%s:%s is not loaded.", s.target, s.kind.name, s.target,
			s.fn)
		return nil
	}
	found := k.find(s.target, s.fn)
	if len(found) == 0 {
		if !hasWildcard(s.fn) && m.opts.Missing != "ignore" {
			m.diags.Warnf(s.ap.Span, "%s is not traceable (either non-existing, inlined, or marked as \"notrace\"); "+
				"attaching to it will likely fail", s.fn)
		}
		if m.opts.Unsafe && !hasWildcard(s.fn) {
			return []*probe.Point{point(kernelFunc{s.fn, s.target}, s.target != "")}
		}
		if !hasWildcard(s.fn) {
			m.missingKernel(s, k)
		}
		return nil
	}
	var points []*probe.Point
	for i, f := range found {
		if strings.Contains(f.name, ".part.") || s.target == "" && i > 0 && found[i-1].name == f.name {
			continue
		}
		points = append(points, point(f, s.target != ""))
	}
	return points
}

func (m *matcher) missingKernel(s *spec, k *kernelFunctions) {
	if s.skip {
		return
	}
	name := s.fn
	if s.target != "" {
		name = s.target + ":" + name
	}
	d := m.missing(s, "No matches for %s %s", s.kind.name, name)
	if d == nil {
		return
	}
	if k.err != nil {
		d.Note(diag.Span{}, "the kernel's functions cannot be read: %s", k.err)
		return
	}
	var names []string
	for _, f := range k.names {
		names = append(names, f.name)
	}
	if n := near.Names(s.fn, names); len(n) > 0 {
		d.Hint("did you mean %s?", near.List(n))
	}
}

func parseRawTracepoint(m *matcher, s *spec) bool {
	switch len(s.parts) {
	case 1:
		s.target, s.fn = "*", s.parts[0]
	case 2:
		s.target, s.fn = s.parts[0], s.parts[1]
	default:
		return m.argCount(s, 2, 1)
	}
	if s.fn == "" {
		m.diags.Errorf(s.ap.Span, "rawtracepoint should be attached to a function")
		return false
	}
	return true
}

// rawTracepoints are the names of events that programs can be attached to without a record. The events of system calls
// (category syscalls) are made from two of them.
func (m *matcher) rawTracepoints() (names []string, err error) {
	all, err := m.events()
	for _, e := range all {
		switch e.category {
		case "syscalls", "ftrace":
			continue
		}
		names = append(names, e.name)
	}
	names = append(names, "sys_enter", "sys_exit")
	slices.Sort(names)
	return slices.Compact(names), err
}

// rawTracepoint is the one of a name, if there is one. To look at the folders of the categories takes a tenth of what
// the list of all events does.
func (m *matcher) rawTracepoint(name string) (names []string, err error) {
	if name == "sys_enter" || name == "sys_exit" {
		names = []string{name}
	}
	files, err := m.trace()
	if err != nil || strings.Contains(name, "/") {
		return names, err
	}
	categories, err := fs.ReadDir(files, "events")
	for _, c := range categories {
		e := event{c.Name(), name}
		if !c.IsDir() || c.Name() == "syscalls" || c.Name() == "ftrace" || !fs.ValidPath(e.format()) {
			continue
		}
		if _, err := files.Stat(e.format()); err == nil {
			return []string{name}, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return names, err
}

func matchRawTracepoint(m *matcher, s *spec) []*probe.Point {
	var names []string
	var err error
	if hasWildcard(s.fn) {
		names, err = m.rawTracepoints()
	} else if names, err = m.rawTracepoint(s.fn); errors.Is(err, fs.ErrPermission) {
		names, err = []string{s.fn}, nil // the kernel, which is asked by name, knows whether there is one
	}
	if err != nil {
		m.noTracefs(s, err)
		return nil
	}
	var points []*probe.Point
	for _, n := range names {
		if matchGlob(s.fn, n) && matchGlob(s.target, "vmlinux") {
			p := &probe.Point{
				Kind: probe.RawTracepoint, Name: "rawtracepoint:vmlinux:" + n, Category: "vmlinux", Event: n,
				PID: m.pid(),
			}
			if m.needs.Typed() {
				p.Scope = m.kernelArgs(p)
			}
			points = append(points, p)
		}
	}
	if len(points) == 0 && !s.skip && s.target != "*" {
		m.missing(s, "No matches for rawtracepoint %s:%s", s.target, s.fn)
	}
	return points
}

func parseIter(m *matcher, s *spec) bool {
	if len(s.parts) != 1 && len(s.parts) != 2 {
		if !s.skip {
			m.diags.Errorf(s.ap.Span, "iter probe type takes 2 arguments (1 optional)")
		}
		return false
	}
	if m.iters++; m.iters > 1 && !m.listing {
		m.diags.Errorf(s.ap.Span, "iter probe only supports one attach point.")
		return false
	}
	s.fn = s.parts[0]
	if len(s.parts) == 2 {
		s.pin = s.parts[1]
	}
	if !m.listing && (hasWildcard(s.fn) || hasWildcard(s.pin)) {
		m.diags.Errorf(s.ap.Span, "iter probe type does not support wildcards")
		return false
	}
	return true
}

// iterators are the kernel's iterator programs (struct bpf_iter__NAME).
var iterators = []string{
	"bpf_link", "bpf_map", "bpf_map_elem", "bpf_prog", "bpf_sk_storage_map", "cgroup", "dmabuf", "ipv6_route",
	"kmem_cache", "ksym",
	"netlink", "sockmap", "task", "task_file", "task_vma", "tcp", "udp", "unix",
}

func matchIter(m *matcher, s *spec) []*probe.Point {
	if !slices.Contains(iterators, s.fn) {
		if s.skip {
			return nil
		}
		d := m.diags.Errorf(s.ap.Span, "iter %s not available for your kernel version.", s.fn)
		if n := near.Names(s.fn, iterators); len(n) > 0 {
			d.Hint("did you mean %s?", near.List(n))
		}
		return nil
	}
	return []*probe.Point{{Kind: probe.Iter, Name: "iter:" + s.fn, Event: s.fn, Category: s.pin}}
}
