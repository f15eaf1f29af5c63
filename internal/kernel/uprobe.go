package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// maxMulti is the kernel's limit of probes in a link (MAX_UPROBE_MULTI_CNT).
const maxMulti = 1 << 20

// site is a point of a program with its cookie.
type site struct {
	point  *probe.Point
	cookie uint64
}

// group is what one link takes: probes in one file, in one process or all.
type group struct {
	path  string
	held  string // the same file by a descriptor of ours; "": it could not be opened
	pid   int
	sites []site
}

func (a *attacher) uprobes(p *loadedProgram) error {
	groups := groupSites(p)
	if !p.multi {
		for _, g := range groups {
			if tid, ok := outlived(g.pid); ok {
				g.pid = tid
			}
			if err := a.perfUprobes(p, g); err != nil {
				return err
			}
		}
		return nil
	}
	return inParallel(len(groups), func(i int) error {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		g := groups[i]
		if g.pid != 0 && !a.features.Has(feature.UprobeMultiPID) {
			// Here the link's filter takes a thread for a process and would miss the other threads. Without it the
			// breakpoints are in all processes, and the program sorts out.
			g.pid = 0
		}
		if _, ok := outlived(g.pid); ok {
			g.pid = 0 // the link's filter goes by the memory of the first thread, which has none any more
		}
		if err := a.multi(p, g); err != nil {
			return err
		}
		a.advance(len(g.sites))
		return nil
	})
}

// outlived finds a thread that lives of a process whose first thread has ended before others: /proc shows no program of
// that.
func outlived(pid int) (tid int, ok bool) {
	if pid == 0 {
		return 0, false
	}
	runs := func(tid string) error {
		_, err := os.Readlink("/proc/" + tid + "/exe")
		return err
	}
	first := strconv.Itoa(pid)
	if !errors.Is(runs(first), fs.ErrNotExist) {
		return 0, false
	}
	threads, err := os.ReadDir("/proc/" + first + "/task")
	if err != nil {
		return 0, false
	}
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil && runs(t.Name()) == nil {
			return tid, true
		}
	}
	return 0, false
}

func groupSites(p *loadedProgram) []*group {
	type key struct {
		path string
		pid  int
	}
	index := map[key]*group{}
	var groups []*group
	for i, point := range p.Points {
		k := key{point.Path, point.PID}
		g := index[k]
		if g == nil || len(g.sites) == maxMulti {
			g = &group{path: point.Path, pid: point.PID}
			index[k] = g
			groups = append(groups, g)
		}
		if point.Interpreted != nil {
			// All functions come by at the same places, and the program tells them apart.
			if !slices.ContainsFunc(g.sites, func(s site) bool { return s.point.Offset == point.Offset }) {
				g.sites = append(g.sites, site{point: point})
			}
			continue
		}
		g.sites = append(g.sites, site{point, cookie(p, i)})
	}
	return groups
}

// open holds the file of a group, so that the kernel attaches to the very one in which the points were found: at the
// path there may be another by now, in which they would be inside of instructions.
func (g *group) open() (done func(), err error) {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}, nil // the kernel says why
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return func() {}, nil
	}
	now := probe.FileID{Dev: st.Dev, Inode: st.Ino, Size: st.Size, Changed: st.Mtim.Nano()}
	if was := g.sites[0].point.File; was != (probe.FileID{}) && was != now {
		unix.Close(fd)
		return nil, fmt.Errorf("%s was replaced or written to since its functions were looked up: try again", g.path)
	}
	g.held = "/proc/self/fd/" + strconv.Itoa(fd)
	return func() { unix.Close(fd) }, nil
}

// kernelPath is the path by which the kernel opens the file.
func (g *group) kernelPath() string {
	if g.held != "" {
		return g.held
	}
	return g.path
}

// refused reports that no point of a group can be attached.
func (a *attacher) refused(p *loadedProgram, g *group, err error) error {
	for _, s := range g.sites {
		if err := a.outcome(p, s.point, err); err != nil {
			return err
		}
	}
	return nil
}

// multi attaches a group by one link.
func (a *attacher) multi(p *loadedProgram, g *group) error {
	done, err := g.open()
	if err != nil {
		return a.refused(p, g, err)
	}
	defer done()
	link, err := a.multiLink(p, g, g.sites)
	if err == nil {
		a.keepOf(p, link)
		return nil
	}
	if !onePointsFault(err) || len(g.sites) == 1 {
		for _, s := range g.sites {
			if err := a.outcome(p, s.point, explainLink(g, s.point, err)); err != nil {
				return err
			}
		}
		return nil
	}
	// One bad point fails the whole link and the kernel does not say which. Find them, then attach the rest at once.
	good, err := a.sift(p, g)
	if err != nil || len(good) == 0 {
		return err
	}
	link, err = a.multiLink(p, g, good)
	if err != nil {
		return fmt.Errorf("cannot attach the %d good points in %s: %w", len(good), g.path, err)
	}
	a.keepOf(p, link)
	return nil
}

// sift divides a group until the points that the kernel refuses are found. Each try costs the kernel some 40 ms when it
// takes the probes back, so halves are tried side by side.
func (a *attacher) sift(p *loadedProgram, g *group) ([]site, error) {
	bad := make([]error, len(g.sites))
	size := fileSize(g.path)
	var rest []int
	for i, s := range g.sites {
		if size > 0 && s.point.Offset >= uint64(size) {
			bad[i] = unix.EINVAL // needs no try
		} else {
			rest = append(rest, i)
		}
	}
	running := make(chan struct{}, 16)
	var try func(indexes []int)
	try = func(indexes []int) {
		if len(indexes) == 0 || a.ctx.Err() != nil {
			return
		}
		sites := make([]site, len(indexes))
		for i, x := range indexes {
			sites[i] = g.sites[x]
		}
		running <- struct{}{}
		link, err := a.multiLink(p, g, sites)
		if err == nil {
			unix.Close(link)
		}
		<-running
		switch {
		case err == nil:
		case len(indexes) == 1 || !onePointsFault(err):
			for _, x := range indexes {
				bad[x] = err
			}
		default:
			half := len(indexes) / 2
			var wg sync.WaitGroup
			wg.Go(func() { try(indexes[:half]) })
			try(indexes[half:])
			wg.Wait()
		}
	}
	try(rest)
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	var good []site
	for i, s := range g.sites {
		if bad[i] == nil {
			good = append(good, s)
		} else if err := a.outcome(p, s.point, explainLink(g, s.point, bad[i])); err != nil {
			return nil, err
		}
	}
	return good, nil
}

// onePointsFault tells whether an error may come from one point among many.
func onePointsFault(err error) bool {
	for _, all := range []error{
		unix.EPERM, unix.EACCES, unix.ENOENT, unix.EBADF, unix.ESRCH, unix.ENOMEM, unix.E2BIG, unix.EMFILE, unix.ENFILE,
		unix.ENOTDIR, unix.ELOOP, unix.EINTR,
	} {
		if errors.Is(err, all) {
			return false
		}
	}
	return true
}

func (a *attacher) multiLink(p *loadedProgram, g *group, sites []site) (int, error) {
	offsets := make([]uint64, len(sites))
	var refCtrs, cookies []uint64
	for i, s := range sites {
		offsets[i] = s.point.Offset
		if s.point.RefCtr != 0 {
			if refCtrs == nil {
				refCtrs = make([]uint64, len(sites))
			}
			refCtrs[i] = s.point.RefCtr
		}
		if s.cookie != 0 {
			if cookies == nil {
				cookies = make([]uint64, len(sites))
			}
			cookies[i] = s.cookie
		}
	}
	attr := &attrLinkMulti{
		progFD:     uint32(p.prog.FD()),
		attachType: attachUprobeMulti,
		path:       pointer(cString(g.kernelPath())),
		offsets:    slicePointer(offsets),
		refCtrs:    slicePointer(refCtrs),
		cookies:    slicePointer(cookies),
		count:      uint32(len(sites)),
		pid:        uint32(g.pid),
	}
	if p.Session {
		attr.attachType = attachUprobeSession
	} else if p.Return {
		attr.multiFlags = uprobeMultiReturn
	}
	fd, err := bpfApart(cmdLinkCreate, attr)
	runtime.KeepAlive(p)
	return fd, err
}

// perfUprobes attaches the points of a group one by one.
func (a *attacher) perfUprobes(p *loadedProgram, g *group) error {
	done, err := g.open()
	if err != nil {
		return a.refused(p, g, err)
	}
	defer done()
	for _, s := range g.sites {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if err := a.outcome(p, s.point, a.perfUprobe(p, g, s)); err != nil {
			return err
		}
		a.advance(1)
	}
	return nil
}

// perfUprobe attaches one point by a perf event (before 6.6).
func (a *attacher) perfUprobe(p *loadedProgram, g *group, s site) error {
	pmu, err := a.pmuType("uprobe")
	if err != nil {
		return err
	}
	attr := &unix.PerfEventAttr{
		Type:   pmu,
		Config: s.point.RefCtr << 32, // format/ref_ctr_offset: config:32-63
		Ext2:   s.point.Offset,
	}
	if s.point.RefCtr>>32 != 0 {
		return fmt.Errorf("the semaphore's offset %#x is too large", s.point.RefCtr)
	}
	if p.Return {
		attr.Config |= 1 // format/retprobe: config:0
	}
	event, err := openUprobe(attr, g)
	if err == nil {
		if err = a.setBPF(event, p.prog.FD(), s.cookie); err != nil {
			unix.Close(event)
		}
	}
	return explainUprobe(g, s.point, err)
}

// openUprobe: the event's CPU does not matter, programs run at every hit; without a process some CPU must be named.
func openUprobe(attr *unix.PerfEventAttr, g *group) (int, error) {
	path := cString(g.kernelPath())
	attr.Ext1 = uint64(uintptr(pointer(path)))
	defer runtime.KeepAlive(path)
	if g.pid != 0 {
		return openPerf(attr, g.pid, -1)
	}
	return openPerf(attr, -1, 0)
}

// pmuType is the number of one of perf's dynamic event sources.
func (a *attacher) pmuType(name string) (uint32, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.pmu[name]; ok {
		return t, nil
	}
	path := filepath.Join("/sys/bus/event_source/devices", name, "type")
	text, err := os.ReadFile(path)
	if err != nil {
		way := "it needs CONFIG_" + strings.ToUpper(name[:1]) + "PROBE_EVENTS"
		if _, err := os.Stat("/sys/bus/event_source"); err != nil {
			way = "or sysfs is not mounted on /sys"
		}
		return 0, &LacksError{Feature: name + "s", Way: way}
	}
	t, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if a.pmu == nil {
		a.pmu = map[string]uint32{}
	}
	a.pmu[name] = uint32(t)
	return uint32(t), nil
}

// enotsupp is a kernel-internal number that reaches user space: the instruction is one that uprobes cannot step over.
const enotsupp = unix.Errno(524)

// explainLink is explainUprobe for links. They need no more rights than the program did that was loaded already, so
// what is not permitted is to open the file.
func explainLink(g *group, point *probe.Point, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		p := &PermissionError{What: "open " + g.path, Err: err}
		if strings.HasPrefix(g.path, "/proc/") {
			p.Cause, p.Way = "files of another user's process", "run trocar as root, or with cap_sys_ptrace and "+
				"cap_checkpoint_restore as well"
		}
		return p
	}
	return explainUprobe(g, point, err)
}

// explainUprobe says in words what the kernel's number means for a uprobe.
func explainUprobe(g *group, point *probe.Point, err error) error {
	var errno unix.Errno
	if err == nil || !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case unix.EINVAL:
		if info, err := os.Stat(g.path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", g.path)
		}
		if size := fileSize(g.path); size > 0 && point.Offset >= uint64(size) {
			return fmt.Errorf("offset %#x is beyond the end of %s (%d bytes)", point.Offset, g.path, size)
		}
		if point.RefCtr != 0 {
			return fmt.Errorf("the kernel refused the offset %#x or the semaphore at %#x in %s", point.Offset, point.RefCtr,
				g.path)
		}
		return fmt.Errorf("the kernel refused the offset %#x in %s", point.Offset, g.path)
	case enotsupp, unix.EOPNOTSUPP:
		return fmt.Errorf("the instruction at offset %#x of %s cannot be probed "+
			"(a debugger's breakpoint, or one that cannot be stepped over)", point.Offset, g.path)
	case unix.ENOEXEC, unix.EILSEQ:
		return fmt.Errorf("there is no instruction at offset %#x of %s", point.Offset, g.path)
	case unix.EIO:
		return fmt.Errorf("%s is on a file system whose files cannot be probed, or offset %#x is beyond its end", g.path,
			point.Offset)
	case unix.EBADF, unix.EISDIR:
		return fmt.Errorf("%s is not a regular file", g.path)
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return fmt.Errorf("%s: no such file", g.path)
	case unix.ESRCH:
		return fmt.Errorf("process %d has exited", g.pid)
	case unix.EBUSY:
		return fmt.Errorf("the kernel is busy with the probe at offset %#x of %s; try again", point.Offset, g.path)
	}
	return err
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
