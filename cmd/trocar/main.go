// Command trocar traces user-space programs with scripts in bpftrace's language.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"trocar/internal/ui/cli"
)

func main() {
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
