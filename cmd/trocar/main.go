// Command trocar traces user-space programs with scripts in bpftrace's language.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"trocar/internal/ui/cli"
)

func main() {
	// The begin and end probes run on the thread that calls them: as in bpftrace, their tid is then the pid.
	runtime.LockOSThread()
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals // ends the run: maps are printed
		cancel()
		second := <-signals // does not wait for that
		os.Exit(128 + int(second.(syscall.Signal)))
	}()
	os.Exit(cli.Main(ctx, os.Args))
}
