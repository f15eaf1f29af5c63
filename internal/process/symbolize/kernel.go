package symbolize

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"trocar/internal/order"
	"trocar/result"
)

// kernel are the kernel's own symbols, read at the first address that is asked for.
type kernel struct {
	once  sync.Once
	err   error
	addrs []uint64 // ascending, each once
	names []uint32 // beside addrs: where in text its name begins
	text  string   // "NAME\t[MODULE]" or "NAME", each followed by a newline

	loaded atomic.Bool
	mu     sync.Mutex
	asked  []uint64 // addresses that will be named
	known  map[uint64]kernelSymbol
	looks  int // at the file, for those
}

// kernelSymbol is the one that holds an address; start 0: none.
type kernelSymbol struct {
	start uint64
	line  string
}

// ErrHidden says that the kernel shows no addresses of its symbols to us.
var ErrHidden = errors.New("the kernel hides its addresses (sysctl kernel.kptr_restrict): run as root with " +
	"CAP_SYSLOG, or set kernel.kptr_restrict=0")

const kallsyms = "/proc/kallsyms"

// maxKallsyms bounds the file; that of a kernel with everything in it is 20 MB large.
const maxKallsyms = 256 << 20

// maxKernelSymbol bounds the reach of a symbol, for its size is not known: the last one of the kernel and of each
// module would otherwise name everything up to the next module.
const maxKernelSymbol = 1 << 20

// KernelStack names the frames of a kernel stack, innermost first, and appends them to dst. Without a right to the
// kernel's symbols they have no names; LoadKernel tells.
func (s *Symbolizer) KernelStack(dst []result.Frame, addrs []uint64) []result.Frame {
	for i, addr := range addrs {
		dst = append(dst, s.kernel.frame(addr, i == 0))
	}
	return dst
}

// KernelSymbol names an address of the kernel: the builtin `ksym`.
func (s *Symbolizer) KernelSymbol(addr uint64) result.Frame {
	return s.kernel.frame(addr, true)
}

// LoadKernel reads the kernel's symbols if that has not been done, which takes 0.2 s: to be called on the side when a
// script is going to need them. The error tells why kernel addresses will have no names; it wraps ErrHidden if the
// kernel hides them, and ctx's error if that was done before the symbols were read.
func (s *Symbolizer) LoadKernel(ctx context.Context) error {
	s.kernel.once.Do(func() { s.kernel.load(ctx) })
	return s.kernel.err
}

// AskKernel is Ask for addresses of the kernel. The whole of its symbols is not kept for them.
func (s *Symbolizer) AskKernel(addrs []uint64) {
	k := &s.kernel
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, addr := range addrs {
		at := callOf(addr, i == 0)
		if _, ok := k.known[at]; !ok && !k.loaded.Load() && k.looks < maxLooks {
			k.asked = append(k.asked, at)
		}
	}
}

// maxLooks is how often the kernel's symbols are read for some addresses: who asks again and again has them kept.
const maxLooks = 3

// answer names the addresses that were asked for.
func (k *kernel) answer() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.asked) == 0 {
		return
	}
	k.looks++
	if f, err := os.Open(kallsyms); err == nil { // what is wrong is found again where the names are shown
		k.find(f)
		f.Close()
	}
	k.asked = nil
}

func (k *kernel) find(r io.Reader) {
	slices.Sort(k.asked)
	wanted := slices.Compact(k.asked)
	found := make([]kernelEntry, len(wanted))
	names := make([][]byte, len(wanted))
	some := false
	err := eachText(r, func(e kernelEntry, name []byte) {
		some = true
		i, _ := slices.BinarySearch(wanted, e.addr)
		if i < len(wanted) && (e.addr > found[i].addr || e.addr == found[i].addr && e.rank < found[i].rank) {
			found[i], names[i] = e, append(names[i][:0], name...)
		}
	})
	if err != nil || !some {
		return
	}
	if k.known == nil {
		k.known = map[uint64]kernelSymbol{}
	}
	for i, at := range wanted {
		if i > 0 && found[i].addr < found[i-1].addr {
			found[i], names[i] = found[i-1], names[i-1]
		}
		k.known[at] = kernelSymbol{found[i].addr, string(names[i])}
	}
}

// callOf is the address by which a frame is named: that of the call, if it is where that returns to.
func callOf(addr uint64, exact bool) uint64 {
	if !exact && addr != 0 {
		return addr - 1
	}
	return addr
}

func (k *kernel) frame(addr uint64, exact bool) result.Frame {
	f := result.Frame{Addr: addr}
	at := callOf(addr, exact)
	k.mu.Lock()
	sym, ok := k.known[at]
	k.mu.Unlock()
	if ok {
		if sym.start != 0 && at-sym.start < maxKernelSymbol {
			f.Symbol, f.Module, _ = strings.Cut(sym.line, "\t")
			f.Offset = addr - sym.start
		}
		return f
	}
	k.once.Do(func() { k.load(context.Background()) })
	i := sort.Search(len(k.addrs), func(i int) bool { return k.addrs[i] > at }) - 1
	if i < 0 || at-k.addrs[i] >= maxKernelSymbol {
		return f
	}
	line := k.text[k.names[i]:]
	line = line[:strings.IndexByte(line, '\n')]
	f.Symbol, f.Module, _ = strings.Cut(line, "\t")
	f.Offset = addr - k.addrs[i]
	return f
}

// untilDone reads until ctx is done.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

func (k *kernel) load(ctx context.Context) {
	defer k.loaded.Store(true)
	f, err := os.Open(kallsyms)
	if err == nil {
		defer f.Close()
		if err = k.parse(untilDone{ctx, f}); err == nil && len(k.addrs) == 0 {
			err = ErrHidden
		}
	}
	if err != nil {
		k.err = fmt.Errorf("kernel symbols: %w", err)
	}
}

// kernelEntry is a symbol of code. Of several names of an address the one that a reader would use has the lowest rank:
// a global one without underscores in front.
type kernelEntry struct {
	addr uint64
	name uint32 // where in a text it begins
	rank uint8
}

// eachText reads lines of "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]". What yield gets is good for the call.
func eachText(r io.Reader, yield func(e kernelEntry, name []byte)) error {
	in := bufio.NewReaderSize(io.LimitReader(r, maxKallsyms), 1<<16)
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return err
		}
		addr, rest, ok := hexField(line)
		if !ok || addr == 0 || len(rest) < 3 || rest[1] != ' ' {
			continue
		}
		// Text only, weak or not. 'A', 'a': addresses of per-CPU data, which count from zero.
		rank := uint8(4)
		switch rest[0] {
		case 'T':
			rank = 0
		case 't', 'w', 'W':
		default:
			continue
		}
		name := bytes.TrimRight(rest[2:], "\r\n")
		if len(name) == 0 || name[0] == '\t' {
			continue
		}
		rank += uint8(min(2, len(name)-len(bytes.TrimLeft(name, "_"))))
		yield(kernelEntry{addr: addr, rank: rank}, name)
	}
	return nil
}

// parse keeps the symbols of code.
func (k *kernel) parse(r io.Reader) error {
	var entries []kernelEntry
	var names strings.Builder
	err := eachText(r, func(e kernelEntry, name []byte) {
		if entries == nil {
			entries = make([]kernelEntry, 0, 1<<17)
			names.Grow(3 << 20)
		}
		e.name = uint32(names.Len())
		entries = append(entries, e)
		names.Write(name)
		names.WriteByte('\n')
	})
	if err != nil {
		return err
	}
	order.ByKey(entries, func(e *kernelEntry) uint64 { return e.addr }, func(a, b *kernelEntry) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	k.text = names.String()
	k.addrs, k.names = make([]uint64, 0, len(entries)), make([]uint32, 0, len(entries))
	for _, e := range entries {
		if n := len(k.addrs); n == 0 || k.addrs[n-1] != e.addr {
			k.addrs, k.names = append(k.addrs, e.addr), append(k.names, e.name)
		}
	}
	return nil
}
