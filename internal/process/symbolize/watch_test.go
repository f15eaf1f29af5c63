package symbolize

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"trocar/internal/need"
	"trocar/internal/process/target"
)

func watching(t *testing.T) *Symbolizer {
	s := newSymbolizer(t)
	if _, err := s.Watch(); err != nil {
		need.Root(t)
		t.Fatal(err)
	}
	return s
}

const fullChain = chain + " __libc_start_c"

// Processes that nobody looked at while they lived have all their names.
func TestWatchShortLived(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	s := watching(t)
	for i := range 10 {
		p := start(t, exe)
		addrs := p.stack("s")
		p.end()
		if i%2 == 0 {
			s.Poll()
		}
		frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
		if got := names(frames); !strings.HasPrefix(got, fullChain) {
			t.Errorf("%s", got)
		}
		if f := frames[4]; !strings.Contains(f.Module, "libc.so") || f.BuildID == "" {
			t.Errorf("%+v", f)
		}
		// Another look at the same changes nothing.
		if got := names(s.Stack(nil, Hit{PID: p.pid}, addrs)); !strings.HasPrefix(got, fullChain) {
			t.Errorf("again: %s", got)
		}
	}
	if st := s.Stats(); st.Gone != 0 || st.Missed != 0 {
		t.Errorf("%+v", st)
	}
}

// A file that is gone when the names are asked for is not guessed.
func TestWatchReplaced(t *testing.T) {
	s := watching(t)
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	addrs := p.stack("s")
	p.end()
	other, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(exe)
	os.WriteFile(exe, other, 0o755)
	frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
	if got := names(frames); !strings.HasPrefix(got, "? ? ? ? __libc_start_c") || frames[0].Module != exe {
		t.Errorf("%s in %s", got, frames[0].Module)
	}
}

// So it is if it was written to, whoever looked at it before.
func TestOverwritten(t *testing.T) {
	s := watching(t)
	other, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"-Wl,--build-id=none", "-Wl,--build-id"} {
		for looked := range 2 {
			exe := compile(t, "chain", "chain.c", "-pie", how)
			p := start(t, exe)
			addrs := p.stack("s")
			if looked > 0 {
				if err := s.Snapshot(p.pid); err != nil {
					t.Fatal(err)
				}
			}
			p.end()
			if err := os.WriteFile(exe, other, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, asked := range []bool{false, true} {
				if asked {
					s.Ask(Hit{PID: p.pid}, addrs)
					s.Answer()
				}
				frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
				if got := names(frames); !strings.HasPrefix(got, "? ? ? ? __libc_start_c") || frames[0].Module != exe {
					t.Errorf("%s, looked at %d times: %s in %s", how, looked, got, frames[0].Module)
				}
			}
		}
	}
}

// A process that executes one program after another, as wrappers of wrappers do, has the names of each.
func TestWatchExec(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	s := watching(t)
	p := start(t, exe)
	all := [][]uint64{p.stack("s")}
	for range 9 {
		p.do("x")
		p.expect("ready")
		all = append(all, p.stack("s"))
	}
	p.end()
	for i, addrs := range append(all, all[0]) {
		if got := names(s.Stack(nil, Hit{PID: p.pid}, addrs)); !strings.HasPrefix(got, fullChain) {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// A child that executes nothing has what its parent has, whether the watch knows the parent or not.
func TestWatchForked(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	for _, known := range []bool{true, false} {
		var s *Symbolizer
		if known {
			s = watching(t)
		}
		p := start(t, exe)
		if !known {
			s = watching(t)
		}
		p.do("f")
		pid, addrs := p.expect("stack")
		for target.PID(pid).Exists() {
			if st, err := target.PID(pid).Stat(); err != nil || st.Dead() {
				break
			}
		}
		if got := names(s.Stack(nil, Hit{PID: pid}, addrs)); !strings.HasPrefix(got, "stack main __libc_start_c") {
			t.Errorf("parent known %v: %s", known, got)
		}
	}
}

// Code and libraries mapped later, by a program that ends before it is asked about.
func TestWatchLoaded(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	lib := compile(t, "libthrough.so", "through.cc", "-shared", "-fPIC")
	s := watching(t)
	p := start(t, exe)
	s.Snapshot(p.pid)
	addrs := p.stack("l " + lib)
	p.end()
	if got := names(s.Stack(nil, Hit{PID: p.pid}, addrs)); !strings.HasPrefix(got, "stack hall::Door::pass(int (*)()) "+
		"through main") {
		t.Error(got)
	}
}

func TestWatchManyProcesses(t *testing.T) {
	s := watching(t)
	s.limits = limits{processes: 20, mappings: 1000, files: 100}
	for range 100 {
		exec.Command("sh", "-c", "true").Run()
		s.Poll()
	}
	s.Snapshot(os.Getpid())
	if len(s.procs) > 20 || s.mapped > 1100 {
		t.Errorf("%d processes, %d mappings", len(s.procs), s.mapped)
	}
	for pid := range s.procs {
		s.drop(pid)
	}
	if s.mapped != 0 || len(s.files.byID) != 0 || len(s.files.byKey) != 0 || len(s.files.byBuild) != 0 {
		t.Errorf("left: %d mappings, %d, %d, %d files", s.mapped, len(s.files.byID), len(s.files.byKey), len(s.files.byBuild))
	}
}

// In a container, whose files have no path here, a process that has ended: what is known by build id has names.
func TestWatchContainer(t *testing.T) {
	need.Root(t)
	exe := compile(t, "chain", "chain.c", "-static-pie")
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	os.MkdirAll(root+"/opt", 0o755)
	os.WriteFile(root+"/opt/inner", b, 0o755)
	s := watching(t)
	s.Probed(exe) // the same build
	p := start(t, "/opt/inner", "chroot", root)
	addrs := p.stack("s")
	p.end()
	frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
	if got := names(frames[:4]); got != chain || !strings.HasSuffix(frames[0].Module, "/opt/inner") {
		t.Errorf("%s in %s", got, frames[0].Module)
	}
}

func TestSnapshotRunning(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	s := newSymbolizer(t)
	f := s.Probed(exe)
	s.SnapshotRunning(context.Background(), f)
	addrs := p.stack("s")
	p.end()
	if got := names(s.Stack(nil, hit(p.pid, f, addrs), addrs)); !strings.HasPrefix(got, fullChain) {
		t.Error(got)
	}
	if len(s.procs) != 1 {
		t.Errorf("%d processes", len(s.procs))
	}
}

// Mappings replaced at random are those of a table with an entry for each page.
func TestReplace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	fs := &files{byKey: map[fileKey]*File{}}
	var fileList []*File
	for range 5 {
		fileList = append(fileList, &File{})
	}
	const pages = 64
	var maps []mapping
	type page struct {
		file   *File
		offset uint64
	}
	var model [pages]page
	for round := range 5000 {
		start := uint64(r.IntN(pages))
		end := start + 1 + uint64(r.IntN(int(min(pages-start, 20))))
		f := fileList[r.IntN(len(fileList))]
		m := mapping{start: start * 4096, end: end * 4096, offset: uint64(r.IntN(1000)) * 4096, file: f}
		f.refs++
		for i := start; i < end; i++ {
			model[i] = page{f, m.offset + (i-start)*4096}
		}
		maps = fs.replace(maps, m)
		refs := map[*File]int{}
		for i, m := range maps {
			refs[m.file]++
			if i > 0 && maps[i-1].end > m.start || m.start >= m.end {
				t.Fatalf("round %d: %v", round, maps)
			}
		}
		for _, f := range fileList {
			if f.refs != refs[f] {
				t.Fatalf("round %d: %d references counted, %d there", round, f.refs, refs[f])
			}
		}
		sp := &space{maps: maps}
		for i, want := range model {
			at := uint64(i) * 4096
			var got page
			if m := sp.find(at); m != nil {
				got = page{m.file, at - m.start + m.offset}
			}
			if got != want {
				t.Fatalf("round %d, page %d: %v, want %v", round, i, got, want)
			}
		}
	}
	// Anonymous ones grow together.
	maps = nil
	for i := range uint64(10) {
		maps = fs.replace(maps, mapping{start: i * 4096, end: (i + 1) * 4096, kind: anonymous})
	}
	if len(maps) != 1 || maps[0].end != 10*4096 {
		t.Errorf("%v", maps)
	}
}

// staged is a watch that tells more each time: of changes at the time that it was read last.
type staged struct {
	recorded
	stages [][]target.Change
	last   uint64
}

func (r *staged) Read(f func(*target.Change)) {
	if len(r.stages) == 0 {
		return
	}
	for _, c := range r.stages[0] {
		if c.Time = r.last + 1; r.last == 0 {
			c.Time = monotonic()
		}
		f(&c)
	}
	r.stages, r.last = r.stages[1:], monotonic()
}

// TestLookMeanwhile: what is mapped while a process is looked at, by turns at one address, is known by the watch alone.
func TestLookMeanwhile(t *testing.T) {
	p := start(t, compile(t, "chain", "chain.c", "-pie"))
	defer p.end()
	pid := target.PID(p.pid)
	const at = 0x1000000
	mapped := func(path string) target.Change {
		m := target.Mapping{Start: at, End: at + 0x1000, Path: path, Dev: 1, Inode: 1, Perm: target.Exec}
		return target.Change{Kind: target.Mapped, PID: pid, Mapping: m}
	}
	s := newSymbolizer(t)
	w := &staged{stages: [][]target.Change{
		{{Kind: target.Execed, PID: pid}}, {mapped("oak")}, {mapped("elm")}, {}, {mapped("ash")},
	}}
	s.watcher = w
	before := func() uint64 { return w.last }
	s.Poll()
	s.Poll()
	oak := before()
	if err := s.Snapshot(p.pid); err != nil { // it is read when "elm" was told of, as of before
		t.Fatal(err)
	}
	if s.procs[pid].spaces[0].unopened() {
		t.Error("it would be looked at again and again")
	}
	for _, c := range []struct {
		time uint64
		want string
	}{{oak, "oak"}, {before(), "elm"}} {
		if f := s.Symbol(Hit{PID: p.pid, Time: c.time}, at); f.Module != c.want {
			t.Errorf("%q, want %q", f.Module, c.want)
		}
	}
	if got := names(s.Stack(nil, Hit{PID: p.pid, Time: monotonic()}, p.stack("s"))); !strings.HasPrefix(got, chain) {
		t.Errorf("what the watch has not told of: %s", got)
	}
}

// TestSameBuild: two programs that differ in their symbols alone have one build id, and names of their own.
func TestSameBuild(t *testing.T) {
	s := watching(t)
	ids := map[string]bool{}
	for _, name := range []string{"oak", "elm"} {
		exe := compile(t, name, "chain.c", "-pie", "-g0", "-Dtrunk="+name)
		p := start(t, exe)
		addrs := p.stack("s")
		p.end()
		frames := s.Stack(nil, Hit{PID: p.pid}, addrs)
		if got := names(frames); !strings.HasPrefix(got, "stack branch "+name+" main") {
			t.Errorf("%s: %s", name, got)
		}
		ids[frames[0].BuildID] = true
	}
	if len(ids) != 1 {
		t.Errorf("build ids %v", ids)
	}
}

// recorded is a watch that tells what it was made with.
type recorded struct{ all []target.Change }

func (r *recorded) Read(f func(*target.Change)) {
	for i := range r.all {
		f(&r.all[i])
	}
	r.all = nil
}
func (r *recorded) Lost() uint64 { return 3 }
func (r *recorded) Close()       {}
func (r *recorded) Files() []int { return nil }

// Before Linux 5.12 the watch tells device and inode, no build id.
func TestWatchByInode(t *testing.T) {
	exe := compile(t, "chain", "chain.c", "-pie")
	p := start(t, exe)
	maps, err := target.PID(p.pid).Maps()
	if err != nil {
		t.Fatal(err)
	}
	addrs := p.stack("s")
	p.end()
	now := monotonic()
	for _, right := range []bool{true, false} {
		var st unix.Stat_t
		if err := unix.Stat(exe, &st); err != nil {
			t.Fatal(err)
		}
		all := []target.Change{{Kind: target.Execed, PID: target.PID(p.pid), Time: now}}
		for _, m := range maps {
			if m.Path == exe {
				m.Dev, m.Inode = st.Dev, st.Ino
			}
			if !right {
				m.Inode++
			}
			if m.Perm&target.Exec != 0 && m.Inode > 1 {
				all = append(all, target.Change{Kind: target.Mapped, PID: target.PID(p.pid), Time: now, Mapping: m})
			}
		}
		all = append(all, target.Change{Kind: target.Exited, PID: target.PID(p.pid), Time: now})
		s := newSymbolizer(t)
		s.watcher = &recorded{all}
		want := chain
		if !right {
			want = "? ? ? ?"
		}
		if got := names(s.Stack(nil, Hit{PID: p.pid}, addrs)[:4]); got != want {
			t.Errorf("right inode %v: %s", right, got)
		}
		if st := s.Stats(); st.Missed != 3 {
			t.Errorf("%+v", st)
		}
	}
}

// TestSecondLook: what a look at a process sees first was mapped after the look before, or after what the watch told.
func TestSecondLook(t *testing.T) {
	for _, c := range []struct {
		watched bool
		since   uint64
	}{{true, 50}, {false, 20}} {
		sp := &space{asOf: 50, maps: []mapping{{start: 0x1000, end: 0x3000}}}
		sp.remember(&space{asOf: 20}, c.watched)
		if got := sp.maps[0].since; got != c.since {
			t.Errorf("watched %v: mapped since %d, want %d", c.watched, got, c.since)
		}
	}
}

// TestFormer: an address at a time is in what was mapped then.
func TestFormer(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	p := s.enter(1)
	s.push(p, &space{refs: 1}, target.Stat{})
	oak, elm := &File{path: "oak"}, &File{path: "elm"}
	for i, f := range []*File{oak, elm, oak} {
		f.refs++
		s.insert(p, mapping{start: 0x1000, end: 0x3000, file: f, since: uint64(10 * (i + 1))})
	}
	f := &File{path: "half"}
	f.refs++
	s.insert(p, mapping{start: 0x2000, end: 0x4000, file: f, since: 40})
	// What a program makes, and keeps in memory under a name, is mapped anew as it grows.
	made := &File{path: "made"}
	made.refs++
	s.insert(p, mapping{start: 0x5000, end: 0x6000, file: made, path: "/memfd:doublemapper", since: 40})
	for _, c := range []struct {
		addr, time uint64
		want       string
	}{
		{0x1800, 0, "oak"},
		{0x1800, 10, "oak"},
		{0x1800, 19, "oak"},
		{0x1800, 20, "elm"},
		{0x1800, 29, "elm"},
		{0x1800, 30, "oak"},
		{0x1800, 100, "oak"},
		{0x2800, 0, "half"},
		{0x2800, 35, "oak"},
		{0x2800, 40, "half"},
		{0x3800, 50, "half"},
		{0x3800, 5, ""},
		{0x1800, 5, ""},
		{0x4000, 50, ""},
		{0x5800, 5, "made"},
		{0x5800, 50, "made"},
	} {
		got := ""
		if m := p.spaces[0].at(c.addr, c.time); m != nil {
			got = m.file.path
		}
		if got != c.want {
			t.Errorf("%#x at %d: %q, want %q", c.addr, c.time, got, c.want)
		}
	}
}
