package trocar

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// longest is how many characters a line of Go may have, a tab counted as one.
const longest = 120

// TestLineLength: no line is longer than people read at a glance. The text of raw strings is what it is, and the
// programs of testdata are what tests need them to be.
func TestLineLength(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name != "." && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		raw := rawLines(src)
		n := 0
		for line := range bytes.Lines(src) {
			n++
			if width := utf8.RuneCount(bytes.TrimRight(line, "\n")); width > longest && !raw[n] {
				t.Errorf("%s:%d has %d characters", path, n, width)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawLines has the lines, from 1, of which a raw string takes a part.
func rawLines(src []byte) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return lines
		case tok == token.STRING && text[0] == '`':
			first := file.Line(pos)
			for i := range strings.Count(text, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}
