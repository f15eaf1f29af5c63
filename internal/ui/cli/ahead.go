package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"trocar"
)

// writeAhead is --aot: a file that runs the script when it is called. Compiling takes milliseconds and looks at the files and
// the kernel that there are at that moment, so what is written is the script itself, once it is known to compile here.
func (a *app) writeAhead(ctx context.Context, s *settings, r trocar.Request) error {
	program, command, err := compile(ctx, r)
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
