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

	"trocar/result"
)

// kernel are the kernel's own symbols, read at the first address that is asked for.
type kernel struct {
	once  sync.Once
	err   error
	addrs []uint64 // ascending, each once
	names []uint32 // beside addrs: where in text its name begins
	text  string   // "NAME\t[MODULE]" or "NAME", each followed by a newline
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

func (k *kernel) frame(addr uint64, exact bool) result.Frame {
	k.once.Do(func() { k.load(context.Background()) })
	f := result.Frame{Addr: addr}
	at := addr
	if !exact && at != 0 {
		at--
	}
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

// parse reads lines of "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]". Of several names of an address the one
// that a reader would use is kept: a global one without underscores in front.
func (k *kernel) parse(r io.Reader) error {
	type entry struct {
		addr uint64
		name uint32
		rank uint8
	}
	var entries []entry
	var names strings.Builder
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
		if entries == nil {
			entries = make([]entry, 0, 1<<17)
			names.Grow(3 << 20)
		}
		entries = append(entries, entry{addr, uint32(names.Len()), rank})
		names.Write(name)
		names.WriteByte('\n')
	}
	byAddr := func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	}
	slices.SortFunc(entries, byAddr)
	k.text = names.String()
	k.addrs, k.names = make([]uint64, 0, len(entries)), make([]uint32, 0, len(entries))
	for _, e := range entries {
		if n := len(k.addrs); n == 0 || k.addrs[n-1] != e.addr {
			k.addrs, k.names = append(k.addrs, e.addr), append(k.names, e.name)
		}
	}
	return nil
}
