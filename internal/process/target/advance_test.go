package target

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"trocar/internal/binary/abi"
)

// TestAdvance: a command is held where it comes by, also in a program that it executes later, and runs on from there.
func TestAdvance(t *testing.T) {
	if host, err := abi.Host(); err != nil || host.Watch.Debug == 0 {
		t.Skip("ptrace has no debug registers on this CPU")
	}
	for name, c := range map[string]struct {
		argv    []string
		program string
		hits    int
		code    int
		ends    bool
	}{
		"at once":       {argv: []string{"false"}, program: "false", hits: 1, code: 1},
		"later":         {argv: []string{"sh", "-c", "exec env false"}, program: "false", hits: 1, code: 1},
		"never":         {argv: []string{"sh", "-c", "exec false"}, program: "nothing", code: 1, ends: true},
		"not this time": {argv: []string{"false"}, program: "false", hits: 2, code: 1, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			child, err := Launch(c.argv, os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			defer child.Kill(0)
			hits := 0
			err = child.Advance(func() (uint64, bool) {
				exe, _, err := child.PID().Program()
				if err != nil || filepath.Base(exe) != c.program {
					return 0, false
				}
				entry, err := child.PID().entry()
				return entry, err == nil
			}, func(uint64) bool {
				hits++
				return hits == c.hits
			})
			if ended := errors.Is(err, ErrEnded); ended != c.ends || err != nil && !ended {
				t.Fatalf("%v after %d hits", err, hits)
			}
			if err := child.Release(); err != nil {
				t.Error(err)
			}
			if exit := child.Exit(); exit.Code != c.code || exit.Signal != 0 {
				t.Errorf("it ended with %v", exit)
			}
			if !c.ends && hits != c.hits {
				t.Errorf("%d hits", hits)
			}
		})
	}
}

// TestAdvanceMapped: a command is held where it has mapped a file, also when another program does that, and runs on.
func TestAdvanceMapped(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		ends   bool
	}{
		"mapped": {script: "kill -CONT $$; exec cat /proc/self/comm"},
		"never":  {script: "exec true", ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			child, err := Launch([]string{"sh", "-c", c.script}, os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			defer child.Kill(0)
			err = child.AdvanceMapped(func(file string) bool {
				exe, _, _ := child.PID().Program()
				return filepath.Base(exe) == "cat" && filepath.Base(file) != ""
			})
			if ended := errors.Is(err, ErrEnded); ended != c.ends || err != nil && !ended {
				t.Fatal(err)
			}
			if stat, err := child.PID().Stat(); !c.ends && (err != nil || !stat.Stopped()) {
				t.Errorf("it goes on: %v, %v", stat, err)
			}
			if err := child.Release(); err != nil {
				t.Error(err)
			}
			if exit := child.Exit(); exit.Code != 0 || exit.Signal != 0 {
				t.Errorf("it ended with %v", exit)
			}
		})
	}
}

// TestAdvanceStopped: a command that is stopped while it goes on stays so until it is continued.
func TestAdvanceStopped(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	child, err := Launch([]string{"sh", "-c", "kill -STOP $$; : > " + begun + "; exec cat /proc/self/comm"}, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer child.Kill(0)
	advanced := make(chan error, 1)
	go func() {
		advanced <- child.AdvanceMapped(func(string) bool {
			exe, _, _ := child.PID().Program()
			return filepath.Base(exe) == "cat"
		})
	}()
	select {
	case err := <-advanced:
		t.Fatalf("it went on: %v", err)
	case <-time.After(200 * time.Millisecond): // long enough to come there, mostly
	}
	if _, err := os.Stat(begun); err == nil {
		t.Error("it has gone on by itself")
	}
	for { // it may come to stop itself only now
		if err := child.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-advanced:
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Release(); err != nil {
				t.Error(err)
			}
			if exit := child.Exit(); exit.Code != 0 || exit.Signal != 0 {
				t.Errorf("it ended with %v", exit)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
