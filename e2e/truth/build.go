package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// build is how a program is built.
type build struct {
	commands [][]string
	env      []string
}

// String is what is worth telling of a build: its commands.
func (b *build) String() string {
	var s []string
	for _, c := range b.commands {
		s = append(s, strings.Join(c, " "))
	}
	return strings.Join(append(s, b.env...), "; ")
}

// stripped tells a program without debug information.
func (b *build) stripped() bool { return strings.Contains(b.String(), "-s -w") }

// maxBuild bounds the time of a compiler.
const maxBuild = 3 * time.Minute

// run builds the program in a folder that has its sources.
func (b *build) run(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, maxBuild)
	defer cancel()
	for _, c := range b.commands {
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), b.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, firstLines(out, 12))
		}
	}
	return nil
}

func firstLines(b []byte, n int) string {
	lines := strings.SplitAfter(string(b), "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

// some takes each of the flags with a chance of one in n.
func some(r *rand.Rand, n int, flags ...string) (taken []string) {
	for _, f := range flags {
		if r.IntN(n) == 0 {
			taken = append(taken, strings.Fields(f)...)
		}
	}
	return taken
}

func one(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// buildC chooses how a program of C or C++ is built.
func buildC(r *rand.Rand, cpp bool) build {
	suffix, gcc, clang := ".c", "gcc", "clang"
	if cpp {
		suffix, gcc, clang = ".cc", "g++", "clang++"
	}
	compiler := one(r, gcc, gcc, clang)
	c := []string{compiler, "-g", "-w", one(r, "-O0", "-Og", "-O1", "-O2", "-O2", "-O3", "-Os")}
	if cpp {
		c = append(c, "-std=c++17")
	}
	c = append(c, some(r, 6,
		"-no-pie -fno-pie", "-march=native", "-fno-omit-frame-pointer", "-fcf-protection=full", "-gdwarf-4",
		"-fstack-protector-all",
		"-ffunction-sections", "-fno-asynchronous-unwind-tables", "-fno-plt", "-fno-inline", "-mno-red-zone", "-fPIC")...)
	if compiler == gcc {
		c = append(c, some(r, 8, "-flto", "-fsanitize=address", "-fno-toplevel-reorder", "-fipa-pta", "-fno-ipa-cp-clone",
			"-static",
			"-fkeep-inline-functions", "-fno-shrink-wrap", "-fno-ipa-sra", "-fshort-enums")...)
	} else {
		c = append(c, some(r, 6, "-flto -fuse-ld=lld", "-fuse-ld=lld -Wl,--icf=all -ffunction-sections", "-fno-vectorize",
			"-static", "-fshort-enums")...)
	}
	if slices.Contains(c, "-fsanitize=address") {
		c = slices.DeleteFunc(c, func(s string) bool { return s == "-static" })
	}
	if cpp {
		if compiler == clang && r.IntN(4) > 0 {
			c = append(c, "-fstandalone-debug") // else there are no complete types of the library
		}
		c = append(c, some(r, 6, "-fno-exceptions", "-fno-rtti")...)
	}
	return build{commands: [][]string{append(c, "-o", "program", "a"+suffix, "b"+suffix)}}
}
