package match

import (
	"slices"
	"sync"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/code"
	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/order"
	"trocar/internal/process/runtimes"
)

// Where a probe on a function's entry goes: to the cheapest instruction that means the same.

const (
	// maxScannedText is how much code is searched for jumps into the entries of functions: a few milliseconds.
	maxScannedText = 8 << 20
	// maxScannedFuncs is for how many functions that is done.
	maxScannedFuncs = 2000
	// shortJump is how far jumps of one byte reach.
	shortJump = 128
	// maxBefore is how much code in front of a function is decoded to find them.
	maxBefore = 64 << 10
)

// entrySites gives the distance of the site from the entry for each function, -1 for those that cannot be probed; why
// where their first instruction is the cause.
func (m *matcher) entrySites(obj *objfile.File, frames *cfi.Table,
	funcs []objfile.Func,
) (sites []int, why []*hazard, err error) {
	sites, why = make([]int, len(funcs)), make([]*hazard, len(funcs))
	defer objfile.Guard(&err)()
	arch := obj.Arch()
	if arch == nil {
		return sites, why, nil
	}
	codes := codesIn(runtimes.File{Object: obj})
	thorough := len(codes) == 0 && len(funcs) <= maxScannedFuncs && textSize(obj) <= maxScannedText
	var moved []int // functions whose site is behind something
	for i := range funcs {
		fn := &funcs[i]
		n := code.EntryWindow
		if fn.Size > 0 {
			n = int(min(fn.Size, code.EntryWindow))
		}
		body := obj.Bytes(fn.Addr, n)
		site := 0
		if len(codes) > 0 {
			site = codes[0].Site(body)
		} else {
			var landing int
			if site, landing = code.Entry(arch, body); site > landing && !thorough {
				site = 0
			}
			if site > 0 && thorough {
				moved = append(moved, i)
			}
		}
		if _, ok := code.Decode(arch, body[min(site, len(body)):]); !ok {
			site = -1
		}
		sites[i] = site
	}
	if len(moved) > 0 {
		for _, i := range m.jumpedInto(obj, frames, funcs, sites, moved) {
			sites[i] = 0
		}
	}
	m.avoidHazards(obj, frames, funcs, sites, why, len(codes) == 0)
	return sites, why, nil
}

// sited are the sites of the functions that a pattern fits, kept with the image.
type sited struct {
	sync.Mutex
	funcs   []objfile.Func
	stepped bool // VectorsStepped was asked
	sites   []int
	whys    []*hazard
}

// sitesOf is entrySites, found once for the entries and the returns of a pattern's functions, and for the question and
// the script that it becomes.
func (m *matcher) sitesOf(b *binary, q *objfile.Query, funcs []objfile.Func) ([]int, []*hazard, error) {
	if !q.Wildcard() {
		return m.entrySites(b.obj, b.im.Frames(), funcs)
	}
	kept, err := image.Tell(b.im, func(*objfile.File) *sited { return &sited{} })
	if err != nil {
		return nil, nil, err
	}
	kept.Lock()
	defer kept.Unlock()
	stepped := m.opts.VectorsStepped != nil
	same := func(a, b objfile.Func) bool { return a.Addr == b.Addr && a.Size == b.Size }
	if kept.sites == nil || kept.stepped != stepped || !slices.EqualFunc(kept.funcs, funcs, same) {
		sites, whys, err := m.entrySites(b.obj, b.im.Frames(), funcs)
		if err != nil {
			return nil, nil, err
		}
		kept.funcs, kept.stepped, kept.sites, kept.whys = funcs, stepped, sites, whys
	}
	return kept.sites, kept.whys, nil
}

// avoidHazards moves sites from instructions that must not be probed to the first behind them that is as good. Where
// there is none, or something jumps or begins in between, there is no site.
func (m *matcher) avoidHazards(
	obj *objfile.File, frames *cfi.Table, funcs []objfile.Func, sites []int, why []*hazard, movable bool,
) {
	var moved []int
	for i := range funcs {
		if sites[i] < 0 {
			continue
		}
		fn := &funcs[i]
		if why[i] = m.hazardAt(obj, fn.Addr+uint64(sites[i])); why[i] == nil {
			continue
		}
		n := code.EntryWindow
		if fn.Size > 0 {
			n = int(min(fn.Size, code.EntryWindow))
		}
		site, ok := code.SafeEntry(obj.Arch(), obj.Bytes(fn.Addr, n), m.lifted)
		if ok && movable && !obj.BeginsIn(fn.Addr+1, fn.Addr+uint64(site)) {
			sites[i] = site
			moved = append(moved, i)
		} else {
			sites[i] = -1
		}
	}
	if len(moved) == 0 {
		return
	}
	for _, i := range m.jumpedInto(obj, frames, funcs, sites, moved) {
		sites[i] = -1
	}
	for _, i := range moved {
		if sites[i] >= 0 {
			why[i] = nil
		}
	}
}

func textSize(obj *objfile.File) (n uint64) {
	for _, s := range obj.Segments() {
		if s.Exec {
			n += s.FileSize
		}
	}
	return n
}

// jumpedInto gives those of the functions (indexes in moved) into which something jumps behind the entry, up to the
// site:
// there a probe would see more than the calls. Short jumps are looked for by decoding what is near; for long ones all
// code is searched.
func (m *matcher) jumpedInto(obj *objfile.File, frames *cfi.Table, funcs []objfile.Func, sites []int,
	moved []int,
) (bad []int) {
	order.By(moved, func(a, b int) int {
		if funcs[a].Addr < funcs[b].Addr {
			return -1
		}
		return 1
	})
	hit := func(target uint64) {
		// The last function that begins before the target.
		i, _ := slices.BinarySearchFunc(moved, target, func(i int, t uint64) int {
			if funcs[i].Addr < t {
				return -1
			}
			return 1
		})
		if i == 0 {
			return
		}
		if i := moved[i-1]; target <= funcs[i].Addr+uint64(sites[i]) && !slices.Contains(bad, i) {
			bad = append(bad, i)
		}
	}
	arch := obj.Arch()
	low := funcs[moved[0]].Addr
	last := moved[len(moved)-1]
	high := funcs[last].Addr + uint64(sites[last])
	for _, i := range moved {
		fn := &funcs[i]
		code.Targets(arch, obj.Bytes(fn.Addr, sites[i]+shortJump+16), fn.Addr, hit)
		from := fn.Addr - shortJump - 16
		if before, ok := obj.Lookup(fn.Addr - 1); ok {
			from = before.Addr
		} else if r, ok := frames.Function(fn.Addr - 1); ok {
			from = r.Low
		}
		if fn.Addr-from > maxBefore {
			bad = append(bad, i) // a function so large in front is not worth the time
			continue
		}
		code.Targets(arch, obj.Bytes(from, int(fn.Addr-from)), from, hit)
	}
	m.farTargets(obj, low, high, hit)
	return bad
}

// farIndexFrom is how often the code of a file is searched for long jumps before all of them are noted.
const farIndexFrom = 4

// farJumps are where long jumps of a file may lead.
type farJumps struct {
	searches int
	targets  []uint64 // in order; nil: not noted yet
}

// farTargets calls hit with everything from low to high where long jumps of a file may lead.
func (m *matcher) farTargets(obj *objfile.File, low, high uint64, hit func(uint64)) {
	if m.far == nil {
		m.far = map[*objfile.File]*farJumps{}
	}
	f := m.far[obj]
	if f == nil {
		f = &farJumps{}
		m.far[obj] = f
	}
	search := func(low, high uint64, hit func(uint64)) {
		for _, s := range obj.Segments() {
			if s.Exec {
				code.FarTargets(obj.Bytes(s.Addr, int(s.FileSize)), s.Addr, low, high, hit)
			}
		}
	}
	if f.searches++; f.searches < farIndexFrom {
		search(low, high, hit)
		return
	}
	if f.targets == nil {
		f.targets = []uint64{}
		for _, s := range obj.Segments() {
			if s.Exec {
				search(s.Addr, s.Addr+s.FileSize, func(target uint64) { f.targets = append(f.targets, target) })
			}
		}
		slices.Sort(f.targets)
		f.targets = slices.Compact(f.targets)
	}
	i, _ := slices.BinarySearch(f.targets, low)
	for ; i < len(f.targets) && f.targets[i] <= high; i++ {
		hit(f.targets[i])
	}
}
