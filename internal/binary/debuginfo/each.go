package debuginfo

import (
	"errors"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"trocar/internal/binary/objfile"
)

// Each calls visit with the functions whose code begins at the given addresses, in whatever order: i is the index of
// the address. Several are visited at a time, each with an Info to ask about it: that and the function are only good
// during the call. Addresses at which no function begins are left out.
func (in *Info) Each(addrs []uint64, visit func(own *Info, i int, fn *Function)) (err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	batches := in.batches(addrs)
	in.mu.Unlock()
	if len(batches) == 0 {
		return nil
	}
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, len(batches))
	errs := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for n := range workers {
		own := in.fork(workers)
		wg.Go(func() {
			defer func() {
				in.main.blame(own.Damage())
				own.Close()
			}()
			defer objfile.Guard(&errs[n])()
			for {
				at := int(next.Add(1)) - 1
				if at >= len(batches) {
					return
				}
				own.visit(batches[at], addrs, visit)
			}
		})
	}
	wg.Wait()
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// maxWorkers bounds how much is read at a time.
const maxWorkers = 8

// maxBatch bounds a batch, so that a program of one unit is divided too.
const maxBatch = 1 << 11

// batches groups addresses, by their indexes, by the unit that they are likely in, in order.
func (in *Info) batches(addrs []uint64) [][]int {
	if in.addrs == nil {
		in.addrs = in.buildAddrIndex()
	}
	type placed struct{ unit, i int }
	var known []placed
	for i, addr := range addrs {
		if units := in.addrs.at(addr); len(units) > 0 {
			known = append(known, placed{units[0].off, i})
		}
	}
	sort.Slice(known, func(a, b int) bool {
		x, y := known[a], known[b]
		if x.unit != y.unit {
			return x.unit < y.unit
		}
		return addrs[x.i] < addrs[y.i]
	})
	var batches [][]int
	for n, p := range known {
		if n == 0 || known[n-1].unit != p.unit || len(batches[len(batches)-1]) >= maxBatch {
			batches = append(batches, nil)
		}
		last := &batches[len(batches)-1]
		*last = append(*last, p.i)
	}
	return batches
}

// visit looks up the functions of a batch.
func (in *Info) visit(batch []int, addrs []uint64, visit func(*Info, int, *Function)) {
	for n, i := range batch {
		in.mu.Lock()
		if n == 0 {
			for _, u := range in.unitsAt(addrs[i]) {
				in.passed(u)
			}
			in.conv.reset() // types of other units won't be met again
		}
		var fn *Function
		if d, err := in.subprogramAt(addrs[i]); err != nil {
			if !errors.Is(err, ErrNotFound) {
				in.main.blame(err)
			}
		} else {
			if ranges := d.pcRanges(maxRanges); d.entryPC(ranges) == addrs[i] {
				fn = in.function(d)
			}
		}
		in.mu.Unlock()
		if fn != nil {
			visit(in, i, fn)
		}
	}
}

// fork makes an Info of the same program for another goroutine, one of n. Sections and what takes a scan of all units
// are shared, what has been read of single units is not.
func (in *Info) fork(n int) *Info {
	f := &Info{src: in.src, hash: in.hash, frames: in.frames, parent: in, closed: in.closed, keptLimit: in.keptLimit / n}
	f.main = f.newFile(in.main.name, in.main.sec)
	f.main.from = in.main
	f.conv.init(f)
	if alt := in.main.alt; alt != nil {
		f.main.alt = f.newFile(alt.name, alt.sec)
		f.main.alt.from = alt
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.addrs != nil {
		f.addrs = in.addrs.in(f.main)
	}
	return f
}

// in is the index for the same file read by another Info.
func (x *addrIndex) in(f *file) *addrIndex {
	f.unitList()
	y := &addrIndex{spans: make([]addrSpan, 0, len(x.spans)), reach: x.reach}
	for _, s := range x.spans {
		u := f.unitAt(s.u.sec, uint64(s.u.off))
		if u == nil { // the file has been changed: it makes its own
			return nil
		}
		y.spans = append(y.spans, addrSpan{s.Range, s.off, u})
	}
	return y
}
