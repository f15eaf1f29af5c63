package cli

import (
	"context"
	"time"

	"trocar/internal/stackroom"
)

// grace is how long is waited for what was told to end by its context.
const grace = 50 * time.Millisecond

// promptly does what reads files, which may take seconds for a large one, and does not wait for it if ctx ends first:
// whoever presses Ctrl-C gets the prompt back. That goes on until the process ends, so nothing that it uses may be
// closed; nothing is attached as yet, and a command that is held ends with this process.
func promptly[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		stackroom.Make()
		v, err := do()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.value, o.err
	case <-time.After(grace):
		var none T
		return none, ctx.Err()
	}
}
