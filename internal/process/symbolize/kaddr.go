package symbolize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNoSymbol says that the kernel has no symbol of a name.
var ErrNoSymbol = errors.New("the kernel has no such symbol")

// KernelAddress is the address of a symbol of the kernel, function or data: the builtin `kaddr`. Of several the first
// counts. It reads as far as the symbol, which takes up to 0.2 s.
func KernelAddress(name string) (uint64, error) {
	f, err := os.Open(kallsyms)
	if err != nil {
		return 0, fmt.Errorf("kernel symbols: %w", err)
	}
	defer f.Close()
	return kernelAddress(f, name)
}

func kernelAddress(r io.Reader, name string) (uint64, error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxKallsyms), 1<<16)
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return 0, ErrNoSymbol
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return 0, fmt.Errorf("kernel symbols: %w", err)
		}
		addr, rest, ok := hexField(line)
		if !ok || len(rest) < 3 || rest[1] != ' ' {
			continue
		}
		found, _, _ := bytes.Cut(bytes.TrimRight(rest[2:], "\r\n"), []byte("\t"))
		if string(found) != name {
			continue
		}
		if addr == 0 {
			return 0, ErrHidden
		}
		return addr, nil
	}
}
