package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"trocar"
)

// format is --fmt: the script in the standard form.
func (a *app) format(s *settings, p *script) error {
	text, err := trocar.Format(p.name, p.text)
	if err != nil {
		return a.plain(s).failure(err)
	}
	if s.output == "" {
		_, err = io.WriteString(a.out, text)
	} else {
		err = replace(s.output, text, 0o644)
	}
	if err != nil {
		return &statusError{exitFailed, err}
	}
	return nil
}

// replace writes a new file beside the old one and renames it, so that no reader sees a partial file. An existing file
// keeps its mode.
func replace(path, text string, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
