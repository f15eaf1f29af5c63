package code

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/need"
)

// corpus are programs and libraries with code of many kinds; those that are not installed are left out.
var corpus = []string{
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/lib/x86_64-linux-gnu/libgcc_s.so.1",
	"/bin/bash",
}

// TestAgainstObjdump compares the lengths of all instructions of the corpus with those that binutils finds.
func TestAgainstObjdump(t *testing.T) {
	need.Tool(t, "objdump")
	files := corpus
	if extra := os.Getenv("CODE_CORPUS"); extra != "" {
		files = strings.Split(extra, ":")
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			compareWithObjdump(t, file)
		})
	}
}

func compareWithObjdump(t *testing.T, file string) {
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	// Two files of some megabytes are enough of the same.
	if len(code) > 3<<20 && os.Getenv("CODE_CORPUS") == "" {
		code = code[:3<<20]
	}
	cmd := exec.Command("objdump", "-d", "-w", "-j", ".text",
		fmt.Sprintf("--stop-address=%#x", text.Addr+uint64(len(code))), file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	n, wrong := 0, 0
	for lines.Scan() {
		addr, rest, ok := strings.Cut(strings.TrimLeft(lines.Text(), " "), ":\t")
		if !ok {
			continue
		}
		at, err := strconv.ParseUint(addr, 16, 64)
		if err != nil {
			continue
		}
		raw, asm, _ := strings.Cut(rest, "\t")
		want := len(strings.Fields(raw))
		off := at - text.Addr
		if off+uint64(want) > uint64(len(code)) {
			continue
		}
		n++
		in, ok := Decode(abi.AMD64, code[off:])
		// Data among the code; and fwait, an instruction of its own that objdump joins to the next.
		asm = strings.TrimSpace(asm)
		lone := strings.HasPrefix(asm, "rex") && !strings.Contains(asm, " ")
		if strings.Contains(asm, "(bad)") || strings.HasPrefix(asm, ".byte") || lone || strings.HasPrefix(raw, "9b ") {
			continue
		}
		if !ok || in.Len != want {
			if wrong++; wrong <= 20 {
				t.Errorf("%s: %x %s: length %d (decoded %v), objdump says %d: %s", file, at, raw, in.Len, ok, want, asm)
			}
			continue
		}
		if isRet := strings.Contains(" "+asm, " ret"); isRet != (in.Op == Ret) {
			t.Errorf("%x: %s: operation %d", at, asm, in.Op)
		}
	}
	cmd.Wait()
	if n == 0 {
		t.Fatal("objdump gave no instructions")
	}
	t.Logf("%d instructions compared, %d differ", n, wrong)
}
