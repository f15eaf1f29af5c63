package kernel

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"trocar/internal/need"
	"trocar/internal/process/probe"
)

// TestKeeperProcess is the keeper of the tests.
func TestKeeperProcess(t *testing.T) {
	n, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		t.Skip("only for TestKeeper")
	}
	Keep(n)
}

// TestKeeper: many programs stay when a process that was killed loses them, until the keeper frees them.
func TestKeeper(t *testing.T) {
	need.Root(t)
	const n = freeGroup + 16
	obj := &Object{}
	for i := range n {
		p := &Program{Name: fmt.Sprint("p", i), Type: probe.UprobeProgram, Insns: returnZero()}
		obj.Programs = append(obj.Programs, p)
	}
	keeper := []string{"/proc/self/exe", "-test.run=^TestKeeperProcess$"}
	for _, killed := range []bool{true, false} {
		l, err := Load(obj, Options{Keeper: keeper})
		if Unavailable(err) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		if l.keeper == nil {
			if freesAtOnce(Release()) {
				t.Skip("this kernel needs none")
			}
			t.Fatal("no keeper")
		}
		var ids []uint32
		for _, p := range l.inKernel() {
			info, err := p.Info()
			if err != nil {
				t.Fatal(err)
			}
			id, _ := info.ID()
			ids = append(ids, uint32(id))
		}
		there := func() (n int) {
			for _, id := range ids {
				if fd, err := bpf(13, &attrGetByID{id: id}); err == nil { // BPF_PROG_GET_FD_BY_ID
					unix.Close(fd)
					n++
				}
			}
			return n
		}
		if killed { // the kernel closes its files
			for _, p := range l.inKernel() {
				p.Close()
			}
			if got := there(); got != n {
				t.Errorf("%d of %d programs are left to the keeper", got, n)
			}
			l.keeper.alive.Close()
			if _, err := l.keeper.wait(0); err != nil {
				t.Error(err)
			}
			l.programs, l.keeper = nil, nil
		}
		l.Close()
		if !within(freeWait, func() bool { return there() == 0 }) {
			t.Errorf("killed %v: %d programs are still there", killed, there())
		}
	}
}

// TestKeeperEnded: where somebody has ended the keeper, programs are freed by who has loaded them.
func TestKeeperEnded(t *testing.T) {
	need.Root(t)
	l := load(t, Options{}, &Program{Name: "a", Type: probe.UprobeProgram, Insns: returnZero()})
	end, alive, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
	k := &keeper{pid: 1 << 30, alive: alive}
	if k.free(l.inKernel()) {
		t.Error("a process that is not there has freed programs")
	}
	if _, err := l.inKernel()[0].Info(); err != nil {
		t.Error(err)
	}
	if (*keeper)(nil).free(l.inKernel()) {
		t.Error("no process has freed programs")
	}
}
