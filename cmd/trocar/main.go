// Command trocar traces user-space programs with scripts in bpftrace's language.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"trocar/internal/ui/cli"
)

func main() {
	// The begin and end probes run on the thread that calls them: as in bpftrace, their tid is then the pid.
	runtime.LockOSThread()
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, ending()...)
	go func() {
		<-signals // ends the run: maps are printed
		cancel()
		first := time.Now()
		for second := range signals {
			// timeout(1) and terminals signal the process and its group, so one key press may come twice; a terminal that
			// goes away signals its foreground group, and the shell may do it again.
			if time.Since(first) > 500*time.Millisecond {
				os.Exit(128 + int(second.(syscall.Signal))) // does not wait for that
			}
		}
	}()
	os.Exit(cli.Main(ctx, os.Args))
}

// ending are the signals that end a run with its results: an interrupt or a quit from the keyboard, a request to
// terminate, and the terminal's end, unless that was to be ignored (nohup(1)).
func ending() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
