package trocar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"trocar/internal/compile/record"
	"trocar/result"
)

// record handles one record of the ring.
func (r *run) record(rec []byte) error {
	r.records++
	if r.exiting && !r.ending && !r.iterates {
		return nil // exit() was called: what came behind it is not wanted
	}
	id, ok := record.ID(rec)
	if !ok {
		return fmt.Errorf("a record of %d bytes came from the ring buffer", len(rec))
	}
	if uint64(id) >= uint64(len(r.code.Layouts)) {
		return fmt.Errorf("a record of unknown kind %d came from the ring buffer", id)
	}
	l := r.code.Layouts[id]
	if r.pending != nil {
		take := l.Kind == record.Clear && r.code.Storage[l.Map].Name == r.pending.storage.Name && !r.pending.storage.Scalar
		if err := r.flushPending(take); err != nil || take {
			return err
		}
	}
	if r.values, ok = r.decoder.Record(l, rec, r.values); !ok {
		return fmt.Errorf("a record of %d bytes is shorter than its layout says (%d)", len(rec), l.Size)
	}
	if l.Kind == record.Printf {
		r.text = r.formats[id].Append(r.text[:0], r.values)
		r.printf = result.Printf{Head: head(l), Text: view(r.text)}
		return r.sink.Event(&r.printf)
	}
	return r.other(l, int(id))
}

// head is what a record's event has in common with others.
func head(l *record.Layout) result.Head { return result.Head{Action: l.Action + 1} }

// view is a string on bytes that are reused: sinks copy what they keep.
func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

func (r *run) other(l *record.Layout, id int) error {
	switch l.Kind {
	case record.Print:
		return r.emit(&result.Print{Head: head(l), Value: &r.values[0]})
	case record.Errorf:
		return r.message(l, result.Error, string(r.formats[id].Append(nil, r.values)))
	case record.Warnf:
		return r.message(l, result.Warning, string(r.formats[id].Append(nil, r.values)))
	case record.PrintMap:
		top, div := uint64(0), uint64(0)
		if len(r.values) > 0 {
			top = r.values[0].Num
		}
		if len(r.values) > 1 {
			div = r.values[1].Num
		}
		r.pending = &pendingMap{head: head(l), storage: r.code.Storage[l.Map], top: int(min(top, 1<<31)), div: div}
		return nil
	case record.Clear:
		return r.loaded.Map(r.code.Storage[l.Map].Name).Clear()
	case record.Zero:
		return r.zero(r.code.Storage[l.Map])
	case record.Time:
		now := time.Now()
		text := string(result.AppendTime(nil, l.Format, now))
		return r.emit(&result.Time{Head: head(l), Text: text, Shown: now})
	case record.Join:
		var parts []string
		for i := range r.values {
			if r.values[i].Kind != result.None {
				parts = append(parts, r.values[i].Text)
			}
		}
		return r.emit(&result.Join{Head: head(l), Text: strings.Join(parts, l.Sep)})
	case record.Cat:
		return r.cat(l, string(r.formats[id].Append(nil, r.values)))
	case record.System:
		if r.ctx.Err() != nil && !r.ending {
			r.unrun++
			return nil
		}
		return r.system(l, string(r.formats[id].Append(nil, r.values)))
	case record.Unwatch:
		if addr := r.values[0].Num; r.loaded.Unwatch(addr) == 0 {
			return r.notice(result.Warning, "unwatch(%#x): there is no watchpoint at this address", addr)
		}
		return nil
	case record.Exit:
		if len(r.values) > 0 {
			r.exit.Code = int(uint8(r.values[0].Num))
		}
		r.exiting = true
		return errExit
	case record.HelperError:
		if l.Helper == "" {
			return r.emit(&result.RuntimeError{Head: head(l), Text: l.Format, At: l.Span.Position()})
		}
		code := int64(r.values[0].Num)
		return r.emit(&result.HelperError{Head: head(l), Helper: l.Helper, Code: code, At: l.Span.Position()})
	}
	return fmt.Errorf("a record came that nothing is done with: kind %d, of %v", l.Kind, l.Span)
}

// message is the event of warnf() and errorf().
func (r *run) message(l *record.Layout, s result.Severity, text string) error {
	return r.emit(&result.Message{Head: head(l), Severity: s, Text: text, At: l.Span.Position()})
}

// failed tells that what an action asked for was not done.
func (r *run) failed(l *record.Layout, format string, args ...any) error {
	d := result.Diagnostic{Severity: result.Error, Text: fmt.Sprintf(format, args...)}
	return r.emit(&result.Notice{Head: head(l), Diagnostic: d})
}

// cat shows the beginning of a file.
func (r *run) cat(l *record.Layout, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return r.failed(l, "failed to open file '%s' (%s)", name, cause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(r.typed.Config.MaxCatBytes)))
	if err != nil {
		return r.failed(l, "failed to read file '%s' (%s)", name, cause(err))
	}
	return r.emit(&result.Cat{Head: head(l), Text: string(text)})
}

// cause is an error without the path that the message has already, in the C library's words.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return result.Strerror(int64(errno))
	}
	return err.Error()
}

// system runs a command and shows what it prints.
func (r *run) system(l *record.Layout, command string) error {
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		if _, ended := err.(*exec.ExitError); !ended {
			return r.failed(l, "system(): %v", err)
		}
	}
	return r.emit(&result.System{Head: head(l), Text: out.String()})
}
