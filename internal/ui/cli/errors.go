package cli

import (
	"errors"
	"syscall"
)

// reason gives the system's words for an error, as strerror has them: with a capital letter.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		text := errno.Error()
		if text != "" && text[0] >= 'a' && text[0] <= 'z' {
			text = string(text[0]-'a'+'A') + text[1:]
		}
		return text
	}
	return err.Error()
}
