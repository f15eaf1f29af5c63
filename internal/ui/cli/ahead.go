package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"trocar"
)

// writeAhead is --aot: an executable file that runs the script. Compiling takes milliseconds and depends on the files
// and the kernel at that time, so the file contains the script itself, after it has been compiled here as a check.
func (a *app) writeAhead(ctx context.Context, s *settings, r trocar.Request) error {
	program, command, err := a.compile(ctx, r, nil)
	if err != nil {
		return a.plain(s).failure(err)
	}
	program.Close()
	if command != nil {
		_ = command.Close()
	}
	path, err := os.Executable()
	if err != nil {
		return &statusError{exitFailed, err}
	}
	text := r.Script
	if strings.HasPrefix(text, "#!") {
		_, text, _ = strings.Cut(text, "\n")
	}
	if err := replace(s.ahead, fmt.Sprintf("#!%s\n%s", path, text), 0o755); err != nil {
		return &statusError{exitFailed, err}
	}
	return nil
}
