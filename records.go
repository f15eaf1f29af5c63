package trocar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"trocar/internal/compile/codegen"
	"trocar/result"
)

// record handles one record of the ring.
func (r *run) record(rec []byte) error {
	r.records++
	if r.exiting && !r.ending && !r.iterates {
		return nil // exit() was called: what came behind it is not wanted
	}
	if len(rec) < 8 {
		return fmt.Errorf("a record of %d bytes came from the ring buffer", len(rec))
	}
	id := int(binary.NativeEndian.Uint32(rec))
	if id >= len(r.code.Layouts) {
		return fmt.Errorf("a record of unknown kind %d came from the ring buffer", id)
	}
	l := r.code.Layouts[id]
	if r.pending != nil {
		take := l.Kind == codegen.RecClear && l.Map == r.pending.storage.Map && !r.pending.storage.Scalar
		if err := r.flushPending(take); err != nil || take {
			return err
		}
	}
	var ok bool
	if r.values, ok = r.decoder.Record(l, rec, r.values); !ok {
		return fmt.Errorf("a record of %d bytes is shorter than its layout says (%d)", len(rec), l.Size)
	}
	if l.Kind == codegen.RecPrintf {
		r.text = r.formats[id].Append(r.text[:0], r.values)
		r.printf = result.Printf{Head: head(l), Text: view(r.text)}
		return r.sink.Event(&r.printf)
	}
	return r.other(l, id)
}

// head is what a record's event has in common with others.
func head(l *codegen.Layout) result.Head { return result.Head{Action: l.Action + 1} }

// view is a string on bytes that are reused: sinks copy what they keep.
func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

func (r *run) other(l *codegen.Layout, id int) error {
	switch l.Kind {
	case codegen.RecPrint:
		return r.emit(&result.Print{Head: head(l), Value: &r.values[0]})
	case codegen.RecErrorf:
		return r.message(l, result.Error, string(r.formats[id].Append(nil, r.values)))
	case codegen.RecWarnf:
		return r.message(l, result.Warning, string(r.formats[id].Append(nil, r.values)))
	case codegen.RecPrintMap:
		top, div := uint64(0), uint64(0)
		if len(r.values) > 0 {
			top = r.values[0].Num
		}
		if len(r.values) > 1 {
			div = r.values[1].Num
		}
		r.pending = &pendingMap{storage: r.code.Storage[l.Map.ID], top: int(min(top, 1<<31)), div: div}
		return nil
	case codegen.RecClear:
		return r.loaded.Map(r.code.Storage[l.Map.ID].Name).Clear()
	case codegen.RecZero:
		return r.zero(r.code.Storage[l.Map.ID])
	case codegen.RecTime:
		now := time.Now()
		text := string(result.AppendTime(nil, l.Format, now))
		return r.emit(&result.Time{Head: head(l), Text: text, Shown: now})
	case codegen.RecJoin:
		var parts []string
		for i := range r.values {
			if r.values[i].Kind != result.None {
				parts = append(parts, r.values[i].Text)
			}
		}
		return r.emit(&result.Join{Head: head(l), Text: strings.Join(parts, l.Sep)})
	case codegen.RecCat:
		return r.cat(l, string(r.formats[id].Append(nil, r.values)))
	case codegen.RecSystem:
		if r.ctx.Err() != nil && !r.ending {
			r.unrun++
			return nil
		}
		return r.system(l, string(r.formats[id].Append(nil, r.values)))
	case codegen.RecExit:
		if len(r.values) > 0 {
			r.exit.Code = int(uint8(r.values[0].Num))
		}
		r.exiting = true
		return errExit
	case codegen.RecHelperError:
		if l.Helper == "" {
			return r.emit(&result.RuntimeError{Head: head(l), Text: l.Format, At: l.Span.Position()})
		}
		code := int64(r.values[0].Num)
		return r.emit(&result.HelperError{Head: head(l), Helper: l.Helper, Code: code, At: l.Span.Position()})
	}
	return fmt.Errorf("a record came that nothing is done with: kind %d, of %v", l.Kind, l.Span)
}

// message is the event of warnf() and errorf().
func (r *run) message(l *codegen.Layout, s result.Severity, text string) error {
	return r.emit(&result.Message{Head: head(l), Severity: s, Text: text, At: l.Span.Position()})
}

// cat shows the beginning of a file.
func (r *run) cat(l *codegen.Layout, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return r.notice(result.Error, "failed to open file '%s' (%s)", name, cause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(r.typed.Config.MaxCatBytes)))
	if err != nil {
		return r.notice(result.Error, "failed to read file '%s' (%s)", name, cause(err))
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
func (r *run) system(l *codegen.Layout, command string) error {
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		if _, ended := err.(*exec.ExitError); !ended {
			return r.notice(result.Error, "system(): %v", err)
		}
	}
	return r.emit(&result.System{Head: head(l), Text: out.String()})
}
