package symbolize

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"trocar/result"
)

// kernel are the kernel's own symbols, read at the first address that is asked for.
type kernel struct {
	read  bool
	err   error
	addrs []uint64 // ascending, each once
	names []uint32 // beside addrs: where in text its name begins
	text  []byte   // "NAME\tMODULE" or "NAME", each followed by a newline
}

// ErrHidden says that the kernel shows no addresses of its symbols to us.
var ErrHidden = errors.New("the kernel hides its addresses (sysctl kernel.kptr_restrict): run as root with CAP_SYSLOG, or set kernel.kptr_restrict=0")

const kallsyms = "/proc/kallsyms"

// maxKallsyms bounds the file; that of a kernel with everything in it is 20 MB large.
const maxKallsyms = 256 << 20

// maxKernelSymbol bounds the reach of a symbol, for its size is not known: the last one of the kernel and of each module would
// otherwise name everything up to the next module.
const maxKernelSymbol = 1 << 20

// KernelStack names the frames of a kernel stack, innermost first, and appends them to dst. Without a right to the kernel's
// symbols they have no names; KernelErr tells.
func (s *Symbolizer) KernelStack(dst []result.Frame, addrs []uint64) []result.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, addr := range addrs {
		dst = append(dst, s.kernel.frame(addr, i == 0))
	}
	return dst
}

// KernelSymbol names an address of the kernel: the builtin `ksym`.
func (s *Symbolizer) KernelSymbol(addr uint64) result.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kernel.frame(addr, true)
}

// KernelErr tells why kernel addresses have no names: nil if none was asked for yet.
func (s *Symbolizer) KernelErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kernel.err
}

func (k *kernel) frame(addr uint64, exact bool) result.Frame {
	if !k.read {
		k.read = true
		k.load()
	}
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
	line = line[:bytes.IndexByte(line, '\n')]
	name, module, _ := bytes.Cut(line, []byte{'\t'})
	f.Symbol, f.Module, f.Offset = string(name), string(module), addr-k.addrs[i]
	return f
}

func (k *kernel) load() {
	f, err := os.Open(kallsyms)
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, maxKallsyms)); err == nil {
			k.parse(text)
			if len(k.addrs) == 0 {
				err = ErrHidden
			}
		}
	}
	if err != nil {
		k.err = fmt.Errorf("kernel symbols: %w", err)
	}
}

// parse reads lines of "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]". Of several names of an address the one that a
// reader would use is kept: a global one without underscores in front.
func (k *kernel) parse(text []byte) {
	type entry struct {
		addr uint64
		name uint32
		rank uint8
	}
	entries := make([]entry, 0, len(text)/64)
	k.text = make([]byte, 0, len(text)/2)
	for line := range bytes.Lines(text) {
		addr, rest, ok := hexField(line)
		if !ok || addr == 0 || len(rest) < 3 || rest[1] != ' ' {
			continue
		}
		// Text only, weak or not. 'A', 'a': addresses of per-CPU data, which count from zero.
		typ := rest[0]
		if !strings.ContainsRune("tTwW", rune(typ)) {
			continue
		}
		name, module, _ := bytes.Cut(bytes.TrimRight(rest[2:], "\r\n"), []byte{'\t'})
		if len(name) == 0 || len(k.text) > 1<<31 {
			continue
		}
		rank := uint8(min(2, len(name)-len(bytes.TrimLeft(name, "_"))))
		if typ != 'T' {
			rank += 4
		}
		entries = append(entries, entry{addr, uint32(len(k.text)), rank})
		k.text = append(k.text, name...)
		if len(module) > 0 {
			k.text = append(append(k.text, '\t'), module...)
		}
		k.text = append(k.text, '\n')
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.rank, b.rank))
	})
	k.addrs, k.names = make([]uint64, 0, len(entries)), make([]uint32, 0, len(entries))
	for _, e := range entries {
		if n := len(k.addrs); n == 0 || k.addrs[n-1] != e.addr {
			k.addrs, k.names = append(k.addrs, e.addr), append(k.names, e.name)
		}
	}
}
