package cli

import (
	"context"
	"errors"
	"testing"
)

// TestPromptly: what does not heed its context is not waited for; what does is, and its result counts.
func TestPromptly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if v, err := promptly(ctx, func() (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	end := make(chan struct{})
	defer close(end)
	_, err := promptly(ctx, func() (int, error) {
		cancel()
		<-end
		return 7, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	failed := errors.New("failed")
	if _, err = promptly(ctx, func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
