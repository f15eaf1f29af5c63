package kernel

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/btf"
	"trocar/internal/compile/feature"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

func TestFreeable(t *testing.T) {
	for _, c := range []struct {
		release  string
		sessions bool
		want     int
	}{
		{"5.15.0-100-generic", false, maxPrograms},
		{"6.1.0", false, maxPrograms},
		{"6.8.12", false, maxPrograms},
		{"6.9.1", false, maxProgramsOld},
		{"6.12.41+deb13-amd64", false, maxProgramsOld},
		{"6.12.0-el10", true, maxPrograms}, // has it from a later one
		{"6.18.4", true, maxPrograms},
		{"7.0.0-rc1", true, maxPrograms},
		{"unknown", false, maxProgramsOld},
		{"unknown", true, maxPrograms},
	} {
		if got := freeable(c.release, func() bool { return c.sessions }); got != c.want {
			t.Errorf("%s, sessions %v: %d programs, want %d", c.release, c.sessions, got, c.want)
		}
	}
}

// TestTooManyPrograms: an object with too many programs is refused before anything is made.
func TestTooManyPrograms(t *testing.T) {
	programs := func(n int, typ probe.ProgramType, points int) *Object {
		obj := &Object{}
		for range n {
			obj.Programs = append(obj.Programs, &Program{Type: typ, Points: make([]*probe.Point, points)})
		}
		return obj
	}
	features := func(cookies bool) *Features {
		f := AssumedFeatures(btf.Kernel(), feature.All)
		if !cookies {
			f.Disable(feature.AttachCookie)
		}
		return f
	}
	if err := limitPrograms(programs(5000, probe.UprobeProgram, 1), 0, features(false)); err != nil {
		t.Errorf("without cookies: %v", err)
	}
	for _, c := range []struct {
		obj  *Object
		most int
		want string // of the message
	}{
		{programs(maxProgramsOld, probe.UprobeProgram, 10), 0, ""},
		{programs(6, probe.UprobeProgram, 10), 5, "6 BPF programs, the most that are loaded at once are 5 (max_bpf_progs)"},
		{programs(2, probe.FentryProgram, 3), 5, "6 BPF programs"},
		{programs(maxPrograms+1, probe.UprobeProgram, 1), 0, "kernel that frees many"},
		{programs(maxPrograms+1, probe.UprobeProgram, 1), 5000, "kernel that frees many"},
		{programs(1, probe.FexitProgram, maxPrograms+1), 0, "kernel that frees many"},
	} {
		err := limitPrograms(c.obj, c.most, features(true))
		var many *TooManyError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%d programs: %v", len(c.obj.Programs), err)
		case c.want != "" && (!errors.As(err, &many) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%d programs, at most %d: %v", len(c.obj.Programs), c.most, err)
		}
	}
}

// TestFreePaced: a group is closed when the kernel has begun to free the one before, sleepable programs that a link has
// just let go as well.
func TestFreePaced(t *testing.T) {
	need.Root(t)
	const n, group = 24, 8
	path := build(t, "target", targetSource)
	offset := symbols(t, path)["work"]
	obj := &Object{Maps: []*ebpf.MapSpec{countSpec()}}
	for i := range n {
		obj.Programs = append(obj.Programs, &Program{
			Name: fmt.Sprintf("p%d", i), Type: probe.UprobeProgram, Insns: counter(), Sleepable: i%2 == 0,
			Points: []*probe.Point{point(path, offset, 0)},
		})
	}
	l, err := Load(obj, Options{})
	if Unavailable(err) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	attachAll(t, l)
	var ids []uint32
	programs := l.inKernel()
	for _, p := range programs {
		info, err := p.Info()
		if err != nil {
			t.Fatal(err)
		}
		id, _ := info.ID()
		ids = append(ids, uint32(id))
	}
	if len(ids) != n {
		t.Fatalf("%d programs in the kernel, want %d", len(ids), n)
	}
	l.Detach()
	begin := time.Now()
	freePaced(programs, group)
	t.Logf("%v", time.Since(begin))
	// The last group is not waited for.
	for i, id := range ids[:n-group] {
		fd, err := bpf(13, &attrGetByID{id: id}) // BPF_PROG_GET_FD_BY_ID
		if err == nil {
			unix.Close(fd)
			t.Errorf("program %d of %d is still there", i, n)
		}
	}
}

// TestWitness: what shows that programs are freed is there for as long as one of them is.
func TestWitness(t *testing.T) {
	need.Root(t)
	l := load(t, Options{},
		&Program{Name: "a", Type: probe.UprobeProgram, Insns: returnZero()},
		&Program{Name: "b", Type: probe.UprobeProgram, Insns: returnZero()})
	programs := l.inKernel()
	w := bindWitness(programs)
	if w == nil {
		t.Fatal("no witness")
	}
	there := func() bool {
		fd, err := bpf(cmdMapGetFDByID, &attrGetByID{id: w.id})
		if err == nil {
			unix.Close(fd)
		}
		return err == nil
	}
	programs[0].Close()
	if within(50*time.Millisecond, func() bool { return !there() }) {
		t.Error("it is gone before the last program")
	}
	programs[1].Close()
	w.await()
	if there() {
		t.Error("it is still there")
	}
}
