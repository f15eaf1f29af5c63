package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// The kernel frees each program in a work item of its own, in a queue of which so many are started at once on a CPU:
// 1,024, 256 before Linux 6.13 (WQ_DFL_ACTIVE). All want the lock of the memory that programs are packed into, and from
// 6.9 on (__purge_vmap_area_lazy) the one who has it may wait for work behind them in the same queue. If the queue is
// full then, nothing on the machine that needs it goes on, for ever. So trocar does not have as many programs as fill
// the queue when they are freed at once, frees those that it has in groups, and has another process do that if it is
// killed (keeper).
const (
	maxPrograms    = 768 // of a run
	maxProgramsOld = 192 // where the queue is the short one
	freeGroup      = 64  // programs that are freed at once
)

// freeWait is how long a group is waited for. Then the kernel has other troubles, and what is left is freed all the
// same.
const freeWait = 5 * time.Second

// TooManyError says that an object has more programs than the kernel can free at once.
type TooManyError struct {
	Programs, Max int
	Setting       bool // the limit is the script's max_bpf_progs
}

func (e *TooManyError) Error() string {
	s := fmt.Sprintf("the script needs %d BPF programs, the most that are loaded at once are %d", e.Programs, e.Max)
	if e.Setting {
		return s + " (max_bpf_progs)"
	}
	return s + ": a kernel that frees many more at the same time can hang. " +
		"Probe fewer functions, or let them share programs: one is made for each probe and each way to find its arguments"
}

// limitPrograms refuses an object with too many programs. atMost is what the script sets, 0: nothing. Where programs
// have no cookies (before 5.15) each point has one of its own: then there is no limit, and no danger either.
func limitPrograms(obj *Object, atMost int, f *Features) error {
	n := 0
	for _, p := range obj.Programs {
		switch p.Type {
		case probe.FentryProgram, probe.FexitProgram:
			n += len(p.Points)
		default:
			n++
		}
	}
	if atMost <= 0 {
		atMost = maxPrograms
	}
	if n <= min(atMost, maxProgramsOld) || !f.Has(feature.AttachCookie) { // needs no look at the kernel
		return nil
	}
	most := freeable(Release(), func() bool { return haveMultiLink(attachUprobeSession) })
	if n > min(atMost, most) {
		return &TooManyError{Programs: n, Max: min(atMost, most), Setting: atMost < most}
	}
	return nil
}

// freeable is how many programs a kernel may be left to free at once. The long queue came with sessions of probes, in
// the same release.
func freeable(release string, sessions func() bool) int {
	if freesAtOnce(release) || sessions() {
		return maxPrograms
	}
	return maxProgramsOld
}

// freesAtOnce tells whether freeing a program waits for no other work. Nothing but its number shows it of a kernel.
func freesAtOnce(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major < 6 || major == 6 && minor < 9)
}

// free closes programs.
func free(programs []*ebpf.Program) {
	group := freeGroup
	if len(programs) > group && freesAtOnce(Release()) {
		group = len(programs)
	}
	freePaced(programs, group)
}

// freePaced closes programs, in groups of which the next begins when the kernel has begun to free all of the one
// before.
func freePaced(programs []*ebpf.Program, group int) {
	for len(programs) > 0 {
		n := min(group, len(programs))
		last := n == len(programs)
		var w *witness
		if !last {
			w = bindWitness(programs[:n])
		}
		for _, p := range programs[:n] {
			p.Close()
		}
		programs = programs[n:]
		if !last {
			w.await()
			// The lock is taken in turn: who has loaded one has been behind the frees that wait.
			tryLoad(progKprobe, 0, 0, returnZero())
		}
	}
}

// witness is a map that programs keep, and nobody else: it is gone when the last of them is freed, which the work item
// does as the first thing (bpf_free_used_maps).
type witness struct{ id uint32 }

// bindWitness makes programs keep a new map. Nil: it cannot be seen when they are freed.
func bindWitness(programs []*ebpf.Program) *witness {
	fd, err := bpf(cmdMapCreate, &attrMapCreate{mapType: uint32(ebpf.Array), keySize: 4, valueSize: 8, maxEntries: 1})
	if err != nil {
		return nil
	}
	m, err := ebpf.NewMapFromFD(fd)
	if err != nil {
		return nil
	}
	defer m.Close()
	info, err := m.Info()
	if err != nil {
		return nil
	}
	id, ok := info.ID()
	if !ok {
		return nil
	}
	for _, p := range programs {
		_, err := bpf(cmdProgBindMap, &attrProgBindMap{progFD: uint32(p.FD()), mapFD: uint32(fd)})
		runtime.KeepAlive(p)
		if err != nil {
			return nil
		}
	}
	return &witness{uint32(id)}
}

// await returns when the programs are being freed. There is no event to wait for: the map's number is looked up. Who
// may not do that (CAP_BPF alone) waits as long as the kernel's grace periods take.
func (w *witness) await() {
	if w == nil {
		time.Sleep(200 * time.Millisecond)
		return
	}
	pause := time.Millisecond
	for end := time.Now().Add(freeWait); time.Now().Before(end); time.Sleep(pause) {
		fd, err := bpf(cmdMapGetFDByID, &attrGetByID{id: w.id})
		switch {
		case err == nil:
			unix.Close(fd)
		case errors.Is(err, unix.EPERM):
			(*witness)(nil).await()
			return
		default:
			return
		}
		pause = min(2*pause, 10*time.Millisecond)
	}
}
